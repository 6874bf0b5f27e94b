//! The lines that an engine starts with: its version, its arguments and its configuration.

use super::facts::{Graphs, Said};
use super::pairs::{flag, sizes, small, value};
use super::reading::{Hit, Reading, warn};
use super::rule::Rule;
use crate::engine::{CustomAllReduce, Engine, OffCause};

pub(super) fn vllm_server(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    reading.start(Engine::Vllm, hit);
    let version = hit.rest.split([',', ' ']).next().unwrap_or_default();
    if !version.is_empty() {
        reading.log.version = Some(hit.said(version.trim_start_matches('v').to_owned()));
    }
}

pub(super) fn vllm_config(reading: &mut Reading, rule: &Rule, hit: Hit<'_>) {
    let of_vllm = reading.log.engine.as_ref().map(|said| said.value) == Some(Engine::Vllm);
    if reading.configured || !of_vllm {
        // What came before a first line of configuration, such as the arguments, is of the same start.
        let before = (!reading.configured).then(|| std::mem::take(&mut reading.log));
        let tokens = reading.next_tokens.take();
        reading.start(Engine::Vllm, hit);
        if let Some(mut before) = before.filter(|log| log.engine.is_none()) {
            before.engine = reading.log.engine.take();
            before.start_line = reading.log.start_line;
            reading.log = before;
        }
        if tokens.is_some() {
            reading.log.max_batched_tokens = tokens;
        }
    }
    reading.configured = true;
    let version = hit.rest.split(')').next().unwrap_or_default();
    if rule.needle.ends_with('v') && !version.is_empty() && version.len() < 100 {
        reading.say(
            "version",
            |log| &mut log.version,
            hit.said(version.to_owned()),
        );
    }
    configuration(reading, hit, &VLLM);
    graphs_of_configuration(reading, hit);
    custom_off_by_flag(reading, hit);
}

fn custom_off_by_flag(reading: &mut Reading, hit: Hit<'_>) {
    let key = "disable_custom_all_reduce";
    if value(hit.rest, key).and_then(flag) == Some(true) {
        let reason = format!("{key} is set");
        let off = hit.keyed(
            key,
            "True",
            CustomAllReduce::Off {
                reason,
                cause: OffCause::Flag,
            },
        );
        reading.say("custom all-reduce", |log| &mut log.custom_all_reduce, off);
    }
}

/// Keys of a line of configuration, by what they say.
struct Names {
    tp: &'static str,
    pp: &'static str,
    prefix_cache: &'static str,
    /// The key says that there is none.
    prefix_cache_off: bool,
}

const VLLM: Names = Names {
    tp: "tensor_parallel_size",
    pp: "pipeline_parallel_size",
    prefix_cache: "enable_prefix_caching",
    prefix_cache_off: false,
};

const SGLANG: Names = Names {
    tp: "tp_size",
    pp: "pp_size",
    prefix_cache: "disable_radix_cache",
    prefix_cache_off: true,
};

fn configuration(reading: &mut Reading, hit: Hit<'_>, names: &Names) {
    let keyed = |key: &str| -> Option<Said<u32>> {
        let word = value(hit.rest, key)?;
        small(word).map(|number| hit.keyed(key, word, number))
    };
    if let Some(said) = keyed(names.tp) {
        reading.say("tensor parallel size", |log| &mut log.tp, said);
    }
    if let Some(said) = keyed(names.pp) {
        reading.say("pipeline parallel size", |log| &mut log.pp, said);
    }
    if let Some(word) = value(hit.rest, "kv_cache_dtype") {
        let said = hit.keyed("kv_cache_dtype", word, word.to_owned());
        reading.say("type of the cache", |log| &mut log.kv_cache_dtype, said);
    }
    if let Some(set) = value(hit.rest, names.prefix_cache).and_then(flag) {
        let word = if set { "True" } else { "False" };
        let said = hit.keyed(names.prefix_cache, word, set != names.prefix_cache_off);
        reading.say("prefix cache", |log| &mut log.prefix_cache, said);
    }
    // `chunked_prefill_enabled` to 0.10.
}

fn graphs_of_configuration(reading: &mut Reading, hit: Hit<'_>) {
    if value(hit.rest, "enforce_eager").and_then(flag) == Some(true) {
        let reason = "enforce_eager is set".to_owned();
        let said = hit.keyed("enforce_eager", "True", Graphs::Eager { reason });
        reading.say("graphs", |log| &mut log.graphs, said);
        return;
    }
    let mode = value(hit.rest, "cudagraph_mode").unwrap_or_default();
    if mode.contains("CUDAGraphMode.NONE") || mode == "NONE" {
        let reason = "cudagraph_mode is NONE".to_owned();
        let said = hit.keyed("cudagraph_mode", mode, Graphs::Eager { reason });
        reading.say("graphs", |log| &mut log.graphs, said);
        return;
    }
    let word = value(hit.rest, "cudagraph_capture_sizes").unwrap_or_default();
    if let Some(sizes) = sizes(word).filter(|sizes| !sizes.is_empty()) {
        let said = hit.keyed(
            "cudagraph_capture_sizes",
            word,
            Graphs::Captured { sizes: Some(sizes) },
        );
        reading.say("graphs", |log| &mut log.graphs, said);
    }
}

pub(super) fn vllm_arguments(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if reading.configured {
        reading.start(Engine::Vllm, hit);
    }
    let keyed = |key: &str| -> Option<Said<u32>> {
        let word = value(hit.rest, key)?;
        small(word).map(|number| hit.keyed(key, word, number))
    };
    if let Some(said) = keyed("max_num_seqs") {
        reading.say("sequences", |log| &mut log.max_num_seqs, said);
    }
    // Where the configuration follows it says these again.
    if let Some(said) = keyed("max_num_batched_tokens") {
        reading.say("tokens a step", |log| &mut log.max_batched_tokens, said);
    }
    if let Some(said) = keyed("tensor_parallel_size") {
        reading.say("tensor parallel size", |log| &mut log.tp, said);
    }
}

pub(super) fn sglang_arguments(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    reading.start(Engine::Sglang, hit);
    reading.configured = true;
    configuration(reading, hit, &SGLANG);
    custom_off_by_flag(reading, hit);
    if value(hit.rest, "disable_cuda_graph").and_then(flag) == Some(true) {
        let reason = "disable_cuda_graph is set".to_owned();
        reading.log.graphs =
            Some(hit.keyed("disable_cuda_graph", "True", Graphs::Eager { reason }));
    }
    if value(hit.rest, "enable_dp_attention").and_then(flag) == Some(true) {
        let meaning =
            "attention is data parallel (enable_dp_attention): its output needs no all-reduce";
        warn(
            &mut reading.log.warnings,
            meaning,
            Hit {
                found: "enable_dp_attention=True",
                ..hit
            },
        );
    }
    limits(reading, hit, hit.rest);
}

pub(super) fn sglang_limits(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    limits(reading, hit, hit.found);
}

fn limits(reading: &mut Reading, hit: Hit<'_>, text: &str) {
    if let Some(word) = value(text, "max_running_requests")
        && let Some(requests) = small(word)
    {
        // The limit that was asked for, then the one that the cache allows.
        let said = hit.keyed("max_running_requests", word, requests);
        reading.log.max_num_seqs = Some(said);
    }
    if let Some(word) = value(text, "chunked_prefill_size")
        && let Some(tokens) = small(word)
    {
        let said = hit.keyed("chunked_prefill_size", word, tokens);
        reading.say("tokens a step", |log| &mut log.max_batched_tokens, said);
    }
}
