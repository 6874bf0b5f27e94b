//! How a call is timed in one mode: how many calls make a sample, and how many samples all ranks take, in rounds.
//!
//! The parent decides, since all ranks must make the same calls. A sample is the slowest rank's.

use std::time::Duration;

use measure::clock::Monotonic;
use measure::plan::{Plan, Sampling, StopReason};
use measure::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use measure::record::{CallMode, CollectiveKind, CollectiveOutcome, Verification};

use super::group::{Group, Opened, Trouble};
use crate::messages::{Job, RankReply, RankRequest};

/// Calls between two marks last about this long together, so that the marks do not matter.
const WINDOW_US: f64 = 200.0;

/// Calls between two marks at least, and at most.
const CALLS: (u32, u32) = (20, 2000);

/// The same on a virtual clock, which is exact at any length while real bytes are moved for every call.
const VIRTUAL_CALLS: (u32, u32) = (4, 20);

/// Samples in one round at most: between rounds the budget and the interval are looked at.
const ROUND: usize = 10;

/// So many times as many samples of host-synced calls, which are single calls and scatter more.
pub(super) const SYNCED_SAMPLES: u32 = 10;

/// The slowest that memory is filled, compared or reduced, in bytes a second: one step takes so long without a word.
const SLOWEST_BYTES_PER_S: u64 = 100_000_000;

/// Measures a call that is prepared here first, in one mode.
pub(super) fn measure(
    group: &mut Group<'_>,
    opened: &Opened,
    job: Job,
    ranks: u32,
    mode: CallMode,
    plan: Plan,
) -> Result<CollectiveOutcome, Trouble> {
    let longer = |calls: u32| longer(&job, ranks, calls);
    let prepare = |_| RankRequest::Prepare { job };
    let mut verification = Verification::Passed;
    for reply in group.all("preparing", longer(1), prepare)? {
        let RankReply::Prepared { verification: seen } = reply else {
            return Err(group.out_of_turn(&reply));
        };
        verification = worse(verification, seen);
    }
    let least = calls_limits(opened.events).0;
    let first = if mode == CallMode::HostSynced {
        1
    } else {
        least
    };
    let once = match round(group, mode, first, 1, longer(first))? {
        Round::Timed(slowest) => slowest[0],
        Round::NotThere(reason) => return Ok(CollectiveOutcome::NotApplicable { reason }),
    };
    let calls = match mode {
        CallMode::HostSynced => 1,
        CallMode::BackToBack | CallMode::Graph => calls_of(once, opened.events),
    };
    let mut warmup_copies = first + 1;
    if calls != first {
        // A graph of another length is captured here, outside the samples.
        round(group, mode, calls, 1, longer(calls))?;
        warmup_copies += calls;
    }
    let clock = Monotonic::start();
    let sampling = Sampling::start(plan, &clock);
    let mut samples: Vec<f64> = Vec::new();
    let stopped = loop {
        let next = next_round(samples.len(), &plan);
        match round(group, mode, calls, next, longer(calls))? {
            Round::Timed(slowest) => samples.extend(slowest),
            Round::NotThere(reason) => return Ok(CollectiveOutcome::Failed { reason }),
        }
        if let Some(reason) = sampling.stop(&[&samples]) {
            break reason;
        }
    };
    for reply in group.all("comparing the result", longer(1), |_| RankRequest::Check)? {
        let RankReply::Checked { verification: seen } = reply else {
            return Err(group.out_of_turn(&reply));
        };
        verification = worse(verification, seen);
    }
    let timing = Timing {
        source: match mode {
            CallMode::HostSynced => TimeSource::HostMonotonic,
            CallMode::BackToBack | CallMode::Graph => opened.events,
        },
        gate: Gate::None,
        copies_per_sample: calls,
        warmup_copies,
    };
    Ok(outcome(samples, timing, stopped, verification))
}

fn outcome(
    samples: Vec<f64>,
    timing: Timing,
    stopped: StopReason,
    verification: Verification,
) -> CollectiveOutcome {
    let positive = samples.iter().all(|sample| *sample > 0.0);
    let time = Quantity::from_samples(samples, Unit::Microseconds, timing, stopped);
    match time.filter(|_| positive) {
        Some(time) => CollectiveOutcome::Measured {
            time: Box::new(time),
            verification,
        },
        None => CollectiveOutcome::Failed {
            reason: "a time was zero or not a number".to_owned(),
        },
    }
}

