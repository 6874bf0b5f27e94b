//! A serving benchmark as text: the target and load, the counts and rates in vLLM's words, and a row per metric.

use super::cell::{ABSENT, significant};
use super::header::{cautions, indented, is_caution, numbers_right, opening, table};
use super::record::{line, reservations};
use super::{serve_client, serve_server};
use crate::caveat::Caveat;
use crate::metric::{
    Metric, e2el, e2el_intended, in_flight, itl, itl_per_token, lengths, queue_time, step_class,
    tpot, ttfc, ttft,
};
use crate::record::{
    Arrivals, Distribution, Goals, Record, RequestErrorKind, Serve, ServeLoad, ServeSummary,
    ServeTarget, failures, summarise,
};
use crate::stats::Interval;

/// Width of a label, as in the block that `vllm bench serve` prints.
const LABEL: usize = 40;

/// Header, target, load, block, metrics and reservations.
pub(super) fn block(record: &Record, serve: &Serve, soft: Option<&str>) -> String {
    let mut text = opening(record, soft, None);
    text.push_str(&cautions(&serve.caveats));
    text.push_str(&serve_client::cautions(serve.client.as_ref()));
    text.push_str(&serve_server::cautions(serve.server.as_ref()));
    serve_heads(serve)
        .iter()
        .for_each(|head| line(&mut text, head));
    let mark = if soft.is_some() { " [simulated]" } else { "" };
    let broken_off = match &serve.summary {
        Some(_) => None,
        None => {
            let streamed = serve.target.as_ref().is_some_and(|target| target.streamed);
            let goals = serve.load.as_ref().and_then(|load| load.goals.as_ref());
            summarise(&serve.requests, streamed, goals)
        }
    };
    let summary = serve.summary.as_ref().or(broken_off.as_ref());
    match summary {
        Some(summary) => {
            line(&mut text, &format!("\nServing benchmark result{mark}"));
            if broken_off.is_some() {
                line(&mut text, &broken_off_line(serve));
            }
            text.push_str(&counts(summary, serve.load.as_ref()));
            line(&mut text, &format!("\nLatency{mark}"));
            text.push_str(&metrics(summary));
            text.push_str(&serve_client::figures(serve.client.as_ref()));
        }
        None => line(&mut text, &without_summary(serve)),
    }
    text.push_str(&serve_server::figures(serve.server.as_ref(), summary, mark));
    let general: Vec<String> = serve
        .caveats
        .iter()
        .filter(|caveat| !is_caution(caveat))
        .map(Caveat::to_string)
        .collect();
    reservations(&mut text, &general);
    text
}

/// The server that was asked and the load, a line each.
#[must_use]
pub fn serve_heads(serve: &Serve) -> Vec<String> {
    let target = serve.target.as_ref().map(target_line);
    let load = serve.load.as_ref().map(load_line);
    target.into_iter().chain(load).collect()
}

/// Says over what the numbers of a run without an end are.
fn broken_off_line(serve: &Serve) -> String {
    let of = serve
        .load
        .as_ref()
        .map_or_else(String::new, |load| format!(" of {}", load.requests));
    format!(
        "  broken off: over the {} requests that ended until then{of}; those in flight are not counted, so latencies lean to \
         short replies",
        serve.requests.len()
    )
}

fn target_line(target: &ServeTarget) -> String {
    let mut words = vec![
        format!("server {}{}", target.base_url, target.endpoint),
        format!("model {}", target.model),
    ];
    words.extend(target.server.clone());
    words.extend(target.tp.map(|tp| format!("TP{tp}")));
    let streamed = if target.streamed {
        "streamed"
    } else {
        "not streamed, so without TTFT, TPOT and ITL"
    };
    words.push(streamed.to_owned());
    words.join(", ")
}

fn load_line(load: &ServeLoad) -> String {
    let end = if load.ignore_eos {
        "end of sequence ignored"
    } else {
        "end of sequence honoured"
    };
    let tokens = |count: Option<u32>| {
        count.map_or_else(|| "as the data have".to_owned(), |count| count.to_string())
    };
    let data = load
        .data
        .as_ref()
        .map_or_else(String::new, |data| format!("{data}: "));
    let mut text = format!(
        "load: {}, {} after {} to warm up, {data}{} tokens in and {} out asked for",
        arrivals(load),
        length(load),
        load.warmups,
        tokens(load.input_tokens),
        tokens(load.output_tokens),
    );
    if load.range_ratio > 0.0 {
        text.push_str(&format!(" with range ratio {}", load.range_ratio));
    }
    if load.prefix_tokens > 0 {
        text.push_str(&format!(", of which {} shared by all", load.prefix_tokens));
    }
    text.push_str(&format!(", {end}, seed {}", load.seed));
    if let Some(goals) = &load.goals {
        text.push_str(&format!(", goals {}", self::goals(goals)));
    }
    text
}

