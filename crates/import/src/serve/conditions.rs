//! What a serving result was made with, as far as its file says: engine, machine, data and launch flags.
//!
//! Nothing is compared here; names that several tools spell in their own way are brought to one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::host::Host;
use crate::number::counted;
use record::control;
use record::{Record, Serve, ServeLoad};

/// What clients, servers and users call engines, lower case, with one name each.
#[rustfmt::skip]
const ENGINES: [(&str, &str); 19] = [
    ("vllm", "vllm"), ("sglang", "sglang"), ("tensorrt-llm", "tensorrt-llm"), ("tensorrtllm", "tensorrt-llm"),
    ("tensorrt", "tensorrt-llm"), ("trtllm", "tensorrt-llm"), ("trt", "tensorrt-llm"), ("lmdeploy", "lmdeploy"), ("tgi", "tgi"),
    ("text-generation-inference", "tgi"), ("llama.cpp", "llama.cpp"), ("llamacpp", "llama.cpp"), ("transformers", "transformers"),
    ("ollama", "ollama"), ("aphrodite", "aphrodite"), ("deepspeed", "deepspeed"), ("mindie", "mindie"), ("mlc", "mlc"),
    ("tplens", "tplens"),
];

/// Arguments of SGLang's server, which its client keeps, that change a decode step whatever the number of GPUs.
#[rustfmt::skip]
const FLAGS: [&str; 11] = [
    "attention_backend", "chunked_prefill_size", "disable_cuda_graph", "disable_overlap_schedule", "disable_radix_cache", "dtype",
    "enable_mixed_chunk", "enable_torch_compile", "kv_cache_dtype", "schedule_policy", "speculative_algorithm",
];

/// Keys of texts that are read of a file, and keys that say nothing that a result is judged by.
#[rustfmt::skip]
pub(super) const TEXTS: [&str; 44] = [
    "model", "model_id", "server_info.model_path", "engine", "framework", "backend", "endpoint_type", "engine_version",
    "vllm_version", "sglang_version", "server_version", "version", "server_info.version", "host", "hostname", "gpu", "gpu_name",
    "quantization", "server_info.quantization", "dataset_name", "dataset", "simulated", "stream", "broken_off", "tplens_version",
    "tplens_invalid", "date", "endpoint", "tokenizer_id", "accept_length", "server_info.attention_backend",
    "server_info.chunked_prefill_size", "server_info.disable_cuda_graph", "server_info.disable_overlap_schedule",
    "server_info.disable_radix_cache", "server_info.dtype", "server_info.enable_mixed_chunk", "server_info.enable_torch_compile",
    "server_info.kv_cache_dtype", "server_info.schedule_policy", "server_info.speculative_algorithm", "seed",
    "max_output_tokens_per_s", "peak output token throughput (tok/s)",
];

/// A text of an object without control characters, in an object within it where the key has a point.
pub(super) fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    let value = match key.split_once('.') {
        Some((group, key)) => map.get(group)?.get(key)?,
        None => map.get(key)?,
    };
    value.as_str().map(control::replaced)
}

/// What a result was made with. What its file does not say is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The engine that served, by one name whoever spells it, such as `vllm`; `None` also for one that is not known here.
    pub engine: Option<String>,
    /// Whether only the client's way of asking names the engine, which serves other engines as well: neither a field of its own nor
    /// the server's words do.
    #[serde(default)]
    pub engine_by_client: bool,
    /// Its version without a `v` and without what a build adds, such as `0.13.0`.
    pub version: Option<String>,
    /// The machine that served.
    pub host: Option<Host>,
    /// Names of its GPUs.
    pub gpus: Vec<String>,
    /// How weights are stored, where a flag of the server says.
    pub quantisation: Option<String>,
    /// What prompts are made of.
    pub dataset: Option<String>,
    /// Whether the seed decides more than the words of prompts of one length: lengths, choice or arrivals.
    pub is_seeded: bool,
    /// The seed.
    pub seed: Option<u64>,
    /// Launch flags of the server that change a step.
    pub flags: BTreeMap<String, String>,
    /// The field that says that tokens were drafted (speculative decoding), with its value, such as `spec_decode_acceptance_rate = 61.2`.
    pub drafted: Option<String>,
    /// Codes of the contradictions between figures of the file, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

