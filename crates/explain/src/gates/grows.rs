//! The gate on one size whose collective's time is not that of its neighbours, and on curves that fall a little or rest. A curve that
//! falls to less than half throughout is refused where it is read.

use measure::import::CurvePoint;
use tp_plan::plan;

use super::gate::{Gate, Verdict};
use super::open::Open;
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
        return doubted(open, &inputs.curve);
    };
    let sent = sent(inputs);
    let is_read = |size: &u64| {
        let neighbours = sent.iter().flat_map(|bytes| {
            let sizes = || inputs.curve.iter().map(|point| point.bytes_per_rank);
            let below = sizes().filter(|size| size <= bytes).max();
            let above = sizes().filter(|size| size >= bytes).min();
            [below, above].into_iter().flatten()
        });
        neighbours.into_iter().any(|neighbour| neighbour == *size)
    };
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
fn doubted(open: Open, curve: &[CurvePoint]) -> Option<Gate> {
    let doubts = doubtful(curve);
    (!doubts.is_empty()).then(|| open.with(Verdict::Warned, doubts.join("; ")))
}

/// Bytes of a decode step's collectives.
fn sent(inputs: &Inputs) -> Vec<u64> {
    let (Some(engine), Some(batch)) = (inputs.engine(inputs.tp), inputs.batch()) else {
        return Vec::new();
    };
    let planned = plan(&inputs.model, engine, batch, None).collectives;
    planned.iter().map(|of| of.bytes_per_rank).collect()
}
