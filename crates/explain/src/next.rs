//! What to measure next: the measurements that would narrow the intervals, the one that narrows most first.

use serde::{Deserialize, Serialize};
use tp_plan::ModelFacts;

use crate::attribute::{Attribution, Measurement, VarianceShare};
use crate::inputs::Inputs;

/// Less than this share of both variances is not worth a run.
const WORTH: f64 = 0.02;

/// A measurement that would narrow an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What would be measured, and what of the variance it explains to first order.
    pub share: VarianceShare,
    /// What to measure.
    pub what: String,
    /// How.
    pub how: String,
}

/// Measurements by the larger of the shares that they explain of the communication bar's and of the remainder's variance.
#[must_use]
pub fn next(inputs: &Inputs, attribution: &Attribution) -> Vec<NextStep> {
    let weight = |share: &VarianceShare| {
        share
            .of_communication
            .unwrap_or(0.0)
            .max(share.of_remainder)
    };
    let mut shares = attribution.shares.clone();
    shares.retain(|share| weight(share) >= WORTH);
    shares.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let step = |share: VarianceShare| {
        let (what, how) = words(inputs, attribution, share.measurement);
        NextStep { share, what, how }
    };
    shares.into_iter().map(step).collect()
}

fn words(inputs: &Inputs, attribution: &Attribution, of: Measurement) -> (String, String) {
    let (tp, batch) = (attribution.tp, attribution.batch);
    match of {
        Measurement::Curve if inputs.usable_curve().is_empty() => (
            "the collectives at the plan's sizes, in a graph, on this box".to_owned(),
            format!(
                "allreduce-bench --model {} --tp {tp} --batches {batch}",
                inputs.model.name
            ),
        ),
        Measurement::Curve => (
            "the collectives inside the engine".to_owned(),
            "a trace of some decode steps (nsys, rocprof): the sum of the collective kernels of one step".to_owned(),
        ),
        Measurement::HalfModel => (
            format!("the model at 1/{tp} width on one GPU: what a step takes without communication"),
            half_model(&inputs.model, tp),
        ),
        Measurement::FirstToken => (
            "the time to first token, and whether prompts came from the prefix cache".to_owned(),
            "the same load with a stream, such as serve-bench run, on a server with --no-enable-prefix-caching".to_owned(),
        ),
        Measurement::Repeats => (
            "the spread between starts".to_owned(),
            "five starts of each server, in turn, the same load each".to_owned(),
        ),
    }
}

/// The arguments of a vLLM server that runs a rank's share as a model of its own. The prompts' token ids must lie in the smaller
/// vocabulary.
fn half_model(model: &ModelFacts, tp: u32) -> String {
    let part = |whole: u32| whole.div_ceil(tp);
    let (width_key, width) = match model.experts {
        Some(experts) => ("moe_intermediate_size", experts.intermediate),
        None => ("intermediate_size", model.intermediate),
    };
    let mut how = format!(
        "vllm serve MODEL -tp 1 --load-format dummy --hf-overrides '{{\"num_attention_heads\":{},\"num_key_value_heads\":{},\"head_dim\":{},\"{width_key}\":{},\"vocab_size\":{}}}'",
        part(model.heads),
        part(model.kv_heads),
        model.head_dim,
        part(width),
        part(model.vocab),
    );
    if model.family.starts_with("qwen2") {
        how.push_str(" (vLLM's Qwen2 takes the head size from the hidden size: add \"architectures\":[\"LlamaForCausalLM\"],\"attention_bias\":true; not tried)");
    }
    how
}
