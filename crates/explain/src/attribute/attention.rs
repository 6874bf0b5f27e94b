//! Attention of a decode step.

use tp_plan::ModelFacts;

use super::deck::{Hand, Knob};

/// Attention of a step, ms: reading `cache` bytes where weights are read at `bytes_per_ms`, and never less than what its
/// kernels take at any length.
pub(crate) fn attention_ms(model: &ModelFacts, hand: &Hand, cache: f64, bytes_per_ms: f64) -> f64 {
    let floor = f64::from(model.layers) * hand.get(Knob::Attention) / 1e3;
    (cache * hand.get(Knob::KvRead) / bytes_per_ms).max(floor)
}
