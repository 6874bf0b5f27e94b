//! One round of samples over all ranks, and what the slowest of them took.

use std::time::Duration;

use record::quantity::Gate;
use record::{CallMode, Failure};

use super::super::group::{Group, Trouble};
use crate::messages::{Job, RankReply, RankRequest};

/// The slowest that memory is filled, compared or reduced, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 100_000_000;

/// What is timed again and again.
pub(super) struct Series {
    pub(super) job: Job,
    pub(super) ranks: u32,
    pub(super) mode: CallMode,
    /// Interleaved only.
    pub(super) gap_us: Option<f64>,
}

/// Samples that all ranks took.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// The slowest rank's time of each sample, in microseconds, interleaved with the gap.
    pub(super) slowest: Vec<f64>,
    /// Interleaved: the slowest rank's time of the gap alone.
    pub(super) gaps: Vec<f64>,
    pub(super) gate: Option<Gate>,
}

impl Taken {
    /// With the samples of a further round.
    pub(super) fn append(&mut self, more: Self) {
        self.slowest.extend(more.slowest);
        self.gaps.extend(more.gaps);
        self.gate = more.gate;
    }

    /// What the call itself took in each sample.
    pub(super) fn times(&self) -> Vec<f64> {
        let gaps = self.gaps.iter().copied().chain(std::iter::repeat(0.0));
        let times = self.slowest.iter().zip(gaps);
        times.map(|(whole, gap)| whole - gap).collect()
    }
}

impl Series {
    /// One round: all ranks take so many samples of so many calls; or why the backend does not have the mode.
    pub(super) fn round(
        &self,
        group: &mut Group<'_>,
        calls: u32,
        samples: u32,
    ) -> Result<Result<Taken, Failure>, Trouble> {
        let mode = self.mode;
        let request = |_| RankRequest::Time {
            mode,
            calls,
            samples,
            gap_us: self.gap_us,
        };
        let doing = format!("taking samples in mode {mode}");
        let is_whole = |times: &[f64], gaps: &[f64]| {
            let wanted = samples as usize;
            times.len() == wanted && gaps.len() == self.gap_us.map_or(0, |_| wanted)
        };
        let (mut ranks, mut gaps, mut held) = (Vec::new(), Vec::new(), None);
        for reply in group.all(&doing, self.longer(calls), request)? {
            match reply {
                RankReply::Timed {
                    microseconds,
                    gap_microseconds,
                    gate,
                } if is_whole(&microseconds, &gap_microseconds) => {
                    ranks.push(microseconds);
                    gaps.push(gap_microseconds);
                    held = Some(gate);
                }
                RankReply::NotThere { reason } => return Ok(Err(reason)),
                other => return Err(group.out_of_turn(&other)),
            }
        }
        Ok(Ok(Taken {
            slowest: slowest(&ranks),
            gaps: slowest(&gaps),
            gate: held,
        }))
    }

    /// How much longer than the deadline a step may be silent, which goes over all bytes once for each call and waits for its gaps.
    pub(super) fn longer(&self, calls: u32) -> Duration {
        let times = u64::from(self.job.kind.parts(self.ranks));
        let bytes = self
            .job
            .bytes_per_rank
            .saturating_mul(times)
            .saturating_mul(u64::from(calls));
        // With the call and alone.
        let gaps = self.gap_us.unwrap_or(0.0) * 1e-6 * 2.0 * f64::from(calls);
        Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S)
            .saturating_add(Duration::try_from_secs_f64(gaps).unwrap_or(Duration::MAX))
    }
}

/// The slowest rank's time of each sample; all ranks took the same samples.
fn slowest(ranks: &[Vec<f64>]) -> Vec<f64> {
    let samples = ranks.first().map_or(0, Vec::len);
    let of_all = |sample: usize| ranks.iter().map(move |times| times[sample]);
    (0..samples)
        .map(|sample| of_all(sample).fold(0.0, f64::max))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(mode: CallMode, gap_us: Option<f64>) -> Series {
        Series {
            job: Job {
                kind: record::CollectiveKind::AllGather,
                element: record::ElementType::Bf16,
                bytes_per_rank: 50_000_000,
                verify: true,
            },
            ranks: 2,
            mode,
            gap_us,
        }
    }

    #[test]
    fn a_step_over_many_bytes_or_long_gaps_may_take_longer() {
        // 2 ranks x 50 MB x 3 calls at 100 MB/s are 3 s.
        let of = |mode, gap_us| series(mode, gap_us).longer(3);
        assert_eq!(of(CallMode::Graph, None), Duration::from_secs(3));
        // 3 gaps of 0.5 s beside the calls and 3 alone are 3 s more.
        let interleaved = of(CallMode::Interleaved, Some(500_000.0));
        assert_eq!(interleaved, Duration::from_secs(6));
    }
}
