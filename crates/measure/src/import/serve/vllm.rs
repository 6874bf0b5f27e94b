//! The JSON of `vllm bench serve --save-result`, of the `benchmark_serving.py` before it, and of SGLang's `bench_serving`, which
//! came from it.
//!
//! These clients write 0 where they have no value (no request with two tokens), which is `None` here. Keys of later versions are
//! passed over. Source: vLLM benchmarks/serve.py, 0.13 and 0.33, and benchmarks/benchmark_serving.py before 0.10; SGLang
//! bench_serving.py, 0.5.

use serde_json::Value;

use super::conditions::Conditions;
use super::lists;
use super::result::{Asked, Finding, FindingKind, Latency, SAME, Said, ServeResult, float};
use super::run::{ServeFormat, ServeRun, Spread};
use crate::control;
use crate::import::error::ImportError;
use crate::import::fields::Fields;
use crate::record::ServeRequest;
use crate::stats::Distribution;

/// How far a printed rate may lie from completed / duration: two decimals of a rate are all that the block shows.
const RATE_TOLERANCE: f64 = 0.02;

/// The key with the version of the program, in a file in vLLM's form that is ours.
pub const VLLM_MADE_BY: &str = "tplens_version";

/// The key with the reasons why times are the client's own, in a file in vLLM's form that is ours.
pub const VLLM_INVALID: &str = "tplens_invalid";

/// What the two clients call and write differently.
struct Dialect {
    format: ServeFormat,
    /// The name of a metric within keys.
    key: fn(Latency) -> &'static str,
    /// The range ratio at which random lengths are fixed.
    fixed_at: f64,
}

const VLLM: Dialect = Dialect {
    format: ServeFormat::Vllm,
    key: Latency::key,
    fixed_at: 0.0,
};

const SGLANG: Dialect = Dialect {
    format: ServeFormat::Sglang,
    key: |latency| match latency {
        Latency::E2el => "e2e_latency",
        other => other.key(),
    },
    fixed_at: 1.0,
};

/// Whether an object is a result of vLLM's or SGLang's client.
pub(super) fn is_one(fields: &Fields) -> bool {
    let has_mean = |key: &str| fields.map.contains_key(&format!("mean_{key}_ms"));
    ["completed", "duration", "request_throughput"]
        .iter()
        .all(|key| fields.map.contains_key(*key))
        && ["ttft", "tpot", "itl", "e2el", "e2e_latency"]
            .into_iter()
            .any(has_mean)
}

/// The result in vLLM's or SGLang's keys.
pub(super) fn result(fields: &Fields) -> Result<ServeResult, ImportError> {
    let next = "save it again with vllm bench serve --save-result";
    if fields.map.get("broken_off") == Some(&Value::Bool(true)) {
        return Err(ImportError::Unusable {
            origin: fields.origin.to_owned(),
            why: "is of a run that was broken off; run it again".to_owned(),
        });
    }
    let dialect = if fields.map.contains_key("mean_e2e_latency_ms") {
        &SGLANG
    } else {
        &VLLM
    };
    let completed = fields
        .count("completed")?
        .ok_or_else(|| fields.missing("`completed`", next))?;
    let duration_s = fields
        .positive("duration")?
        .ok_or_else(|| fields.missing("`duration`", next))?;
    let requests_per_s = rate(fields, completed, duration_s)?;
    let concurrency_asked = fields.positive("max_concurrency")?;
    let lists = lists::of(fields);
    let spread = |latency: Latency, n: Option<u64>| {
        spread(
            fields,
            (dialect.key)(latency),
            n,
            latency.over(&lists.requests).as_ref(),
        )
    };
    let asked = asked(fields, dialect)?;
    let run = ServeRun {
        origin: fields.origin.to_owned(),
        format: dialect.format,
        simulated: fields.text("simulated"),
        model: model(fields),
        tp: tp(fields)?,
        // These clients always stream; a file without a TTFT is one that we exported.
        streamed: fields.positive_or_absent("mean_ttft_ms")?.is_some(),
        concurrency_asked,
        request_rate_asked: request_rate(fields, concurrency_asked)?,
        completed,
        failed: failed(fields, completed)?,
        duration_s,
        requests_per_s,
        input_tokens: fields.count("total_input_tokens")?,
        output_tokens: fields.count("total_output_tokens")?,
        output_tokens_asked: asked.output_tokens,
        fixed_output: fixed_output(&lists.requests).or((completed == 1).then_some(true)),
        e2el_ms: spread(Latency::E2el, Some(completed))?,
        ttft_ms: spread(Latency::Ttft, Some(completed))?,
        tpot_ms: spread(Latency::Tpot, None)?,
        itl_ms: spread(Latency::Itl, None)?,
        decode_gap_ms: None,
        conditions: Conditions::of_fields(fields, is_fixed(fields, dialect)?).of_client(),
    };
    let said = said(fields, dialect)?;
    let mut findings = client_limits(fields);
    findings.extend(lists::disagreements(fields, &lists, dialect.key));
    findings.extend(retokenized(fields, &run)?);
    Ok(ServeResult {
        run,
        asked,
        said,
        requests: lists.requests,
        clocked: lists.clocked,
        ours: fields.map.contains_key(VLLM_MADE_BY),
        duration_off_s: 0.0,
        findings,
    })
}

