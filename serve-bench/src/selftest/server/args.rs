//! The command line of `serve-bench known-schedule`.

use super::manner::{Manner, Reasoning};

/// Serve tokens at known instants, and the true instants at `GET /truth`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerArgs {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(super) host: String,
    /// Port to listen on; 0 takes a free one. The first line on standard output tells it.
    #[arg(long, default_value_t = 0)]
    pub(super) port: u16,
    /// From the receipt of a request to its first token, ms.
    #[arg(long, value_name = "MS", default_value_t = 50.0, value_parser = milliseconds)]
    ttft_ms: f64,
    /// From a token to the next, ms.
    #[arg(long, value_name = "MS", default_value_t = 20.0, value_parser = milliseconds)]
    itl_ms: f64,
    /// Tokens in each chunk; a chunk comes when its tokens would have come one by one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    tokens_per_chunk: u32,
    /// Chunks in each write.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    chunks_per_write: u32,
    /// Chat: send the chunk with the role at once, and not with the first token.
    #[arg(long)]
    role_early: bool,
    /// Chat: the first half of the tokens is reasoning, in a field of this name.
    #[arg(long, value_enum)]
    reasoning: Option<Reasoning>,
    /// End after this many tokens however many were asked for, and send no usage.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    end_early: Option<u32>,
    /// Send no usage, even where it was asked for.
    #[arg(long)]
    no_usage: bool,
    /// No schedule: write as fast as the sockets take it.
    #[arg(long)]
    flood: bool,
    /// Started by another program of this house, and ends with it.
    #[arg(long, hide = true)]
    pub(super) tied: bool,
}

impl ServerArgs {
    /// How requests are answered.
    pub(super) fn manner(&self) -> Manner {
        Manner {
            ttft_ns: nanoseconds(self.ttft_ms),
            itl_ns: nanoseconds(self.itl_ms),
            tokens_per_chunk: self.tokens_per_chunk,
            chunks_per_write: self.chunks_per_write,
            role_early: self.role_early,
            reasoning: self.reasoning,
            end_early: self.end_early,
            usage: !self.no_usage && self.end_early.is_none(),
            paced: !self.flood,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of the command line are 0 to 100000"
)]
fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Reads milliseconds of a schedule.
pub(in super::super) fn milliseconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|ms| (0.0..=100_000.0).contains(ms))
        .ok_or_else(|| "must be 0 to 100000".to_owned())
}
