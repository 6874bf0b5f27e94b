//! Which words of a log say what: a row each, with the engine, its versions and the file that prints them.
//!
//! Read in vLLM 0.13 and 0.32 (wheels) and in public logs of 0.5.4, 0.6.3, 0.6.4, 0.8.4, 0.13.0 and 0.26.0; SGLang's in public logs of
//! 2024 to 2026 and in `srt/server_args.py`, `srt/distributed`, `srt/model_executor`; NCCL's in its sources and public logs.

use super::facts::Graphs;
use super::pairs::{sizes, small};
use super::reading::{Hit, Reading};
use super::rule::{Rule, rule, warning};
use super::says::{
    all_reduce_backends, custom_off, custom_on, eager, library, library_says, registered,
};
use super::starts::{sglang_arguments, sglang_limits, vllm_arguments, vllm_config, vllm_server};
use crate::engine::{CustomAllReduce, Engine};

fn library_version(reading: &mut Reading, rule: &Rule, hit: Hit<'_>) {
    let name = rule.needle.split(' ').next().unwrap_or_default();
    library(reading, name, hit);
}

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    // vLLM: `entrypoints/openai/api_server.py` to 0.2x, `entrypoints/serve/utils/api_utils.py` later.
    rule("vLLM API server version ", vllm_server),
    rule("vLLM server version ", vllm_server),
    // `Initializing an LLM engine (v` to 0.6, `a V0 LLM engine (v` and `a V1 LLM engine (v` from 0.7: `v1/engine/core.py`.
    rule("LLM engine (v", vllm_config),
    // To 0.4, without the version.
    rule("LLM engine with config:", vllm_config),
    // `args: Namespace(..)` to 0.9, `non-default args: {..}` from 0.9.
    rule("args: Namespace(", vllm_arguments),
    rule("non-default args: {", vllm_arguments),
    rule(
        "Chunked prefill is enabled with max_num_batched_tokens=",
        |reading, _, hit| {
            if let Some(tokens) = small(hit.rest) {
                let said = hit.said(tokens);
                if reading.configured {
                    // Printed before the configuration: this belongs to a start that has yet to come.
                    reading.next_tokens = Some(said);
                } else {
                    reading.say("tokens a step", |log| &mut log.max_batched_tokens, said);
                }
            }
        },
    ),
    // `Cudagraph is disabled under eager mode` of 0.9 to 0.2x, `Enforce eager set, disabling ..` of 0.3x: `config/vllm.py`.
    rule("Cudagraph is disabled under eager mode", eager),
    rule("Enforce eager set, disabling", eager),
    rule("Graph capturing finished in ", |reading, _, hit| {
        if reading.log.graphs.is_none() {
            reading.log.graphs = Some(hit.said(Graphs::Captured { sizes: None }));
        }
    }),
    // Progress bars: `CUDA graph shapes` to 0.10, `CUDA graphs (decode, FULL)` later; SGLang's `Capturing batches (bs=1 ..)`.
    // `attention/selector.py`, `platforms/cuda.py`, `platforms/rocm.py`, `platforms/cpu.py`.
    // `custom_all_reduce.py`, the same words from 0.4 to 0.3x and in SGLang.
    rule("Using [", all_reduce_backends),
    rule("Custom allreduce is disabled because ", custom_off),
    rule("Custom allreduce is disabled due to ", custom_off),
    // `config.py` of 0.6 on ROCm.
    rule("Disabled the custom all-reduce kernel because ", custom_off),
    // `custom_all_reduce.py` of both engines, once a rank when graphs were captured: only an active one has buffers.
    rule("Registering ", registered),
    // SGLang, `srt/distributed/parallel_state.py`.
    rule("Setup Custom allreduce failed with ", custom_off),
    rule("Using AiterCustomAllreduce", |reading, _, hit| {
        custom_on(reading, hit)
    }),
    rule("All-reduce call path: NCCL", |reading, _, hit| {
        // Also printed for groups that are not the tensor parallel one; a line that proves the contrary comes after it.
        if reading.log.custom_all_reduce.is_none() {
            let off = CustomAllReduce::off("SGLang says that NCCL does it");
            reading.log.custom_all_reduce = Some(hit.said(off));
        }
    }),
    // `v1/core/kv_cache_utils.py`: `GPU KV cache size: 767,552 tokens`; `CPU` on CPUs.
    // SGLang, `srt/mem_cache/memory_pool.py`.
    rule("vLLM is using nccl==", |reading, _, hit| {
        reading.of(Engine::Vllm, hit);
        library(reading, "NCCL", hit);
    }),
    rule("sglang is using nccl==", |reading, _, hit| {
        reading.of(Engine::Sglang, hit);
        library(reading, "NCCL", hit);
    }),
    rule("NCCL version ", library_version),
    rule("RCCL version ", library_version),
    rule("MCCL version ", library_version),
    rule("CCL INFO ", library_says),
    // SGLang, `srt/server_args.py` printed by `srt/entrypoints/engine.py`.
    rule("server_args=", sglang_arguments),
    rule("max_total_num_tokens=", sglang_limits),
    rule("Capture cuda graph bs ", |reading, _, hit| {
        let list = hit.rest.find(']').and_then(|end| hit.rest.get(..=end));
        if let Some(sizes) = list.and_then(sizes) {
            let captured = hit.said(Graphs::Captured { sizes: Some(sizes) });
            reading.log.graphs = Some(captured);
        }
    }),
    // What costs a step time, or sends messages another way.
    warning("CCL WARN ", "the library of collectives warns"),
    warning("P2P is disabled between connected GPUs", "the driver or the board lets no peer copies through: collectives go through host memory"),
    warning("CPU SHM communicator disabled", "ranks on CPUs use gloo, not shared memory: collectives are many times slower"),
    warning("SymmMemCommunicator: ", "torch's symmetric memory is not used for all-reduces"),
    warning("Using default MoE config", "the experts' kernel is not tuned for this GPU: steps are slower, and not by the link"),
    warning("does not have native support for FP8", "FP8 weights are computed at 16 bits: halving the width gains less"),
    warning("No available shared memory broadcast block found", "a rank waited for the engine's process, or compiled"),
    warning("is preempted by", "the cache was full and requests were computed again: the batch in flight is not the one that was asked for"),
    warning("Capture cuda graph failed", "graphs could not be captured"),
    warning("iommu=pt", "the kernel runs without iommu=pt: peer copies may be slow or hang"),
];
