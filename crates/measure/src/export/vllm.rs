//! A serving benchmark in the keys of `vllm bench serve --save-result` (0.13 and 0.33), for tools that read those.
//!
//! What a record does not have is `null`: vLLM writes 0 there. `date` is UTC, where vLLM writes local time.

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::metric::{e2el, itl, ttft};
use crate::record::{Distribution, Payload, Record, Serve, ServeLoad, ServeRequest, ServeTarget};

/// Why a record has no such form.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ExportError {
    /// The record holds something else.
    #[error("the record holds {0}; only a serving benchmark has vLLM's form")]
    NotServe(&'static str),
    /// The run ended before its first request.
    #[error("the run ended before its first request; run it again")]
    NotBegun,
    /// No request completed, or the run was broken off.
    #[error(
        "the record has no summary, since no request completed or the run was broken off; run it again"
    )]
    NoSummary,
}

/// The record in vLLM's keys; `detailed` adds the lists of `--save-detailed`, of all requests in the order of completion.
///
/// A record of a soft box carries a further key, `simulated`, with the box's name.
///
/// # Errors
/// The record is no serving benchmark, or has no summary.
pub fn vllm_json(record: &Record, detailed: bool) -> Result<Value, ExportError> {
    let Payload::Serve(serve) = &record.payload else {
        return Err(ExportError::NotServe(record.payload.kind()));
    };
    let (Some(target), Some(load)) = (&serve.target, &serve.load) else {
        return Err(ExportError::NotBegun);
    };
    let mut map = head(record, target, load);
    counts(&mut map, serve)?;
    if detailed {
        lists(&mut map, &serve.requests);
    }
    if let Some(soft) = record.soft_box() {
        map.insert("simulated".to_owned(), Value::from(soft));
    }
    Ok(Value::Object(map))
}

fn head(record: &Record, target: &ServeTarget, load: &ServeLoad) -> Map<String, Value> {
    let backend = if target.endpoint.contains("chat") {
        "openai-chat"
    } else {
        "openai"
    };
    object(json!({
        "date": date(&record.header.provenance.started),
        "endpoint_type": backend,
        "backend": backend,
        "label": null,
        "model_id": target.model,
        "tokenizer_id": null,
        "num_prompts": load.requests,
        "request_rate": "inf",
        "burstiness": null,
        "max_concurrency": load.concurrency,
    }))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
fn counts(map: &mut Map<String, Value>, serve: &Serve) -> Result<(), ExportError> {
    let summary = serve.summary.as_ref().ok_or(ExportError::NoSummary)?;
    let total = summary
        .input_tokens
        .zip(summary.output_tokens)
        .map(|(input, output)| (input + output) as f64 / summary.duration_s);
    map.extend(object(json!({
        "duration": summary.duration_s,
        "completed": summary.completed,
        "failed": summary.failed,
        "total_input_tokens": summary.input_tokens,
        "total_output_tokens": summary.output_tokens,
        "request_throughput": summary.requests_per_s,
        "request_goodput": null,
        "output_throughput": summary.output_tokens_per_s,
        "total_token_throughput": total,
        "max_output_tokens_per_s": null,
        "max_concurrent_requests": null,
    })));
    let metrics = [
        ("ttft", &summary.ttft_ms),
        ("tpot", &summary.tpot_ms),
        ("itl", &summary.itl_ms),
        ("e2el", &summary.e2el_ms),
    ];
    for (metric, distribution) in metrics {
        let of =
            |statistic: fn(&Distribution) -> Option<f64>| distribution.as_ref().and_then(statistic);
        map.extend([
            (format!("mean_{metric}_ms"), json!(of(|d| Some(d.mean)))),
            (format!("median_{metric}_ms"), json!(of(|d| Some(d.median)))),
            (format!("std_{metric}_ms"), json!(of(|d| Some(d.std)))),
            (format!("p99_{metric}_ms"), json!(of(|d| d.p99))),
        ]);
    }
    Ok(())
}

/// The lists of each request, times in seconds as vLLM has them. A failed request has its error, and `null` for the rest.
fn lists(map: &mut Map<String, Value>, requests: &[ServeRequest]) {
    let each =
        |value: &dyn Fn(&ServeRequest) -> Value| -> Value { requests.iter().map(value).collect() };
    let succeeded = |request: &ServeRequest| request.error.is_none();
    let seconds = |ms: f64| ms / 1e3;
    map.insert(
        "input_lens".to_owned(),
        each(&|request| json!(request.input_tokens)),
    );
    map.insert(
        "output_lens".to_owned(),
        each(&|request| json!(request.output_tokens.filter(|_| succeeded(request)))),
    );
    map.insert(
        "ttfts".to_owned(),
        each(&|request| {
            json!(
                ttft::of(request)
                    .filter(|_| succeeded(request))
                    .map(seconds)
            )
        }),
    );
    map.insert(
        "itls".to_owned(),
        each(&|request| itl::of(request).into_iter().map(seconds).collect()),
    );
    map.insert(
        "latencies".to_owned(),
        each(&|request| json!(succeeded(request).then(|| seconds(e2el::of(request))))),
    );
    map.insert(
        "errors".to_owned(),
        each(&|request| {
            let error = request.error.as_ref();
            let words = error.map(|error| format!("{}: {}", error.kind, error.seen));
            Value::from(words.unwrap_or_default())
        }),
    );
}

/// `20260102-030405` of `2026-01-02T03:04:05Z`.
fn date(started: &str) -> Option<String> {
    let (day, time) = started.split_once('T')?;
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let (day, time) = (digits(day), digits(time.get(..8)?));
    (day.len() == 8 && time.len() == 6).then(|| format!("{day}-{time}"))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_one_of_the_start() {
        assert_eq!(
            date("2026-01-02T03:04:05Z").as_deref(),
            Some("20260102-030405")
        );
        assert_eq!(date("2026-01-02"), None);
        assert_eq!(date(""), None);
    }
}
