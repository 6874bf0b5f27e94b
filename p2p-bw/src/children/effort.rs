//! How much is copied: enough for a clock that ticks, and little on a simulated machine, where time is arithmetic and only the moving
//! of bytes is real.

use std::time::Duration;

use device::TimeSource;

/// How much is copied.
pub(super) struct Effort {
    /// A sample lasts about this long, so that marks of half a microsecond and the start do not matter.
    pub(super) window: Duration,
    /// Copies in one sample at most.
    pub(super) most_copies: u32,
    /// Bytes of a probe's checked copy: AMD's runtime copies up to 1 MiB by kernel, so more.
    pub(super) checked_bytes: usize,
    /// Bytes of a copy whose rate a probe asks for: 0.6 ms at 26 GB/s, far above the cost of a launch.
    pub(super) rate_bytes: usize,
}

const MEASURED: Effort = Effort {
    window: Duration::from_millis(20),
    most_copies: u32::MAX,
    checked_bytes: 4 << 20,
    rate_bytes: 16 << 20,
};

const SIMULATED: Effort = Effort {
    window: Duration::from_millis(1),
    most_copies: 4,
    checked_bytes: 1 << 20,
    rate_bytes: 2 << 20,
};

impl Effort {
    /// That of a backend's clock.
    pub(super) fn of(clock: TimeSource) -> &'static Self {
        match clock {
            TimeSource::VirtualClock => &SIMULATED,
            TimeSource::DeviceEvent | TimeSource::HostMonotonic => &MEASURED,
        }
    }
}
