//! Assumptions of the explanation that can be broken, each by itself.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What the explanation assumes and a truth may not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Assumption {
    /// Noise of steps and of the curve is normal: here it is Student's t with 2 degrees of freedom.
    HeavyTails,
    /// Truths lie within the priors: here each is a third off, up or down.
    Priors,
    /// Launches differ by half a percent at most: here by 2% (standard deviation).
    Drift,
    /// The curve was measured at the sizes of the engine: here it ends at a half to a sixteenth of them.
    CurveRange,
    /// Nothing hides collectives: here 15% of their time is hidden behind other work.
    Overlap,
}

impl Assumption {
    /// All, in the order of the report.
    pub(super) const ALL: [Self; 5] = [
        Self::HeavyTails,
        Self::Priors,
        Self::Drift,
        Self::CurveRange,
        Self::Overlap,
    ];

    /// What is broken, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::HeavyTails => "noise of steps and curve: Student's t, 2 degrees of freedom",
            Self::Priors => "truths a third off the priors, up or down",
            Self::Drift => "launches differ by 2% instead of up to 0.5%",
            Self::CurveRange => "curve ends at 1/2 to 1/16 of the messages",
            Self::Overlap => "15% of collective time hidden",
        }
    }

    /// Whether the issue sets a bound for it; the others are told.
    pub(super) fn is_bound(self) -> bool {
        self != Self::Overlap
    }
}
