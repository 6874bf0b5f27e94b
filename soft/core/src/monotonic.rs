//! The machine's monotonic clock as a number, which two libraries of a process read alike.
#![expect(unsafe_code, reason = "reads a clock of the system")]

/// Nanoseconds of `CLOCK_MONOTONIC`, which has no known beginning.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: clock_gettime(2) writes one timespec; Linux always has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
