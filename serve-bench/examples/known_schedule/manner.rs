//! How requests are answered: which tokens come in which write, and when.

/// How requests are answered; the same for all of one server.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    /// From receipt to the first token.
    pub(super) ttft_ns: u64,
    /// From a token to the next.
    pub(super) itl_ns: u64,
    /// Tokens in each write, a chunk each.
    pub(super) tokens_per_write: u32,
    /// Whether there is a schedule; else tokens leave as fast as they can.
    pub(super) paced: bool,
}

impl Manner {
    /// From receipt to the write that begins with a token of this number. Counted from the receipt each time, so that a late
    /// write delays no later one.
    pub(super) fn after_receipt(&self, token: u32) -> u64 {
        self.ttft_ns + self.itl_ns * u64::from(token)
    }
}
