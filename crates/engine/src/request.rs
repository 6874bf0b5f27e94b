//! A request and what an engine says of it.

/// A request: how long its prompt is and how many tokens are to be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// A number of the caller's, unique among the requests that wait or run.
    pub id: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens to generate; there is no end of sequence before them.
    pub output_tokens: u32,
}

impl Request {
    /// Prompt and output, tokens.
    pub(crate) fn whole_tokens(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.output_tokens)
    }
}

/// A request that has left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// The request.
    pub id: u64,
    /// Prompt tokens that are not computed but taken from the prefix cache.
    pub cached_tokens: u32,
}

/// One token for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emitted {
    /// The request.
    pub id: u64,
    /// Whether it is the request's last token.
    pub finished: bool,
}
