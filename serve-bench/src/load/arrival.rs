//! The instant of a read.

use std::time::Instant;

/// When bytes came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// After the read.
    pub(super) read: Instant,
    /// When the kernel received the last of them, not after the read; `None` where it did not say.
    pub(super) received: Option<Instant>,
}

impl Arrival {
    /// The kernel's instant, and without one that of the read.
    pub(super) fn at(&self) -> Instant {
        self.received.unwrap_or(self.read)
    }
}
