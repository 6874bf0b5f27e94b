//! How a call is timed in one mode: how many calls make a sample, and how many samples all ranks take, in rounds.
//!
//! The parent decides, since all ranks must make the same calls. A sample is the slowest rank's mean over the calls of one batch,
//! which host-synced is a single call. Interleaved it is what the slowest rank takes for a gap and a call less what the slowest one
//! takes for the gap alone, both means over batches that follow each other: a single one may be negative, the median not.

use std::time::Duration;

use program::Effort;
use record::clock::Monotonic;
use record::plan::{Plan, Sampling, StopReason};
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::{CallMode, CollectiveOutcome, Verification};

use super::group::{Group, Trouble, worse};
use crate::messages::{Job, RankReply, RankRequest};

/// Calls between two marks last about this long together, so that the marks do not matter.
const WINDOW_US: f64 = 200.0;

/// Samples in one round at most: between rounds the budget and the interval are looked at.
const ROUND: usize = 10;

/// So many times as many samples of host-synced calls, which are single calls and scatter more.
pub(super) const SYNCED_SAMPLES: u32 = 10;

/// Samples that a 99th percentile needs: host-synced calls are not enough before, however narrow the interval of the median is.
const FOR_P99: usize = 200;

/// The slowest that memory is filled, compared or reduced, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 100_000_000;

/// A call in one mode, which is timed again and again.
pub(super) struct Series {
    pub(super) job: Job,
    pub(super) verify: bool,
    pub(super) ranks: u32,
    pub(super) mode: CallMode,
    /// Interleaved only: how long the work between two calls is to take.
    pub(super) gap_us: Option<f64>,
}

/// Samples that all ranks took.
#[derive(Debug, Default)]
struct Taken {
    /// The slowest rank's time of each sample, in microseconds, interleaved with the gap.
    slowest: Vec<f64>,
    /// Interleaved: the slowest rank's time of the gap alone.
    gaps: Vec<f64>,
    gate: Option<Gate>,
}

impl Taken {
    /// What the call itself took in each sample.
    fn times(&self) -> Vec<f64> {
        let gaps = self.gaps.iter().copied().chain(std::iter::repeat(0.0));
        let times = self.slowest.iter().zip(gaps);
        times.map(|(whole, gap)| whole - gap).collect()
    }
}

impl Series {
    /// Prepares the call and measures it.
    pub(super) fn measure(
        &self,
        group: &mut Group<'_>,
        plan: Plan,
    ) -> Result<CollectiveOutcome, Trouble> {
        let (mode, events) = (self.mode, group.opened.events);
        let (job, verify) = (self.job, self.verify);
        let prepare = RankRequest::Prepare { job, verify };
        let prepared = group.compared("preparing", self.longer(1), &prepare)?;
        // As few as a sample may have.
        let first = calls_of(f64::INFINITY, mode, events);
        let mut trial = Taken::default();
        self.round(group, (first, 1), &mut trial)?;
        let calls = calls_of(trial.slowest[0], mode, events);
        let mut warmup_copies = first + 1;
        if calls != first {
            // A graph of another length is captured here, outside the samples.
            self.round(group, (calls, 1), &mut trial)?;
            warmup_copies += calls;
        }
        let clock = Monotonic::start();
        let sampling = Sampling::start(plan, &clock);
        let mut taken = Taken::default();
        let stopped = loop {
            let next = next_round(taken.slowest.len(), &plan);
            self.round(group, (calls, next), &mut taken)?;
            let times = taken.times();
            match sampling.stop(&[&times]) {
                Some(StopReason::IntervalNarrow)
                    if mode == CallMode::HostSynced && times.len() < FOR_P99 => {}
                Some(reason) => break reason,
                None => {}
            }
        };
        let checked =
            group.compared("comparing the result", self.longer(1), &RankRequest::Check)?;
        let timing = Timing {
            source: match mode {
                CallMode::HostSynced => TimeSource::HostMonotonic,
                _ => events,
            },
            gate: taken.gate.unwrap_or(Gate::None),
            copies_per_sample: calls,
            warmup_copies,
        };
        Ok(outcome(taken, timing, stopped, worse(prepared, checked)))
    }

    /// One round: all ranks take so many samples of so many calls.
    fn round(
        &self,
        group: &mut Group<'_>,
        (calls, samples): (u32, u32),
        taken: &mut Taken,
    ) -> Result<(), Trouble> {
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
        let (mut ranks, mut gaps) = (Vec::new(), Vec::new());
        for reply in group.all(&doing, self.longer(calls), request)? {
            match reply {
                RankReply::Timed {
                    microseconds,
                    gap_microseconds,
                    gate,
                } if is_whole(&microseconds, &gap_microseconds) => {
                    ranks.push(microseconds);
                    gaps.push(gap_microseconds);
                    taken.gate = Some(gate);
                }
                other => return Err(group.out_of_turn(&other)),
            }
        }
        taken.slowest.extend(slowest(&ranks));
        taken.gaps.extend(slowest(&gaps));
        Ok(())
    }

