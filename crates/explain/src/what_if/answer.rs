//! What is answered: the step, its speed-up and the tokens a second with the substitute, each with its interval.

use serde::{Deserialize, Serialize};

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
        reason: String,
    },
}

/// A decode step with the substitute; what did not change has the draws of the attribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Substituted {
    /// What was taken out.
    pub taken_out: CommunicationFrom,
    /// The curve or trace that it was read from; `None` where it is what other causes leave.
    #[serde(default)]
    pub taken_from: Option<String>,
    /// The decode step, which is the time per output token, ms.
    pub step_ms: Range,
    /// That less the step as it is, ms.
    pub change_ms: Range,
    /// Speed-up over the step of one GPU.
    pub speed_up: Range,
    /// The step as it is over that: tokens a second while decoding over those of today, at the same batch.
    pub gain: Range,
    /// Tokens a second of all sequences while they decode.
    pub tokens_per_s: Range,
    /// The same of the step as it is, which is above the rate of a whole run with its prompts; `None` in explanations from before
    /// it was told.
    #[serde(default)]
    pub today_tokens_per_s: Option<Range>,
    /// Communication of a step then, ms.
    pub communication_ms: Range,
    /// Speed-up where what such a curve leaves unexplained is communication, too, and is replaced with it; `None` where a curve of
    /// this box or a half-width model tells, or there is no curve.
    #[serde(default)]
    pub if_all_is_communication: Option<Range>,
    /// The soft box behind the substitute.
    pub simulated: Option<String>,
    /// What was taken as known for the substitute.
    pub assumed: Vec<String>,
    /// What it was read from, and what to mind.
    pub notes: Vec<String>,
}

/// What was taken out of the step before the substitute was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommunicationFrom {
    /// What this box's own curve gives; what is unexplained stays.
    OwnCurve,
    /// What a curve gives that is no evidence of this box's engine, such as a published one; what is unexplained stays.
    AnotherCurve,
    /// What the half-width model leaves.
    HalfModel,
    /// All that the other causes leave, there being no curve, so that gains are upper figures.
    Remainder,
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

impl std::fmt::Display for WhatIf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.asked)?;
        match &self.answer {
            Answer::NotTold { reason } => write!(f, "not told: {reason}"),
            Answer::Predicted { predicted } => predicted.fmt(f),
        }
    }
}

impl std::fmt::Display for Substituted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let simulated = match &self.simulated {
            Some(name) => format!(" (SIMULATED: of the soft box {name})"),
            None => String::new(),
        };
        let today = self.today_tokens_per_s.map_or_else(String::new, |today| {
            format!(" (today {})", today.with_decimals(0))
        });
        write!(
            f,
            "a step of {} ms (change {} ms), {}x the step rate of one GPU, {}x the steps of today, {} tokens/s while decoding{today}{simulated}",
            self.step_ms.with_decimals(1),
            self.change_ms.with_decimals(2),
            self.speed_up.with_decimals(2),
            self.gain.with_decimals(2),
            self.tokens_per_s.with_decimals(0),
        )?;
        let from = self.taken_from.as_deref().unwrap_or("a curve");
        match self.taken_out {
            CommunicationFrom::OwnCurve => write!(f, "; taken out is what this box's own times give ({from})")?,
            CommunicationFrom::AnotherCurve => write!(f, "; taken out is what a curve gives ({from}), and what it does not explain stays")?,
            CommunicationFrom::HalfModel => f.write_str("; taken out is what the half-width model leaves")?,
            CommunicationFrom::Remainder => f.write_str("; taken out is all that other causes leave, there being no curve: the change is an upper figure")?,
        }
        if let Some(all) = self.if_all_is_communication {
            write!(
                f,
                "; {}x the step rate of one GPU if that is communication, too, and goes with it",
                all.with_decimals(2)
            )?;
        }
        for note in self.notes.iter().chain(&self.assumed) {
            write!(f, "; {note}")?;
        }
        Ok(())
    }
}
