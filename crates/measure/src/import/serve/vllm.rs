//! The JSON of `vllm bench serve --save-result` and of the `benchmark_serving.py` before it.
//!
//! vLLM writes 0 where it has no value (no request with two tokens), which is `None` here. Keys of later versions are
//! passed over. Source: vLLM benchmarks/serve.py, 0.13 and 0.33, and benchmarks/benchmark_serving.py before 0.10.

use serde_json::Value;

use super::run::{ServeFormat, ServeRun, Spread};
use crate::import::error::ImportError;
use crate::import::fields::Fields;
use crate::stats::{Distribution, distribution, distribution_pooled};

/// How far a printed rate may lie from completed / duration: two decimals of a rate are all that the block shows.
const RATE_TOLERANCE: f64 = 0.02;

/// How far the mean of the saved lists may lie from the mean that the file gives, to count as the same thing.
const LIST_TOLERANCE: f64 = 0.005;

/// Whether an object is a result of vLLM's client.
pub(super) fn is_one(fields: &Fields) -> bool {
    ["completed", "duration", "request_throughput"]
        .iter()
        .all(|key| fields.map.contains_key(*key))
        && ["ttft", "tpot", "itl", "e2el"]
            .iter()
            .any(|metric| fields.map.contains_key(&format!("mean_{metric}_ms")))
}

/// The result in vLLM's keys.
pub(super) fn run(fields: &Fields) -> Result<ServeRun, ImportError> {
    let next = "save it again with vllm bench serve --save-result";
    if fields.map.get("broken_off") == Some(&Value::Bool(true)) {
        return Err(ImportError::Unusable {
            origin: fields.origin.to_owned(),
            why: "is of a run that was broken off; run it again".to_owned(),
        });
    }
    let completed = fields
        .count("completed")?
        .ok_or_else(|| fields.missing("`completed`", next))?;
    let duration_s = fields
        .positive("duration")?
        .ok_or_else(|| fields.missing("`duration`", next))?;
    let requests_per_s = rate(fields, completed, duration_s)?;
    let concurrency_asked = fields.positive("max_concurrency")?;
    let lists = Lists::of(fields);
    let spread = |metric: &str, n: Option<u64>, list: Option<Distribution>| {
        spread(fields, metric, n, list.as_ref())
    };
    Ok(ServeRun {
        origin: fields.origin.to_owned(),
        format: ServeFormat::Vllm,
        simulated: fields.text("simulated"),
        model: fields.text("model_id").or_else(|| fields.text("model")),
        tp: tp(fields)?,
        // vLLM's client always streams; a file without a TTFT is one that we exported.
        streamed: fields.positive_or_absent("mean_ttft_ms")?.is_some(),
        concurrency_asked,
        request_rate_asked: request_rate(fields, concurrency_asked)?,
        completed,
        failed: failed(fields, completed)?,
        duration_s,
        requests_per_s,
        input_tokens: fields.count("total_input_tokens")?,
        output_tokens: fields.count("total_output_tokens")?,
        output_tokens_asked: None,
        fixed_output: lists.fixed_output().or((completed == 1).then_some(true)),
        e2el_ms: spread("e2el", Some(completed), distribution(&lists.e2el()))?,
        ttft_ms: spread("ttft", Some(completed), distribution(&lists.ttft()))?,
        tpot_ms: spread("tpot", None, distribution(&lists.tpot()))?,
        itl_ms: spread("itl", None, distribution_pooled(&lists.itl()))?,
        decode_gap_ms: None,
    })
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
        _ => Ok(failed),
    }
}

/// The rate asked for; a bounded number in flight with all requests offered at once is a closed loop, which has none.
fn request_rate(fields: &Fields, concurrency: Option<f64>) -> Result<Option<f64>, ImportError> {
    match fields.value("request_rate") {
        Some(Value::String(text)) if text == "inf" => {
            Ok(concurrency.is_none().then_some(f64::INFINITY))
        }
        _ => fields.positive("request_rate"),
    }
}

/// Tensor parallel size, which is in the file only where somebody passed it with `--metadata`, as text.
fn tp(fields: &Fields) -> Result<Option<u32>, ImportError> {
    for key in ["tp", "tensor_parallel_size"] {
        let Some(value) = fields.value(key) else {
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
        && p99 < median * (1.0 - LIST_TOLERANCE)
    {
        let key = format!("p99_{metric}_ms");
        let want = format!("no less than the median {median}");
        return Err(fields.nonsense(&key, &Value::from(p99), &want));
    }
    // The lists stand for the metric only where they give the file's own mean.
    let list = list.filter(|list| (list.mean - mean).abs() <= LIST_TOLERANCE * mean);
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

/// What `--save-detailed` keeps of each successful request.
struct Lists {
    /// Time to first token (ms), gaps (ms) and output tokens of each.
    requests: Vec<(f64, Vec<f64>, u64)>,
}

impl Lists {
    /// The lists; empty where the file has none or they do not fit together.
    fn of(fields: &Fields) -> Self {
        Self {
            requests: Self::read(fields).unwrap_or_default(),
        }
    }

    fn read(fields: &Fields) -> Option<Vec<(f64, Vec<f64>, u64)>> {
        let list = |key: &str| fields.value(key)?.as_array();
        let (ttfts, itls, tokens) = (list("ttfts")?, list("itls")?, list("output_lens")?);
        let errors = list("errors");
        let is_same = [
            itls.len(),
            tokens.len(),
            errors.map_or(ttfts.len(), Vec::len),
        ]
        .iter()
        .all(|len| *len == ttfts.len());
        if !is_same {
            return None;
        }
        let succeeded = |index: &usize| {
            errors.is_none_or(|errors| errors[*index].as_str().is_none_or(str::is_empty))
        };
        let ms = |value: &Value| value.as_f64().map(|seconds| seconds * 1e3);
        (0..ttfts.len())
            .filter(succeeded)
            .map(|index| {
                let gaps: Option<Vec<f64>> = itls[index].as_array()?.iter().map(ms).collect();
                Some((ms(&ttfts[index])?, gaps?, tokens[index].as_u64()?))
            })
            .collect()
    }

    fn ttft(&self) -> Vec<f64> {
        self.requests.iter().map(|(ttft, _, _)| *ttft).collect()
    }

    fn itl(&self) -> Vec<Vec<f64>> {
        self.requests
            .iter()
            .map(|(_, gaps, _)| gaps.clone())
            .collect()
    }

    fn e2el(&self) -> Vec<f64> {
        self.requests
            .iter()
            .map(|(ttft, gaps, _)| ttft + gaps.iter().sum::<f64>())
            .collect()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^53"
    )]
    fn tpot(&self) -> Vec<f64> {
        self.requests
            .iter()
            .filter(|(_, _, tokens)| *tokens > 1)
            .map(|(_, gaps, tokens)| gaps.iter().sum::<f64>() / (tokens - 1) as f64)
            .collect()
    }

    fn fixed_output(&self) -> Option<bool> {
        let (_, _, first) = self.requests.first()?;
        Some(self.requests.iter().all(|(_, _, tokens)| tokens == first))
    }
}
