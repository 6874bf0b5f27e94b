//! A result from the numbers of one object or printed block, whoever wrote it.
//!
//! TTFT and TPOT of clients other than vLLM's and SGLang's are taken only where replies were streamed: some print the latency as TTFT
//! and 1 / throughput as time per output token (evalscope 0.5.5, perf/http_client.py), which is a finding.

use serde_json::{Map, Value};

use super::conditions::{Conditions, text};
use super::finding::Finding;
use super::keys::Field as F;
use super::latency::{Latency, Statistic};
use super::lists::{self, Lists};
use super::numbers::{AGREE, Numbers, figures};
use super::result::{Asked, SAME, Said, ServeFormat, ServeResult, ServeRun, Spread};
use crate::error::ImportError;
use crate::number::{counted, float};

/// The key with the version of the program, in a file in vLLM's form that is ours.
pub const VLLM_MADE_BY: &str = "tplens_version";

/// The key with the reasons why times are the client's own, in a file in vLLM's form that is ours.
pub const VLLM_INVALID: &str = "tplens_invalid";

/// How far TTFT + TPOT x (output tokens - 1) may lie from the latency, to say that all three are of a stream.
const STREAMED: f64 = 0.1;

/// The result in an object; `None` where it has nothing of one.
///
/// # Errors
/// It lacks the requests that completed, the duration, or every time.
pub(super) fn result(
    map: &Map<String, Value>,
    origin: &str,
) -> Result<Option<ServeResult>, ImportError> {
    let format = format(map);
    let numbers = Numbers::of(map, format != ServeFormat::Summary);
    let has_times = numbers.timed().next().is_some();
    if !has_times && numbers.get(F::RequestsPerS).is_none() {
        return Ok(None);
    }
    let missing = |what: &str, keys: &str| {
        let unknown = match numbers.unused.as_slice() {
            [] => String::new(),
            unused => format!("; unknown keys: {}", unused.join(", ")),
        };
        ImportError::Missing {
            origin: origin.to_owned(),
            what: what.to_owned(),
            next: format!("add {keys}{unknown}"),
        }
    };
    if !has_times {
        return Err(missing("any time", "`latency_mean_s`"));
    }
    if map.get("broken_off") == Some(&Value::Bool(true)) {
        let why = "is of a run that was broken off; run it again";
        return Err(ImportError::unusable(origin, why));
    }
    let duration = numbers.get(F::Duration).map(|ms| ms / 1e3);
    let completed = completed(&numbers, duration)
        .ok_or_else(|| missing("how many requests completed", "`completed`"))?;
    let rate = numbers.get(F::RequestsPerS).filter(|rate| *rate > 0.0);
    let duration_s = duration.or_else(|| Some(float(completed) / rate?));
    let duration_s = duration_s
        .filter(|seconds| *seconds > 0.0)
        .ok_or_else(|| missing("its duration", "`duration_s`"))?;
    let reading = Reading {
        map,
        origin,
        format,
        lists: lists::of(map),
        numbers,
        completed,
        duration_s,
    };
    Ok(Some(reading.result()))
}

/// Requests that succeeded: counted, or all without those that failed, or all where the rate says that all did.
fn completed(numbers: &Numbers, duration_s: Option<f64>) -> Option<u64> {
    let sent = numbers.count(F::Sent);
    let less_failed = || sent?.checked_sub(numbers.count(F::Failed)?);
    let by_rate = || {
        let (sent, seconds) = (sent?, duration_s?);
        let by_rate = numbers.get(F::RequestsPerS)? * seconds;
        let off = AGREE + numbers.duration_off_s / seconds;
        ((by_rate - float(sent)).abs() <= off * float(sent)).then_some(sent)
    };
    numbers
        .count(F::Completed)
        .or_else(less_failed)
        .or_else(by_rate)
}

/// Whose keys an object has.
fn format(map: &Map<String, Value>) -> ServeFormat {
    let has = |key: &str| map.keys().any(|known| known.eq_ignore_ascii_case(key));
    let is_client = (has("completed") && has("duration"))
        || (has("successful requests") && has("benchmark duration (s)"));
    let of_sglang = [
        "mean_e2e_latency_ms",
        "mean e2e latency (ms)",
        "total generated tokens (retokenized)",
    ];
    match (is_client, of_sglang.iter().any(|key| has(key))) {
        (false, _) => ServeFormat::Summary,
        (true, true) => ServeFormat::Sglang,
        (true, false) => ServeFormat::Vllm,
    }
}

