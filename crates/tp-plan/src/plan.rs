//! The plan of one step: its collectives in order, with their bytes and who does them.
//!
//! The rules as read in vLLM 0.13.0: one all-reduce after the vocabulary-parallel embedding
//! (`vocab_parallel_embedding.py`), one after every row-parallel projection, that is after attention and after the
//! feed-forward network or the experts (`linear.py`, `fused_moe/layer.py`), and one all-gather of the logits
//! (`logits_processor.py`). Sequence parallelism, fused all-reduce and speculative decoding are off by default and not
//! planned; nor is the vision part of a multimodal model.

use record::{CollectiveKind, CollectivePath, PlannedCollective, PlannedStep};

use crate::{Engine, EngineFacts, ModelFacts, Vendor, WeightFormat};

/// Vocabularies are padded to a multiple of this before they are cut (vLLM's and SGLang's `DEFAULT_VOCAB_PADDING_SIZE`).
pub(crate) const VOCAB_MULTIPLE: u32 = 64;

/// Numbers of 16 bits that ranks sum for a token in each layer of MiniMax-M2, whose norms of queries and keys span all heads: the mean
/// square of both in 32 bits (vLLM `mamba/linear_attn.py` `MiniMaxText01RMSNormTP.forward_qk`).
const NORM_WIDTH: u32 = 4;

/// What goes through one step.
struct Step {
    padded_batch: u32,
    prefill_tokens: Option<u32>,
    /// Tokens that every all-reduce carries.
    tokens: u32,
    /// Sequences whose logits are gathered.
    rows: u32,
    rows_rule: String,
}

/// The collectives of one step: `batch` sequences decode, and a prefill chunk of `prefill_tokens` tokens rides along where
/// one is given. A tensor parallel size of 1 has none.
///
/// A chunk is cut to what [`EngineFacts::max_batched_tokens`] leaves, as the engine cuts it, and the step says what is
/// left of it. Where a step of vLLM is padded to a captured size, the padding is added to the batch, so that
/// `padded_batch` plus the chunk is what every all-reduce carries. SGLang runs a chunk as a step of its own: the decoding
/// sequences wait.
#[must_use]
pub fn plan(
    model: &ModelFacts,
    engine: &EngineFacts,
    batch: u32,
    prefill_tokens: Option<u32>,
) -> PlannedStep {
    let step = step(engine, batch, prefill_tokens);
    let collectives = if engine.tp > 1 && step.tokens > 0 {
        collectives(model, engine, &step)
    } else {
        Vec::new()
    };
    PlannedStep {
        model: model.name.clone(),
        engine: engine.describe(),
        tp: engine.tp,
        batch,
        padded_batch: step.padded_batch,
        prefill_tokens: step.prefill_tokens,
        collectives,
    }
}

fn step(engine: &EngineFacts, batch: u32, prefill_tokens: Option<u32>) -> Step {
    let budget = match engine.engine {
        Engine::Vllm | Engine::Trtllm => engine.max_batched_tokens.saturating_sub(batch),
        Engine::Sglang => engine.max_batched_tokens,
    };
    let chunk = prefill_tokens
        .map(|tokens| tokens.min(budget))
        .filter(|tokens| *tokens > 0);
    match (engine.engine, chunk) {
        (Engine::Vllm | Engine::Trtllm, chunk) => {
            let chunk_tokens = chunk.unwrap_or(0);
            let tokens = engine.padded(batch.saturating_add(chunk_tokens));
            Step {
                padded_batch: tokens - chunk_tokens,
                prefill_tokens: chunk,
                tokens,
                rows: batch.saturating_add(u32::from(chunk.is_some())),
                rows_rule: match chunk {
                    Some(_) => "one row a sequence, the chunk's prompt counted as one".to_owned(),
                    None => "one row a sequence, not padded: outside the captured graph".to_owned(),
                },
            }
        }
        (Engine::Sglang, None) => {
            let tokens = engine.padded(batch);
            Step {
                padded_batch: tokens,
                prefill_tokens: None,
                tokens,
                rows: tokens,
                rows_rule: "one row a sequence, padded: inside the captured graph".to_owned(),
            }
        }
        (Engine::Sglang, Some(chunk)) => Step {
            padded_batch: batch,
            prefill_tokens: Some(chunk),
            tokens: chunk,
            rows: 1,
            rows_rule: "one row for the chunk's prompt; decoding waits".to_owned(),
        },
    }
}

