//! What engines call their counters: our name for each, the names that they had and have, and how several of one name add up.

use std::collections::HashMap;

use record::{ServerSum, ServerValues};

use super::parse::samples;

/// Where a number of ours stands, and the names that engines have for it, of which the first that is there counts. Samples of one name,
/// such as those of several engine processes, are added up.
type Number = (
    fn(&mut ServerValues) -> &mut Option<f64>,
    &'static [&'static str],
);

/// The same of sum and count of times; the names of both without `_sum` and `_count`.
type Times = (
    fn(&mut ServerValues) -> &mut Option<ServerSum>,
    &'static [&'static str],
);

/// vLLM's names are those of 0.4 to 0.33, SGLang's those of 0.4 to 0.5, llama.cpp's those of its server since 2024.
const NUMBERS: &[Number] = &[
    (
        |values| &mut values.running,
        &[
            "vllm:num_requests_running",
            "sglang:num_running_reqs",
            "llamacpp:requests_processing",
        ],
    ),
    (
        |values| &mut values.waiting,
        &[
            "vllm:num_requests_waiting",
            "sglang:num_queue_reqs",
            "llamacpp:requests_deferred",
        ],
    ),
    (
        |values| &mut values.requests,
        &["vllm:request_success_total", "sglang:num_requests_total"],
    ),
    (
        |values| &mut values.prompt_tokens,
        &[
            "vllm:prompt_tokens_total",
            "sglang:prompt_tokens_total",
            // Without those of the cache.
            "llamacpp:prompt_tokens_total",
        ],
    ),
    (
        |values| &mut values.generated_tokens,
        &[
            "vllm:generation_tokens_total",
            "sglang:generation_tokens_total",
            "llamacpp:tokens_predicted_total",
        ],
    ),
    (
        |values| &mut values.cached_tokens,
        &[
            "vllm:prompt_tokens_cached_total",
            "vllm:prefix_cache_hits_total",
            "vllm:gpu_prefix_cache_hits_total",
            "sglang:cached_tokens_total",
            "llamacpp:prompt_tokens_cached_total",
        ],
    ),
    (
        |values| &mut values.preemptions,
        &["vllm:num_preemptions_total"],
    ),
];

/// Of several engine processes the largest counts; vLLM's second name is that until 0.9.
const KV_USED: &[&str] = &[
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "sglang:token_usage",
    "llamacpp:kv_cache_usage_ratio",
];

const TIMES: &[Times] = &[
    (
        |values| &mut values.ttft,
        &[
            "vllm:time_to_first_token_seconds",
            "sglang:time_to_first_token_seconds",
        ],
    ),
    (
        |values| &mut values.itl,
        &[
            "vllm:inter_token_latency_seconds",
            // The same thing until 0.10.
            "vllm:time_per_output_token_seconds",
            "sglang:inter_token_latency_seconds",
            "sglang:time_per_output_token_seconds",
        ],
    ),
    (
        |values| &mut values.tpot,
        &["vllm:request_time_per_output_token_seconds"],
    ),
    (
        |values| &mut values.e2el,
        &[
            "vllm:e2e_request_latency_seconds",
            "sglang:e2e_request_latency_seconds",
        ],
    ),
    (
        |values| &mut values.queue,
        &[
            "vllm:request_queue_time_seconds",
            "sglang:queue_time_seconds",
        ],
    ),
    // Of the embedded engine alone.
    (|values| &mut values.lost, &["tplens:step_lost_seconds"]),
];

/// llama.cpp's sum and count of generating tokens have names of their own; it has no other times.
const GENERATION: (&str, &str) = (
    "llamacpp:tokens_predicted_seconds_total",
    "llamacpp:tokens_predicted_total",
);

/// Whose names begin like this.
const ENGINES: [(&str, &str); 3] = [
    ("vllm:", "vLLM's"),
    ("sglang:", "SGLang's"),
    ("llamacpp:", "llama.cpp's"),
];

/// Names of the embedded engine alone, which stand beside those of the engine that it plays.
const OWN: &str = "tplens:";

/// What a text of counters holds under our names, and whose names it has; `None` where none is known here.
pub(super) fn values(text: &str) -> Option<(ServerValues, &'static str)> {
    // Sum and largest by name.
    let mut found: HashMap<&str, (f64, f64)> = HashMap::new();
    for (name, value) in samples(text) {
        let mut prefixes = ENGINES.iter().map(|(prefix, _)| *prefix).chain([OWN]);
        if prefixes.any(|prefix| name.starts_with(prefix)) && value >= 0.0 {
            let (sum, largest) = found.entry(name).or_insert((0.0, value));
            *sum += value;
            *largest = largest.max(value);
        }
    }
    let mut values = ServerValues::default();
    let mut prefix = None;
    for (ours, names) in NUMBERS {
        if let Some((name, (sum, _))) = first(&found, names) {
            prefix = prefix.or(Some(name));
            *ours(&mut values) = Some(sum);
        }
    }
    if let Some((name, (_, largest))) = first(&found, KV_USED) {
        prefix = prefix.or(Some(name));
        values.kv_used = Some(largest);
    }
    for (ours, names) in TIMES {
        let both = names.iter().find_map(|name| {
            let of = |end: &str| found.get(format!("{name}{end}").as_str());
            let (sum, count) = of("_sum").zip(of("_count"))?;
            let (seconds, count) = (sum.0, count.0);
            Some(ServerSum { seconds, count })
        });
        *ours(&mut values) = both;
    }
    let of = |name| found.get(name).map(|(sum, _)| *sum);
    values.generation = of(GENERATION.0)
        .zip(of(GENERATION.1))
        .map(|(seconds, count)| ServerSum { seconds, count });
    let name = prefix?;
    let engine = ENGINES
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))?;
    Some((values, engine.1))
}

/// The first of the names that is there.
fn first<'a>(
    found: &HashMap<&str, (f64, f64)>,
    names: &[&'a str],
) -> Option<(&'a str, (f64, f64))> {
    names
        .iter()
        .find_map(|name| found.get(name).map(|both| (*name, *both)))
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
}
