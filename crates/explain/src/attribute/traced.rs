//! Collectives as a tracer saw them inside the engine, in place of a curve.

use measure::import::Trace;
use measure::import::trace::{TraceKernel, TracedCollective};
use measure::record::{CollectiveKind, CollectivePath, PlannedCollective};

use super::cost::Term;
use super::deck::{Deck, Knob};
use crate::inputs::Inputs;

/// Fewer steps than this are few to stand for all.
const FEW_STEPS: f64 = 5.0;

/// How far the number of calls may lie from whole steps, as a part of a step.
const WHOLE: f64 = 0.02;

/// One operation's calls in a trace.
#[derive(Debug, Clone, Copy)]
struct Seen {
    calls: f64,
    mean_us: f64,
    /// Standard deviation of one call, us; `None` where the file has none.
    deviation_us: Option<f64>,
}

/// The plan's terms with those that a trace tells in place of a curve's; what there is to say about it. Without a curve the
/// others are missing.
pub(super) fn traced(
    inputs: &Inputs,
    planned: &[PlannedCollective],
    terms: Option<Vec<Term>>,
    deck: &mut Deck,
) -> (Option<Vec<Term>>, Vec<String>) {
    let Some(trace) = &inputs.evidence.trace else {
        return (terms, Vec::new());
    };
    let mut said = Vec::new();
    let Some((reduces, way)) = all_reduces(trace, planned, &mut said) else {
        said.push(format!(
            "the trace ({}) holds no all-reduce of a name that is known here: left out",
            trace.origin
        ));
        return (terms, said);
    };
    let of_way = |of: &&PlannedCollective| match way {
        Way::OneForEach => of.kind == CollectiveKind::AllReduce,
        Way::OneForAll => true,
    };
    let count: u32 = planned.iter().filter(of_way).map(|of| of.count).sum();
    let steps = reduces.calls / f64::from(count.max(1));
    if steps < 1.0 {
        said.push(format!(
            "the trace ({}) holds {} all-reduces, less than the {count} of one step: left out; trace some decode steps, with nsys under graphs with --cuda-graph-trace=node",
            trace.origin, reduces.calls
        ));
        return (terms, said);
    }
    let Some(prior) = inputs.prior("in_trace") else {
        return (terms, said);
    };
    deck.add(Knob::InTrace, prior);
    if (steps - steps.round()).abs() > WHOLE {
        said.push(format!(
            "the trace's {} all-reduces are no whole number of steps of {count}: it holds other steps too, or the plan is not the engine's",
            reduces.calls
        ));
    } else if steps < FEW_STEPS {
        said.push(format!(
            "the trace holds {steps:.0} steps times GPUs, which are few"
        ));
    }
    said.push("a traced collective's time holds its wait for the rank that comes later: skew is in it, and not in a curve of calls alone".to_owned());
    let gathers = of_kind(trace, |of| of.kind == Some(CollectiveKind::AllGather));
    let words = format!(
        "trace {}: {} calls, {steps:.1} steps times GPUs of {count} all-reduces each",
        trace.origin, reduces.calls
    );
    let mut result = Vec::new();
    for (index, of) in planned.iter().enumerate() {
        let seen = match (of.kind, way) {
            (CollectiveKind::AllReduce, _) | (_, Way::OneForAll) => Some(reduces),
            (CollectiveKind::AllGather, Way::OneForEach) => gathers,
            _ => None,
        };
        if let Some(seen) = seen {
            let relative = |deviation: f64| deviation / steps.sqrt() / seen.mean_us;
            let spread = seen.deviation_us.map(relative);
            result.push(Term::traced(of, seen.mean_us, spread, &words));
        } else if let Some(term) = terms.as_ref().and_then(|terms| terms.get(index)) {
            result.push(term.clone());
        } else {
            said.push(format!(
                "the trace holds no {} ({}), and there is no curve: it is in what stays unexplained",
                of.kind, of.role
            ));
        }
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

fn all_reduces(
    trace: &Trace,
    planned: &[PlannedCollective],
    said: &mut Vec<String>,
) -> Option<(Seen, Way)> {
    let reduces = planned
        .iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce);
    let path = reduces.max_by_key(|of| of.count)?.path;
    let by = |path| {
        let is_one = move |of: TracedCollective| {
            of.kind == Some(CollectiveKind::AllReduce) && of.path == path
        };
        Some((of_kind(trace, is_one)?, Way::OneForEach))
    };
    let other = match path {
        CollectivePath::Library => CollectivePath::Custom,
        CollectivePath::Custom => CollectivePath::Library,
    };
    let planned_way = by(path);
    let one_for_all = || Some((of_kind(trace, |of| of.kind.is_none())?, Way::OneForAll));
    if path == CollectivePath::Library && planned_way.is_none() {
        let found = one_for_all();
        if found.is_some() {
            said.push("the library has one kernel for all operations: the mean over its calls stands for each".to_owned());
            return found;
        }
    }
    match (planned_way, by(other)) {
        (Some(found), None) => Some(found),
        (Some(found), Some((more, _))) => {
            said.push(format!(
                "the trace holds {} all-reduces by {other} besides, which are left out: prefill takes that way, or the plan's {path} is wrong for some",
                more.calls
            ));
            Some(found)
        }
        (None, Some(found)) => {
            said.push(format!(
                "by its rules the engine reduces by {path}; the trace holds only all-reduces by {other}, which are taken"
            ));
            Some(found)
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
    Some(Seen {
        calls,
        mean_us,
        deviation_us: squares.map(|squares| (squares / calls).sqrt()),
    })
}
