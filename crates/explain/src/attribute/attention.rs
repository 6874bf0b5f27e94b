//! Attention of a decode step.

use tp_plan::ModelFacts;

use super::deck::{Hand, Knob};

/// Attention of a step, ms: reading `cache` bytes where weights are read at `bytes_per_ms`, and never less than what its
/// kernels take at any length. Predictions of published steps are nearer by this than by [`attention_in_parts_ms`]: from TP1 a
/// median error of 6.6% against 8.4% (n = 60).
pub(crate) fn attention_ms(model: &ModelFacts, hand: &Hand, cache: f64, bytes_per_ms: f64) -> f64 {
    (cache * hand.get(Knob::KvRead) / bytes_per_ms).max(at_any_length(model, hand))
}

/// The same where both count, as for an attribution: the cache write, rotary embedding and launch gaps that are most of what
/// kernels take at any length hide no reading, and they are what never shards.
pub(super) fn attention_in_parts_ms(
    model: &ModelFacts,
    hand: &Hand,
    cache: f64,
    bytes_per_ms: f64,
) -> f64 {
    at_any_length(model, hand) + cache * hand.get(Knob::KvRead) / bytes_per_ms
}

fn at_any_length(model: &ModelFacts, hand: &Hand) -> f64 {
    f64::from(model.layers) * hand.get(Knob::Attention) / 1e3
}
