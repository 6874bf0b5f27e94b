//! What engines call their counters, as they stand in Prometheus text: our name for each of the names that they had and have.
//!
//! What is not a sample is passed over: a server's page of counters may hold anything. Labels are not read, but quoted values in them
//! may hold brackets and blanks.

use std::collections::HashMap;

use record::ServerValues;
use serde_json::{Map, Value, json};

/// A row for each name of an engine's: ours, theirs of a number or a sum of seconds, and theirs of the count of a sum. Of several rows
/// for one of ours the first that is there counts. vLLM's names are those of 0.4 to 0.33, SGLang's those of 0.4 to 0.5, llama.cpp's those
/// of its server since 2024, whose prompt tokens are without those of the cache.
const NAMES: &str = include_str!("../../data/counters.csv");

/// Of several engine processes the largest of it counts; of all else samples of one name are added up.
const LARGEST: &str = "kv_used";

/// Whose names begin like this.
const ENGINES: [(&str, &str); 3] = [
    ("vllm:", "vLLM's"),
    ("sglang:", "SGLang's"),
    ("llamacpp:", "llama.cpp's"),
];

/// What a text of counters holds under our names, and whose names it has; `None` where none is known here.
pub(super) fn values(text: &str) -> Option<(ServerValues, &'static str)> {
    // Sum and largest by name.
    let mut found: HashMap<&str, (f64, f64)> = HashMap::new();
    for (name, value) in samples(text).filter(|(_, value)| *value >= 0.0) {
        let (sum, largest) = found.entry(name).or_insert((0.0, value));
        *sum += value;
        *largest = largest.max(value);
    }
    let (mut values, mut engine) = (Map::new(), None);
    for row in NAMES.lines().skip(1) {
        let mut cells = row.split(',');
        let [ours, theirs, count] = [(); 3].map(|()| cells.next().unwrap_or_default());
        let Some((sum, largest)) = found.get(theirs) else {
            continue;
        };
        let value = match (ours, found.get(count)) {
            (LARGEST, _) => json!(largest),
            (_, Some((count, _))) => json!({"seconds": sum, "count": count}),
            (_, None) if count.is_empty() => json!(sum),
            (_, None) => continue,
        };
        let of = ENGINES.iter().find(|(begin, _)| theirs.starts_with(begin));
        engine = engine.or(of.map(|(_, engine)| *engine));
        values.entry(ours).or_insert(value);
    }
    Some((serde_json::from_value(Value::Object(values)).ok()?, engine?))
}
/// No counter of a serving engine is larger; sums and means of those that are not stay finite.
const MAX_VALUE: f64 = 1e15;

/// Name and value of each sample that may be one of a serving engine.
pub(crate) fn samples(text: &str) -> impl Iterator<Item = (&str, f64)> {
    text.lines().filter_map(sample)
}