/// What our client said of itself when it wrote the file.
fn client_limits(fields: &Fields) -> Vec<Finding> {
    let reasons = fields.map.get(VLLM_INVALID).and_then(Value::as_array);
    let reasons = reasons.into_iter().flatten().filter_map(Value::as_str);
    reasons.map(Finding::client_limit).collect()
}

/// Whether all requests were asked for the same lengths, as far as the file says.
fn is_fixed(fields: &Fields, dialect: &Dialect) -> Result<bool, ImportError> {
    let is_random = fields
        .text("dataset_name")
        .is_none_or(|name| name.starts_with("random"));
    let ratio = fields.number("random_range_ratio")?;
    Ok(is_random && ratio.is_none_or(|ratio| (ratio - dialect.fixed_at).abs() < 1e-9))
}

fn asked(fields: &Fields, dialect: &Dialect) -> Result<Asked, ImportError> {
    // Lengths are told by SGLang's file, and of vLLM's by the line that it prints first.
    let is_fixed = is_fixed(fields, dialect)?;
    let each = |key: &str| {
        if is_fixed {
            fields.count(key)
        } else {
            Ok(None)
        }
    };
    Ok(Asked {
        requests: fields.count("num_prompts")?,
        input_tokens: each("random_input_len")?,
        output_tokens: each("random_output_len")?,
    })
}

fn said(fields: &Fields, dialect: &Dialect) -> Result<Said, ImportError> {
    let mut p90_ms = [None; 4];
    for latency in Latency::ALL {
        let key = format!("p90_{}_ms", (dialect.key)(latency));
        p90_ms[latency as usize] = fields.positive_or_absent(&key)?;
    }
    let total = fields.positive_or_absent("total_token_throughput")?;
    Ok(Said {
        ttft_ms: fields.positive_or_absent("mean_ttft_ms")?,
        tpot_ms: fields.positive_or_absent("mean_tpot_ms")?,
        output_tokens_per_s: fields.positive_or_absent("output_throughput")?,
        total_tokens_per_s: match total {
            None => fields.positive_or_absent("total_throughput")?,
            total => total,
        },
        peak_output_tokens_per_s: fields.positive_or_absent("max_output_tokens_per_s")?,
        peak_in_flight: fields.positive_or_absent("max_concurrent_requests")?,
        p90_ms,
    })
}

/// Without a count by the server SGLang's client takes the tokens that it asked for; what the text re-encodes to tells.
fn retokenized(fields: &Fields, run: &ServeRun) -> Result<Option<Finding>, ImportError> {
    let (Some(said), Some(again)) = (
        run.output_tokens,
        fields.count("total_output_tokens_retokenized")?,
    ) else {
        return Ok(None);
    };
    let off = (float(said) - float(again)).abs() > 0.1 * float(said);
    Ok(off.then(|| {
        Finding::new(
            FindingKind::TokensAsAsked,
            format!(
                "{said} output tokens are said and the text re-encodes to {again}: without the server's count this client \
                 takes the length that it asked for, so that tokens per second and TPOT are not of what came"
            ),
        )
    }))
}

