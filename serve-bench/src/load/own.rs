//! What the load generator itself takes: its thread's CPU time, and how late its requests are.
//!
//! A client that is short of CPU reports its own delay as the server's, so this is measured and told with the result.

use std::time::{Duration, Instant};

/// Time of one thread on a CPU, and runnable without one.
pub(super) type CpuTime = [Duration; 2];

/// That of the calling thread so far; `None` where the kernel does not tell.
pub(super) fn cpu_time() -> Option<CpuTime> {
    parse(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Reads `schedstat`: nanoseconds on a CPU, nanoseconds waiting for one, slices (Linux, sched-stats.rst).
fn parse(text: &str) -> Option<CpuTime> {
    let fields = text.split_whitespace();
    let mut fields = fields.map_while(|field| field.parse().ok());
    Some([fields.next()?, fields.next()?].map(Duration::from_nanos))
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
        let both = then.zip(cpu_time());
        let part = |of: usize| {
            let (then, now) = both?;
            let took = now[of].saturating_sub(then[of]).as_secs_f64();
            (span > 0.0).then(|| (took / span).clamp(0.0, 1.0))
        };
        Self {
            busy: part(0),
            starved: part(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_nanoseconds_on_and_waiting_for_a_cpu() {
        let times = [1500, 250].map(Duration::from_millis);
        assert_eq!(parse("1500000000 250000000 42\n"), Some(times));
        assert_eq!(parse("12"), None);
    }
}
