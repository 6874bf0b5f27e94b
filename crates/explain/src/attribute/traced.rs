//! Collectives as a tracer saw them inside the engine, in place of a curve.
//!
//! It is direct evidence where the trace is of whole decode steps by the plan's path. Where it is not, it is grade D and leaves a
//! measured curve in its place.

use import::trace::{Trace, TraceKernel, TracedCollective};
use record::{CollectiveKind, PlannedCollective};

use super::cost::Term;
use super::deck::{Deck, Knob};
use super::result::{CollectiveCost, TimeSource};
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::range::{Grade, count};

/// Calls that are off a whole number of steps by more than this part of one are of other steps, too.
const WHOLE: f64 = 0.02;

/// A mean so many times the median holds calls of prompts, too, which take longer.
const APART: f64 = 1.1;

/// What is left of a mean of which nothing but its deviation is known.
const FLOOR: f64 = 0.1;

/// Deviations of a normal distribution that hold 90%.
const DEVIATIONS: f64 = 1.645;

/// Calls of some kernels together.
#[derive(Debug, Clone, Copy)]
struct Calls {
    calls: f64,
    mean_us: f64,
    deviation_us: Option<f64>,
    /// What a call of a decode step takes at least: the median, else the mean less its deviation.
    least_us: Option<f64>,
}

impl Calls {
    fn of(trace: &Trace, is_one: impl Fn(TracedCollective) -> bool) -> Option<Self> {
        let kernels = trace.kernels.iter();
        let kernels = kernels.filter(|kernel| kernel.collective.is_some_and(&is_one));
        let weighed: Vec<(f64, &TraceKernel)> = kernels
            .map(|kernel| (count(kernel.calls), kernel))
            .collect();
        let calls: f64 = weighed.iter().map(|(calls, _)| calls).sum();
        let total: f64 = weighed.iter().map(|(_, kernel)| kernel.total_us).sum();
        if calls <= 0.0 || total <= 0.0 {
            return None;
        }
        let mean_us = total / calls;
        let square = |(calls, kernel): &(f64, &TraceKernel)| {
            let (apart, own) = (kernel.mean_us() - mean_us, kernel.deviation_us?);
            Some(calls * (own * own + apart * apart))
        };
        let squares: Option<f64> = weighed.iter().map(square).sum();
        let deviation_us = squares.map(|squares| (squares / calls).sqrt());
        let medians: Option<Vec<f64>> =
            weighed.iter().map(|(_, kernel)| kernel.median_us).collect();
        let median = medians.and_then(|medians| medians.into_iter().reduce(f64::min));
        let below = || deviation_us.map(|deviation| (mean_us - deviation).max(FLOOR * mean_us));
        Some(Self {
            calls,
            mean_us,
            deviation_us,
            least_us: median.or_else(below),
        })
    }

    fn is_mixed(&self) -> bool {
        let is_above = |least: f64| self.mean_us > APART * least;
        self.least_us.is_none_or(is_above)
    }

    /// What a call of a decode step takes, and the relative spread of it: between the least and the mean where prompts may be in it.
    fn of_decode(&self, steps: f64) -> (f64, Option<f64>) {
        let relative = self.deviation_us.map(|of| of / steps.sqrt() / self.mean_us);
        let least = self.least_us.filter(|_| self.is_mixed());
        least.map_or((self.mean_us, relative), |least| {
            let apart = (self.mean_us / least).ln() / (2.0 * DEVIATIONS);
            ((self.mean_us * least).sqrt(), Some(apart))
        })
    }
}

/// The planned collectives with the trace's times where it has them, and what there is to say of it.
pub(super) fn traced(
    inputs: &Inputs,
    planned: &[PlannedCollective],
    terms: Option<Vec<Term>>,
    deck: &mut Deck,
) -> (Option<Vec<Term>>, Vec<Finding>) {
    let (Some(trace), Some(prior)) = (&inputs.evidence.trace, inputs.prior("in_trace")) else {
        return (terms, Vec::new());
    };
    let doubt = |calls: f64| vec![Finding::TraceDoubtful { calls }];
    let reduces = planned
        .iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce);
    let path = reduces.max_by_key(|of| of.count).map(|of| of.path);
    let is_reduce = |of: TracedCollective| of.kind == Some(CollectiveKind::AllReduce);
    let by_plan = Calls::of(trace, |of| is_reduce(of) && Some(of.path) == path);
    // One kernel of the library for all kinds.
    let generic = || Calls::of(trace, |of| of.kind.is_none() && Some(of.path) == path);
    let (found, for_all) = match by_plan {
        Some(found) => (Some(found), false),
        None => (generic(), true),
    };
    let is_planned = found.is_some();
    let Some(found) = found.or_else(|| Calls::of(trace, is_reduce)) else {
        return (terms, doubt(0.0));
    };
    let for_all = for_all && is_planned;
    let of_kernel = |of: &&PlannedCollective| for_all || of.kind == CollectiveKind::AllReduce;
    let count: u32 = planned.iter().filter(of_kernel).map(|of| of.count).sum();
    let steps = found.calls / f64::from(count.max(1));
    if steps < 1.0 {
        return (terms, doubt(found.calls));
    }
    let is_whole = (steps - steps.round()).abs() <= WHOLE;
    let said = match is_planned && is_whole && !found.is_mixed() {
        true => Vec::new(),
        false => doubt(found.calls),
    };
    let grade = if said.is_empty() { Grade::A } else { Grade::D };
    let is_better = |terms: &Vec<Term>| terms.iter().all(|term| term.cost.grade < grade);
    if terms.as_ref().is_some_and(is_better) {
        return (terms, said);
    }
    deck.add(Knob::InTrace, prior);
    let gathers = Calls::of(trace, |of| of.kind == Some(CollectiveKind::AllGather));
    let source = TimeSource::Trace {
        origin: trace.origin.clone(),
        calls: found.calls,
        steps,
    };
    let term = |(index, of): (usize, &PlannedCollective)| {
        let calls = match of.kind {
            _ if for_all => Some(found),
            CollectiveKind::AllReduce => Some(found),
            _ => gathers,
        };
        let by_curve = || terms.as_ref()?.get(index).cloned();
        let Some(calls) = calls else {
            return by_curve();
        };
        let (us, spread) = calls.of_decode(steps);
        Some(Term {
            cost: CollectiveCost::of(of, us, grade, source.clone()),
            spread: spread.unwrap_or(0.0),
            is_unstated: spread.is_none(),
            beyond: None,
            factors: vec![Knob::InTrace],
        })
    };
    let all = planned.iter().enumerate().filter_map(term).collect();
    (Some(all), said)
}
