//! How much is copied and called: enough for a clock that ticks, and little on a simulated machine, where time is arithmetic and only
//! the moving of bytes is real.

use std::time::Duration;

use record::quantity::TimeSource;

/// How much is copied and called.
#[derive(Debug)]
pub struct Effort {
    /// A sample of copies lasts about this long, so that marks of half a microsecond and the start do not matter.
    pub window: Duration,
    /// Copies in one sample at most.
    pub most_copies: u32,
    /// Bytes of a probe's checked copy: AMD's runtime copies up to 1 MiB by kernel, so more.
    pub checked_bytes: usize,
    /// Bytes of one copy where the command line does not say: larger than any GPU's cache.
    pub copy_bytes: u64,
    /// Bytes of a device's memory that are loaded where the command line does not say; `None` for as much as is free.
    pub load_bytes: Option<u64>,
    /// Calls of a collective in one sample, at least and at most.
    pub calls: (u32, u32),
    /// A sample of a graph's calls lasts about this long, in microseconds: replay leaves a bubble of some between two.
    pub graph_window_us: f64,
    /// Bytes of the device's own work between two calls at most; `None` for as many as no cache holds.
    pub gap_bytes: Option<usize>,
}

const MEASURED: Effort = Effort {
    window: Duration::from_millis(20),
    most_copies: u32::MAX,
    checked_bytes: 4 << 20,
    copy_bytes: 256 << 20,
    load_bytes: None,
    calls: (20, 2000),
    graph_window_us: 5000.0,
    gap_bytes: None,
};

const SIMULATED: Effort = Effort {
    window: Duration::from_millis(1),
    most_copies: 4,
    checked_bytes: 1 << 20,
    copy_bytes: 16 << 20,
    load_bytes: Some(16 << 20),
    calls: (4, 20),
    graph_window_us: 200.0,
    gap_bytes: Some(256 << 10),
};

impl Effort {
    /// On a machine that is simulated or not.
    #[must_use]
    pub fn of(is_simulated: bool) -> &'static Self {
        match is_simulated {
            true => &SIMULATED,
            false => &MEASURED,
        }
    }

    /// By what stands behind a backend's events.
    #[must_use]
    pub fn timed_by(source: TimeSource) -> &'static Self {
        Self::of(source == TimeSource::Simulated)
    }
}
