//! How much of an interval each possible measurement would take away, to first order.

use serde::{Deserialize, Serialize};

use super::deck::Knob;
use super::draws::Draw;

/// Something that could be measured next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// Collectives at the plan's sizes on this box.
    Curve,
    /// The model at half width on one GPU.
    HalfModel,
    /// A streamed run with the prefix cache known.
    FirstToken,
    /// The same runs again, each with a server started afresh.
    Repeats,
}

/// What a measurement would settle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VarianceShare {
    /// The measurement.
    pub measurement: Measurement,
    /// First-order share of the variance of the communication bar, 0 to 1; `None` where there is none.
    pub of_communication: Option<f64>,
    /// First-order share of the variance of the remainder, 0 to 1.
    pub of_remainder: f64,
}

/// What each measurement makes known.
const SETTLES: [(Measurement, &[Knob]); 4] = [
    (
        Measurement::Curve,
        &[
            Knob::Transfer,
            Knob::TransferOfEngine,
            Knob::Mode,
            Knob::CustomOverLibrary,
            Knob::CurveError,
            Knob::UnstatedCurveSpread,
        ],
    ),
    (
        Measurement::HalfModel,
        &[
            Knob::GemmSpeedup,
            Knob::Attention,
            Knob::Elementwise,
            Knob::Host,
            Knob::KvRead,
        ],
    ),
    (
        Measurement::FirstToken,
        &[Knob::PrefillRate, Knob::PrefixCache],
    ),
    (
        Measurement::Repeats,
        &[
            Knob::ErrorOfOne,
            Knob::ErrorOfSeveral,
            Knob::StartOfOne,
            Knob::StartOfSeveral,
            Knob::UnstatedSpread,
            Knob::Repeat,
        ],
    ),
];

/// Shares of the remainder over `free`, and of the communication bar over `fitting`.
pub(super) fn shares(free: &[Draw], fitting: Option<&[Draw]>) -> Vec<VarianceShare> {
    let share = |draws: &[Draw], knobs: &[Knob], of: fn(&Draw) -> f64| -> f64 {
        let all = knobs.iter().map(|knob| first_order(draws, *knob, of));
        all.sum::<f64>().clamp(0.0, 1.0)
    };
    SETTLES
        .iter()
        .map(|(measurement, knobs)| VarianceShare {
            measurement: *measurement,
            of_communication: fitting
                .map(|draws| share(draws, knobs, |draw| draw.communication.unwrap_or(0.0))),
            of_remainder: share(free, knobs, Draw::remainder),
        })
        .collect()
}

/// Bins of equal size along a knob.
const BINS: usize = 16;

/// Var(E[y | x]) / Var(y), the first-order Sobol index, by binning (Saltelli et al., Global Sensitivity Analysis, 2008, 1.2.9),
/// less what binning shows without any dependence.
#[expect(clippy::cast_precision_loss, reason = "draws are thousands")]
fn first_order(draws: &[Draw], knob: Knob, of: fn(&Draw) -> f64) -> f64 {
    let mut pairs: Vec<(f64, f64)> = draws
        .iter()
        .map(|draw| (draw.hand.get(knob), of(draw)))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let moves = pairs.first().map(|pair| pair.0) != pairs.last().map(|pair| pair.0);
    if pairs.len() < 4 * BINS || !moves {
        return 0.0;
    }
    let n = pairs.len() as f64;
    let mean = pairs.iter().map(|pair| pair.1).sum::<f64>() / n;
    let variance = pairs
        .iter()
        .map(|pair| (pair.1 - mean).powi(2))
        .sum::<f64>()
        / n;
    if variance <= 0.0 {
        return 0.0;
    }
    let size = pairs.len().div_ceil(BINS);
    let between: f64 = pairs
        .chunks(size)
        .map(|bin| {
            let of_bin = bin.iter().map(|pair| pair.1).sum::<f64>() / bin.len() as f64;
            (of_bin - mean).powi(2) * bin.len() as f64 / n
        })
        .sum();
    (between / variance - (BINS - 1) as f64 / n).max(0.0)
}
