//! Collectives as a tracer saw them inside the engine, in place of a curve.
//!
//! A table of sums tells no step from another. Prompts' all-reduces are longer than those of decoding, so that they draw the mean
//! of all calls away from the median: such a trace is no direct evidence, and neither is one by another way than the plan's, or of
//! a number of calls that is no whole number of steps.

use import::Trace;
use import::trace::{TraceKernel, TracedCollective};
use record::{CollectiveKind, CollectivePath, PlannedCollective};

use super::cost::Term;
use super::deck::{Deck, Knob};
use super::result::TimeSource;
use crate::finding::{Finding, TraceDoubt};
use crate::grade::Grade;
use crate::inputs::Inputs;

/// Fewer steps than this are few to stand for all.
const FEW_STEPS: f64 = 5.0;

/// How far the number of calls may lie from whole steps, as a part of a step.
const WHOLE: f64 = 0.02;

/// Means and medians of calls of one size lie within this of each other. Ranks that wait for each other draw them apart by less.
const APART: f64 = 1.1;

/// A call takes at least this part of the mean, whatever the deviation.
const FLOOR: f64 = 0.1;

/// Half a 90% interval in standard deviations of a normal distribution.
const DEVIATIONS: f64 = 1.645;

/// One operation's calls in a trace.
#[derive(Debug, Clone, Copy)]
struct Seen {
    calls: f64,
    mean_us: f64,
    /// Standard deviation of one call, us; `None` where the file has none.
    deviation_us: Option<f64>,
    /// What a call of a decode step takes at least, us: the least of the kernels' medians, or where the file has none, the mean
    /// less a deviation, below which no median lies. `None` where it has neither.
    least_us: Option<f64>,
}

impl Seen {
    /// Whether calls of several sizes are among them, or may be.
    fn is_mixed(&self) -> bool {
        self.least_us
            .is_none_or(|least| self.mean_us > APART * least)
    }

    /// Time of a call of a decode step, with the relative standard error of a mean over so many steps; `None` where nothing tells
    /// that. Of mixed calls it lies between the median and the mean.
    fn of_decode(&self, steps: f64) -> (f64, Option<f64>) {
        match self.least_us {
            Some(least) if self.is_mixed() => {
                let apart = (self.mean_us / least).ln();
                (
                    (self.mean_us * least).sqrt(),
                    Some(apart / (2.0 * DEVIATIONS)),
                )
            }
            _ => {
                let relative = |deviation: f64| deviation / steps.sqrt() / self.mean_us;
                (self.mean_us, self.deviation_us.map(relative))
            }
        }
    }
}

/// The plan's terms with those that a trace tells in place of a curve's; what there is to say about it. Without a curve the
/// others are missing.
pub(super) fn traced(
    inputs: &Inputs,
    planned: &[PlannedCollective],
    terms: Option<Vec<Term>>,
    deck: &mut Deck,
) -> (Option<Vec<Term>>, Vec<Finding>) {
    let Some(trace) = &inputs.evidence.trace else {
        return (terms, Vec::new());
    };
    let doubt = |why: TraceDoubt, calls: f64| Finding::TraceDoubtful { why, calls };
    let mut said = Vec::new();
    let Some((reduces, way, by_plan)) = all_reduces(trace, planned, &mut said) else {
        said.push(doubt(TraceDoubt::NoAllReduce, 0.0));
        return (terms, said);
    };
    let doubt = |why: TraceDoubt| doubt(why, reduces.calls);
    let of_way = |of: &&PlannedCollective| match way {
        Way::OneForEach => of.kind == CollectiveKind::AllReduce,
        Way::OneForAll => true,
    };
    let count: u32 = planned.iter().filter(of_way).map(|of| of.count).sum();
    let steps = reduces.calls / f64::from(count.max(1));
    if steps < 1.0 {
        said.push(doubt(TraceDoubt::LessThanAStep));
        return (terms, said);
    }
    let Some(prior) = inputs.prior("in_trace") else {
        return (terms, said);
    };
    deck.add(Knob::InTrace, prior);
    let mut grade = if by_plan { Grade::A } else { Grade::D };
    if reduces.is_mixed() {
        grade = Grade::D;
        said.push(doubt(TraceDoubt::Mixed));
    }
    if (steps - steps.round()).abs() > WHOLE {
        grade = Grade::D;
        said.push(doubt(TraceDoubt::NotWholeSteps));
    } else if steps < FEW_STEPS {
        said.push(doubt(TraceDoubt::FewSteps));
    }
    let gathers = of_kind(trace, |of| of.kind == Some(CollectiveKind::AllGather));
    let source = TimeSource::Trace {
        origin: trace.origin.clone(),
        calls: reduces.calls,
        steps,
    };
    let (mut result, mut is_left_out) = (Vec::new(), false);
    for (index, of) in planned.iter().enumerate() {
        let seen = match (of.kind, way) {
            (CollectiveKind::AllReduce, _) | (_, Way::OneForAll) => Some(reduces),
            (CollectiveKind::AllGather, Way::OneForEach) => gathers,
            _ => None,
        };
        let by_curve = terms.as_ref().and_then(|terms| terms.get(index));
        let better = by_curve.filter(|term| term.cost.grade < grade);
        if let Some(term) = better.or(by_curve.filter(|_| seen.is_none())) {
            is_left_out |= better.is_some();
            result.push(term.clone());
        } else if let Some(seen) = seen {
            let (us, spread) = seen.of_decode(steps);
            result.push(Term::traced(of, us, spread, grade, source.clone()));
        } else {
            said.push(doubt(TraceDoubt::NoGather));
        }
    }
    if is_left_out {
        said.push(doubt(TraceDoubt::CurveIsBetter));
    }
    (Some(result), said)
}

