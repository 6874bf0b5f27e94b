//! The JSON of `vllm bench serve --save-result`, key by key.

use serde_json::{Map, Value, json};

use super::form::{Statistics, VllmForm, begun};
use super::{ExportError, date};
use record::metric;
use record::{Arrivals, Record, ServeRequest};

/// The record in vLLM's keys, with lists of all requests in the order of completion.
///
/// A record of a simulated machine carries a further key, `simulated`, with the box's name.
///
/// # Errors
/// The record is no serving benchmark, or has no summary.
pub fn vllm_json(record: &Record, form: &VllmForm) -> Result<Value, ExportError> {
    let (serve, target, load) = begun(record)?;
    let summary = serve.summary.as_ref().ok_or(ExportError::NoSummary)?;
    let requests = &serve.requests;
    // A run that a time ended has as many as it had.
    let prompts = match load.duration_s {
        Some(_) => requests.len(),
        None => load.requests as usize,
    };
    let backend = form.backend(target);
    let mut map = Map::new();
    put(
        &mut map,
        json!({
            "date": date(&record.header.provenance.started),
            "endpoint_type": backend,
            "backend": backend,
            "label": form.label,
            "model_id": form.model(target),
            "tokenizer_id": form.tokenizer,
            "num_prompts": prompts,
        }),
    );
    for (key, value) in &form.metadata {
        map.insert(key.clone(), Value::from(value.clone()));
    }
    put(
        &mut map,
        json!({
            "max_concurrency": load.concurrency,
            "duration": summary.duration_s,
            "completed": summary.completed,
            "failed": summary.failed,
            "total_input_tokens": summary.input_tokens,
            "total_output_tokens": summary.output_tokens,
            "request_throughput": summary.requests_per_s,
            "request_goodput": summary.goodput_per_s,
            "output_throughput": summary.output_tokens_per_s,
            "total_token_throughput": summary.total(),
            "max_output_tokens_per_s": metric::peak_output(requests),
            "max_concurrent_requests": summary.peak_in_flight,
            // Seconds of audio per second: there is no audio.
            "rtfx": 0.0,
        }),
    );
    put(&mut map, arrivals(&load.arrivals));
    for metric in form.shown(load) {
        let of = Statistics::of(metric, serve, summary, &form.percentiles);
        let key = metric.key();
        map.insert(format!("mean_{key}_ms"), json!(of.mean));
        map.insert(format!("median_{key}_ms"), json!(of.median));
        map.insert(format!("std_{key}_ms"), json!(of.std));
        for (percentile, value) in of.percentiles {
            map.insert(format!("p{percentile}_{key}_ms"), json!(value));
        }
    }
    let lists = if form.detailed { LISTS.len() } else { ALWAYS };
    for (key, value) in &LISTS[..lists] {
        map.insert((*key).to_owned(), requests.iter().map(value).collect());
    }
    if let Some(soft) = record.soft_box() {
        map.insert("simulated".to_owned(), Value::from(soft));
    }
    Ok(Value::Object(map))
}

fn put(map: &mut Map<String, Value>, members: Value) {
    if let Value::Object(members) = members {
        map.extend(members);
    }
}

fn arrivals(arrivals: &Arrivals) -> Value {
    match arrivals {
        // A ramp has the rate `inf` there, too.
        Arrivals::Ramp {
            from,
            to,
            exponential,
        } => json!({
            "request_rate": "inf",
            "burstiness": 1.0,
            "ramp_up_strategy": if *exponential { "exponential" } else { "linear" },
            "ramp_up_start_rps": from,
            "ramp_up_end_rps": to,
        }),
        // What Python's json writes for the constant rate, which is infinity there, no other tool reads.
        Arrivals::Constant { rate } => json!({"request_rate": rate, "burstiness": "inf"}),
        Arrivals::Gamma { rate, burstiness } => {
            json!({"request_rate": rate, "burstiness": burstiness})
        }
        other => {
            let rate = other
                .rate()
                .map_or_else(|| json!("inf"), |rate| json!(rate));
            json!({"request_rate": rate, "burstiness": 1.0})
        }
    }
}

/// A list: its key, and what it has of a request.
type List = (&'static str, fn(&ServeRequest) -> Value);

/// How many of [`LISTS`] vLLM keeps without `--save-detailed`, too (0.33).
const ALWAYS: usize = 2;

/// The lists, times in seconds. A failed request has its error, and `null` for the rest; texts are not kept and so `null`, too.
/// Starts count from the run's first instant, where vLLM's count from one that it does not tell.
const LISTS: [List; 9] = [
    ("latencies", |of| seconds(succeeded(of).map(metric::e2el))),
    ("queue_times", |of| seconds(metric::queue_time(of))),
    ("input_lens", |of| json!(of.input_tokens)),
    ("output_lens", |of| {
        json!(succeeded(of).and_then(|of| of.output_tokens))
    }),
    ("ttfts", |of| seconds(succeeded(of).and_then(metric::ttft))),
    ("itls", |of| {
        let gaps = metric::itl(of).into_iter();
        gaps.map(|gap| seconds(Some(gap))).collect()
    }),
    ("start_times", |of| seconds(Some(of.sent_ms))),
    ("generated_texts", |_| Value::Null),
    ("errors", |of| {
        let error = of.error.as_ref();
        let words = error.map(|error| format!("{}: {}", error.kind, error.seen));
        Value::from(words.unwrap_or_default())
    }),
];

fn succeeded(request: &ServeRequest) -> Option<&ServeRequest> {
    Some(request).filter(|request| request.error.is_none())
}

fn seconds(ms: Option<f64>) -> Value {
    json!(ms.map(|ms| ms / 1e3))
}
