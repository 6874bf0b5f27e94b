//! A curve or a trace that gives the collectives more than was measured.

use serde::{Deserialize, Serialize};

use crate::range::Range;

/// By curve or trace the collectives take more than is left of the step. Times are ms a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Misfit {
    /// What the collectives take by curve or trace, with all factors.
    pub by_curve: Range,
    /// What all other causes leave.
    pub left: Range,
    /// Whose times they are.
    pub of: Timed,
}

/// Whose times of collectives do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timed {
    /// A trace of the engine.
    Trace,
    /// A curve of this box.
    ThisBox,
    /// A curve of another box.
    AnotherBox,
}

impl Misfit {
    /// The finding as a headline has it, a thought a sentence.
    #[must_use]
    pub fn headline(&self) -> String {
        format!(
            "The {} does not fit what was measured. By it the collectives take {} ms of a step. All other causes leave {} ms. Either {}.",
            self.of.words(),
            self.by_curve.with_decimals(1),
            self.left.with_decimals(1),
            self.of.why()
        )
    }

    /// The same as a reason why nothing is claimed of communication.
    pub(super) fn reason(&self) -> String {
        format!(
            "by the curve or trace the collectives take more than the {} ms that are left: {}",
            self.left.with_decimals(1),
            self.of.why()
        )
    }
}

impl Timed {
    fn words(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::ThisBox => "curve of this box",
            Self::AnotherBox => "curve of another box, whatever the factor to this one,",
        }
    }

    fn why(self) -> &'static str {
        match self {
            Self::Trace => {
                "the trace holds other steps than those that were measured, or other work hides more than a fifth of the collectives"
            }
            Self::ThisBox => {
                "more than a fifth is hidden behind other work (overlap), or the engine takes another path than was timed"
            }
            Self::AnotherBox => {
                "this box's collectives are faster than was published, hidden behind other work (overlap), or take another path"
            }
        }
    }
}
