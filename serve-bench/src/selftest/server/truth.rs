//! What truly happened: when each request came in and when each write of tokens began.

use serde::{Deserialize, Serialize};

/// Everything that a server of known schedule did, as `GET /truth` gives it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Truth {
    /// Version of this form.
    pub(crate) schema: u32,
    /// Where instants are counted from, ns of CLOCK_MONOTONIC.
    pub(crate) start_ns: Option<u64>,
    /// From a request's receipt to its first token by the schedule, us; `None` without a schedule.
    pub(crate) ttft_us: Option<f64>,
    /// From a write to the next by the schedule, us.
    pub(crate) write_every_us: Option<f64>,
    /// Requests for tokens in the order in which they were understood.
    pub(crate) requests: Vec<TruthOf>,
}

/// What truly happened to one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TruthOf {
    /// Its `x-request-id`, where it had one.
    pub(crate) id: Option<String>,
    /// When its last byte came in, ns after the start.
    pub(crate) receipt_ns: u64,
    /// Whether that is the kernel's time stamp; else it is when it was read.
    pub(crate) by_kernel: bool,
    /// Whether tokens were sent as they came.
    pub(crate) streamed: bool,
    /// Output tokens that were written.
    pub(crate) tokens: u32,
    /// When each write of tokens began, us after the receipt; not kept without a schedule.
    pub(crate) writes_us: Vec<u32>,
    /// Writes that the socket did not take whole at once: what they held left later.
    pub(crate) blocked: u32,
    /// Whether all of it was handed to the socket.
    pub(crate) done: bool,
}

/// The version of [`Truth`]'s form.
pub(super) const SCHEMA: u32 = 1;

impl TruthOf {
    /// The true time to first token, ms.
    pub(crate) fn ttft_ms(&self) -> Option<f64> {
        Some(f64::from(*self.writes_us.first()?) / 1e3)
    }

    /// The true time per output token after the first, ms: (last write - first write) / (tokens - 1).
    pub(crate) fn tpot_ms(&self) -> Option<f64> {
        let [first, .., last] = self.writes_us[..] else {
            return None;
        };
        Some(f64::from(last - first) / 1e3 / f64::from(self.tokens.checked_sub(1)?))
    }
}

impl Truth {
    /// How late each write of streamed replies was, ms; empty without a schedule.
    pub(crate) fn lateness_ms(&self) -> Vec<f64> {
        let Some((ttft, every)) = self.ttft_us.zip(self.write_every_us) else {
            return Vec::new();
        };
        let streamed = self.requests.iter().filter(|request| request.streamed);
        streamed
            .flat_map(|request| request.writes_us.iter().zip(0_u32..))
            .map(|(write, number)| (f64::from(*write) - ttft - every * f64::from(number)) / 1e3)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttft_and_tpot_are_of_the_writes() {
        let of = TruthOf {
            tokens: 5,
            writes_us: vec![50_000, 70_000, 90_100],
            ..TruthOf::default()
        };
        assert_eq!(of.ttft_ms(), Some(50.0));
        // 90.1 - 50 = 40.1 ms over 5 - 1 = 4 tokens.
        assert!((of.tpot_ms().unwrap() - 10.025).abs() < 1e-9);
        assert_eq!(TruthOf::default().tpot_ms(), None);
    }

    #[test]
    fn lateness_is_against_the_schedule_and_not_the_write_before() {
        let truth = Truth {
            ttft_us: Some(50_000.0),
            write_every_us: Some(20_000.0),
            requests: vec![TruthOf {
                streamed: true,
                // Due at 50, 70 and 90 ms.
                writes_us: vec![50_000, 71_000, 90_500],
                ..TruthOf::default()
            }],
            ..Truth::default()
        };
        assert_eq!(truth.lateness_ms(), [0.0, 1.0, 0.5]);
    }
}
