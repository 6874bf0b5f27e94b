//! How requests are answered: which tokens come in which write, and when.

use clap::ValueEnum;

/// How requests are answered; the same for all of one server.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    /// From receipt to the first token.
    pub(super) ttft_ns: u64,
    /// From a token to the next.
    pub(super) itl_ns: u64,
    /// Tokens in each chunk.
    pub(super) tokens_per_chunk: u32,
    /// Chunks in each write.
    pub(super) chunks_per_write: u32,
    /// Whether the chunk with the role comes before the first token.
    pub(super) role_early: bool,
    /// The field of reasoning; `None` where there is none.
    pub(super) reasoning: Option<Reasoning>,
    /// Tokens after which a reply ends whatever was asked for.
    pub(super) end_early: Option<u32>,
    /// Whether usage is sent where it is asked for.
    pub(super) usage: bool,
    /// Whether there is a schedule; else tokens leave as fast as they can.
    pub(super) paced: bool,
}

/// The field in which a chat's reasoning comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum Reasoning {
    /// As vLLM names it.
    #[value(name = "reasoning")]
    Plain,
    /// As SGLang names it.
    #[value(name = "reasoning_content")]
    Content,
}

impl Reasoning {
    /// The field's name.
    pub(in super::super) fn field(self) -> &'static str {
        match self {
            Self::Plain => "reasoning",
            Self::Content => "reasoning_content",
        }
    }
}

impl Manner {
    /// Tokens of a reply to a request for this many.
    pub(super) fn tokens(&self, asked: u32) -> u32 {
        self.end_early.map_or(asked, |end| end.min(asked))
    }

    /// Tokens that one write holds, where there are as many left.
    pub(super) fn tokens_per_write(&self) -> u32 {
        self.tokens_per_chunk.saturating_mul(self.chunks_per_write)
    }

    /// From receipt to the write that begins with a token of this number. Counted from the receipt each time, so that a late
    /// write delays no later one.
    pub(super) fn after_receipt(&self, token: u32) -> u64 {
        self.ttft_ns + self.itl_ns * u64::from(token)
    }

    /// Whether a token of this number is reasoning, in a reply of so many.
    pub(super) fn is_reasoning(&self, token: u32, tokens: u32) -> bool {
        self.reasoning.is_some() && token < tokens / 2
    }
}
