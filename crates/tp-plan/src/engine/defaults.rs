//! What an engine does where nobody told it otherwise: capture sizes, token budget, executor, its own all-reduce.
//!
//! vLLM's rules are those of the 0.13.0 wheel: `config/vllm.py` (`_set_cudagraph_sizes`), `engine/arg_utils.py`
//! (`get_batch_defaults`), `config/parallel.py`, `custom_all_reduce.py`, `platforms/rocm.py` (`use_custom_allreduce`).
//! SGLang's are those of the 0.5.6 wheel: `srt/server_args.py` (`_handle_gpu_memory_settings`,
//! `_generate_cuda_graph_batch_sizes`) and its `custom_all_reduce.py`.

use super::facts::{
    CustomAllReduce, Engine, EngineFacts, Execution, OffCause, Surroundings, Vendor,
};

const GIB: u64 = 1 << 30;

/// What is assumed where nobody looked; a log of the engine may settle it, see [`EngineFacts::settle`].
const NOT_PROBED: &str = "peer access was not probed and is taken to work";
const VLLM_MEMORY: &str =
    "the GPU's memory is not known: 2048 tokens and 256 sequences a step, as below 70 GiB";
const TAKEN_FOR_A100: &str = "sm_80 is taken for an A100: 2048 tokens and 256 sequences a step";
const SGLANG_MEMORY: &str = "the GPU's memory is not known: chunks of 4096 tokens and graphs up to 160, as SGLang then does";
const METAX_SIZES: &str = "vLLM-metax is taken to capture the same graph sizes as vLLM";

/// TensorRT-LLM's default tokens and sequences of a step, and the largest captured batch where requests fill it.
const TRTLLM_TOKENS: u32 = 8192;
const TRTLLM_SEQUENCES: u32 = 2048;
const TRTLLM_GRAPHS: u32 = 512;

/// Numbers of ranks that the custom all-reduce kernels are compiled for.
const CUSTOM_RANKS: [u32; 4] = [2, 4, 6, 8];

impl EngineFacts {
    /// vLLM's OpenAI server as it starts by default.
    #[must_use]
    pub fn vllm(tp: u32, around: &Surroundings) -> Self {
        let mut assumed = assumed_of(tp, around);
        let (tokens, sequences) = vllm_batch(tp, around, &mut assumed);
        let mut facts = Self {
            engine: Engine::Vllm,
            version: None,
            tp,
            execution: Execution::Eager,
            custom_all_reduce: custom_all_reduce(Engine::Vllm, tp, around),
            max_batched_tokens: tokens,
            max_num_seqs: Some(sequences),
            vendor: around.vendor,
            architecture: around.architecture.clone(),
            full_nvlink: linked(around),
            assumed,
        };
        if around.vendor != Vendor::Host {
            facts.execution = Execution::Graph {
                capture_sizes: Vec::new(),
            };
            facts.recapture();
        }
        facts
    }

    /// SGLang's server as it starts by default.
    #[must_use]
    pub fn sglang(tp: u32, around: &Surroundings) -> Self {
        let mut assumed = assumed_of(tp, around);
        assumed.push("a prefill chunk is one prompt's".to_owned());
        let architecture = around.architecture.as_deref().unwrap_or_default();
        let is_new = architecture.starts_with("sm_10") || architecture.starts_with("sm_12");
        if tp > 1 && is_new {
            assumed.push(
                "all-reduce and norm fused by FlashInfer, which SGLang uses for gpt-oss and DeepSeek on Blackwell, is not planned"
                    .to_owned(),
            );
        }
        let (chunk, largest) = sglang_batch(tp, around, &mut assumed);
        Self {
            engine: Engine::Sglang,
            version: None,
            tp,
            execution: match around.vendor {
                Vendor::Host => Execution::Eager,
                _ => Execution::Graph {
                    capture_sizes: sglang_sizes(largest),
                },
            },
            custom_all_reduce: custom_all_reduce(Engine::Sglang, tp, around),
            max_batched_tokens: chunk,
            max_num_seqs: None,
            vendor: around.vendor,
            architecture: around.architecture.clone(),
            full_nvlink: linked(around),
            assumed,
        }
    }

