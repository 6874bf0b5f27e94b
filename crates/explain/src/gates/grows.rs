//! The gate on one size whose collective's time is not that of its neighbours, and on curves that fall a little or rest. A curve that
//! falls to less than half throughout is refused where it is read.

use measure::import::CurvePoint;
use tp_plan::plan;

use super::gate::{Gate, Verdict};
use super::open::Open;
use crate::first_token::{alone, prefill_plan, prompt_tokens};
use crate::growth::{LAUNCH_BOUND, doubtful, outlier};
use crate::inputs::Inputs;

/// Its name.
pub(crate) const CURVE_GROWS: &str = "collectives take longer for more bytes";

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
    let read = read(&inputs.curve, &sent(inputs));
    let is_read = |size: &u64| read.contains(size);
    let is_used = found
        .sizes
        .iter()
        .all(|size| *size >= LAUNCH_BOUND && is_read(size));
    Some(open.is(
        is_used.then_some(false),
        format!("{}: one of the two stands out", found.words),
    ))
}

/// A warning of curves that fall a little or rest, which a switch of the library's protocol may do; `None` where none does.
fn doubted(open: Open, inputs: &Inputs) -> Option<Gate> {
    let own = inputs.curve.iter().filter(|point| point.ranks == inputs.tp);
    let own: Vec<CurvePoint> = own.cloned().collect();
    let mut sent = sent(inputs);
    sent.extend(sent_of_prompts(inputs));
    let doubts = doubtful(&own, &read(&own, &sent));
    (!doubts.is_empty()).then(|| open.with(Verdict::Warned, doubts.join("; ")))
}

/// The sizes of a curve that collectives of these bytes are read from: their own, or those around it.
fn read(curve: &[CurvePoint], sent: &[u64]) -> Vec<u64> {
    let neighbours = sent.iter().flat_map(|bytes| {
        let sizes = || curve.iter().map(|point| point.bytes_per_rank);
        let below = sizes().filter(|size| size <= bytes).max();
        let above = sizes().filter(|size| size >= bytes).min();
        [below, above].into_iter().flatten()
    });
    neighbours.collect()
}

/// Bytes of the prompts' collectives, where a time that is judged holds prompts; none elsewhere.
fn sent_of_prompts(inputs: &Inputs) -> Vec<u64> {
    let run = inputs.runs(inputs.tp).next();
    let run = run.filter(|run| !run.streamed || alone(run).is_ok());
    let (Some(engine), Some(tokens)) = (inputs.engine(inputs.tp), run.and_then(prompt_tokens))
    else {
        return Vec::new();
    };
    let planned = prefill_plan(&inputs.model, engine, tokens);
    planned.iter().map(|of| of.bytes_per_rank).collect()
}

/// Bytes of a decode step's collectives.
fn sent(inputs: &Inputs) -> Vec<u64> {
    let (Some(engine), Some(batch)) = (inputs.engine(inputs.tp), inputs.batch()) else {
        return Vec::new();
    };
    let planned = plan(&inputs.model, engine, batch, None).collectives;
    planned.iter().map(|of| of.bytes_per_rank).collect()
}
