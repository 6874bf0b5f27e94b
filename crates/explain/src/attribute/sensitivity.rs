//! How much of an interval each possible measurement would take away, to first order.

use super::deck::Knob;
use super::draws::Draw;
use super::result::{Measure, VarianceShare};
use crate::range::count;

/// What each measurement makes known.
const SETTLES: [(Measure, &[Knob]); 4] = [
    (
        Measure::Curve,
        &[
            Knob::Transfer,
            Knob::TransferOfEngine,
            Knob::InTrace,
            Knob::Exposed,
            Knob::Mode,
            Knob::CustomOverLibrary,
            Knob::Beyond,
            Knob::CurveError,
            Knob::UnstatedCurveSpread,
        ],
    ),
    (
        Measure::Shard,
        &[
            Knob::GemmStart,
            Knob::ExpertStart,
            Knob::Attention,
            Knob::Elementwise,
            Knob::Host,
            Knob::KvRead,
        ],
    ),
    (
        Measure::Stream,
        &[
            Knob::PrefillRate,
            Knob::PrefixCache,
            Knob::TransferOfPrefill,
        ],
    ),
    (
        Measure::Repeats,
        &[
            Knob::ErrorOfOne,
            Knob::ErrorOfSeveral,
            Knob::ErrorOfHalf,
            Knob::StartOfOne,
            Knob::StartOfSeveral,
            Knob::StartOfHalf,
            Knob::UnstatedSpread,
            Knob::RepeatOfOne,
            Knob::RepeatOfSeveral,
            Knob::RepeatOfHalf,
        ],
    ),
];

/// A quantity of a draw.
pub(super) type OfDraw = fn(&Draw) -> f64;

/// First-order shares of each measurement in the variance of the remainder over `free`, and of communication over the draws that its bar
/// is of, with what it is in each.
pub(super) fn shares(
    free: &[Draw],
    communication: Option<(&[Draw], OfDraw)>,
) -> Vec<VarianceShare> {
    let sum = |draws: &[Draw], of: OfDraw, knobs: &[Knob]| {
        let all = knobs.iter().map(|knob| first_order(draws, *knob, of));
        all.sum::<f64>().clamp(0.0, 1.0)
    };
    let share = |(measure, knobs): &(Measure, &[Knob])| VarianceShare {
        measure: *measure,
        of_communication: communication.map(|(draws, of)| sum(draws, of, knobs)),
        of_remainder: sum(free, Draw::remainder, knobs),
    };
    SETTLES.iter().map(share).collect()
}

/// Bins of equal size along a knob.
const BINS: usize = 16;

/// Var(E[y | x]) / Var(y), the first-order Sobol index, by binning (Saltelli et al., Global Sensitivity Analysis, 2008, 1.2.9),
/// less what binning shows without any dependence.
fn first_order(draws: &[Draw], knob: Knob, of: OfDraw) -> f64 {
    let mut pairs: Vec<(f64, f64)> = draws
        .iter()
        .map(|draw| (draw.hand.get(knob), of(draw)))
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let moves = pairs.first().map(|pair| pair.0) != pairs.last().map(|pair| pair.0);
    if pairs.len() < 4 * BINS || !moves {
        return 0.0;
    }
    let n = count(pairs.len() as u64);
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
            let size = count(bin.len() as u64);
            let of_bin = bin.iter().map(|pair| pair.1).sum::<f64>() / size;
            (of_bin - mean).powi(2) * size / n
        })
        .sum();
    (between / variance - count(BINS as u64 - 1) / n).max(0.0)
}