impl Conditions {
    /// Of a record of ours.
    pub(super) fn of_record(record: &Record, serve: &Serve) -> Self {
        let said = serve.target.as_ref().and_then(|of| of.server.as_deref());
        let (named, version) = said.map_or((None, None), of_server);
        let machine = serve
            .server
            .as_ref()
            .and_then(|server| server.machine.as_ref());
        // A machine without GPUs is read by its processors, and one on which no process of the server was found may be the client's.
        let gpus = machine
            .filter(|of| of.header.backend.name != "host" && !of.header.processes.is_empty());
        let devices = gpus.into_iter().flat_map(|of| &of.header.devices);
        let mut gpus: Vec<String> = devices.map(|one| control::replaced(&one.name)).collect();
        gpus.dedup();
        let load = serve.load.as_ref();
        // What a server does not say of itself, its counters' names do.
        let counters = serve.server.as_ref().and_then(|of| of.counters.as_ref());
        Self {
            engine: named.or_else(|| engine(&counters?.engine).map(str::to_owned)),
            version,
            host: host_of_record(record, serve),
            gpus,
            dataset: load.and_then(dataset),
            is_seeded: load.is_some_and(is_seeded),
            seed: load.map(|load| load.seed),
            ..Self::default()
        }
    }

    /// Of another tool's keys. `has_one_length` is whether random prompts and replies of all requests were asked for at the same
    /// lengths, `of_client` whether its host is the one that a client sends its requests to.
    pub(super) fn of_map(map: &Map<String, Value>, has_one_length: bool, of_client: bool) -> Self {
        let any = |keys: &[&str]| keys.iter().find_map(|key| text(map, key));
        let server = map.get("server_info").and_then(Value::as_object);
        let of_server = |key: &str| server.and_then(|server| server.get(key)).and_then(told);
        let dataset = any(&["dataset_name", "dataset"]);
        let flags = FLAGS
            .iter()
            .filter_map(|flag| Some(((*flag).to_owned(), of_server(flag)?)));
        let version = any(&[
            "engine_version",
            "vllm_version",
            "sglang_version",
            "server_version",
            "version",
        ]);
        let version = version.or_else(|| of_server("version"));
        let named = |keys: &[&str]| keys.iter().find_map(|key| engine(text(map, key)?.as_str()));
        let stated = named(&["engine", "framework"]);
        Self {
            // What a server says of itself is asked for in its own way only.
            engine_by_client: stated.is_none() && server.is_none(),
            engine: stated
                .or_else(|| named(&["backend", "endpoint_type"]))
                .map(str::to_owned),
            version: version
                .as_deref()
                .and_then(plain_version)
                .map(control::shortened),
            host: any(&["host", "hostname"])
                .and_then(|name| Host::named(&name))
                .map(|host| Host {
                    in_url: host.in_url || of_client,
                    ..host
                }),
            gpus: any(&["gpu", "gpu_name"]).into_iter().collect(),
            quantisation: any(&["quantization"]).or_else(|| of_server("quantization")),
            is_seeded: dataset
                .as_deref()
                .is_some_and(|name| !name.starts_with("random") || !has_one_length),
            dataset,
            // Some tools write -1 for none.
            seed: map.get("seed").and_then(|seed| {
                let whole = || seed.as_f64().filter(|seed| seed.fract() == 0.0);
                seed.as_u64().or_else(|| counted(whole()?))
            }),
            flags: flags.collect(),
            drafted: drafted(map),
            ..Self::default()
        }
    }
}

/// The first field that only a server that drafts tokens has. vLLM's client adds `spec_decode_*`, SGLang's writes null or 1 where
/// nothing was drafted; a list of rates by position says no more than the rates do.
fn drafted(map: &Map<String, Value>) -> Option<String> {
    let counts = map.iter().filter_map(|(key, value)| {
        let none = match key.as_str() {
            "accept_length" => 1.0,
            key if key.starts_with("spec_decode_") => 0.0,
            _ => return None,
        };
        let value = value.as_f64().filter(|value| *value > none)?;
        Some(format!("{} = {value:.2}", control::shortened(key)))
    });
    let server = map.get("server_info").and_then(Value::as_object);
    let algorithm = server.and_then(|server| told(server.get("speculative_algorithm")?));
    let algorithm = algorithm.map(|of| format!("speculative_algorithm = {of}"));
    algorithm.into_iter().chain(counts).next()
}

