//! What is answered: the step, its speed-up and the tokens a second with the substitute, each with its interval.

use serde::{Deserialize, Serialize};

use crate::attribute::{CommunicationFrom, NoSubstitute};
use crate::range::Range;

/// One substitution and what it would give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// As it was asked for, such as `link=gen4x8`.
    pub asked: String,
    /// What comes of it.
    pub answer: Answer,
}

/// What comes of a substitution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Answer {
    /// A step is predicted.
    Predicted {
        /// The prediction.
        predicted: Box<Substituted>,
    },
    /// Nothing is.
    NotTold {
        /// Why.
        reason: NoSubstitute,
    },
}

/// A decode step with the substitute; what did not change has the draws of the attribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Substituted {
    /// What was taken out.
    pub taken_out: CommunicationFrom,
    /// The decode step, which is the time per output token, ms.
    pub step_ms: Range,
    /// That less the step as it is, ms.
    pub change_ms: Range,
    /// Speed-up over the step of one GPU.
    pub speed_up: Range,
    /// The step as it is over that: tokens a second while decoding over those of today, at the same batch.
    pub gain: Range,
    /// Communication of a step then, ms.
    pub communication_ms: Range,
    /// The simulated machine behind the substitute.
    pub simulated: Option<String>,
}

impl WhatIf {
    /// The prediction; `None` where there is none.
    #[must_use]
    pub fn predicted(&self) -> Option<&Substituted> {
        match &self.answer {
            Answer::Predicted { predicted } => Some(predicted),
            Answer::NotTold { .. } => None,
        }
    }
}
