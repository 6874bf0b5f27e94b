//! What narrow GEMMs gain by measured times of the model's own shapes, in place of a range that is assumed.

use std::collections::BTreeMap;

use import::gemm::{GemmPoint, GemmSeries};
use tp_plan::{Gemm, WeightFormat};

use crate::finding::{Finding, GemmDoubt};
use crate::inputs::Inputs;
use crate::peaks::Peak;
use crate::priors::{Basis, Prior, Shape};

/// How far off a ratio of times may be: of shapes that were timed, and of shapes that were read between others. Repeats of one
/// shape differ by a percent, and a line between neighbours on a grid of powers of two by some more.
const EXACT: f64 = 0.01;
const BETWEEN: f64 = 0.03;

/// How far off it may be where the times are not known to be of these GPUs and this version of the engine: of one model on one GPU
/// two versions of vLLM gave 1.72 and 1.93 (aiconfigurator rtx_pro_6000_server, vLLM 0.19 and 0.24), 6% either way.
const STRANGE: f64 = 0.06;

/// Neighbours that are further apart than this say nothing of what lies between them: kernels change on the way. The grid of
/// aiconfigurator has a gap of 3.1.
const FAR: f64 = 3.2;

/// Times over m, n and k.
type Grid = BTreeMap<u32, BTreeMap<u32, BTreeMap<u32, f64>>>;

/// A ratio of one series.
struct Gain {
    /// For each doubling of ranks.
    ratio: f64,
    is_exact: bool,
    /// Whether it is of these GPUs and this version of the engine.
    is_own: bool,
}

/// The gain of narrow GEMMs at a batch by the times that were given, one range over all their series, and what there is to say.
/// What the user gave by hand comes first.
pub(super) fn measured_speedup(
    inputs: &Inputs,
    batch: u32,
) -> (Option<(Prior, bool)>, Option<Finding>) {
    let Some(times) = &inputs.evidence.gemm else {
        return (None, None);
    };
    let doubt = |why: GemmDoubt, detail: String| Some(Finding::GemmTimesDoubtful { why, detail });
    let left_out = |why: GemmDoubt, detail: String| (None, doubt(why, detail));
    let Some(prior) = inputs.prior("gemm_speedup") else {
        return (None, None);
    };
    if prior.basis == Basis::Given {
        return left_out(GemmDoubt::GivenByHand, String::new());
    }
    let model = &inputs.model;
    let (Some(whole), Some(narrow)) = (model.gemms(1), model.gemms(inputs.tp)) else {
        return left_out(GemmDoubt::ShapesUnknown, String::new());
    };
    let of_weights: Vec<&GemmSeries> = times
        .series
        .iter()
        .filter(|series| is_of(series, model.weights))
        .collect();
    if of_weights.is_empty() {
        return left_out(GemmDoubt::OtherType, types(&times.series));
    }
    let gpu = inputs.known.gpu.as_deref();
    let is_other = |series: &&GemmSeries| {
        let names = series.gpu.as_deref().zip(gpu);
        names.is_some_and(|(its, ours)| Peak::differ(its, ours))
    };
    let others: Vec<&GemmSeries> = of_weights.iter().copied().filter(is_other).collect();
    if let (Some(other), true, Some(gpu)) = (others.first(), others.len() == of_weights.len(), gpu)
    {
        let its = other.gpu.as_deref().unwrap_or_default();
        return left_out(GemmDoubt::OtherGpu, format!("{its}, {gpu}"));
    }
    let version = inputs
        .engine(inputs.tp)
        .and_then(|engine| engine.version.as_deref());
    let is_own = |series: &GemmSeries| {
        let named = |version: &str| version.trim_start_matches('v').to_owned();
        series.gpu.is_some()
            && gpu.is_some()
            && version.is_some()
            && series.version.as_deref().map(named) == version.map(named)
    };
    let of_box: Vec<&GemmSeries> = of_weights
        .into_iter()
        .filter(|series| !is_other(series))
        .collect();
    let gains = of_box.iter().copied().filter_map(|series| {
        let head = times
            .series
            .iter()
            .find(|other| other.label == series.label && is_of(other, WeightFormat::Bf16));
        let found = gain(series, head, [&whole, &narrow], batch, inputs.tp)?;
        Some(Gain {
            is_own: is_own(series),
            ..found
        })
    });
    let mut gains: Vec<Gain> = gains.collect();
    // What is of this box and version stands above what is not.
    if gains.iter().any(|gain| gain.is_own) {
        gains.retain(|gain| gain.is_own);
    }
    let is_own = !gains.is_empty() && gains.iter().all(|gain| gain.is_own);
    let low = gains.iter().map(Gain::low).reduce(f64::min);
    let high = gains.iter().map(Gain::high).reduce(f64::max);
    let Some((low, high)) = low.zip(high) else {
        return left_out(GemmDoubt::ShapesMissing, shapes(&whole, &narrow));
    };
    let prior = Prior {
        low,
        high,
        shape: Shape::Uniform,
        basis: Basis::Given,
        source: times.origin.clone(),
        ..prior
    };
    let said = doubt(GemmDoubt::OriginUnknown, times.origin.clone()).filter(|_| !is_own);
    (Some((prior, is_own)), said)
}

/// The types of weights that series name.
fn types(series: &[GemmSeries]) -> String {
    let mut types: Vec<&str> = series
        .iter()
        .filter_map(|one| one.dtype.as_deref())
        .collect();
    types.sort_unstable();
    types.dedup();
    types.join(" and ")
}

