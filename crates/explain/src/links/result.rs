//! What a comparison of two links says, as it is kept.

use record::CallMode;
use serde::{Deserialize, Serialize};

use crate::attribute::{CollectiveCost, StepFrom};
use crate::finding::{Finding, Refusal};
use crate::grade::Grade;
use crate::inputs::PeerState;
use crate::priors::Prior;
use crate::range::Range;
use crate::sources::InputSource;

/// The same model at the same tensor parallel size over two links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkComparison {
    /// The version of the form, as of an explanation.
    pub schema: u32,
    /// `links`: what tells this form from an explanation.
    pub kind: String,
    /// The simulated machine behind any input; `None` where all is measured.
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
    /// What was found of both sides.
    pub findings: Vec<Finding>,
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
    pub peer: PeerState,
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
    /// What stands against judging one of them.
    pub not_judged: Vec<Finding>,
    /// What else differs between the sides.
    pub confounders: Vec<Confounder>,
    /// What would settle more.
    pub next: Vec<LinkNext>,
    /// What was found of runs and curves.
    pub caveats: Vec<Finding>,
    /// What was assumed without being measured.
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
    pub modes: Option<(Option<CallMode>, Option<CallMode>)>,
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
    /// where that other link is not known, or the difference is not distinguished from zero.
    pub gb_per_s: Option<f64>,
}

/// What differs between the sides beside the link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are the two sides")]
pub enum Confounder {
    /// The machine.
    Machine { a: String, b: String },
    /// The GPU.
    Gpu { a: String, b: String },
    /// The engine.
    Engine { a: String, b: String },
    /// The path between the GPUs, and with it maybe the NUMA node.
    Path { a: String, b: String },
}

/// What would settle more of a comparison, with its command where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum LinkNext {
    /// The collectives on both links, at the model's sizes.
    Curves { command: String },
    /// The same in one mode on both.
    SameMode { command: String },
    /// The same over several launches.
    MoreLaunches { command: String },
    /// The comparison on one GPU of each side, which sends nothing.
    OneGpu,
    /// Which path the engine takes: its log, and a trace.
    Path,
    /// Five starts of the server on each link, in turn.
    Repeats,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum LinkVerdict {
    /// The link explains the difference.
    ExplainedByLink,
    /// More differs than the link explains.
    MoreThanLink {
        /// By so much, ms.
        beyond: Range,
    },
    /// The slower link costs less than its collectives take longer.
    LessThanLink {
        /// By so much, ms.
        short: Range,
    },
    /// Neither the runs nor the curves differ.
    NoDifference,
    /// The links differ by less than these runs can show.
    CannotShow {
        /// What the links differ by at most, ms.
        most_ms: f64,
        /// What these runs show from, ms.
        seen_from_ms: f64,
    },
    /// The link could be it, and is not proven to: the curves are prior knowledge, or the agreement is rough.
    LinkCould,
    /// The side with the faster link is slower.
    AgainstLink,
    /// Nothing can be said of the link.
    NotTold {
        /// Why.
        why: NotTold,
    },
}

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotTold {
    /// A side has no curve.
    NoCurves,
    /// The curves were timed in two modes.
    CurveModes,
    /// The runs do not distinguish the difference from none.
    RunsTooRough,
    /// The curves show no difference.
    CurvesTooRough,
}

/// What a link can carry by what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhysicalLink {
    /// Generation and lanes, such as `Gen4 x8`.
    pub words: String,
    /// GB/s of one direction after line encoding; no transfer reaches it.
    pub raw_gb_per_s: f64,
    /// The class of the path between the GPUs, such as `NODE`; `None` where nobody said.
    pub path: Option<String>,
}