/// Whose kernels are taken for the all-reduces.
#[derive(Debug, Clone, Copy)]
enum Way {
    OneForEach,
    /// One kernel of the library does all operations.
    OneForAll,
}

/// The calls that stand for the plan's all-reduces, whose kernels they are, and whether they went the plan's way.
fn all_reduces(
    trace: &Trace,
    planned: &[PlannedCollective],
    said: &mut Vec<Finding>,
) -> Option<(Seen, Way, bool)> {
    let reduces = planned
        .iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce);
    let path = reduces.max_by_key(|of| of.count)?.path;
    let by = |path| {
        let is_one = move |of: TracedCollective| {
            of.kind == Some(CollectiveKind::AllReduce) && of.path == path
        };
        of_kind(trace, is_one)
    };
    let other = match path {
        CollectivePath::Library => CollectivePath::Custom,
        CollectivePath::Custom => CollectivePath::Library,
    };
    let planned_way = by(path);
    if path == CollectivePath::Library
        && planned_way.is_none()
        && let Some(found) = of_kind(trace, |of| of.kind.is_none())
    {
        return Some((found, Way::OneForAll, true));
    }
    let other_path = |calls: f64| Finding::TraceDoubtful {
        why: TraceDoubt::OtherPath(other),
        calls,
    };
    match (planned_way, by(other)) {
        (Some(found), None) => Some((found, Way::OneForEach, true)),
        (Some(found), Some(more)) => {
            said.push(other_path(more.calls));
            Some((found, Way::OneForEach, true))
        }
        (None, Some(found)) => {
            said.push(other_path(found.calls));
            Some((found, Way::OneForEach, false))
        }
        (None, None) => None,
    }
}

/// All calls of some kernels together.
fn of_kind(trace: &Trace, is_one: impl Fn(TracedCollective) -> bool) -> Option<Seen> {
    let kernels = trace.kernels.iter();
    let kernels: Vec<&TraceKernel> = kernels
        .filter(|kernel| kernel.collective.is_some_and(&is_one))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "calls are far below 2^53")]
    let weighed: Vec<(f64, &TraceKernel)> = kernels
        .into_iter()
        .map(|kernel| (kernel.calls as f64, kernel))
        .collect();
    let calls: f64 = weighed.iter().map(|(calls, _)| calls).sum();
    let total: f64 = weighed.iter().map(|(_, kernel)| kernel.total_us).sum();
    if calls <= 0.0 || total <= 0.0 {
        return None;
    }
    let mean_us = total / calls;
    let squares: Option<f64> = weighed
        .iter()
        .map(|(calls, kernel)| {
            let apart = kernel.mean_us() - mean_us;
            let own = kernel.deviation_us?;
            Some(calls * (own * own + apart * apart))
        })
        .sum();
    let deviation_us = squares.map(|squares| (squares / calls).sqrt());
    let medians: Option<Vec<f64>> = weighed.iter().map(|(_, kernel)| kernel.median_us).collect();
    let median = medians.and_then(|medians| medians.into_iter().reduce(f64::min));
    let below = || deviation_us.map(|deviation| (mean_us - deviation).max(FLOOR * mean_us));
    Some(Seen {
        calls,
        mean_us,
        deviation_us,
        least_us: median.or_else(below),
    })
}
