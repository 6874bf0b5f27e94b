//! How a call is timed in one mode: how many calls make a sample, and how many samples all ranks take, in rounds.
//!
//! The parent decides, since all ranks must make the same calls. A sample is the slowest rank's mean over the calls of one batch,
//! which host-synced is a single call. Interleaved it is what the slowest rank takes for a gap and a call less what the slowest one
//! takes for the gap alone, both means over batches that follow each other: a single one may be negative, the median not.

mod series;

use program::Effort;
use record::clock::Monotonic;
use record::plan::{Plan, Sampling, StopReason};
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::{CallMode, CollectiveOutcome, Verification};

use super::group::{Group, Trouble};
use crate::messages::{Job, RankReply, RankRequest};
use series::{Series, Taken};

/// Calls between two marks last about this long together, so that the marks do not matter.
const WINDOW_US: f64 = 200.0;

/// Samples in one round at most: between rounds the budget and the interval are looked at.
const ROUND: usize = 10;

/// So many times as many samples of host-synced calls, which are single calls and scatter more.
pub(super) const SYNCED_SAMPLES: u32 = 10;

/// Samples that a 99th percentile needs: host-synced calls are not enough before, however narrow the interval of the median is.
const FOR_P99: usize = 200;

/// Measures a call that is prepared here first, in one mode. `gap_us` is how long the work between two interleaved calls is to take.
pub(super) fn measure(
    group: &mut Group<'_>,
    job: Job,
    ranks: u32,
    mode: CallMode,
    plan: Plan,
    gap_us: f64,
) -> Result<CollectiveOutcome, Trouble> {
    let events = group.opened.events;
    let series = Series {
        job,
        ranks,
        mode,
        gap_us: (mode == CallMode::Interleaved).then_some(gap_us),
    };
    let mut verification = Verification::Passed;
    for reply in group.prepare("preparing", series.longer(1), job)? {
        match reply {
            RankReply::Prepared { verification: seen } => {
                verification = worse(verification, seen);
            }
            RankReply::NotThere { reason } => {
                return Ok(CollectiveOutcome::NotApplicable { reason });
            }
            other => return Err(group.out_of_turn(&other)),
        }
    }
    let first = match mode {
        CallMode::HostSynced => 1,
        _ => Effort::timed_by(events).calls.0,
    };
    let once = match series.round(group, first, 1)? {
        Ok(taken) => taken.slowest[0],
        Err(reason) => return Ok(CollectiveOutcome::NotApplicable { reason }),
    };
    let calls = match mode {
        CallMode::HostSynced => 1,
        _ => calls_of(once, mode, events),
    };
    let mut warmup_copies = first + 1;
    if calls != first {
        // A graph of another length is captured here, outside the samples.
        if let Err(reason) = series.round(group, calls, 1)? {
            return Ok(CollectiveOutcome::Failed { reason });
        }
        warmup_copies += calls;
    }
    let clock = Monotonic::start();
    let sampling = Sampling::start(plan, &clock);
    let mut taken = Taken::default();
    let stopped = loop {
        let next = next_round(taken.slowest.len(), &plan);
        match series.round(group, calls, next)? {
            Ok(more) => taken.append(more),
            Err(reason) => return Ok(CollectiveOutcome::Failed { reason }),
        }
        let times = taken.times();
        match sampling.stop(&[&times]) {
            Some(StopReason::IntervalNarrow) if !is_enough(mode, times.len()) => {}
            Some(reason) => break reason,
            None => {}
        }
    };
    let check = |_| RankRequest::Check;
    for reply in group.all("comparing the result", series.longer(1), check)? {
        let RankReply::Checked { verification: seen } = reply else {
            return Err(group.out_of_turn(&reply));
        };
        verification = worse(verification, seen);
    }
    let timing = Timing {
        source: match mode {
            CallMode::HostSynced => TimeSource::HostMonotonic,
            _ => events,
        },
        gate: taken.gate.unwrap_or(Gate::None),
        copies_per_sample: calls,
        warmup_copies,
    };
    Ok(outcome(taken, timing, stopped, verification))
}

fn outcome(
    taken: Taken,
    timing: Timing,
    stopped: StopReason,
    verification: Verification,
) -> CollectiveOutcome {
    let quantity = |samples| Quantity::from_samples(samples, Unit::Microseconds, timing, stopped);
    let is_interleaved = !taken.gaps.is_empty();
    let times = taken.times();
    let positive = times.iter().all(|time| *time > 0.0);
    let gap = quantity(taken.gaps).filter(|_| is_interleaved);
    let time = quantity(times);
    match (time, gap) {
        (Some(time), gap) if positive || (gap.is_some() && time.value > 0.0) => {
            CollectiveOutcome::Measured {
                time: Box::new(time),
                verification,
                gap: gap.map(Box::new),
            }
        }
        (Some(_), Some(gap)) => CollectiveOutcome::Failed {
            reason: format!(
                "the spread of the gap of {:.1} us hides the call; use a smaller --gap",
                gap.value
            )
            .into(),
        },
        _ => CollectiveOutcome::Failed {
            reason: "a time was zero or not a number".into(),
        },
    }
}

/// Whether as many samples are enough where their interval is narrow.
fn is_enough(mode: CallMode, samples: usize) -> bool {
    mode != CallMode::HostSynced || samples >= FOR_P99
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
        CallMode::Graph | CallMode::Interleaved => effort.graph_window_us,
        _ => WINDOW_US,
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

/// Wrong data outranks all, and what was not asked for is not a pass.
fn worse(so_far: Verification, seen: Verification) -> Verification {
    match (&so_far, &seen) {
        (Verification::WrongData { .. }, _) | (_, Verification::Passed) => so_far,
        _ => seen,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
}
