//! The JSON of `vllm bench serve --save-result`, key by key.

use serde_json::{Map, Value, json};

use super::form::{Statistics, VllmForm, parts};
use super::{ExportError, date};
use record::metric::{e2el, itl, peak_output, queue_time, ttft};
use record::{Arrivals, Record, ServeLoad, ServeRequest, ServeSummary, ServeTarget};

/// The record in vLLM's keys, with lists of all requests in the order of completion.
///
/// A record of a simulated machine carries a further key, `simulated`, with the box's name.
///
/// # Errors
/// The record is no serving benchmark, or has no summary.
pub fn vllm_json(record: &Record, form: &VllmForm) -> Result<Value, ExportError> {
    let (serve, target, load, summary) = parts(record)?;
    // A run that a time ended has as many as it had.
    let ended = u32::try_from(serve.requests.len()).unwrap_or(u32::MAX);
    let prompts = load.duration_s.map_or(load.requests, |_| ended);
    let mut map = head(record, target, prompts, form);
    for (key, value) in &form.metadata {
        map.insert(key.clone(), Value::from(value.clone()));
    }
    map.extend(traffic(load));
    map.extend(counts(summary, &serve.requests));
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
    lists_always(&mut map, &serve.requests);
    if form.detailed {
        lists_detailed(&mut map, &serve.requests);
    }
    if let Some(soft) = record.soft_box() {
        map.insert("simulated".to_owned(), Value::from(soft));
    }
    Ok(Value::Object(map))
}

fn head(
    record: &Record,
    target: &ServeTarget,
    prompts: u32,
    form: &VllmForm,
) -> Map<String, Value> {
    let backend = form.backend(target);
    object(json!({
        "date": date(&record.header.provenance.started),
        "endpoint_type": backend,
        "backend": backend,
        "label": form.label,
        "model_id": form.model(target),
        "tokenizer_id": form.tokenizer,
        "num_prompts": prompts,
    }))
}

fn traffic(load: &ServeLoad) -> Map<String, Value> {
    // A ramp has the rate `inf` there, too.
    let rate = match &load.arrivals {
        Arrivals::Ramp { .. } => None,
        other => other.rate(),
    };
    let burstiness = match &load.arrivals {
        Arrivals::Gamma { burstiness, .. } => json!(burstiness),
        // What Python's json writes for the constant rate, which is infinity there, no other tool reads.
        Arrivals::Constant { .. } => json!("inf"),
        _ => json!(1.0),
    };
    let mut map = object(json!({
        "request_rate": rate.map_or_else(|| json!("inf"), |rate| json!(rate)),
        "burstiness": burstiness,
        "max_concurrency": load.concurrency,
    }));
    if let Arrivals::Ramp {
        from,
        to,
        exponential,
    } = load.arrivals
    {
        map.extend(object(json!({
            "ramp_up_strategy": if exponential { "exponential" } else { "linear" },
            "ramp_up_start_rps": from,
            "ramp_up_end_rps": to,
        })));
    }
    map
}

fn counts(summary: &ServeSummary, requests: &[ServeRequest]) -> Map<String, Value> {
    object(json!({
        "duration": summary.duration_s,
        "completed": summary.completed,
        "failed": summary.failed,
        "total_input_tokens": summary.input_tokens,
        "total_output_tokens": summary.output_tokens,
        "request_throughput": summary.requests_per_s,
        "request_goodput": summary.goodput_per_s,
        "output_throughput": summary.output_tokens_per_s,
        "total_token_throughput": summary.total(),
        "max_output_tokens_per_s": peak_output(requests),
        "max_concurrent_requests": summary.peak_in_flight,
        // Seconds of audio per second: there is no audio.
        "rtfx": 0.0,
    }))
}

/// The lists that vLLM keeps without `--save-detailed`, too (0.33).
fn lists_always(map: &mut Map<String, Value>, requests: &[ServeRequest]) {
    put(map, "latencies", requests, |request| {
        json!(succeeded(request).then(|| seconds(e2el(request))))
    });
    put(map, "queue_times", requests, |request| {
        json!(queue_time(request).map(seconds))
    });
}

/// The lists of `--save-detailed`, times in seconds. A failed request has its error, and `null` for the rest; texts are not kept
/// and so `null`, too. Starts count from the run's first instant, where vLLM's count from one that it does not tell.
fn lists_detailed(map: &mut Map<String, Value>, requests: &[ServeRequest]) {
    put(map, "input_lens", requests, |request| {
        json!(request.input_tokens)
    });
    put(map, "output_lens", requests, |request| {
        json!(request.output_tokens.filter(|_| succeeded(request)))
    });
    put(map, "ttfts", requests, |request| {
        let first = ttft(request).filter(|_| succeeded(request));
        json!(first.map(seconds))
    });
    put(map, "itls", requests, |request| {
        itl(request).into_iter().map(seconds).collect()
    });
    put(map, "start_times", requests, |request| {
        json!(seconds(request.sent_ms))
    });
    put(map, "generated_texts", requests, |_| Value::Null);
    put(map, "errors", requests, |request| {
        let error = request.error.as_ref();
        let words = error.map(|error| format!("{}: {}", error.kind, error.seen));
        Value::from(words.unwrap_or_default())
    });
}

fn put(
    map: &mut Map<String, Value>,
    key: &str,
    requests: &[ServeRequest],
    value: impl Fn(&ServeRequest) -> Value,
) {
    map.insert(key.to_owned(), requests.iter().map(value).collect());
}

fn succeeded(request: &ServeRequest) -> bool {
    request.error.is_none()
}

fn seconds(ms: f64) -> f64 {
    ms / 1e3
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
