//! What a comparison of two sizes says, as it is kept.

use serde::{Deserialize, Serialize};

use super::rate::SizeRate;
use crate::attribute::{Attribution, Bar, Claim, CollectiveCost, StepFrom, TimeSource};
use crate::finding::{Finding, Refusal};
use crate::grade::Grade;
use crate::priors::Prior;
use crate::range::Range;
use crate::sources::InputSource;

/// One tensor parallel size against a smaller one that is not one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeComparison {
    /// The version of the form, as of an explanation.
    pub schema: u32,
    /// `sizes`: what tells this form from an explanation.
    pub kind: String,
    /// The simulated machine behind any input; `None` where all is measured.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// The smaller tensor parallel size.
    pub from: u32,
    /// The larger.
    pub to: u32,
    /// The engine with its mode, in words; `None` where it is not known.
    pub engine: Option<String>,
    /// The box's name.
    pub box_name: Option<String>,
    /// The GPUs' name.
    pub gpu: Option<String>,
    /// Where each input came from.
    pub inputs: Vec<InputSource>,
    /// What whoever ran this says of it, as of an explanation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How fast more GPUs are, where the step is not attributed and the runs tell it all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<SizeRate>,
    /// What was found of both sizes.
    pub findings: Vec<Finding>,
    /// What came of it.
    pub outcome: SizeOutcome,
}

/// What came of a comparison of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SizeOutcome {
    /// The step of the larger size is attributed.
    Attributed {
        /// To what.
        attribution: Box<SizeAttribution>,
    },
    /// It is not.
    Refused {
        /// Why.
        refusal: Refusal,
    },
}

/// Where the time of a step on more GPUs goes, ms a step. Ranges are 5%, 50% and 95%.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeAttribution {
    /// Sequences that decode in a step.
    pub batch: u32,
    /// What the steps were taken from.
    pub step_from: StepFrom,
    /// The step on fewer GPUs.
    pub step_of_fewer: Range,
    /// Of it, its own collectives.
    pub sent_of_fewer: Range,
    /// How good what they are read from is; `None` in comparisons from before.
    pub grade_of_fewer: Option<Grade>,
    /// What they are read from.
    #[serde(default)]
    pub source_of_fewer: Vec<TimeSource>,
    /// The step on more GPUs.
    pub step_of_more: Range,
    /// The causes that sum to the step on more GPUs.
    pub bars: Vec<Bar>,
    /// What communication and all that is unexplained take together.
    pub remainder: Range,
    /// What can be said of communication.
    pub claim: Claim,
    /// Speed-up of a step, as measured.
    pub speed_up: Range,
    /// Speed-up if the whole remainder went away.
    pub free_links: Range,
    /// Share of the draws that sum to more than was measured, 0 to 1; they count for no bar.
    pub impossible: f64,
    /// What communication and all that is unexplained take together against one GPU, where those runs do not tell it from nothing;
    /// `None` where they do, or where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold_from_one: Option<Range>,
    /// Collectives of a step on fewer GPUs, with the curve's times.
    pub collectives_of_fewer: Vec<CollectiveCost>,
    /// Collectives of a step on more GPUs; empty where there is no curve.
    pub collectives_of_more: Vec<CollectiveCost>,
    /// What was assumed without being measured.
    pub priors: Vec<Prior>,
    /// Caveats, a sentence each.
    pub caveats: Vec<Finding>,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of draws.
    pub draws: u32,
}

impl SizeAttribution {
    /// How fast more GPUs are.
    pub(super) fn rate(&self) -> SizeRate {
        SizeRate {
            step_of_fewer: self.step_of_fewer,
            step_of_more: self.step_of_more,
            speed_up: self.speed_up,
        }
    }
}

impl SizeComparison {
    /// Says of the communication of the larger size that the same size against one GPU does not tell it from nothing, where it is so.
    #[must_use]
    pub fn beside(mut self, against_one: &Attribution) -> Self {
        if let SizeOutcome::Attributed { attribution } = &mut self.outcome
            && against_one.claim == Claim::None
            && against_one.misfit.is_none()
        {
            attribution.untold_from_one = Some(against_one.remainder);
        }
        self
    }
}
