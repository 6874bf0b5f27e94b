//! What a comparison of two links says, as it is kept.

use serde::{Deserialize, Serialize};

use super::side::PhysicalLink;
use super::verdict::LinkVerdict;
use crate::attribute::{CollectiveCost, Grade, Refusal, StepFrom};
use crate::explanation::InputSource;
use crate::gates::Gate;
use crate::priors::Prior;
use crate::range::Range;

/// The same model at the same tensor parallel size over two links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkComparison {
    /// The version of the form, as of an explanation.
    pub schema: u32,
    /// `links`: what tells this form from an explanation.
    pub kind: String,
    /// The soft box behind any input; `None` where all is measured.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// The tensor parallel size of both.
    pub tp: u32,
    /// The first side: the base.
    pub a: SideFacts,
    /// The other: differences are its time less that of the base.
    pub b: SideFacts,
    /// Where each input came from.
    pub inputs: Vec<InputSource>,
    /// Every gate.
    pub gates: Vec<Gate>,
    /// What came of it.
    pub outcome: LinkOutcome,
}

/// One side in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFacts {
    /// What the reader calls it.
    pub name: String,
    /// The box's name.
    pub box_name: Option<String>,
    /// The GPUs' name.
    pub gpu: Option<String>,
    /// The link; `None` where nobody said.
    pub link: Option<PhysicalLink>,
    /// How GPUs reach each other's memory, in words.
    pub peer: String,
    /// The engine with its mode, in words.
    pub engine: Option<String>,
    /// The files of its runs.
    pub runs: Vec<String>,
    /// Collective times that can be used.
    pub curve_points: usize,
}

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum LinkOutcome {
    /// The differences are judged.
    Compared {
        /// How.
        figures: Box<LinkFigures>,
    },
    /// They are not.
    Refused {
        /// Why.
        refusal: Refusal,
    },
}

/// The differences and what stands behind them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkFigures {
    /// Sequences that decode in a step.
    pub batch: u32,
    /// The decode step; `None` where `not_judged` says why.
    pub decode: Option<Difference>,
    /// The time to first token; `None` where `not_judged` says why.
    pub first_token: Option<Difference>,
    /// What is not judged, a sentence each.
    pub not_judged: Vec<String>,
    /// What bytes alone make of the two links; empty where a link is not known.
    pub wire: Vec<WireDifference>,
    /// What else differs between the sides.
    pub confounders: Vec<String>,
    /// What would settle more, with the command.
    pub next: Vec<String>,
    /// Reservations, a sentence each.
    pub caveats: Vec<String>,
    /// What was taken as known without being measured.
    pub priors: Vec<Prior>,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of draws.
    pub draws: u32,
}

/// What a difference is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeOf {
    /// The decode step.
    DecodeStep,
    /// The time to first token.
    FirstToken,
    /// All prompts of the run.
    WholeRun,
}

/// A time on both links and their difference, ms. Ranges are 5%, 50% and 95%.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// What it is of.
    pub of: TimeOf,
    /// What a decode step was taken from; `None` of a first token.
    pub step_from: Option<StepFrom>,
    /// Runs behind the base.
    pub runs_of_a: usize,
    /// Runs behind the other.
    pub runs_of_b: usize,
    /// The base.
    pub a: Range,
    /// The other.
    pub b: Range,
    /// The other less the base, as measured.
    pub measured: Range,
    /// The same by the plan and the curves; `None` where a curve is missing.
    pub predicted: Option<LinkPrediction>,
    /// What the link would have to cost, were it the whole cause; `None` where nothing is sent.
    pub needed: Option<Needed>,
    /// What follows.
    pub verdict: LinkVerdict,
}

impl Difference {
    /// How its times came about: measured, or worked out of a latency.
    #[must_use]
    pub fn how(&self) -> &'static str {
        match self.step_from {
            Some(StepFrom::Latency) => "worked out",
            Some(StepFrom::DecodeGap | StepFrom::Tpot) | None => "measured",
        }
    }

    /// Whether the base takes longer; `None` where no side is told to.
    #[must_use]
    pub fn is_longer_on_a(&self) -> Option<bool> {
        self.measured.is_told().then_some(self.measured.mid < 0.0)
    }
}

/// What plan and curves make of the difference, ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkPrediction {
    /// Collectives of the base.
    pub a: Range,
    /// Collectives of the other.
    pub b: Range,
    /// The other less the base.
    pub difference: Range,
    /// What was measured less that.
    pub beyond: Range,
    /// All-reduces by the plan.
    pub planned: u32,
    /// All-reduces that the measured difference is worth by the curves as they are, without any factor between curve and engine;
    /// `None` where the curves do not tell a difference, or tell one of the other direction.
    pub effective: Option<Range>,
    /// How good the curves are.
    pub grade: Grade,
    /// The base's collectives with their times.
    pub collectives_of_a: Vec<CollectiveCost>,
    /// The other's.
    pub collectives_of_b: Vec<CollectiveCost>,
    /// How the two curves were timed, where one was timed otherwise than the other; `None` where both were alike.
    #[serde(default)]
    pub modes: Option<String>,
}

/// What an all-reduce would have to cost more on the other link, were the link the whole cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    /// Bytes of each rank's message, of the size that is sent most often.
    pub bytes_per_rank: u64,
    /// All-reduces.
    pub count: u32,
    /// Microseconds more for each on the other side than on the base.
    pub us: Range,
    /// GB/s at which the link of the side that takes longer would have to carry them, the other being as fast as it can; `None`
    /// where that other link is not known, or the difference is not told from nothing.
    pub gb_per_s: Option<f64>,
}

/// What bytes over the wire make of the two links: a lower bound on time, without any latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WireDifference {
    /// What it is of.
    pub of: TimeOf,
    /// In words: how many tokens or sequences.
    pub words: String,
    /// All-reduces in it.
    pub count: u32,
    /// Bytes of each rank's largest message.
    pub bytes_per_rank: u64,
    /// That message over the base's link.
    pub a: WireTime,
    /// Over the other's.
    pub b: WireTime,
    /// The other less the base, ms, all collectives.
    pub difference_ms: Range,
    /// What bytes can make of the difference at most, ms: at the lowest share of the raw rate, with all that the library's protocols
    /// carry beside a message. `None` in files from before it was told.
    #[serde(default)]
    pub most_ms: Option<f64>,
}

/// A message over one link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WireTime {
    /// Microseconds of one message at the raw rate: no link is faster.
    pub least_us: f64,
    /// Milliseconds of all collectives at the rates that links reach.
    pub all_ms: Range,
}
