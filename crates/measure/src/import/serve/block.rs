//! What clients print, as the keys of their JSON; other lines of a log are passed over.

use serde_json::{Map, Value};

use crate::control;
use crate::import::error::ImportError;

/// Labels of `vllm bench serve` (lower case) with the keys of its JSON; old versions wrote `Total Token throughput`.
const VLLM: [(&str, &str); 15] = [
    ("successful requests", "completed"),
    ("failed requests", "failed"),
    ("traffic request rate", "request_rate"),
    ("request rate configured (rps)", "request_rate"),
    ("benchmark duration (s)", "duration"),
    ("max request concurrency", "max_concurrency"),
    ("maximum request concurrency", "max_concurrency"),
    (
        "peak output token throughput (tok/s)",
        "max_output_tokens_per_s",
    ),
    ("peak concurrent requests", "max_concurrent_requests"),
    (
        "total generated tokens (retokenized)",
        "total_output_tokens_retokenized",
    ),
    ("total input tokens", "total_input_tokens"),
    ("total generated tokens", "total_output_tokens"),
    ("request throughput (req/s)", "request_throughput"),
    ("output token throughput (tok/s)", "output_throughput"),
    ("total token throughput (tok/s)", "total_token_throughput"),
];

/// Labels of evalscope 0.5 (perf/http_client.py), whose times are in seconds, with keys that say so.
const EVALSCOPE: [(&str, &str); 13] = [
    ("expected number of requests", "expected_number_of_requests"),
    ("time taken for tests", "time_taken_for_tests_s"),
    ("number of concurrency", "number_of_concurrency"),
    ("total requests", "total_requests"),
    ("succeed requests", "succeed_requests"),
    ("failed requests", "failed_requests"),
    ("average qps", "average_qps"),
    ("average latency", "average_latency_s"),
    (
        "average time to first token",
        "average_time_to_first_token_s",
    ),
    (
        "average time per output token",
        "average_time_per_output_token_s",
    ),
    (
        "average input tokens per request",
        "average_input_tokens_per_request",
    ),
    (
        "average output tokens per request",
        "average_output_tokens_per_request",
    ),
    (
        "throughput(average output tokens per second)",
        "throughput_average_output_tokens_per_second",
    ),
];

/// The title of a benchmark's block, in a line of `=` that is 50 wide, or 60 in vLLM's Rust client.
const TITLE: &str = " Serving Benchmark Result ";

/// The title of what vLLM's Rust client prints below, with the same labels.
const STEADY: &str = " Steady-State Metrics ";

/// The parts of a text that hold one benchmark each, each from the end of the one before it; the text where it has one or none.
pub(super) fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut within, mut steady) = (false, false);
    for line in text.lines() {
        let is_end = line.len() > 40 && line.chars().all(|c| c == '=');
        within |= line.contains(TITLE);
        steady |= line.contains(STEADY);
        if let Some(part) = parts.last_mut().filter(|_| !steady) {
            part.push_str(line);
            part.push('\n');
        }
        if is_end && within {
            parts.push(String::new());
            within = false;
        }
        steady &= !is_end;
    }
    let is_whole = |part: &String| part.contains(TITLE);
    if parts.iter().filter(|part| is_whole(part)).count() > 1 {
        parts.retain(is_whole);
        return parts;
    }
    vec![parts.concat()]
}

/// The keys of the block that vLLM's or SGLang's client prints; `None` where the text holds none.
pub(super) fn vllm(text: &str, origin: &str) -> Result<Option<Map<String, Value>>, ImportError> {
    let key = |label: &str| {
        of_table(&VLLM, label).or_else(|| {
            // A statistic of a metric, such as `mean ttft (ms)`.
            let (statistic, metric) = label.strip_suffix(" (ms)")?.split_once(' ')?;
            let is_percentile = |rest: &str| rest.parse::<f64>().is_ok();
            let is_known = matches!(statistic, "mean" | "median" | "std")
                || statistic.strip_prefix('p').is_some_and(is_percentile);
            let metric = match metric {
                "ttft" | "tpot" | "itl" | "e2el" => metric,
                "e2e latency" => "e2e_latency",
                _ => return None,
            };
            is_known.then(|| format!("{statistic}_{metric}_ms"))
        })
    };
    let mut map = labelled(text, origin, &key)?;
    if !map.contains_key("completed") {
        return Ok(None);
    }
    arguments(text, &mut map);
    Ok(Some(map))
}

/// What vLLM's and SGLang's clients print of their command line, as `Namespace(..., random_input_len=1024, ...)`.
fn arguments(text: &str, map: &mut Map<String, Value>) {
    let Some(line) = text.lines().find(|line| line.contains("Namespace(")) else {
        return;
    };
    let value = |key: &str| {
        let (_, rest) = line.split_once(&format!("{key}="))?;
        Some(rest.split([',', ')']).next()?.trim().trim_matches('\''))
    };
    for key in [
        "num_prompts",
        "random_input_len",
        "random_output_len",
        "random_range_ratio",
        "seed",
    ] {
        if let Some(number) = value(key).and_then(|value| value.parse::<f64>().ok()) {
            map.insert(key.to_owned(), Value::from(number));
        }
    }
    for key in ["dataset_name", "model", "backend", "host"] {
        if let Some(text) = value(key).filter(|value| *value != "None") {
            map.insert(key.to_owned(), Value::from(text));
        }
    }
}

/// The keys of the summary that evalscope 0.5 prints; `None` where the text holds none.
pub(super) fn evalscope(
    text: &str,
    origin: &str,
) -> Result<Option<Map<String, Value>>, ImportError> {
    let map = labelled(text, origin, &|label| of_table(&EVALSCOPE, label))?;
    Ok(map.contains_key("succeed_requests").then_some(map))
}

fn of_table(table: &[(&str, &str)], label: &str) -> Option<String> {
    let (_, key) = table.iter().find(|(known, _)| *known == label)?;
    Some((*key).to_owned())
}

/// The values of all lines `label: value` whose label has a key. A word after a number (`seconds`) is passed over.
fn labelled(
    text: &str,
    origin: &str,
    key: &dyn Fn(&str) -> Option<String>,
) -> Result<Map<String, Value>, ImportError> {
    let mut map = Map::new();
    for (label, words) in text.lines().filter_map(|line| line.rsplit_once(':')) {
        let label = label.trim().to_ascii_lowercase();
        let Some(key) = key(&label) else { continue };
        let word = words.split_whitespace().next().unwrap_or_default();
        let value = match word.parse::<f64>() {
            // `not set` and `None` stand for no limit, `nan` for no value.
            _ if matches!(word, "None" | "not" | "nan") => Value::Null,
            Ok(number) if number.is_finite() => Value::from(number),
            _ => Value::from(word),
        };
        if let Some(earlier) = map.insert(key, value.clone())
            && earlier != value
        {
            return Err(ImportError::Unusable {
                origin: origin.to_owned(),
                why: format!(
                    "says `{label}` twice, {} and {}; keep one benchmark's block",
                    control::shortened(&earlier.to_string()),
                    control::shortened(&value.to_string())
                ),
            });
        }
    }
    Ok(map)
}
