//! Assumptions of the explanation that can be broken, each by itself.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What the explanation assumes and a truth may not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Assumption {
    /// Noise of steps and of the curve is normal: here it is Student's t with 2 degrees of freedom.
    HeavyTails,
    /// Truths lie within the priors: here the centre of each range is off by a third of its half-width, up or down.
    PriorsShifted,
    /// The same: here each value is 2/3 or 4/3 of one within its prior, most of which no range of a prior holds.
    PriorsScaled,
    /// Launches differ by half a percent at most: here by 2% (standard deviation).
    Drift,
    /// The curve was measured at the sizes of the engine: here it ends at a half to a sixteenth of them.
    CurveRange,
    /// Nothing hides collectives: here 15% of their time is hidden behind other work.
    Overlap,
}

impl Assumption {
    /// All, in the order of the report.
    pub(super) const ALL: [Self; 6] = [
        Self::HeavyTails,
        Self::PriorsShifted,
        Self::PriorsScaled,
        Self::Drift,
        Self::CurveRange,
        Self::Overlap,
    ];

    /// What is broken, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::HeavyTails => "noise of steps and curve: Student's t, 2 degrees of freedom",
            Self::PriorsShifted => "priors' centres off by a third of their half-width",
            Self::PriorsScaled => "every value 2/3 or 4/3 of one within its prior",
            Self::Drift => "launches differ by 2% instead of up to 0.5%",
            Self::CurveRange => "curve ends at 1/2 to 1/16 of the messages",
            Self::Overlap => "15% of collective time hidden",
        }
    }

    /// Whether there is a bound for it; the others are told. No range that is a third wide or less can hold a value that is a third
    /// off, and what such values leave unexplained has the looks of any other cause.
    pub(super) fn is_bound(self) -> bool {
        self != Self::PriorsScaled
    }
}
