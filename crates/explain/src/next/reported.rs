//! The interval of communication that is reported, and what a measurement would make of it.

use crate::attribute::{Attribution, Cause, Claim, VarianceShare};
use crate::grade::Grade;
use crate::inputs::Inputs;
use crate::range::Range;

/// A run that leaves more than this part of the width is not worth its time.
pub(super) const WORTH: f64 = 0.95;

/// What is reported of communication.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reported {
    pub(super) ms: Range,
    /// Whether it is a bar, by a curve, a trace or a half-width model.
    is_bar: bool,
    /// How good the bar is.
    pub(super) grade: Option<Grade>,
}

/// What a measurement makes of the interval that is reported.
pub(super) enum Gives {
    /// It settles this part of its share of the variance, 0 to 1.
    Part(f64),
    /// Another reading in its place, so wide, ms; or what it settles, where that is narrower.
    Reading(f64),
    /// Another figure, of which nothing tells beforehand how wide it is.
    Another,
}

impl Reported {
    pub(super) fn of(attribution: &Attribution) -> Self {
        let bar = attribution.bar(Cause::Communication);
        match bar.filter(|_| attribution.claim == Claim::Estimated) {
            Some(bar) => Self {
                ms: bar.ms,
                is_bar: true,
                grade: bar.grade,
            },
            None => Self {
                ms: attribution.remainder,
                is_bar: false,
                grade: None,
            },
        }
    }

    pub(super) fn width(&self) -> f64 {
        (self.ms.high - self.ms.low).max(f64::MIN_POSITIVE)
    }

    /// The part of its variance that a measurement settles.
    pub(super) fn settled(&self, share: VarianceShare) -> f64 {
        let of = match self.is_bar {
            true => share.of_communication.unwrap_or(0.0),
            false => share.of_remainder,
        };
        of.clamp(0.0, 1.0)
    }

    /// The reading of a curve of this box: as wide as these factors make it where communication is about as large as it is reported;
    /// another figure where that would be no narrower.
    pub(super) fn expected(&self, inputs: &Inputs, factors: &[&str]) -> Gives {
        let width = spread(inputs, factors).map(|spread| self.ms.mid.max(0.0) * spread);
        reading(width.filter(|width| *width > 0.0 && *width < WORTH * self.width()))
    }

    /// The width of a bar as large as this one that is known up to these factors; `None` where there is no bar of this box, since
    /// how large another box's times are here is what nobody knows.
    pub(super) fn up_to(&self, inputs: &Inputs, factors: &[&str]) -> Option<f64> {
        let is_here =
            self.is_bar && (self.grade < Some(Grade::D) || !inputs.usable_curve().is_empty());
        let spread = spread(inputs, factors)?;
        is_here.then(|| self.ms.mid.max(0.0) * spread)
    }
}

/// From 5% to 95% of a time that is known up to these factors, over its median.
fn spread(inputs: &Inputs, factors: &[&str]) -> Option<f64> {
    let each = |name: &&str| {
        let prior = inputs.prior(name)?;
        Some((prior.at(0.95) - prior.at(0.05)) / prior.at(0.5))
    };
    let spreads: Option<Vec<f64>> = factors.iter().map(each).collect();
    let squares: f64 = spreads?.iter().map(|spread| spread * spread).sum();
    Some(squares.sqrt())
}

/// A reading where its width can be known, else another figure.
pub(super) fn reading(width: Option<f64>) -> Gives {
    width.map_or(Gives::Another, Gives::Reading)
}
