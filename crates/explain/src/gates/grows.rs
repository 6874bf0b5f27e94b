//! The gate on one size whose collective's time is not that of its neighbours, and on curves that fall a little or rest. A curve that
//! falls to less than half throughout is refused where it is read.
//!
//! Each curve is held against the sizes that are read from it: that of another operation, mode or kernel says nothing of a step.

use measure::import::CurvePoint;
use measure::record::PlannedCollective;
use tp_plan::plan;

use super::gate::{Gate, Verdict};
use super::open::Open;
use crate::attribute::cost::{Curves, ReadAt};
use crate::attribute::deck::Deck;
use crate::first_token::{alone, prefill_plan, prompt_tokens};
use crate::growth::{LAUNCH_BOUND, doubtful, outlier};
use crate::inputs::Inputs;

/// Its name.
pub(crate) const CURVE_GROWS: &str = "collectives take longer for more bytes";

/// Calls that make up less than this part of a step's are few: what is odd where they alone are read says nothing of the others.
const FEW: f64 = 0.1;

/// A reservation; where the step's own collectives are read at that size and its bytes must show, the gate fails. `None` where no
/// size stands out.
pub(super) fn curve_grows(inputs: &Inputs) -> Option<Gate> {
    let open = Open::new(
        CURVE_GROWS,
        "no message takes less than half as long as a smaller one",
        "measure the collectives again, with more calls",
    );
    let Some(found) = outlier(&inputs.curve) else {
        return doubted(open, inputs);
    };
    let curve: Vec<&CurvePoint> = found.curve.iter().collect();
    let read = around(&curve, &read_of_step(inputs).all);
    let is_used = found
        .sizes
        .iter()
        .all(|size| *size >= LAUNCH_BOUND && read.contains(size));
    Some(open.is(
        is_used.then_some(false),
        format!("{}: one of the two stands out", found.words),
    ))
}

/// A warning of curves that fall a little or rest, which a switch of the library's protocol may do; a reservation where only few calls
/// of a step are read there. `None` where no curve does.
fn doubted(open: Open, inputs: &Inputs) -> Option<Gate> {
    let own = inputs.curve.iter().filter(|point| point.ranks == inputs.tp);
    let points: Vec<CurvePoint> = own.cloned().collect();
    let mut read = read_of_step(inputs);
    let of_prompts = read_at(inputs, &planned_of_prompts(inputs));
    read.many.extend(&of_prompts);
    read.all.extend(of_prompts);
    let doubts = |read: &[ReadAt]| doubtful(&points, &|curve| around(curve, read)).join("; ");
    let (of_many, of_all) = (doubts(&read.many), doubts(&read.all));
    match (of_many.is_empty(), of_all.is_empty()) {
        (false, _) => Some(open.with(Verdict::Warned, of_many)),
        (true, false) => Some(open.is(
            None,
            format!("{of_all}, where few calls of a step are read, and the others are not"),
        )),
        (true, true) => None,
    }
}

/// Where a decode step's collectives are read.
#[derive(Default)]
struct ReadOfStep {
    /// All of them.
    all: Vec<ReadAt>,
    /// Those of sizes that more than [`FEW`] of its calls have.
    many: Vec<ReadAt>,
}

/// The sizes of a curve that collectives are read from: their own, or those around it.
fn around(curve: &[&CurvePoint], read: &[ReadAt]) -> Vec<u64> {
    let Some(first) = curve.first() else {
        return Vec::new();
    };
    let sizes = || curve.iter().map(|point| point.bytes_per_rank);
    let of_curve = read.iter().filter(|read| read.is_of(first));
    let neighbours = of_curve.flat_map(|read| {
        let below = sizes().filter(|size| *size <= read.bytes).max();
        let above = sizes().filter(|size| *size >= read.bytes).min();
        [below, above].into_iter().flatten()
    });
    neighbours.collect()
}

/// Where planned collectives are read by this box's curve; nothing where none is.
fn read_at(inputs: &Inputs, planned: &[PlannedCollective]) -> Vec<ReadAt> {
    let curves = inputs.batch().and_then(|batch| {
        let eager = inputs.is_eager(batch);
        Curves::choose(inputs, eager, planned, &mut Deck::new(inputs, eager)?)
    });
    let on_cpus = inputs.is_on_cpus();
    let read = planned
        .iter()
        .filter_map(|of| curves.as_ref()?.taken_from(of));
    read.map(|read| match on_cpus {
        true => read.of_engine_on_cpus(),
        false => read,
    })
    .collect()
}

/// The same of a decode step.
fn read_of_step(inputs: &Inputs) -> ReadOfStep {
    let (Some(engine), Some(batch)) = (inputs.engine(inputs.tp), inputs.batch()) else {
        return ReadOfStep::default();
    };
    let planned = plan(&inputs.model, engine, batch, None).collectives;
    let calls = |of: &[&PlannedCollective]| of.iter().map(|of| f64::from(of.count)).sum::<f64>();
    let whole = calls(&planned.iter().collect::<Vec<_>>());
    let is_many = |one: &PlannedCollective| {
        let alike = planned
            .iter()
            .filter(|of| (of.kind, of.bytes_per_rank) == (one.kind, one.bytes_per_rank));
        calls(&alike.collect::<Vec<_>>()) > FEW * whole
    };
    let all = read_at(inputs, &planned);
    // Where all are read by a curve of this box, one stands for each.
    let many = all.iter().zip(&planned).filter(|(_, of)| is_many(of));
    ReadOfStep {
        many: many.map(|(read, _)| *read).collect(),
        all,
    }
}

/// Prompts' collectives, where a time that is judged holds prompts; none elsewhere.
fn planned_of_prompts(inputs: &Inputs) -> Vec<PlannedCollective> {
    let run = inputs.runs(inputs.tp).next();
    let run = run.filter(|run| !run.streamed || alone(run).is_ok());
    let (Some(engine), Some(tokens)) = (inputs.engine(inputs.tp), run.and_then(prompt_tokens))
    else {
        return Vec::new();
    };
    prefill_plan(&inputs.model, engine, tokens)
}