/// The shapes of a layer at both widths, in words.
fn shapes(whole: &[Gemm], narrow: &[Gemm]) -> String {
    let of = |gemm: &Gemm| format!("{}x{}", gemm.n, gemm.k);
    let words = whole.iter().zip(narrow);
    let words = words
        .map(|(whole, narrow)| format!("{} n x k {} and {}", whole.role, of(whole), of(narrow)));
    words.collect::<Vec<_>>().join(", ")
}

impl Gain {
    fn doubt(&self) -> f64 {
        match (self.is_own, self.is_exact) {
            (true, true) => EXACT,
            (true, false) => BETWEEN,
            (false, _) => STRANGE,
        }
    }

    fn low(&self) -> f64 {
        self.ratio * (1.0 - self.doubt())
    }

    fn high(&self) -> f64 {
        self.ratio * (1.0 + self.doubt())
    }
}

/// `None` where a shape of the layers is missing; an output head that is missing is left out on both sides.
fn gain(
    series: &GemmSeries,
    head: Option<&GemmSeries>,
    [whole, narrow]: [&[Gemm]; 2],
    batch: u32,
    ranks: u32,
) -> Option<Gain> {
    let layers = grid(&series.points);
    let head = head.map(|head| grid(&head.points)).unwrap_or_default();
    let (mut sums, mut is_exact) = ([0.0, 0.0], true);
    for (whole, narrow) in whole.iter().zip(narrow) {
        let grid = if whole.quantised { &layers } else { &head };
        let (full, part) = (time(grid, batch, whole), time(grid, batch, narrow));
        let (Some(full), Some(part)) = (full, part) else {
            if whole.quantised {
                return None;
            }
            continue;
        };
        is_exact &= full.1 && part.1;
        sums[0] += full.0 * f64::from(whole.count);
        sums[1] += part.0 * f64::from(narrow.count);
    }
    (sums[0] > 0.0 && sums[1] > 0.0).then(|| Gain {
        ratio: (sums[0] / sums[1]).powf(1.0 / f64::from(ranks).log2()),
        is_exact,
        is_own: false,
    })
}

fn grid(points: &[GemmPoint]) -> Grid {
    let mut grid = Grid::new();
    for point in points {
        let columns = grid.entry(point.m).or_default().entry(point.n).or_default();
        columns.insert(point.k, point.us);
    }
    grid
}

/// The time of a product and whether it stands in the grid; `None` beyond its ends.
fn time(grid: &Grid, m: u32, gemm: &Gemm) -> Option<(f64, bool)> {
    between(grid, m, |rows| {
        between(rows, gemm.n, |columns| {
            between(columns, gemm.k, |us| Some((*us, true)))
        })
    })
}

/// A straight line in logarithms between the neighbours that have a value.
fn between<T>(
    of: &BTreeMap<u32, T>,
    at: u32,
    value: impl Fn(&T) -> Option<(f64, bool)>,
) -> Option<(f64, bool)> {
    if let Some(found) = of.get(&at).and_then(&value) {
        return Some(found);
    }
    let found = |(key, inner): (&u32, &T)| Some((f64::from(*key), value(inner)?.0));
    let (x0, y0) = of.range(..at).rev().find_map(found)?;
    let above = of.range(at..).filter(|(key, _)| **key > at);
    let (x1, y1) = above.into_iter().find_map(found)?;
    if x1 > x0 * FAR {
        return None;
    }
    let along = (f64::from(at) / x0).ln() / (x1 / x0).ln();
    Some((y0 * (y1 / y0).powf(along), false))
}

/// Whether a series is of weights that are stored so; one that names no type is of the model's.
fn is_of(series: &GemmSeries, weights: WeightFormat) -> bool {
    let Some(dtype) = &series.dtype else {
        return true;
    };
    let dtype = dtype.to_lowercase();
    let begins: &[&str] = match weights {
        WeightFormat::Bf16 | WeightFormat::F16 => {
            &["bf16", "bfloat16", "f16", "fp16", "float16", "half"]
        }
        WeightFormat::Fp8 => &["fp8", "float8"],
        WeightFormat::Int8 => &["int8"],
        WeightFormat::Mxfp4 => &["mxfp4"],
        WeightFormat::Nvfp4 => &["nvfp4"],
        WeightFormat::Int4 => &["int4", "awq", "gptq"],
    };
    begins.iter().any(|word| dtype.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_neighbours_the_line_is_straight_in_logarithms_and_beyond_the_ends_there_is_none() {
        let point = |m, n, k, us| GemmPoint { m, n, k, us };
        let shapes = [(1024, 4.0), (2048, 6.25), (8192, 20.0)];
        let times = shapes.map(|(k, us)| point(16, 64, k, us));
        let grid = grid(&times);
        let at = |m, k| {
            let gemm = Gemm {
                role: "down",
                n: 64,
                k,
                count: 1,
                quantised: true,
            };
            time(&grid, m, &gemm)
        };
        assert_eq!(at(16, 1024), Some((4.0, true)));
        // 1448 is half way in the logarithm between 1024 and 2048: sqrt(4 * 6.25) = 5; 2048 and 8192 are too far apart.
        let (us, is_exact) = at(16, 1448).unwrap();
        assert!((us - 5.0).abs() < 0.001 && !is_exact);
        assert_eq!(
            (at(16, 4096), at(16, 16384), at(8, 1024)),
            (None, None, None)
        );
    }
}