/// `200 requests`, or as many as fit into a time.
fn length(load: &ServeLoad) -> String {
    match load.duration_s {
        Some(seconds) => format!("at most {} requests within {seconds} s", load.requests),
        None => format!("{} requests", load.requests),
    }
}

/// `ttft:500 tpot:50`, ms, as `--goodput` takes them.
fn goals(goals: &Goals) -> String {
    let named = [
        ("ttft", goals.ttft_ms),
        ("tpot", goals.tpot_ms),
        ("e2el", goals.e2el_ms),
    ];
    let said: Vec<String> = named
        .into_iter()
        .filter_map(|(name, goal)| Some(format!("{name}:{}", goal?)))
        .collect();
    said.join(" ")
}

/// `closed loop, 16 in flight`, `Poisson arrivals at 4 requests/s, at most 64 in flight`.
fn arrivals(load: &ServeLoad) -> String {
    let limit = load
        .concurrency
        .map_or_else(String::new, |limit| format!(", at most {limit} in flight"));
    let of = match &load.arrivals {
        Arrivals::ClosedLoop => {
            let places = load
                .concurrency
                .map_or_else(|| ABSENT.to_owned(), |places| places.to_string());
            return format!("closed loop, {places} in flight");
        }
        Arrivals::AllAtOnce => "all at once".to_owned(),
        Arrivals::Constant { rate } => format!("arrivals at equal distances, {rate} requests/s"),
        Arrivals::Poisson { rate } => format!("Poisson arrivals, {rate} requests/s"),
        Arrivals::Gamma { rate, burstiness } => {
            format!("gamma arrivals, {rate} requests/s, burstiness {burstiness}")
        }
        Arrivals::Ramp {
            from,
            to,
            exponential,
        } => format!(
            "arrivals from {from} to {to} requests/s, {}",
            if *exponential {
                "exponential"
            } else {
                "linear"
            }
        ),
    };
    of + &limit
}

