//! Which words of a log say what: a row each, with the engine, its versions and the file that prints them.
//!
//! Read in vLLM 0.13 and 0.32 (wheels) and in public logs of 0.5.4, 0.6.3, 0.6.4, 0.8.4, 0.13.0 and 0.26.0; SGLang's in public logs of
//! 2024 to 2026 and in `srt/server_args.py`, `srt/distributed`, `srt/model_executor`; NCCL's in its sources and public logs.

use super::facts::{Graphs, Library};
use super::pairs::{sizes, small};
use super::reading::{Hit, Reading, Rule, count, rule, set_variable, shown, warning};
use super::starts::{sglang_arguments, sglang_limits, vllm_arguments, vllm_config, vllm_server};
use crate::engine::{CustomAllReduce, Engine, OffCause};

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

fn library_version(reading: &mut Reading, rule: &Rule, hit: Hit<'_>) {
    let name = rule.needle.split(' ').next().unwrap_or_default();
    library(reading, name, hit);
}

fn eager(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let eager = matches!(
        reading.log.graphs.as_ref().map(|said| &said.value),
        Some(Graphs::Eager { .. })
    );
    if !eager {
        let reason = "eager mode".to_owned();
        reading.say(
            "graphs",
            |log| &mut log.graphs,
            hit.said(Graphs::Eager { reason }),
        );
    }
}

fn custom_off(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let reason = hit.rest.split(". To silence").next().unwrap_or(hit.rest);
    let reason = shown(
        reason
            .trim()
            .trim_start_matches("of ")
            .trim_end_matches('.'),
    );
    reading.say(
        "custom all-reduce",
        |log| &mut log.custom_all_reduce,
        hit.said(CustomAllReduce::Off {
            cause: cause(&reason),
            reason,
        }),
    );
}

/// The cause by the engines' words for it.
fn cause(reason: &str) -> OffCause {
    let reason = reason.to_ascii_lowercase().replace('-', "_");
    if reason.contains("p2p") || reason.contains("peer access is not supported") {
        OffCause::NoPeers
    } else if reason.contains("disable_custom_all_reduce") {
        OffCause::Flag
    } else {
        OffCause::Rule
    }
}

fn custom_on(reading: &mut Reading, hit: Hit<'_>) {
    reading.say(
        "custom all-reduce",
        |log| &mut log.custom_all_reduce,
        hit.said(CustomAllReduce::Active),
    );
}

/// `['CUSTOM', 'PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of potential backends: ..`.
fn all_reduce_backends(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let Some((list, after)) = hit.rest.split_once(" all-reduce backends") else {
        return;
    };
    let group = after
        .split_once(" out of ")
        .map_or(after, |(group, _)| group);
    if list.len() > 200 || (group.contains('\'') && !group.contains("'tp:")) {
        return;
    }
    let names: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
    // All but the library's own way are kernels of the engine.
    if names.iter().any(|name| *name != "PYNCCL") {
        custom_on(reading, hit);
    } else if names == ["PYNCCL"] {
        let off = CustomAllReduce::off("the engine names the library alone");
        // A line that says why came before.
        if reading.log.custom_all_reduce.is_none() {
            reading.log.custom_all_reduce = Some(hit.said(off));
        }
    }
}

fn registered(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if let Some((buffers, after)) = hit.rest.split_once(" cuda graph addresses")
        && after.len() < 100
        && small(buffers).is_some()
    {
        custom_on(reading, hit);
    }
}

fn library(reading: &mut Reading, name: &str, hit: Hit<'_>) {
    let version = hit.rest.trim_start_matches([':', ' ']);
    let version = version.split([' ', ',']).next().unwrap_or_default();
    if !version.starts_with(|sign: char| sign.is_ascii_digit()) || version.len() > 60 {
        return;
    }
    // The library itself says `2.21.5+cuda12.4`, the engine `2.21.5`.
    let same = reading.log.library.as_ref().is_some_and(|held| {
        let (held, said) = (&held.value.version, version);
        held.starts_with(said) || said.starts_with(held.as_str())
    });
    if !same {
        let library = Library {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        reading.say("library", |log| &mut log.library, hit.said(library));
    }
}

/// What NCCL, RCCL or MCCL says with NCCL_DEBUG=INFO.
fn library_says(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if let Some((_, way)) = hit.rest.split_once(" via ")
        && hit.rest.starts_with("Channel ")
    {
        count(&mut reading.log.transports, &transport(way), 1, hit);
    } else if let Some((name, set)) = hit.rest.split_once(" set by environment to ") {
        let name = name.rsplit(' ').next().unwrap_or(name);
        let set = set.trim_end().trim_end_matches('.');
        set_variable(
            &mut reading.log.environment,
            hit.said(shown(&format!("{name}={set}"))),
        );
    }
}

/// `P2P/IPC`, `P2P/direct pointer`, `SHM/direct/direct`, `NET/IB/GDRDMA`: without numbers of devices and what follows.
fn transport(way: &str) -> String {
    let way = way.split(" comm ").next().unwrap_or(way).trim();
    if way.starts_with("P2P/direct pointer") {
        return "P2P/direct pointer".to_owned();
    }
    let way = way.split_whitespace().next().unwrap_or_default();
    let named = way
        .split('/')
        .filter(|part| !part.starts_with(|sign: char| sign.is_ascii_digit()));
    shown(&named.collect::<Vec<_>>().join("/"))
}
