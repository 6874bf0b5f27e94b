//! How serving engines word the same reply: the shape of their streams and whole replies, a file for each engine.

mod chunks;
mod llama_cpp;
mod sglang;
mod transformers;
mod vllm;

use clap::ValueEnum;
use hyper::header::HeaderValue;

pub(super) use self::chunks::{Chunks, Tally, Timings, Told};
use super::metrics::Metrics;
use super::reply::Head;

/// An engine whose way of answering is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Dialect {
    /// vLLM: the finish reason with the last token, the count in a chunk of its own.
    #[default]
    Vllm,
    /// llama.cpp's server: finish and timings apart, connections closed after streams, comments while a prompt is long.
    #[value(name = "llama.cpp")]
    LlamaCpp,
    /// SGLang: a role chunk, empty members spelled out, `reasoning_content`.
    Sglang,
    /// `transformers serve`: the count inside the finish chunk, no `[DONE]`, no /metrics and no /version.
    Transformers,
}

/// What else decides how a reply is worded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wording {
    /// Tokens at the beginning of a chat reply that are reasoning.
    pub(super) reasoning_tokens: u32,
    /// Whether chunks list the ids of their tokens.
    pub(super) token_ids: bool,
    /// Whether the count tells how much of the prompt was cached.
    pub(super) tells_cached: bool,
}

/// What an engine does, a row each.
pub(super) struct Shape {
    /// Content type of streams.
    pub(super) events: HeaderValue,
    /// Whether the connection is closed after a stream, without a word before.
    pub(super) closes: bool,
    /// Whether comments come while no token does.
    pub(super) pings: bool,
    /// Whether there is /version.
    pub(super) has_version: bool,
    /// Whether chunks can list token ids.
    pub(super) has_ids: bool,
    /// Whether a chat reply can begin with reasoning.
    pub(super) has_reasoning: bool,
    /// What /metrics tells.
    pub(super) metrics: Metrics,
    /// The chunks of one stream.
    pub(super) chunks: fn(&Head, Wording) -> Chunks,
    /// A reply that is not streamed.
    pub(super) whole: fn(&Head, &Told) -> String,
}

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const EVENTS_UTF8: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

static SHAPES: [(Dialect, Shape); 4] = [
    (
        Dialect::Vllm,
        Shape {
            events: EVENTS_UTF8,
            closes: false,
            pings: false,
            has_version: true,
            has_ids: true,
            has_reasoning: true,
            metrics: Metrics::Vllm,
            chunks: vllm::chunks,
            whole: vllm::whole,
        },
    ),
    (
        Dialect::LlamaCpp,
        Shape {
            events: EVENTS,
            closes: true,
            pings: true,
            has_version: false,
            has_ids: false,
            has_reasoning: true,
            metrics: Metrics::LlamaCpp,
            chunks: llama_cpp::chunks,
            whole: llama_cpp::whole,
        },
    ),
    (
        Dialect::Sglang,
        Shape {
            events: EVENTS_UTF8,
            closes: false,
            pings: false,
            has_version: false,
            has_ids: false,
            has_reasoning: true,
            metrics: Metrics::Sglang,
            chunks: sglang::chunks,
            whole: sglang::whole,
        },
    ),
    (
        Dialect::Transformers,
        Shape {
            events: EVENTS_UTF8,
            closes: false,
            pings: false,
            has_version: false,
            has_ids: false,
            has_reasoning: false,
            metrics: Metrics::None,
            chunks: transformers::chunks,
            whole: transformers::whole,
        },
    ),
];

impl Dialect {
    /// What it does.
    pub(super) fn shape(self) -> &'static Shape {
        let found = SHAPES.iter().find(|(dialect, _)| *dialect == self);
        // Each has a row, which a test asks for.
        found.map_or(&SHAPES[0].1, |(_, shape)| shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_a_row() {
        for dialect in Dialect::value_variants() {
            assert!(SHAPES.iter().any(|(row, _)| row == dialect), "{dialect:?}");
        }
    }
}
