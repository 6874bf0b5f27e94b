//! What a prediction says.

use serde::{Deserialize, Serialize};
use tp_plan::ModelError;

use crate::attribute::{Bar, CollectiveCost};
use crate::finding::Finding;
use crate::priors::Prior;
use crate::range::Range;
use crate::sources::InputSource;

/// The version of this form; a reader refuses a higher one.
pub const PREDICTION_SCHEMA: u32 = 2;

/// What a model will take on one GPU and on several, as it is written as JSON. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// [`PREDICTION_SCHEMA`] of the writer.
    pub schema: u32,
    /// The simulated machine, or the box file, behind any input; `None` where all is measured.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// The engine with its version and mode, in words.
    pub engine: Option<String>,
    /// The box's name.
    pub box_name: Option<String>,
    /// The GPUs' name.
    pub gpu: Option<String>,
    /// Sequences that decode at once.
    pub batch: u32,
    /// Prompt tokens of a request.
    pub input_tokens: f64,
    /// Output tokens of a request.
    pub output_tokens: f64,
    /// One entry for each size that was asked about, as asked.
    pub sizes: Vec<Predicted>,
    /// Sizes that were asked about and are not predicted, each with why.
    #[serde(default)]
    pub not_predicted: Vec<NotPredicted>,
    /// The size that speed-ups are against: one GPU, or where it does not hold the load the smallest that does; `None` where there
    /// are no speed-ups.
    pub speed_up_over: Option<u32>,
    /// Where each input came from.
    pub inputs: Vec<InputSource>,
    /// What was assumed without being measured.
    pub priors: Vec<Prior>,
    /// Caveats, a sentence each.
    pub caveats: Vec<Finding>,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of draws.
    pub draws: u32,
}

/// A size that the load does not go into.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NotPredicted {
    /// Number of GPUs.
    pub tp: u32,
    /// Where the weights alone do not fit: their GB and those of the memory of all GPUs.
    pub weights_of_memory: Option<(f64, f64)>,
    /// Sequences that the cache holds, where it holds too few.
    pub holds: Option<u32>,
}

impl NotPredicted {
    fn room(&self) -> String {
        match (self.weights_of_memory, self.holds) {
            (Some((weights, memory)), _) => {
                format!("{memory:.1} GB of memory do not hold {weights:.1} GB of weights")
            }
            (None, holds) => format!("there is room for {} of the sequences", holds.unwrap_or(0)),
        }
    }
}

/// What one tensor parallel size will take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Number of GPUs.
    pub tp: u32,
    /// What it rests on.
    pub level: Level,
    /// The parts that sum to the step, each with its own interval; intervals do not add up, draws do.
    pub parts: Vec<Bar>,
    /// Time of a decode step.
    pub step: Range,
    /// What a client sees.
    pub serving: Serving,
    /// Sequences whose cache goes into the GPUs at their full length; `None` where the memory is not known.
    pub cache_holds: Option<u32>,
    /// Collectives of a step with the time that a curve gives them; empty on one GPU.
    pub collectives: Vec<CollectiveCost>,
}

/// What a prediction of one size rests on, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Peak rates of the GPU and a curve of collectives.
    Roofline,
    /// A measured step on one GPU, and a curve.
    MeasuredOne,
}

/// What a client of the server sees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Serving {
    /// Time per output token: the step, and as much of other requests' prefill as may fall between two tokens.
    pub tpot: Range,
    /// Output tokens per second of all sequences together while they decode.
    pub tokens_per_s: Range,
    /// Time to first token of a prompt that finds the server empty.
    pub ttft_alone: Range,
    /// TPOT of the size in [`Prediction::speed_up_over`] over this; `None` for that size, and where the two rest on unlike
    /// evidence.
    pub speed_up: Option<Range>,
}

/// There is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The model cannot be cut so.
    #[error(transparent)]
    Size(#[from] ModelError),
    /// Nothing tells how fast the GPU reads its weights.
    #[error(
        "no peak rates are known of {gpu}: give a result of one GPU (--tp1), or name one of the GPUs in gpus.toml"
    )]
    NoPeak {
        /// The GPU's name, or that there is none.
        gpu: String,
    },
    /// Nothing tells what a collective takes.
    #[error(
        "there is no all-reduce curve of {tp} ranks for this box, none published for its GPU and no rate of its links: give --allreduce FILE or --links FILE"
    )]
    NoCurve {
        /// Number of ranks.
        tp: u32,
    },
    /// The load does not go into the GPUs; where all sizes are of that kind, the first of them.
    #[error("TP{} does not fit: {}; ask for more GPUs, or for fewer and shorter sequences", .0.tp, .0.room())]
    NoRoom(NotPredicted),
    /// An engine, a prior or a step is missing from the inputs.
    #[error("the inputs lack {0}")]
    Lacks(String),
    /// A result says nothing about a decode step.
    #[error("nothing is predicted from {file}: {}", finding.code())]
    Refused {
        /// The file.
        file: String,
        /// What was found of it.
        finding: Box<Finding>,
    },
    /// A result is of another load than the one that is asked about.
    #[error("{file} is of {seen}, and {asked} is asked about: ask for the same")]
    OtherLoad {
        /// The file.
        file: String,
        /// Its load.
        seen: String,
        /// The one asked about.
        asked: String,
    },
}