    /// How much longer than the deadline a step may be silent, which goes over all bytes once for each call and waits for its gaps.
    fn longer(&self, calls: u32) -> Duration {
        let times = u64::from(self.job.kind.parts(self.ranks)) * u64::from(calls);
        let bytes = self.job.bytes_per_rank.saturating_mul(times);
        // With the call and alone.
        let gaps = self.gap_us.unwrap_or(0.0) * 1e-6 * 2.0 * f64::from(calls);
        Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S)
            .saturating_add(Duration::try_from_secs_f64(gaps).unwrap_or(Duration::MAX))
    }
}

fn outcome(
    taken: Taken,
    timing: Timing,
    stopped: StopReason,
    verification: Verification,
) -> CollectiveOutcome {
    let quantity = |samples| Quantity::from_samples(samples, Unit::Microseconds, timing, stopped);
    let times = taken.times();
    let positive = times.iter().all(|time| *time > 0.0);
    let reason = match (quantity(times), quantity(taken.gaps)) {
        (Some(time), gap) if positive || (gap.is_some() && time.value > 0.0) => {
            return CollectiveOutcome::Measured {
                time: Box::new(time),
                verification,
                gap: gap.map(Box::new),
            };
        }
        (Some(_), Some(gap)) => format!(
            "the spread of the gap of {:.1} us hides the call; use a smaller --gap",
            gap.value
        ),
        _ => "a time was zero or not a number".to_owned(),
    };
    CollectiveOutcome::Failed {
        reason: reason.into(),
    }
}

/// How many samples to take next: up to the next look at the interval, which comes at 6 and at multiples of 10.
fn next_round(taken: usize, plan: &Plan) -> u32 {
    let until = if taken < plan.min_samples {
        plan.min_samples
    } else {
        (taken / ROUND + 1) * ROUND
    };
    let next = until.min(plan.max_samples).saturating_sub(taken).max(1);
    u32::try_from(next).unwrap_or(1)
}

/// How many calls fill the window, from the time of one.
fn calls_of(microseconds: f64, mode: CallMode, events: TimeSource) -> u32 {
    let effort = Effort::timed_by(events);
    let (least, most) = effort.calls;
    let window = match mode {
        CallMode::HostSynced => return 1,
        CallMode::Graph | CallMode::Interleaved => effort.graph_window_us,
        CallMode::BackToBack => WINDOW_US,
    };
    let wanted = (window / microseconds.max(1e-3)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 4..=2000"
    )]
    let calls = wanted.clamp(f64::from(least), f64::from(most)) as u32;
    calls
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

    #[test]
    fn rounds_end_where_the_interval_is_looked_at() {
        let plan = Plan::new(35, Duration::from_secs(1));
        let mut taken = vec![0];
        while taken[taken.len() - 1] < 35 {
            let last = taken[taken.len() - 1];
            taken.push(last + next_round(last, &plan) as usize);
        }
        assert_eq!(taken, [0, 6, 10, 20, 30, 35]);
        assert_eq!(next_round(0, &Plan::new(1, Duration::ZERO)), 1);
    }

    #[test]
    fn calls_fill_the_window_within_bounds() {
        // 200 us / 5 us = 40; 200 / 64 = 3.1, less than 20; 200 / 0.01 = 20000, more than 2000.
        let of = |us| calls_of(us, CallMode::BackToBack, TimeSource::DeviceEvent);
        assert_eq!((of(5.0), of(64.0), of(0.01)), (40, 20, 2000));
        // 5000 us / 5 us = 1000; a launch bubble of 5 us is then 0.1%.
        let of = |us| calls_of(us, CallMode::Graph, TimeSource::DeviceEvent);
        assert_eq!(
            (of(5.0), of(64.0), of(300.0), of(1.0)),
            (1000, 79, 20, 2000)
        );
        // Simulated 4 at least and 20 at most.
        let of = |us| calls_of(us, CallMode::BackToBack, TimeSource::Simulated);
        assert_eq!((of(64.0), of(1.0)), (4, 20));
    }

    fn interleaved(whole: [f64; 3], gaps: [f64; 3]) -> CollectiveOutcome {
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 20,
            warmup_copies: 21,
        };
        let taken = Taken {
            slowest: whole.to_vec(),
            gaps: gaps.to_vec(),
            gate: Some(Gate::None),
        };
        outcome(taken, timing, StopReason::MaxSamples, Verification::Passed)
    }

    #[test]
    fn a_call_between_gaps_is_what_it_adds_to_them() {
        // 60 - 50, 62 - 51 and 49 - 50: 10, 11 and -1, whose median is 10; that of the gaps is 50.
        let outcome = interleaved([60.0, 62.0, 49.0], [50.0, 51.0, 50.0]);
        let CollectiveOutcome::Measured { time, gap, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!((time.value, time.n), (10.0, 3));
        assert_eq!(time.samples, [10.0, 11.0, -1.0]);
        assert_eq!(gap.unwrap().value, 50.0);
    }

    fn series(mode: CallMode, gap_us: Option<f64>) -> Series {
        Series {
            job: Job {
                kind: record::CollectiveKind::AllGather,
                element: record::ElementType::Bf16,
                bytes_per_rank: 50_000_000,
            },
            verify: true,
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