/// What came of a round.
enum Round {
    /// The slowest rank's time of each sample, in microseconds.
    Timed(Vec<f64>),
    /// The backend does not have the mode.
    NotThere(String),
}

fn round(
    group: &mut Group<'_>,
    mode: CallMode,
    calls: u32,
    samples: u32,
    longer: Duration,
) -> Result<Round, Trouble> {
    let request = |_| RankRequest::Time {
        mode,
        calls,
        samples,
    };
    let mut ranks: Vec<Vec<f64>> = Vec::new();
    for reply in group.all("timing", longer, request)? {
        match reply {
            RankReply::Timed { microseconds } if microseconds.len() == samples as usize => {
                ranks.push(microseconds);
            }
            RankReply::NotThere { reason } => return Ok(Round::NotThere(reason)),
            other => return Err(group.out_of_turn(&other)),
        }
    }
    Ok(Round::Timed(slowest(&ranks)))
}

/// The slowest rank's time of each sample; all ranks took the same samples.
fn slowest(ranks: &[Vec<f64>]) -> Vec<f64> {
    let samples = ranks.first().map_or(0, Vec::len);
    let of_all = |sample: usize| ranks.iter().map(move |times| times[sample]);
    (0..samples)
        .map(|sample| of_all(sample).fold(0.0, f64::max))
        .collect()
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
fn calls_of(microseconds: f64, events: TimeSource) -> u32 {
    let (least, most) = calls_limits(events);
    let wanted = (WINDOW_US / microseconds.max(1e-3)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 4..=2000"
    )]
    let calls = wanted.clamp(f64::from(least), f64::from(most)) as u32;
    calls
}

fn calls_limits(events: TimeSource) -> (u32, u32) {
    match events {
        TimeSource::VirtualClock => VIRTUAL_CALLS,
        TimeSource::DeviceEvent | TimeSource::HostMonotonic => CALLS,
    }
}

/// How much longer than the deadline a step may be silent, which goes over all bytes once for each call.
fn longer(job: &Job, ranks: u32, calls: u32) -> Duration {
    let times = match job.kind {
        CollectiveKind::AllReduce => 1,
        CollectiveKind::AllGather => u64::from(ranks),
    };
    let bytes = job
        .bytes_per_rank
        .saturating_mul(times)
        .saturating_mul(u64::from(calls));
    Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST_BYTES_PER_S)
}

/// Wrong data outranks all, and what was not asked for is not a pass.
fn worse(so_far: Verification, seen: Verification) -> Verification {
    match (&so_far, &seen) {
        (Verification::WrongData { .. }, _) | (_, Verification::Passed) => so_far,
        _ => seen,
    }
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
        let of = |us| calls_of(us, TimeSource::DeviceEvent);
        assert_eq!((of(5.0), of(64.0), of(0.01)), (40, 20, 2000));
        // On a virtual clock 4 at least and 20 at most.
        let of = |us| calls_of(us, TimeSource::VirtualClock);
        assert_eq!((of(64.0), of(1.0)), (4, 20));
    }

    #[test]
    fn a_sample_is_the_slowest_ranks() {
        let ranks = [vec![1.0, 5.0, 2.0], vec![3.0, 4.0, 2.0]];
        assert_eq!(slowest(&ranks), [3.0, 5.0, 2.0]);
    }

    #[test]
    fn wrong_data_is_not_forgotten() {
        let wrong = Verification::WrongData {
            seen: "element 0".to_owned(),
        };
        assert_eq!(worse(wrong.clone(), Verification::Passed), wrong);
        assert_eq!(worse(Verification::Passed, wrong.clone()), wrong);
        let not_asked = worse(Verification::Passed, Verification::NotAsked);
        assert_eq!(not_asked, Verification::NotAsked);
    }

    #[test]
    fn a_step_over_many_bytes_may_take_longer() {
        let job = Job {
            kind: CollectiveKind::AllGather,
            element: measure::record::ElementType::Bf16,
            bytes_per_rank: 50_000_000,
            verify: true,
        };
        // 2 ranks x 50 MB x 3 calls at 100 MB/s are 3 s.
        assert_eq!(longer(&job, 2, 3), Duration::from_secs(3));
    }
}
