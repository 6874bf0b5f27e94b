//! What the load generator itself takes: its thread's CPU time, and how late its requests are.
//!
//! A client that is short of CPU reports its own delay as the server's, so this is measured and told with the result.

use std::time::{Duration, Instant};

/// CPU time of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuTime {
    /// Time on a CPU.
    pub(super) ran: Duration,
    /// Time runnable without a CPU.
    pub(super) waited: Duration,
}

impl CpuTime {
    /// Of the calling thread so far; `None` where the kernel does not tell.
    pub(super) fn of_this_thread() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    /// Reads `schedstat`: nanoseconds on a CPU, nanoseconds waiting for one, slices (Linux, sched-stats.rst).
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_whitespace().map(|field| field.parse().ok());
        Some(Self {
            ran: Duration::from_nanos(fields.next()??),
            waited: Duration::from_nanos(fields.next()??),
        })
    }
}

/// What the loop's thread took of the measured part.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Own {
    /// Part of the time on a CPU, 0 to 1; `None` where the kernel does not tell.
    pub(super) busy: Option<f64>,
    /// Part of the time runnable without a CPU, 0 to 1.
    pub(super) starved: Option<f64>,
}

impl Own {
    /// From the CPU time at the start of the measured part until now.
    pub(super) fn since(then: Option<CpuTime>, start: Instant) -> Self {
        let span = start.elapsed().as_secs_f64();
        let both = then.zip(CpuTime::of_this_thread());
        let part = |of: fn(CpuTime) -> Duration| {
            let (then, now) = both?;
            let took = of(now).saturating_sub(of(then)).as_secs_f64();
            (span > 0.0).then(|| (took / span).clamp(0.0, 1.0))
        };
        Self {
            busy: part(|time| time.ran),
            starved: part(|time| time.waited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_nanoseconds_on_and_waiting_for_a_cpu() {
        let time = CpuTime::parse("1500000000 250000000 42\n").unwrap();
        assert_eq!(time.ran, Duration::from_millis(1500));
        assert_eq!(time.waited, Duration::from_millis(250));
        assert_eq!(CpuTime::parse("12"), None);
    }
}
