//! Whether a model goes into so many GPUs, and its cache beside it.
//!
//! It counts bytes of weights and cache alone: what else an engine keeps is in the share of the memory that it leaves free.

use super::inputs::PredictInputs;
use super::result::PredictError;

/// The share of a GPU's memory that engines fill by default (vLLM's `gpu_memory_utilization`).
const FILLED: f64 = 0.9;

/// Fails where the weights do not go into `tp` GPUs, as far as their memory is known.
pub(super) fn weights(inputs: &PredictInputs, tp: u32) -> Result<(), PredictError> {
    let base = &inputs.base;
    let memory = base
        .around
        .memory_bytes
        .filter(|_| base.weights_fit(tp) == Some(false));
    let Some(memory) = memory else {
        return Ok(());
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    Err(PredictError::NoRoom {
        tp,
        memory: memory as f64 / 1e9,
        weights: base.model.weight_bytes as f64 / 1e9,
    })
}

/// Sequences of full length whose cache fits beside the weights; `None` where the memory is not known.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes are far below 2^53, and the number is held between 0 and a million"
)]
pub(super) fn cache_holds(inputs: &PredictInputs, tp: u32) -> Option<u32> {
    let memory = inputs.base.around.memory_bytes? as f64;
    let model = &inputs.base.model;
    let free = memory * FILLED - model.weight_bytes as f64 / f64::from(tp);
    let token = model.kv_bytes_per_token_on_rank(tp) as f64;
    let each = token * tokens(inputs);
    Some((free / each).clamp(0.0, 1e6) as u32)
}

/// Fails where the cache beside the weights does not hold the sequences that are to decode at once.
pub(super) fn cache(inputs: &PredictInputs, tp: u32) -> Result<(), PredictError> {
    match cache_holds(inputs, tp) {
        Some(holds) if holds < inputs.batch => Err(PredictError::NoCache {
            tp,
            holds,
            batch: inputs.batch,
            tokens: tokens(inputs),
            filled: FILLED * 100.0,
        }),
        _ => Ok(()),
    }
}

/// Why the model cannot be served on one GPU at this batch and length; `None` where it can, was, or nobody knows.
pub(super) fn why_not_on_one(inputs: &PredictInputs) -> Option<PredictError> {
    let was_served = inputs.base.runs(1).next().is_some();
    let all = weights(inputs, 1).and_then(|()| match was_served {
        true => Ok(()),
        false => cache(inputs, 1),
    });
    all.err()
}

/// Tokens of a sequence at its end.
fn tokens(inputs: &PredictInputs) -> f64 {
    inputs.input_tokens + inputs.output_tokens
}
