//! The lines that an engine starts with: its version, its arguments and its configuration.

use super::facts::{EngineLog, Graphs, Said};
use super::pairs::{flag, sizes, small, value};
use super::reading::{Hit, Reading, Rule, warn};
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

/// What a key of a long line says, where it is a number.
fn number(
    reading: &mut Reading,
    hit: Hit<'_>,
    name: &str,
    key: &str,
    field: fn(&mut EngineLog) -> &mut Option<Said<u32>>,
) {
    let word = value(hit.rest, key);
    if let Some((word, number)) = word.and_then(|word| Some((word, small(word)?))) {
        reading.say(name, field, hit.keyed(key, word, number));
    }
}

fn is_set(hit: Hit<'_>, key: &str) -> bool {
    value(hit.rest, key).and_then(flag) == Some(true)
}

fn custom_off_by_flag(reading: &mut Reading, hit: Hit<'_>) {
    let key = "disable_custom_all_reduce";
    if is_set(hit, key) {
        let reason = format!("{key} is set");
        let cause = OffCause::Flag;
        let off = hit.keyed(key, "True", CustomAllReduce::Off { reason, cause });
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
    let (tp, pp) = ("tensor parallel size", "pipeline parallel size");
    number(reading, hit, tp, names.tp, |log| &mut log.tp);
    number(reading, hit, pp, names.pp, |log| &mut log.pp);
    if let Some(word) = value(hit.rest, "kv_cache_dtype") {
        let said = hit.keyed("kv_cache_dtype", word, word.to_owned());
        reading.say("type of the cache", |log| &mut log.kv_cache_dtype, said);
    }
    if let Some(set) = value(hit.rest, names.prefix_cache).and_then(flag) {
        let word = if set { "True" } else { "False" };
        let said = hit.keyed(names.prefix_cache, word, set != names.prefix_cache_off);
        reading.say("prefix cache", |log| &mut log.prefix_cache, said);
    }
}

fn graphs_of_configuration(reading: &mut Reading, hit: Hit<'_>) {
    let mode = value(hit.rest, "cudagraph_mode").unwrap_or_default();
    let sizes_key = "cudagraph_capture_sizes";
    let word = value(hit.rest, sizes_key).unwrap_or_default();
    let said = if is_set(hit, "enforce_eager") {
        let reason = "enforce_eager is set".to_owned();
        hit.keyed("enforce_eager", "True", Graphs::Eager { reason })
    } else if mode.contains("CUDAGraphMode.NONE") || mode == "NONE" {
        let reason = "cudagraph_mode is NONE".to_owned();
        hit.keyed("cudagraph_mode", mode, Graphs::Eager { reason })
    } else if let Some(sizes) = sizes(word).filter(|sizes| !sizes.is_empty()) {
        hit.keyed(sizes_key, word, Graphs::Captured { sizes: Some(sizes) })
    } else {
        return;
    };
    reading.say("graphs", |log| &mut log.graphs, said);
}

pub(super) fn vllm_arguments(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if reading.configured {
        reading.start(Engine::Vllm, hit);
    }
    number(reading, hit, "sequences", "max_num_seqs", |log| {
        &mut log.max_num_seqs
    });
    // Where the configuration follows it says these again.
    number(
        reading,
        hit,
        "tokens a step",
        "max_num_batched_tokens",
        |log| &mut log.max_batched_tokens,
    );
    number(reading, hit, "tensor parallel size", VLLM.tp, |log| {
        &mut log.tp
    });
}

pub(super) fn sglang_arguments(reading: &mut Reading, rule: &Rule, hit: Hit<'_>) {
    reading.start(Engine::Sglang, hit);
    reading.configured = true;
    configuration(reading, hit, &SGLANG);
    custom_off_by_flag(reading, hit);
    let eager = "disable_cuda_graph";
    if is_set(hit, eager) {
        let reason = format!("{eager} is set");
        reading.log.graphs = Some(hit.keyed(eager, "True", Graphs::Eager { reason }));
    }
    if is_set(hit, "enable_dp_attention") {
        let meaning =
            "attention is data parallel (enable_dp_attention): its output needs no all-reduce";
        let found = "enable_dp_attention=True";
        warn(&mut reading.log.warnings, meaning, Hit { found, ..hit });
    }
    sglang_limits(reading, rule, hit);
}

pub(super) fn sglang_limits(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let key = "max_running_requests";
    if let Some(word) = value(hit.rest, key)
        && let Some(requests) = small(word)
    {
        // The limit that was asked for, then the one that the cache allows.
        reading.log.max_num_seqs = Some(hit.keyed(key, word, requests));
    }
    number(
        reading,
        hit,
        "tokens a step",
        "chunked_prefill_size",
        |log| &mut log.max_batched_tokens,
    );
}