fn collectives(model: &ModelFacts, engine: &EngineFacts, step: &Step) -> Vec<PlannedCollective> {
    let all_reduce = |role: &str, count: u32, width: u32, padding: &str| {
        let bytes = u64::from(step.tokens) * u64::from(width) * u64::from(model.activation_bytes);
        let (path, rule) = engine.all_reduce_path(bytes);
        PlannedCollective {
            kind: CollectiveKind::AllReduce,
            role: role.to_owned(),
            count,
            bytes_per_rank: bytes,
            path,
            rule: format!("{rule}{padding}"),
        }
    };
    let routed = model.experts.map_or(0, |experts| experts.layers);
    let (moe_width, padding) = moe_width(model, engine);
    let norms = match model.family.as_str() {
        "minimax_m2" => model.layers,
        _ => 0,
    };
    let mut collectives = vec![
        all_reduce("embedding", 1, model.hidden, ""),
        all_reduce("norm of queries and keys", norms, NORM_WIDTH, ""),
        all_reduce("attention output", model.layers, model.hidden, ""),
        all_reduce(
            "mlp output",
            model.layers.saturating_sub(routed),
            model.hidden,
            "",
        ),
        all_reduce("moe output", routed, moe_width, &padding),
        logits(model, engine, step),
    ];
    collectives.retain(|collective| collective.count > 0);
    collectives
}

fn logits(model: &ModelFacts, engine: &EngineFacts, step: &Step) -> PlannedCollective {
    let vocab = model.vocab.next_multiple_of(VOCAB_MULTIPLE);
    let share = vocab.div_ceil(engine.tp);
    PlannedCollective {
        kind: CollectiveKind::AllGather,
        role: "logits".to_owned(),
        count: 1,
        bytes_per_rank: u64::from(step.rows) * u64::from(share) * u64::from(model.activation_bytes),
        path: CollectivePath::Library,
        rule: format!(
            "the logits' all-gather is always the library's; {}",
            step.rows_rule
        ),
    }
}

/// The width that the experts' output is reduced at, and the rule where it is not the hidden size.
///
/// vLLM pads the hidden size of MXFP4 experts before the reduce and trims it after (`quantization/mxfp4.py`
/// `create_weights`, `fused_moe/layer.py` `forward_native`); to what depends on the kernel, and that on the GPU. SGLang trims
/// before the reduce (`fused_moe_triton/layer.py`).
fn moe_width(model: &ModelFacts, engine: &EngineFacts) -> (u32, String) {
    if engine.engine != Engine::Vllm || model.weights != WeightFormat::Mxfp4 {
        return (model.hidden, String::new());
    }
    let architecture = engine.architecture.as_deref();
    let (multiple, kernel) = match (engine.vendor, architecture) {
        (Vendor::Nvidia, Some(name)) if name.starts_with("sm_90") => (1, "Triton on sm_90"),
        (Vendor::Nvidia, Some(name)) if name.starts_with("sm_10") => (256, "FlashInfer on sm_10x"),
        (Vendor::Nvidia, Some(_)) => (256, "Marlin, which is for all but sm_90 and sm_10x"),
        (Vendor::Nvidia, None) => (256, "Marlin; assumed, the architecture is not known"),
        (Vendor::Amd, Some("gfx950")) => (256, "Triton on gfx950"),
        (Vendor::Amd, _) => (128, "Triton on ROCm"),
        (Vendor::Metax | Vendor::Host | Vendor::Other, _) => (1, ""),
    };
    let width = model.hidden.next_multiple_of(multiple);
    if width == model.hidden {
        return (width, String::new());
    }
    let rule = format!(
        "; the kernel for MXFP4 experts pads {} to {width}, a multiple of {multiple}, before the reduce ({kernel})",
        model.hidden
    );
    (width, rule)
}
