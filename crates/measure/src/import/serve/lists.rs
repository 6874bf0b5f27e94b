//! The lists of every request that vLLM's and SGLang's clients save (`--save-detailed`, `--output-details`), as requests.
//!
//! Of a failed request these clients keep its error and zeros, so that it is counted elsewhere and left out here. Times in the
//! lists are seconds, instants here are ms. Without `start_times` (vLLM before 0.33, SGLang) every request begins at zero.

use serde_json::Value;

use super::result::{Finding, FindingKind, Latency, SAME, float};
use crate::import::fields::Fields;
use crate::metric::peak_in_flight;
use crate::record::{ServeRequest, TokenCount, is_bounded};
use crate::stats::sorted;

/// Lists with an entry for each request that was sent.
const OF_REQUESTS: [&str; 7] = [
    "ttfts",
    "itls",
    "output_lens",
    "input_lens",
    "errors",
    "latencies",
    "start_times",
];

/// A mean this far from that of the file's own lists is of other requests.
const OTHER_MEAN: f64 = 0.05;

/// Requests from lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) requests: Vec<ServeRequest>,
    /// Whether all instants are of one clock.
    pub(super) clocked: bool,
}

/// What the file has of each successful request; nothing where it has no lists, or lists that do not fit together.
pub(super) fn of(fields: &Fields) -> Lists {
    detailed(fields)
        .or_else(|| latencies(fields))
        .filter(|lists| lists.requests.iter().all(is_bounded))
        .unwrap_or_default()
}

/// How many requests have an error in the list of errors; `None` without that list.
pub(super) fn failed(fields: &Fields) -> Option<u64> {
    let errors = fields.value("errors")?.as_array()?;
    Some(errors.iter().filter(|error| is_error(error)).count() as u64)
}

fn is_error(error: &Value) -> bool {
    error.as_str().is_some_and(|text| !text.is_empty())
}

fn ms(value: &Value) -> Option<f64> {
    value.as_f64().map(|seconds| seconds * 1e3)
}

fn detailed(fields: &Fields) -> Option<Lists> {
    let list = |key: &str| fields.value(key)?.as_array();
    let (ttfts, itls, tokens) = (list("ttfts")?, list("itls")?, list("output_lens")?);
    let n = ttfts.len();
    let fitting = |key: &str| list(key).filter(|list| list.len() == n);
    let errors = list("errors");
    if [
        itls.len(),
        tokens.len(),
        errors.map_or(n, |errors| errors.len()),
    ]
    .iter()
    .any(|len| *len != n)
    {
        return None;
    }
    let starts: Option<Vec<f64>> =
        fitting("start_times").and_then(|starts| starts.iter().map(ms).collect());
    let first = starts.iter().flatten().copied().reduce(f64::min);
    let requests = (0..n)
        .filter(|index| errors.is_none_or(|errors| !is_error(&errors[*index])))
        .map(|index| {
            let at = |key: &str| ms(&fitting(key)?[index]);
            let sent_ms = starts
                .as_ref()
                .zip(first)
                .map_or(0.0, |(starts, first)| starts[index] - first);
            let gaps: Option<Vec<f64>> = itls[index].as_array()?.iter().map(ms).collect();
            let chunks = chunks(sent_ms, ms(&ttfts[index]), &gaps?);
            let latency = at("latencies").map(|latency| sent_ms + latency);
            let ended_ms = latency.into_iter().chain(chunks.last().copied());
            let lens = fitting("input_lens").map(|lens| &lens[index]);
            Some(ServeRequest {
                id: u32::try_from(index).ok()?,
                intended_ms: at("queue_times").map(|queue| sent_ms - queue),
                sent_ms,
                ended_ms: ended_ms.reduce(f64::max)?,
                token_chunks_ms: chunks,
                input_tokens: lens.and_then(whole),
                output_tokens: whole(&tokens[index]),
                counted_by: Some(TokenCount::Usage),
                ..ServeRequest::default()
            })
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Lists {
        requests,
        clocked: first.is_some(),
    })
}

fn whole(value: &Value) -> Option<u32> {
    value.as_u64()?.try_into().ok()
}

/// When chunks came: the first, and one after each gap; none without a first.
fn chunks(sent_ms: f64, ttft: Option<f64>, gaps: &[f64]) -> Vec<f64> {
    let Some(first) = ttft.map(|ttft| sent_ms + ttft) else {
        return Vec::new();
    };
    let later = gaps.iter().scan(first, |at, gap| {
        *at += gap;
        Some(*at)
    });
    std::iter::once(first).chain(later).collect()
}

/// The latencies that vLLM 0.33 keeps without `--save-detailed`, zero for failed requests.
fn latencies(fields: &Fields) -> Option<Lists> {
    let list = fields.value("latencies")?.as_array()?;
    let requests = list
        .iter()
        .filter_map(ms)
        .filter(|latency| *latency > 0.0)
        .map(|latency| ServeRequest {
            ended_ms: latency,
            ..ServeRequest::default()
        })
        .collect();
    Some(Lists {
        requests,
        clocked: false,
    })
}

/// Statistics, totals and peaks of the file that are not those of its own lists. `key` gives the key of a metric within names.
pub(super) fn disagreements(
    fields: &Fields,
    lists: &Lists,
    key: fn(Latency) -> &'static str,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = lengths(fields).into_iter().collect();
    if lists.requests.is_empty() || !found.is_empty() {
        return found;
    }
    for latency in Latency::ALL {
        found.extend(statistics(fields, lists, latency, key(latency)));
    }
    found.extend(totals(fields, lists));
    found.extend(peak(fields, lists));
    found
}

fn statistics(fields: &Fields, lists: &Lists, latency: Latency, key: &str) -> Option<Finding> {
    let values: Vec<f64> = lists
        .requests
        .iter()
        .flat_map(|request| latency.of(request))
        .collect();
    if values.is_empty() {
        return None;
    }
    let ascending = sorted(&values);
    let n = float(values.len() as u64);
    let mean = values.iter().sum::<f64>() / n;
    let std = (values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n)
        .sqrt();
    let suffix = format!("_{key}_ms");
    // Clients count gaps in ways of their own, of chunks or of tokens; the other means have one definition.
    let said = fields
        .value(&format!("mean_{key}_ms"))
        .and_then(Value::as_f64);
    let is_other = said.is_some_and(|said| said > 0.0 && (said - mean).abs() > OTHER_MEAN * mean);
    let kind = match is_other && latency != Latency::Itl {
        true => FindingKind::Impossible,
        false => FindingKind::Lists,
    };
    let other: Vec<String> = fields
        .map
        .iter()
        .filter_map(|(name, said)| {
            let statistic = name.strip_suffix(&suffix)?;
            // Zero stands for no value in these files.
            let said = said.as_f64().filter(|said| *said > 0.0)?;
            let own = match statistic {
                "mean" => mean,
                "median" => linear(&ascending, 0.5),
                "std" => std,
                percentile => {
                    let percent: f64 = percentile.strip_prefix('p')?.parse().ok()?;
                    linear(
                        &ascending,
                        (0.0..=100.0).contains(&percent).then_some(percent)? / 100.0,
                    )
                }
            };
            ((own - said).abs() > SAME * own.abs() + 0.01)
                .then(|| format!("{name} is {said:.2} and theirs {own:.2}"))
        })
        .collect();
    (!other.is_empty()).then(|| {
        Finding::new(
            kind,
            format!(
                "the file's own lists of {} requests give another {}: {}",
                lists.requests.len(),
                latency.name(),
                other.join(", ")
            ),
        )
    })
}

/// A percentile of ascending values as numpy gives it, however few there are.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position within the values"
)]
fn linear(ascending: &[f64], fraction: f64) -> f64 {
    let position = fraction * (ascending.len() - 1) as f64;
    let low = ascending[position.floor() as usize];
    let high = ascending[position.ceil() as usize];
    low + (high - low) * position.fract()
}