/// `name{label="value",..} 1.5 [time]`.
fn sample(line: &str) -> Option<(&str, f64)> {
    let line = line.trim_start();
    let length = line
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'))
        .count();
    let (name, rest) = line.split_at(length);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let rest = match rest.trim_start().strip_prefix('{') {
        Some(labels) => &labels[end_of_labels(labels)?..],
        None if rest.starts_with([' ', '\t']) => rest,
        None => return None,
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (value.abs() <= MAX_VALUE).then_some((name, value))
}

/// Where the text goes on behind the bracket that ends the labels.
fn end_of_labels(labels: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in labels.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vllms_names_of_today_are_known() {
        // As vLLM 0.32 writes them, with two engine processes.
        let text = concat!(
            "# HELP vllm:num_requests_running Number of requests in model execution batches.\n",
            "# TYPE vllm:num_requests_running gauge\n",
            "vllm:num_requests_running{engine=\"0\",model_name=\"tiny\"} 3.0\n",
            "vllm:num_requests_running{engine=\"1\",model_name=\"tiny\"} 2.0\n",
            "vllm:num_requests_waiting{engine=\"0\",model_name=\"tiny\"} 1.0\n",
            "vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"tiny\",reason=\"capacity\"} 9.0\n",
            "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"tiny\"} 0.25\n",
            "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"tiny\"} 0.5\n",
            "vllm:prompt_tokens_total{engine=\"0\",model_name=\"tiny\"} 22.0\n",
            "vllm:prompt_tokens_created{engine=\"0\",model_name=\"tiny\"} 1.7952062944837224e+09\n",
            "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"tiny\"} 1.0\n",
            "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"tiny\"} 2.0\n",
            "vllm:prompt_tokens_cached_total{engine=\"0\",model_name=\"tiny\"} 4.0\n",
            "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"tiny\"} 5.0\n",
            "vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"+Inf\",model_name=\"tiny\"} 8.0\n",
            "vllm:inter_token_latency_seconds_count{engine=\"0\",model_name=\"tiny\"} 8.0\n",
            "vllm:inter_token_latency_seconds_sum{engine=\"0\",model_name=\"tiny\"} 0.16\n",
            "tplens:step_lost_seconds_sum 0.03\ntplens:step_lost_seconds_count 60.0\n",
        );
        let (values, engine) = values(text).unwrap();
        // 3 + 2 running; the larger of 0.25 and 0.5; 1 + 2 requests.
        assert_eq!(engine, "vLLM's");
        assert_eq!((values.running, values.waiting), (Some(5.0), Some(1.0)));
        assert_eq!((values.kv_used, values.requests), (Some(0.5), Some(3.0)));
        assert_eq!(
            (values.prompt_tokens, values.cached_tokens),
            (Some(22.0), Some(4.0))
        );
        let itl = values.itl.unwrap();
        assert_eq!((itl.seconds, itl.count), (0.16, 8.0));
        assert_eq!((values.ttft, values.generation), (None, None));
        // Of the embedded engine alone.
        let lost = values.lost.map(|lost| (lost.seconds, lost.count));
        assert_eq!(lost, Some((0.03, 60.0)));
    }

    #[test]
    fn names_of_older_vllm_of_sglang_and_of_llama_cpp_are_known() {
        let old = "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.1\n\
                   vllm:time_per_output_token_seconds_sum{model_name=\"m\"} 2.5\n\
                   vllm:time_per_output_token_seconds_count{model_name=\"m\"} 100\n";
        let (old, _) = values(old).unwrap();
        assert_eq!(old.kv_used, Some(0.1));
        assert_eq!(old.itl.map(|itl| itl.count), Some(100.0));
        let sglang = "sglang:num_running_reqs{model_name=\"m\"} 7.0\nsglang:num_queue_reqs{model_name=\"m\"} 2.0\n\
                      sglang:token_usage{model_name=\"m\"} 0.28\nsglang:prompt_tokens_total{model_name=\"m\"} 8e3\n";
        let (sglang, engine) = values(sglang).unwrap();
        assert_eq!(engine, "SGLang's");
        assert_eq!((sglang.running, sglang.waiting), (Some(7.0), Some(2.0)));
        assert_eq!(sglang.prompt_tokens, Some(8000.0));
        let llama = "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:prompt_tokens_total 22\n\
                     llamacpp:tokens_predicted_total 6\nllamacpp:tokens_predicted_seconds_total 0.002964\n";
        let (llama, engine) = values(llama).unwrap();
        assert_eq!(engine, "llama.cpp's");
        assert_eq!(
            (llama.running, llama.generated_tokens),
            (Some(1.0), Some(6.0))
        );
        assert_eq!(llama.generation.map(|sum| sum.seconds), Some(0.002_964));
        assert_eq!((llama.itl, llama.requests), (None, None));
    }

    #[test]
    fn counters_of_something_else_are_none_of_a_server() {
        assert_eq!(values("python_info{version=\"3.11\"} 1.0\nvllm 3\n"), None);
        assert_eq!(values("<html>not found</html>"), None);
        // A known prefix with no known name, and a known name without a number.
        assert_eq!(values("vllm:cache_config_info{x=\"y\"} 1.0\n"), None);
        assert_eq!(values("vllm:num_requests_running NaN\n"), None);
    }

    #[test]
    fn labels_may_hold_brackets_quotes_and_blanks() {
        let text = "a:b_total{m=\"x} 9 \\\" { y\",n=\"\"} 12.5 1700000000\n c 3\nd{} 1e3\r\ne {x=\"1\"} 4\n";
        assert_eq!(
            samples(text).collect::<Vec<_>>(),
            [("a:b_total", 12.5), ("c", 3.0), ("d", 1000.0), ("e", 4.0)]
        );
    }
}
