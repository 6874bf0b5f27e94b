//! Several times of one size on one curve that are far apart.

use import::CurvePoint;

use crate::finding::Finding;
use crate::inputs::Inputs;

/// Times of one call further apart than this factor disagree.
const APART: f64 = 1.2;

/// Where two times of one size disagree most. The spread of a curve's repeats holds both.
pub(crate) fn disagreeing(inputs: &Inputs) -> Option<Finding> {
    let points: Vec<CurvePoint> = inputs.usable_curve();
    let alike = |a: &CurvePoint, b: &CurvePoint| {
        let of = |point: &CurvePoint| (point.kind, point.bytes_per_rank, point.mode);
        of(a) == of(b) && a.engine == b.engine && a.library == b.library
    };
    let own = || points.iter().filter(|point| point.ranks == inputs.tp);
    let pairs = own().flat_map(|a| own().filter(move |b| alike(a, b)).map(move |b| (a, b)));
    let (least, most) = pairs.max_by(|(a, b), (c, d)| (b.us / a.us).total_cmp(&(d.us / c.us)))?;
    (most.us > APART * least.us).then_some(Finding::CurveDisagrees {
        bytes: least.bytes_per_rank,
        least_us: least.us,
        most_us: most.us,
    })
}