fn totals(fields: &Fields, lists: &Lists) -> Option<Finding> {
    let sum = |count: fn(&ServeRequest) -> Option<u32>| -> Option<u64> {
        let mut all = lists.requests.iter().map(|one| count(one).map(u64::from));
        all.by_ref().sum()
    };
    let has_counts = fields.value("output_lens").is_some();
    let own = [
        ("completed", Some(lists.requests.len() as u64)),
        ("total_input_tokens", sum(|request| request.input_tokens)),
        ("total_output_tokens", sum(|request| request.output_tokens)),
    ];
    let other: Vec<String> = own
        .into_iter()
        .filter(|_| has_counts)
        .filter_map(|(key, own)| {
            let (own, said) = (own?, fields.value(key)?.as_u64()?);
            (own != said).then(|| format!("{key} is {said} and theirs {own}"))
        })
        .collect();
    (!other.is_empty()).then(|| {
        Finding::new(
            FindingKind::Counts,
            format!(
                "the file's own lists give other totals: {}",
                other.join(", ")
            ),
        )
    })
}

/// Lists of requests that are not as long as each other, or not as many as the file says that were sent.
fn lengths(fields: &Fields) -> Option<Finding> {
    let found = |words| Some(Finding::new(FindingKind::Counts, words));
    let long = |key: &'static str| {
        let list = fields.value(key)?.as_array()?;
        (!list.is_empty()).then_some((key, list.len() as u64))
    };
    let mut lists = OF_REQUESTS.into_iter().filter_map(long);
    let (first, n) = lists.next()?;
    if let Some((other, m)) = lists.find(|(_, m)| *m != n) {
        return found(format!(
            "its list `{first}` holds {n} requests and its list `{other}` {m}"
        ));
    }
    let completed = fields.value("completed")?.as_u64()?;
    let failures = fields.value("failed").and_then(Value::as_u64);
    let failures = failures.or_else(|| failed(fields));
    // Versions that count no failures keep those that failed in the lists all the same.
    let is_less = n < completed || failures.is_some_and(|failures| n != completed + failures);
    let failures = failures.map_or_else(String::new, |failures| format!(" and {failures} failed"));
    is_less.then(|| {
        Finding::new(
            FindingKind::Counts,
            format!(
                "it says that {completed} requests completed{failures}, and its lists hold {n}"
            ),
        )
    })
}

/// vLLM counts every request that touches a second as in flight throughout it, so that its peak may be twice the true one.
fn peak(fields: &Fields, lists: &Lists) -> Option<Finding> {
    let said = fields.value("max_concurrent_requests")?.as_f64()?;
    let own = peak_in_flight::of(&lists.requests).filter(|_| lists.clocked)?;
    (said > f64::from(own)).then(|| {
        Finding::new(
            FindingKind::Peak,
            format!(
                "a peak of {said:.0} requests at once is not that of its own lists, which have {own}: this client counts all that touch the same second"
            ),
        )
    })
}