    /// TensorRT-LLM's server (PyTorch backend) as it starts by default: `max_num_tokens` 8192, `max_batch_size` 2048, graphs of each batch
    /// (`llmapi/llm_args.py`). Its own all-reduce needs peer access between all ranks.
    #[must_use]
    pub fn trtllm(tp: u32, around: &Surroundings) -> Self {
        Self {
            engine: Engine::Trtllm,
            max_batched_tokens: TRTLLM_TOKENS,
            max_num_seqs: Some(TRTLLM_SEQUENCES),
            execution: Execution::Graph {
                capture_sizes: (1..=TRTLLM_GRAPHS).collect(),
            },
            assumed: assumed_of(tp, around),
            ..Self::vllm(tp, around)
        }
    }

    /// Sets the largest number of tokens of a step (`--max-num-batched-tokens`, `--chunked-prefill-size`).
    #[must_use]
    pub fn with_max_batched_tokens(mut self, tokens: u32) -> Self {
        self.max_batched_tokens = tokens;
        self.recapture();
        self
    }

    /// Sets the largest number of sequences (`--max-num-seqs`, `--max-running-requests`); the captured sizes follow.
    #[must_use]
    pub fn with_max_num_seqs(mut self, sequences: u32) -> Self {
        self.max_num_seqs = Some(sequences);
        self.recapture();
        self
    }

    /// Takes out what is no longer assumed: `path` where the engine said who does its all-reduces, `limits` where it said the
    /// tokens of a step and its graphs.
    pub(crate) fn settle(&mut self, path: bool, limits: bool) {
        let settled = |sentence: &str| {
            (path && sentence == NOT_PROBED)
                || (limits
                    && [VLLM_MEMORY, TAKEN_FOR_A100, SGLANG_MEMORY, METAX_SIZES]
                        .contains(&sentence))
        };
        self.assumed.retain(|sentence| !settled(sentence));
    }

    /// Brings the captured sizes in line with the limits.
    fn recapture(&mut self) {
        let Execution::Graph { capture_sizes } = &mut self.execution else {
            return;
        };
        match (self.engine, self.max_num_seqs) {
            (Engine::Vllm, sequences) => {
                let doubled = sequences.unwrap_or(256).saturating_mul(2).min(512);
                *capture_sizes = vllm_sizes(doubled.min(self.max_batched_tokens));
            }
            (Engine::Sglang, Some(sequences)) => {
                let before = capture_sizes.len();
                capture_sizes.retain(|size| *size <= sequences);
                if capture_sizes.len() < before && capture_sizes.last() != Some(&sequences) {
                    capture_sizes.push(sequences);
                }
            }
            (Engine::Sglang, None) | (Engine::Trtllm, _) => {}
        }
    }
}

/// 1, 2, 4, then by 8 below 256, then by 16, up to `largest`.
fn vllm_sizes(largest: u32) -> Vec<u32> {
    [1, 2, 4]
        .into_iter()
        .chain((8..256).step_by(8))
        .chain((256..=512).step_by(16))
        .filter(|size| *size <= largest)
        .collect()
}

/// 1, 2, 4, 8, 12, then by 8 to 256, by 16 below 512, and by 32, up to `largest`.
fn sglang_sizes(largest: u32) -> Vec<u32> {
    [1, 2, 4, 8, 12]
        .into_iter()
        .chain((16..=256).step_by(8))
        .chain((272..512).step_by(16))
        .chain((512..=largest).step_by(32))
        .filter(|size| *size <= largest)
        .collect()
}

