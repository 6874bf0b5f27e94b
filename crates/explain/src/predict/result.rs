//! What a prediction says, and whether a model goes into so many GPUs, and its cache beside it.
//!
//! Of room it counts bytes of weights and cache alone. Activations, captured graphs and the runtime take more, of the part that the engine
//! fills, too, and are not counted: what does not fit here does not run, and what just fits may not run either. What a sliding
//! window drops is not taken off the cache, so that the cache of such a model refuses nothing.

use std::fmt;

use serde::{Deserialize, Serialize};
use tp_plan::{ModelError, ModelFacts};

use super::link::PredictInputs;
use crate::attribute::{Bar, CollectiveCost};
use crate::explanation::InputSource;
use crate::finding::Finding;
use crate::priors::Prior;
use crate::range::{Range, count, whole};

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

impl fmt::Display for NotPredicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tp, holds, .. } = self;
        match self.weights_of_memory {
            Some((weights, memory)) => write!(
                f,
                "TP{tp} does not fit: {weights:.1} GB of weights, {memory:.1} GB of memory"
            ),
            None => write!(
                f,
                "TP{tp} does not fit: room for {} of these sequences",
                holds.unwrap_or(0)
            ),
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
    #[error("{0}; ask for more GPUs, or for fewer and shorter sequences")]
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

/// The share of a GPU's memory that engines fill by default (vLLM's `gpu_memory_utilization`).
const FILLED: f64 = 0.9;

/// Sequences of so many tokens at their end whose cache goes into `tp` GPUs of `memory` bytes each beside the weights; `None` where the
/// memory is not known.
#[must_use]
pub fn room(model: &ModelFacts, tp: u32, tokens: f64, memory: Option<u64>) -> Option<u32> {
    let sequence = count(model.kv_bytes_per_token_on_rank(tp)) * tokens;
    let free = count(memory?) * FILLED - count(model.weight_bytes) / f64::from(tp.max(1));
    Some(whole((free / sequence).min(1e6).floor()))
}

/// The same of the sequences that are asked about.
pub(super) fn cache_holds(inputs: &PredictInputs, tp: u32) -> Option<u32> {
    let base = &inputs.base;
    let tokens = inputs.input_tokens + inputs.output_tokens;
    room(&base.model, tp, tokens, base.around.memory_bytes)
}

/// Why the weights do not go into `tp` GPUs; `None` where they do, as far as their memory is known.
pub(super) fn weights(inputs: &PredictInputs, tp: u32) -> Option<NotPredicted> {
    let base = &inputs.base;
    let memory = base.around.memory_bytes?;
    let gb = |bytes: u64| count(bytes) / 1e9;
    let of = (gb(base.model.weight_bytes), gb(memory) * f64::from(tp));
    (base.weights_fit(tp) == Some(false)).then_some(NotPredicted {
        tp,
        weights_of_memory: Some(of),
        holds: None,
    })
}

/// Why the cache beside the weights does not hold the sequences that are to decode at once.
pub(super) fn cache(inputs: &PredictInputs, tp: u32) -> Option<NotPredicted> {
    let holds = cache_holds(inputs, tp);
    (holds? < inputs.batch).then_some(NotPredicted {
        tp,
        weights_of_memory: None,
        holds,
    })
}

/// Whether the model can be served on one GPU at this batch and length, was, or nobody knows.
pub(super) fn fits_one(inputs: &PredictInputs) -> bool {
    let was_served = inputs.base.runs(1).next().is_some();
    // Layers with sliding windows keep less than is counted, so that more sequences fit.
    let is_sure = !was_served && inputs.base.model.keeps_every_token();
    weights(inputs, 1).is_none() && !(is_sure && cache(inputs, 1).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_has_room_for_its_share_of_the_weights_and_of_the_cache() {
        let model = ModelFacts::resolve("llama-3.1-8b").unwrap();
        // 32 layers of keys and values of 8 heads of 128 numbers of 2 B: 131072 B a token, half of it on one of two ranks; 1000
        // tokens of it are 65.536 MB. 90% of 24 GB less 8.03 GB, half of about 8.03e9 weights of 2 B, hold 207.
        assert_eq!(room(&model, 2, 1000.0, Some(24_000_000_000)), Some(207));
        // A third of the memory does not hold the weights; without a memory nothing is known.
        assert_eq!(room(&model, 2, 1000.0, Some(8_000_000_000)), Some(0));
        assert_eq!(room(&model, 2, 1000.0, None), None);
    }
}
