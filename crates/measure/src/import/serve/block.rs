//! What clients print, as the keys of their JSON; other lines of a log are passed over.

use serde_json::{Map, Value};

use crate::import::error::ImportError;

/// Labels of `vllm bench serve` (lower case) with the keys of its JSON; old versions wrote `Total Token throughput`.
const VLLM: [(&str, &str); 11] = [
    ("successful requests", "completed"),
    ("failed requests", "failed"),
    ("maximum request concurrency", "max_concurrency"),
    ("traffic request rate", "request_rate"),
    ("request rate configured (rps)", "request_rate"),
    ("benchmark duration (s)", "duration"),
    ("total input tokens", "total_input_tokens"),
    ("total generated tokens", "total_output_tokens"),
    ("request throughput (req/s)", "request_throughput"),
    ("output token throughput (tok/s)", "output_throughput"),
    ("total token throughput (tok/s)", "total_token_throughput"),
];

/// Labels of evalscope 0.5 (perf/http_client.py), whose times are in seconds, with keys that say so.
const EVALSCOPE: [(&str, &str); 8] = [
    ("time taken for tests", "time_taken_for_tests_s"),
    ("number of concurrency", "number_of_concurrency"),
    ("total requests", "total_requests"),
    ("succeed requests", "succeed_requests"),
    ("failed requests", "failed_requests"),
    ("average qps", "average_qps"),
    ("average latency", "average_latency_s"),
    (
        "throughput(average output tokens per second)",
        "throughput_average_output_tokens_per_second",
    ),
];

/// The keys of the block that `vllm bench serve` prints; `None` where the text holds none.
pub(super) fn vllm(text: &str, origin: &str) -> Result<Option<Map<String, Value>>, ImportError> {
    let key = |label: &str| {
        of_table(&VLLM, label).or_else(|| {
            // A statistic of a metric, such as `mean ttft (ms)`.
            let (statistic, metric) = label.strip_suffix(" (ms)")?.split_once(' ')?;
            let is_known = matches!(statistic, "mean" | "median" | "std" | "p99")
                && matches!(metric, "ttft" | "tpot" | "itl" | "e2el");
            is_known.then(|| format!("{statistic}_{metric}_ms"))
        })
    };
    let map = labelled(text, origin, &key)?;
    Ok(map.contains_key("completed").then_some(map))
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
            _ if word == "None" => Value::Null,
            Ok(number) if number.is_finite() => Value::from(number),
            _ => Value::from(word),
        };
        if let Some(earlier) = map.insert(key, value.clone())
            && earlier != value
        {
            return Err(ImportError::Unusable {
                origin: origin.to_owned(),
                why: format!(
                    "says `{label}` twice, {earlier} and {value}; keep one benchmark's block"
                ),
            });
        }
    }
    Ok(map)
}