fn model(fields: &Fields) -> Option<String> {
    let of_server = || fields.value("server_info")?.get("model_path")?.as_str();
    fields
        .text("model_id")
        .or_else(|| fields.text("model"))
        .or_else(|| of_server().map(control::replaced))
}

/// Completed requests per second, which the file's own rate must agree with.
#[expect(
    clippy::cast_precision_loss,
    reason = "request counts are far below 2^53"
)]
fn rate(fields: &Fields, completed: u64, duration_s: f64) -> Result<f64, ImportError> {
    let rate = completed as f64 / duration_s;
    match fields.number("request_throughput")? {
        Some(said) if (said - rate).abs() > RATE_TOLERANCE * rate + 0.005 => Err(fields.nonsense(
            "request_throughput",
            &Value::from(said),
            &format!("completed / duration = {rate:.4} req/s"),
        )),
        _ => Ok(rate),
    }
}

/// Requests that failed. Versions before 0.12 do not count them: there it is what was sent and did not complete.
fn failed(fields: &Fields, completed: u64) -> Result<Option<u64>, ImportError> {
    let failed = fields.count("failed")?;
    let sent = fields.count("num_prompts")?;
    match (failed, sent) {
        (None, Some(sent)) => sent.checked_sub(completed).map(Some).ok_or_else(|| {
            let want = format!("at most num_prompts = {sent}");
            fields.nonsense("completed", &Value::from(completed), &want)
        }),
        (None, None) => Ok(lists::failed(fields)),
        _ => Ok(failed),
    }
}

/// The rate asked for; a bounded number in flight with all requests offered at once is a closed loop, which has none.
fn request_rate(fields: &Fields, concurrency: Option<f64>) -> Result<Option<f64>, ImportError> {
    match fields.value("request_rate") {
        // SGLang writes Python's infinity.
        Some(Value::String(text)) if text == "inf" || text == "Infinity" => {
            Ok(concurrency.is_none().then_some(f64::INFINITY))
        }
        Some(Value::String(text)) if text == "trace" => Ok(None),
        _ => fields.positive("request_rate"),
    }
}

/// Tensor parallel size, which is in the file only where somebody passed it with `--metadata`, as text.
fn tp(fields: &Fields) -> Result<Option<u32>, ImportError> {
    for key in ["tp", "tensor_parallel_size", "tp_size"] {
        let of_server = || fields.value("server_info")?.get(key);
        let Some(value) = fields.value(key).or_else(of_server) else {
            continue;
        };
        let number = match value {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|number| number.try_into().ok()),
        };
        return number
            .filter(|tp| *tp > 0)
            .map(Some)
            .ok_or_else(|| fields.nonsense(key, value, "a number of ranks"));
    }
    Ok(None)
}

fn spread(
    fields: &Fields,
    metric: &str,
    n: Option<u64>,
    list: Option<&Distribution>,
) -> Result<Option<Spread>, ImportError> {
    let statistic = |name: &str| fields.positive_or_absent(&format!("{name}_{metric}_ms"));
    let (median, p99) = (statistic("median")?, statistic("p99")?);
    let Some(mean) = statistic("mean")? else {
        return Ok(None);
    };
    if let (Some(median), Some(p99)) = (median, p99)
        && p99 < median * (1.0 - SAME)
    {
        let key = format!("p99_{metric}_ms");
        let want = format!("no less than the median {median}");
        return Err(fields.nonsense(&key, &Value::from(p99), &want));
    }
    // The lists stand for the metric only where they give the file's own mean.
    let list = list.filter(|list| (list.mean - mean).abs() <= SAME * mean);
    Ok(Some(Spread {
        n: list.map(|list| list.n as u64).or(n),
        mean,
        mean_interval: list.and_then(|list| list.mean_interval),
        median,
        min: list.map(|list| list.min),
        max: list.map(|list| list.max),
        p99,
    }))
}

/// Whether all requests gave as many output tokens; `None` where the lists do not tell.
fn fixed_output(requests: &[ServeRequest]) -> Option<bool> {
    let first = requests.first()?.output_tokens?;
    Some(requests.iter().all(|one| one.output_tokens == Some(first)))
}
