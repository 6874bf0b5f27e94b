//! Monotonic time behind a trait, so that budgets can be tested without waiting.

use std::time::{Duration, Instant};

/// A source of monotonic time.
pub trait Clock {
    /// Time since an arbitrary fixed instant.
    fn now(&self) -> Duration;
}

/// The machine's monotonic clock, starting at zero when it is made.
#[derive(Debug, Clone)]
pub struct Monotonic(Instant);

impl Monotonic {
    /// Starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
