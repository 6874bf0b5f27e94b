//! How much of an interval each possible measurement would take away, to first order.

use super::deck::{Deck, KNOBS, Knob};
use super::draws::Draw;
use super::result::{Measurement, PriorShare, VarianceShare};

/// What each measurement makes known.
const SETTLES: [(Measurement, &[Knob]); 4] = [
    (
        Measurement::Curve,
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
        Measurement::HalfModel,
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
        Measurement::FirstToken,
        &[
            Knob::PrefillRate,
            Knob::PrefixCache,
            Knob::TransferOfPrefill,
        ],
    ),
    (
        Measurement::Repeats,
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

/// First-order shares of each knob in the variance of the remainder over `free`, and of communication over some draws.
pub(super) struct Shares {
    of_remainder: [f64; KNOBS],
    of_communication: Option<[f64; KNOBS]>,
}

impl Shares {
    /// `communication` are the draws that its bar is of, with what it is in each.
    pub(super) fn new(free: &[Draw], communication: Option<(&[Draw], OfDraw)>) -> Self {
        let of = |draws: &[Draw], of: fn(&Draw) -> f64| {
            let mut shares = [0.0; KNOBS];
            for knob in SETTLES
                .iter()
                .flat_map(|(_, knobs)| *knobs)
                .chain(&[Knob::Executor])
            {
                shares[*knob as usize] = first_order(draws, *knob, of);
            }
            shares
        };
        Self {
            of_remainder: of(free, Draw::remainder),
            of_communication: communication.map(|(draws, quantity)| of(draws, quantity)),
        }
    }

    fn of(&self, knobs: &[Knob]) -> (Option<f64>, f64) {
        let sum = |shares: &[f64; KNOBS]| {
            let all = knobs.iter().map(|knob| shares[*knob as usize]);
            all.sum::<f64>().clamp(0.0, 1.0)
        };
        (
            self.of_communication.as_ref().map(sum),
            sum(&self.of_remainder),
        )
    }

    /// Of each measurement.
    pub(super) fn measurements(&self) -> Vec<VarianceShare> {
        let share = |(measurement, knobs): &(Measurement, &[Knob])| {
            let (of_communication, of_remainder) = self.of(knobs);
            VarianceShare {
                measurement: *measurement,
                of_communication,
                of_remainder,
            }
        };
        SETTLES.iter().map(share).collect()
    }

    /// Of each prior in the deck, the largest first.
    pub(super) fn priors(&self, deck: &Deck) -> Vec<PriorShare> {
        let knobs = deck.knobs().into_iter();
        let mut shares: Vec<PriorShare> = knobs
            .map(|(name, knobs)| {
                let (of_communication, of_remainder) = self.of(&knobs);
                PriorShare {
                    name: name.to_owned(),
                    of_communication,
                    of_remainder,
                }
            })
            .collect();
        let size = |share: &PriorShare| {
            share
                .of_communication
                .unwrap_or(0.0)
                .max(share.of_remainder)
        };
        shares.sort_by(|a, b| size(b).total_cmp(&size(a)));
        shares
    }
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