struct Reading<'a> {
    map: &'a Map<String, Value>,
    origin: &'a str,
    format: ServeFormat,
    lists: Lists,
    numbers: Numbers,
    completed: u64,
    duration_s: f64,
}

impl Reading<'_> {
    fn result(mut self) -> ServeResult {
        let numbers = &self.numbers;
        let is_client = self.format != ServeFormat::Summary;
        let is_fixed = self.is_fixed();
        let concurrency_asked = numbers.get(F::Concurrency);
        let asked = Asked {
            requests: numbers.count(F::Asked).or_else(|| numbers.count(F::Sent)),
            input_tokens: numbers.count(F::InputAsked).filter(|_| is_fixed),
            output_tokens: numbers
                .count(F::OutputAsked)
                .filter(|_| is_fixed)
                .or_else(|| numbers.count(F::MaxTokens)),
        };
        let output_tokens = self.tokens([F::Output, F::OutputEach, F::OutputPerS]);
        let e2el_ms = self.spread(Latency::E2el);
        let mut run = ServeRun {
            origin: self.origin.to_owned(),
            format: self.format,
            simulated: text(self.map, "simulated"),
            model: text(self.map, "model_id")
                .or_else(|| text(self.map, "model"))
                .or_else(|| text(self.map, "server_info.model_path")),
            tp: numbers
                .count(F::Tp)
                .and_then(|tp| u32::try_from(tp).ok())
                .filter(|tp| *tp > 0),
            streamed: false,
            concurrency_asked,
            // A bounded number in flight with all requests offered at once is a closed loop, which has no rate.
            request_rate_asked: numbers
                .get(F::RequestRate)
                .filter(|rate| rate.is_finite() || concurrency_asked.is_none()),
            completed: self.completed,
            failed: self.failed(),
            duration_s: self.duration_s,
            requests_per_s: float(self.completed) / self.duration_s,
            input_tokens: self.tokens([F::Input, F::InputEach, F::InputPerS]),
            output_tokens,
            output_tokens_asked: asked.output_tokens,
            fixed_output: self.fixed_output(output_tokens, asked.output_tokens),
            e2el_ms,
            ttft_ms: None,
            tpot_ms: None,
            itl_ms: None,
            decode_gap_ms: None,
            conditions: Conditions::of_map(self.map, is_fixed, is_client),
        };
        let mean = |latency| numbers.time(latency, Statistic::Mean);
        let by_chunks = numbers.get(F::ChunksEach).map(|each| each > 1.5);
        run.streamed = match is_client {
            true => numbers.timed().any(|latency| latency == Latency::Ttft),
            false => by_chunks
                .unwrap_or_else(|| is_of_a_stream(&run, mean(Latency::Ttft), mean(Latency::Tpot))),
        };
        if run.streamed {
            run.ttft_ms = self.spread(Latency::Ttft);
            let is_pace =
                is_client || is_of_a_stream(&run, mean(Latency::Ttft), mean(Latency::Tpot));
            run.tpot_ms = self.spread(Latency::Tpot).filter(|_| is_pace);
            run.itl_ms = self.spread(Latency::Itl);
        }
        let said = Said {
            ttft_ms: mean(Latency::Ttft),
            tpot_ms: mean(Latency::Tpot),
            output_tokens_per_s: numbers.get(F::OutputPerS),
            total_tokens_per_s: numbers.get(F::TotalPerS),
            peak_in_flight: numbers.get(F::PeakInFlight).filter(|peak| *peak > 0.0),
        };
        let findings = self.findings(&run);
        ServeResult {
            run,
            asked,
            said,
            requests: std::mem::take(&mut self.lists.requests),
            clocked: self.lists.clocked,
            ours: self.map.contains_key(VLLM_MADE_BY),
            duration_off_s: match is_client {
                true => 0.0,
                false => self.numbers.duration_off_s,
            },
            findings,
            unused: std::mem::take(&mut self.numbers.unused),
        }
    }

    /// Whether all requests were asked for the same lengths, as far as the file says.
    fn is_fixed(&self) -> bool {
        let is_random =
            text(self.map, "dataset_name").is_none_or(|name| name.starts_with("random"));
        let fixed_at = match self.format {
            ServeFormat::Sglang => 1.0,
            _ => 0.0,
        };
        let ratio = self.numbers.get(F::RangeRatio).unwrap_or(fixed_at);
        is_random && (ratio - fixed_at).abs() < 1e-9
    }

    /// Requests that failed; vLLM before 0.12 does not count them: there it is what was sent and did not complete.
    fn failed(&self) -> Option<u64> {
        let count = |field| self.numbers.count(field);
        let less = || count(F::Sent)?.checked_sub(count(F::Completed)?);
        let told = count(F::Failed).or_else(less);
        told.or_else(|| lists::failed(self.map))
    }

    /// Tokens of all requests that succeeded: the total, or one request's times their number, or the rate times the duration.
    fn tokens(&self, [total, each, rate]: [F; 3]) -> Option<u64> {
        let by_each = || counted(self.numbers.get(each)? * float(self.completed));
        let by_rate = || counted(self.numbers.get(rate)? * self.duration_s);
        let tokens = self.numbers.count(total).or_else(by_each).or_else(by_rate);
        tokens.filter(|tokens| *tokens > 0)
    }

    /// Whether every request gave as many output tokens; no request gives more than asked for, so that all of them say it.
    fn fixed_output(&self, came: Option<u64>, asked: Option<u64>) -> Option<bool> {
        let mut listed = self.lists.requests.iter().map(|one| one.output_tokens);
        if let Some(first @ Some(_)) = listed.next() {
            return Some(listed.all(|other| other == first));
        }
        let all = asked.and_then(|asked| asked.checked_mul(self.completed));
        let is_all = self.numbers.get(F::MaxTokens).is_some() && came.is_some() && came == all;
        (self.completed == 1 || is_all).then_some(true)
    }

    /// A metric; `None` without its mean.
    fn spread(&self, latency: Latency) -> Option<Spread> {
        let statistic = |of| self.numbers.time(latency, of);
        let mean = statistic(Statistic::Mean)?;
        // The lists stand for the metric only where they give the file's own mean.
        let list = latency
            .over(&self.lists.requests)
            .filter(|list| (list.mean - mean).abs() <= SAME * mean);
        let of_all = match (self.format, latency) {
            (_, Latency::E2el) => true,
            (format, Latency::Ttft) => format != ServeFormat::Summary,
            _ => false,
        };
        Some(Spread {
            n: list
                .as_ref()
                .map(|list| list.n as u64)
                .or(of_all.then_some(self.completed)),
            mean,
            mean_interval: list.as_ref().and_then(|list| list.mean_interval),
            median: statistic(Statistic::MEDIAN),
            min: statistic(Statistic::Min).or(list.as_ref().map(|list| list.min)),
            max: statistic(Statistic::Max).or(list.as_ref().map(|list| list.max)),
            p90: statistic(Statistic::Percentile(900)),
            p99: statistic(Statistic::Percentile(990)),
        })
    }

    fn findings(&mut self, run: &ServeRun) -> Vec<Finding> {
        let invalid = self.map.get(VLLM_INVALID).and_then(Value::as_array);
        let invalid = invalid.into_iter().flatten().filter_map(Value::as_str);
        let mut found: Vec<Finding> = invalid
            .map(|reason| Finding::ClientLimit {
                detail: record::control::replaced(reason),
            })
            .collect();
        found.append(&mut self.numbers.findings);
        found.extend(figures(&self.numbers, run));
        let numbers = &self.numbers;
        if let (Some(said), Some(retokenized)) = (run.output_tokens, numbers.count(F::Retokenized))
            && (float(said) - float(retokenized)).abs() > 0.1 * float(said)
        {
            found.push(Finding::TokensAsAsked { said, retokenized });
        }
        found
    }
}

/// Whether a TTFT and a TPOT (ms) are those of a stream with this latency.
fn is_of_a_stream(run: &ServeRun, ttft: Option<f64>, tpot: Option<f64>) -> bool {
    let each = run
        .output_tokens
        .map(|tokens| float(tokens) / float(run.completed));
    let (Some(latency), Some(each), Some(ttft), Some(tpot)) = (run.e2el_ms, each, ttft, tpot)
    else {
        return false;
    };
    let whole = ttft + tpot * (each - 1.0);
    ttft < latency.mean * (1.0 - STREAMED)
        && (whole - latency.mean).abs() <= STREAMED * latency.mean
}