/// A value in words; `None` for one that is not there, or is no single value.
fn told(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(control::shortened(text)),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Engine and version as a server of ours' target says them: `vllm 0.13.0`, or one of both.
fn of_server(said: &str) -> (Option<String>, Option<String>) {
    let mut words = said.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let version = second.unwrap_or(first);
    let version = plain_version(version).map(control::shortened);
    (engine(first).map(str::to_owned), version)
}

/// The one name of an engine; a client's way of asking, such as `sglang-oai-chat`, names it, too.
fn engine(said: &str) -> Option<&'static str> {
    let lower = said.trim().to_ascii_lowercase();
    let is = |known: &str| {
        let rest = lower.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '/', ' ', '_']))
    };
    let found = ENGINES.iter().find(|(known, _)| is(known));
    found.map(|(_, name)| *name)
}

/// `0.13.0` of `v0.13.0+cu129`; `None` of what begins with no digit.
fn plain_version(said: &str) -> Option<&str> {
    let bare = said.trim().trim_start_matches(['v', 'V']);
    let bare = bare.split('+').next().unwrap_or_default();
    let is_one = bare.starts_with(|c: char| c.is_ascii_digit());
    is_one.then_some(bare)
}

/// The host of a base URL; the client's own machine, where that is what the URL names. A monitor that saw the server's processes
/// tells that machine's boot, whatever it is called.
fn host_of_record(record: &Record, serve: &Serve) -> Option<Host> {
    let url = &serve.target.as_ref()?.base_url;
    let monitor = serve.server.as_ref().and_then(|of| of.machine.as_ref());
    let saw = monitor.filter(|monitor| !monitor.header.processes.is_empty());
    Host::named(url)
        .map(|host| Host {
            boot: saw.and_then(|monitor| monitor.header.boot_id.clone()),
            in_url: true,
            ..host
        })
        .or_else(|| Host::of(&record.header.provenance))
}

/// What prompts of a load are made of, without lengths, which are counted.
fn dataset(load: &ServeLoad) -> Option<String> {
    let mut words = control::replaced(load.data.as_deref()?);
    if load.range_ratio > 0.0 {
        words.push_str(&format!(
            ", lengths {:.0}% around those asked for",
            load.range_ratio * 100.0
        ));
    }
    if load.prefix_tokens > 0 {
        words.push_str(&format!(", {} tokens shared", load.prefix_tokens));
    }
    Some(words)
}

/// Whether lengths, prompts or instants of a load are drawn.
fn is_seeded(load: &ServeLoad) -> bool {
    let is_random = load
        .data
        .as_deref()
        .is_none_or(|data| data.starts_with("random"));
    load.range_ratio > 0.0 || !is_random || load.arrivals.is_open_loop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_one_name_and_a_protocol_is_none() {
        for (said, name) in [
            ("vLLM", Some("vllm")),
            ("sglang-oai-chat", Some("sglang")),
            ("TensorRT-LLM", Some("tensorrt-llm")),
            ("trtllm", Some("tensorrt-llm")),
            ("tensorrt_llm", Some("tensorrt-llm")),
            ("openai-chat", None),
            ("vllmish", None),
        ] {
            assert_eq!(engine(said), name, "{said}");
        }
        let both = of_server("vllm v0.13.0+cu129");
        assert_eq!(both, (Some("vllm".to_owned()), Some("0.13.0".to_owned())));
        assert_eq!(of_server("0.9.1"), (None, Some("0.9.1".to_owned())));
        assert_eq!(of_server("vllm"), (Some("vllm".to_owned()), None));
    }

    #[test]
    fn a_file_says_that_tokens_were_drafted() {
        for (text, said) in [
            (
                r#"{"spec_decode_acceptance_rate": 61.25, "spec_decode_per_position_acceptance_rates": [0.6]}"#,
                Some("spec_decode_acceptance_rate = 61.25"),
            ),
            (r#"{"accept_length": 2.5}"#, Some("accept_length = 2.50")),
            (r#"{"accept_length": null}"#, None),
            (
                r#"{"accept_length": 1.0, "spec_decode_num_drafts": 0}"#,
                None,
            ),
            (
                r#"{"server_info": {"speculative_algorithm": "EAGLE"}}"#,
                Some("speculative_algorithm = EAGLE"),
            ),
            (r#"{"server_info": {"speculative_algorithm": null}}"#, None),
        ] {
            let map: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
            assert_eq!(drafted(&map).as_deref(), said, "{text}");
        }
    }
}