/// Tokens and sequences of a step. The A100 is named in vLLM's rule; `sm_80` with 70 GiB or more is taken for one.
fn vllm_batch(tp: u32, around: &Surroundings, assumed: &mut Vec<String>) -> (u32, u32) {
    if around.vendor == Vendor::Host {
        return (tp.saturating_mul(2048), tp.saturating_mul(128));
    }
    let Some(memory) = around.memory_bytes else {
        assumed.push(VLLM_MEMORY.to_owned());
        return (2048, 256);
    };
    if memory < 70 * GIB {
        (2048, 256)
    } else if around.architecture.as_deref() == Some("sm_80") {
        assumed.push(TAKEN_FOR_A100.to_owned());
        (2048, 256)
    } else {
        (8192, 1024)
    }
}

/// Tokens of a prefill chunk and the largest captured batch.
fn sglang_batch(tp: u32, around: &Surroundings, assumed: &mut Vec<String>) -> (u32, u32) {
    let Some(memory) = around.memory_bytes else {
        assumed.push(SGLANG_MEMORY.to_owned());
        return (4096, 160);
    };
    let by_ranks = |few, many| if tp < 4 { few } else { many };
    match memory / GIB {
        0..20 => (2048, 8),
        20..35 => (2048, by_ranks(24, 80)),
        35..60 => (4096, by_ranks(32, 160)),
        60..160 => (8192, by_ranks(256, 512)),
        _ => (16384, 512),
    }
}

/// NVLinks count only where memory can be reached over them.
fn linked(around: &Surroundings) -> bool {
    around.full_nvlink && around.peer_access != Some(false)
}

fn assumed_of(tp: u32, around: &Surroundings) -> Vec<String> {
    let mut assumed = Vec::new();
    if tp > 1 && around.vendor == Vendor::Nvidia && around.peer_access.is_none() {
        assumed.push(NOT_PROBED.to_owned());
    }
    if around.vendor == Vendor::Metax {
        assumed.push(METAX_SIZES.to_owned());
    }
    if around.vendor == Vendor::Other {
        assumed.push(
            "no engine's rules for this vendor's GPUs are known: graphs and batches are taken to be as on other GPUs"
                .to_owned(),
        );
    }
    assumed
}

/// The engine's own checks, in its order.
fn custom_all_reduce(engine: Engine, tp: u32, around: &Surroundings) -> CustomAllReduce {
    let off = |reason: String| CustomAllReduce::off(reason);
    if tp <= 1 {
        return off("one rank has nothing to reduce".to_owned());
    }
    match around.vendor {
        Vendor::Host => return off("there is no GPU".to_owned()),
        Vendor::Metax => return off("vLLM-metax does collectives with MCCL".to_owned()),
        Vendor::Other => return off("it is not known to be for this vendor's GPUs".to_owned()),
        Vendor::Amd if engine == Engine::Vllm => {
            let architecture = around.architecture.as_deref().unwrap_or("unknown");
            if !["gfx94", "gfx95"]
                .iter()
                .any(|known| architecture.starts_with(known))
            {
                return off(format!(
                    "on ROCm it is for gfx94 and gfx95 only, this is {architecture}"
                ));
            }
        }
        Vendor::Amd | Vendor::Nvidia => {}
    }
    if !CUSTOM_RANKS.contains(&tp) {
        return off(format!("{tp} ranks; it is for 2, 4, 6 or 8"));
    }
    if around.vendor == Vendor::Amd && engine == Engine::Sglang && !linked(around) {
        return off("on ROCm it needs a direct xGMI between all pairs".to_owned());
    }
    if tp > 2 && !around.full_nvlink {
        return off(format!(
            "{tp} GPUs without a direct NVLink between all pairs; over PCIe it is for two"
        ));
    }
    if around.vendor == Vendor::Nvidia && around.peer_access == Some(false) {
        let reason = match around.no_peer_reason.as_str() {
            "" => "no peer access".to_owned(),
            why => format!("no peer access ({why})"),
        };
        let cause = OffCause::NoPeers;
        return CustomAllReduce::Off { reason, cause };
    }
    CustomAllReduce::Active
}