/// `2 (timed out 1, cut short 1)`.
fn failed(count: u32, kinds: &[(RequestErrorKind, u32)]) -> String {
    if kinds.is_empty() {
        return count.to_string();
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    format!("{count} ({})", kinds.join(", "))
}

fn without_summary(serve: &Serve) -> String {
    let kinds = failures(&serve.requests);
    let failed_count = kinds.iter().map(|(_, count)| count).sum();
    format!(
        "\nno summary: {} requests ended, of which failed: {}",
        serve.requests.len(),
        failed(failed_count, &kinds)
    )
}

/// Counts and rates as text.
fn counts(summary: &ServeSummary, load: Option<&ServeLoad>) -> String {
    serve_counts(summary, load)
        .into_iter()
        .map(|(label, value)| format!("  {label:<LABEL$}{value}\n"))
        .collect()
}

/// Counts and rates in vLLM's labels and order, then ours.
#[must_use]
pub fn serve_counts(
    summary: &ServeSummary,
    load: Option<&ServeLoad>,
) -> Vec<(&'static str, String)> {
    let or_absent = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    let tokens = |count: Option<u64>| or_absent(count.map(|count| count.to_string()));
    let rate = |value: Option<f64>| or_absent(value.map(significant));
    let limit = load
        .and_then(|load| load.concurrency)
        .map(|limit| limit.to_string());
    let configured = load.and_then(|load| load.arrivals.rate()).map(significant);
    let good = summary.goodput_per_s.map(significant);
    let has_goals = load.is_some_and(|load| load.goals.is_some());
    let peak = summary.peak_in_flight.map(|peak| peak.to_string());
    let rows = [
        ("Successful requests:", Some(summary.completed.to_string())),
        (
            "Failed requests:",
            Some(failed(summary.failed, &summary.failures)),
        ),
        ("Maximum request concurrency:", Some(or_absent(limit))),
        ("Request rate configured (RPS):", configured),
        (
            "Benchmark duration (s):",
            Some(significant(summary.duration_s)),
        ),
        ("Total input tokens:", Some(tokens(summary.input_tokens))),
        (
            "Total generated tokens:",
            Some(tokens(summary.output_tokens)),
        ),
        (
            "Request throughput (req/s):",
            Some(significant(summary.requests_per_s)),
        ),
        (
            "Request goodput (req/s):",
            has_goals.then(|| or_absent(good)),
        ),
        (
            "Output token throughput (tok/s):",
            Some(rate(summary.output_tokens_per_s)),
        ),
        (
            "Peak output token throughput (tok/s):",
            summary.peak_output_tokens_per_s.map(significant),
        ),
        ("Peak concurrent requests:", peak),
        (
            "Total token throughput (tok/s):",
            Some(rate(summary.total())),
        ),
        (
            "Mean requests in flight:",
            Some(significant(summary.mean_in_flight)),
        ),
    ];
    rows.into_iter()
        .filter_map(|(label, value)| Some((label, value?)))
        .collect()
}

/// The latencies: vLLM's metrics in its order, then ours where they say something that the others do not.
#[must_use]
pub fn serve_latencies(summary: &ServeSummary) -> Vec<(Metric, &Distribution)> {
    let varies = |of: &&Distribution| of.min < of.max;
    // Where every first chunk holds a token, this is TTFT again.
    let before_token = summary.ttfc_ms.as_ref().filter(|any| {
        let first = summary.ttft_ms.as_ref();
        first.is_none_or(|first| any.mean < first.mean)
    });
    let merged = summary.itl_per_token_ms.as_ref().filter(|of| {
        // Chunks of one token each have the same values twice.
        summary.itl_ms.as_ref().is_none_or(|gaps| gaps.n != of.n)
    });
    let mixed = summary.mixed_part.is_some_and(|part| part > 0.0);
    [
        (ttft::METRIC, summary.ttft_ms.as_ref()),
        (tpot::METRIC, summary.tpot_ms.as_ref()),
        (itl::METRIC, summary.itl_ms.as_ref()),
        (e2el::METRIC, summary.e2el_ms.as_ref()),
        (ttfc::METRIC, before_token),
        (itl_per_token::METRIC, merged),
        (
            step_class::DECODE,
            summary.tpot_decode_ms.as_ref().filter(|_| mixed),
        ),
        (step_class::MIXED, summary.tpot_mixed_ms.as_ref()),
        (queue_time::METRIC, summary.queue_ms.as_ref()),
        (e2el_intended::METRIC, summary.e2el_intended_ms.as_ref()),
        (
            lengths::INPUT,
            summary.input_lengths.as_ref().filter(varies),
        ),
        (
            lengths::OUTPUT,
            summary.output_lengths.as_ref().filter(varies),
        ),
    ]
    .into_iter()
    .filter_map(|(metric, of)| Some((metric, of?)))
    .collect()
}

/// A row per metric, and below the table what each of them is.
fn metrics(summary: &ServeSummary) -> String {
    let mut table = table();
    table.set_header([
        "",
        "mean",
        "95% interval",
        "median",
        "95% interval",
        "p90",
        "p99",
        "n",
    ]);
    let mut notes = Vec::new();
    for (metric, of) in serve_latencies(summary) {
        let number = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), significant);
        table.add_row([
            format!("{} ({})", metric.name, metric.unit),
            significant(of.mean),
            interval(of.mean_interval),
            significant(of.median),
            interval(of.median_interval),
            number(of.p90),
            number(of.p99),
            of.n.to_string(),
        ]);
        notes.push(format!("{}: {}", metric.name, metric.formula));
    }
    numbers_right(&mut table);
    let mut text = indented(&table);
    notes.push(format!(
        "{}: {}",
        in_flight::METRIC.name,
        in_flight::METRIC.formula
    ));
    if let Some(part) = summary.mixed_part.filter(|part| *part > 0.0) {
        notes.push(format!(
            "{:.0}% of the tokens after the first came with steps that also worked on another request's prompt",
            part * 100.0
        ));
    }
    let open_loop = match summary.queue_ms {
        Some(_) => {
            "; of an open loop over blocks of successive requests, none below 150 or where blocks still resemble each other; near saturation they are too narrow all the same (at 0.9 of the rate that a server can do they held the truth in a third to two thirds of runs): repeat the run"
        }
        None => "",
    };
    notes.push(format!("intervals: of the mean by bootstrap over requests, of the median by order statistics (ITL: bootstrap){open_loop}; none below 6 requests; p90 needs 20 values, p99 200"));
    notes
        .iter()
        .for_each(|note| line(&mut text, &format!("  {note}")));
    text
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || ABSENT.to_owned(),
        |i| format!("{} .. {}", significant(i.low), significant(i.high)),
    )
}
