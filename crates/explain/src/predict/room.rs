//! Whether a model goes into so many GPUs, and its cache beside it.
//!
//! It counts bytes of weights and cache alone. Activations, captured graphs and the runtime take more, of the part that the engine
//! fills, too, and are not counted: what does not fit here does not run, and what just fits may not run either. What a sliding
//! window drops is not taken off the cache, so that the cache of such a model refuses nothing.

use tp_plan::ModelFacts;

use super::link::PredictInputs;
use super::result::NotPredicted;

/// The share of a GPU's memory that engines fill by default (vLLM's `gpu_memory_utilization`).
const FILLED: f64 = 0.9;

/// What each of so many GPUs needs of its memory for a model's weights and for the cache of its requests, and what it has. Bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// A rank's share of the weights.
    pub weights: f64,
    /// A rank's share of the cache of one sequence at its full length.
    pub sequence: f64,
    /// The part of its memory that the engine fills; `None` where the memory is not known.
    pub filled: Option<f64>,
}

impl Room {
    /// What `tp` GPUs of `memory` bytes each have and need for sequences of so many tokens at their end; `share` is the part of the
    /// memory that the engine is told to fill, where it is told one.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
    pub fn new(
        model: &ModelFacts,
        tp: u32,
        tokens: f64,
        memory: Option<u64>,
        share: Option<f64>,
    ) -> Self {
        Self {
            weights: model.weight_bytes as f64 / f64::from(tp.max(1)),
            sequence: model.kv_bytes_per_token_on_rank(tp) as f64 * tokens,
            filled: memory.map(|memory| memory as f64 * share.unwrap_or(FILLED)),
        }
    }

    /// Bytes that a GPU needs for so many sequences at once.
    #[must_use]
    pub fn needs(&self, batch: u32) -> f64 {
        self.weights + f64::from(batch) * self.sequence
    }

    /// Whether the weights alone go in; `None` where the memory is not known.
    #[must_use]
    pub fn holds_weights(&self) -> Option<bool> {
        Some(self.weights <= self.filled?)
    }

    /// Whether so many sequences go in at once; `None` where the memory is not known.
    #[must_use]
    pub fn holds(&self, batch: u32) -> Option<bool> {
        Some(self.sequences()? >= batch)
    }

    /// Sequences whose cache fits beside the weights; `None` where the memory is not known.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "held between 0 and a million"
    )]
    fn sequences(&self) -> Option<u32> {
        let free = self.filled? - self.weights;
        Some((free / self.sequence).clamp(0.0, 1e6) as u32)
    }
}

/// Sequences of full length whose cache fits beside the weights; `None` where the memory is not known.
pub(super) fn cache_holds(inputs: &PredictInputs, tp: u32) -> Option<u32> {
    let base = &inputs.base;
    let tokens = inputs.input_tokens + inputs.output_tokens;
    Room::new(&base.model, tp, tokens, base.around.memory_bytes, None).sequences()
}

/// Why the weights do not go into `tp` GPUs; `None` where they do, as far as their memory is known.
pub(super) fn weights(inputs: &PredictInputs, tp: u32) -> Option<NotPredicted> {
    let base = &inputs.base;
    let memory = base.around.memory_bytes?;
    let gb = |bytes: u64| {
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let bytes = bytes as f64;
        bytes / 1e9
    };
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

/// Whether what the cache is said to take is what it takes. Layers with sliding windows keep less, so that more sequences fit.
pub(super) fn is_whole_cache(inputs: &PredictInputs) -> bool {
    inputs.base.model.keeps_every_token()
}

/// Whether the model can be served on one GPU at this batch and length, was, or nobody knows.
pub(super) fn fits_one(inputs: &PredictInputs) -> bool {
    let was_served = inputs.base.runs(1).next().is_some();
    let is_sure = !was_served && is_whole_cache(inputs);
    weights(inputs, 1).is_none() && !(is_sure && cache(inputs, 1).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_needs_its_share_of_the_weights_and_of_the_cache() {
        let model = ModelFacts::resolve("llama-3.1-8b").unwrap();
        // 32 layers of keys and values of 8 heads of 128 numbers of 2 B: 131072 B a token, half of it on one of two ranks;
        // 1000 tokens of it are 65.536 MB.
        let room = Room::new(&model, 2, 1000.0, Some(24_000_000_000), None);
        assert!((room.sequence - 65.536e6).abs() < 1.0, "{room:?}");
        // 90% of 24 GB.
        assert_eq!(room.filled, Some(21.6e9));
        // About 8.03e9 weights of 2 B on two GPUs: 8.03 GB each, and 10 sequences 0.66 GB.
        assert!((room.needs(10) / 1e9 - 8.69).abs() < 0.02, "{room:?}");
        // (21.6 - 8.03) / 0.065536 is 207.
        assert_eq!(
            (room.holds(200), room.holds(215)),
            (Some(true), Some(false))
        );
        // A third of the memory, 8 GB, does not hold the weights; without a memory nothing is known.
        let third = Room::new(&model, 2, 1000.0, Some(24_000_000_000), Some(1.0 / 3.0));
        assert_eq!(third.holds(1), Some(false));
        assert_eq!(
            (third.holds_weights(), room.holds_weights()),
            (Some(false), Some(true))
        );
        assert_eq!(Room::new(&model, 2, 1000.0, None, None).holds(1), None);
    }
}
