//! A serving benchmark as text: the target and load, the counts and rates in vLLM's words, and a row per metric.

use super::cell::{ABSENT, significant};
use super::header::{cautions, indented, is_caution, numbers_right, opening, table};
use super::record::{line, reservations};
use crate::caveat::Caveat;
use crate::metric::{Metric, e2el, in_flight, itl, tpot, ttft};
use crate::record::{
    Distribution, Record, RequestErrorKind, Serve, ServeLoad, ServeSummary, ServeTarget, failures,
    summarise,
};
use crate::stats::Interval;

/// Width of a label, as in the block that `vllm bench serve` prints.
const LABEL: usize = 40;

/// Header, target, load, block, metrics and reservations.
pub(super) fn block(record: &Record, serve: &Serve, soft: Option<&str>) -> String {
    let mut text = opening(record, soft, None);
    text.push_str(&cautions(&serve.caveats));
    if let Some(target) = &serve.target {
        line(&mut text, &target_line(target));
    }
    if let Some(load) = &serve.load {
        line(&mut text, &load_line(load));
    }
    let mark = if soft.is_some() { " [simulated]" } else { "" };
    let broken_off = match &serve.summary {
        Some(_) => None,
        None => {
            let streamed = serve.target.as_ref().is_some_and(|target| target.streamed);
            summarise(&serve.requests, streamed)
        }
    };
    match serve.summary.as_ref().or(broken_off.as_ref()) {
        Some(summary) => {
            line(&mut text, &format!("\nServing benchmark result{mark}"));
            if broken_off.is_some() {
                line(&mut text, &broken_off_line(serve));
            }
            text.push_str(&counts(summary, serve.load.as_ref()));
            line(&mut text, &format!("\nLatency in ms{mark}"));
            text.push_str(&metrics(summary));
        }
        None => line(&mut text, &without_summary(serve)),
    }
    let general: Vec<String> = serve
        .caveats
        .iter()
        .filter(|caveat| !is_caution(caveat))
        .map(Caveat::to_string)
        .collect();
    reservations(&mut text, &general);
    text
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
    format!(
        "load: closed loop, {} in flight, {} requests after {} to warm up, {} tokens in and {} out asked for, {end}, seed {}",
        load.concurrency,
        load.requests,
        load.warmups,
        load.input_tokens,
        load.output_tokens,
        load.seed
    )
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

/// Counts and rates, labelled as vLLM labels them.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
fn counts(summary: &ServeSummary, load: Option<&ServeLoad>) -> String {
    let or_absent = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    let tokens = |count: Option<u64>| or_absent(count.map(|count| count.to_string()));
    let total = summary
        .input_tokens
        .zip(summary.output_tokens)
        .map(|(input, output)| (input + output) as f64 / summary.duration_s);
    let asked = or_absent(load.map(|load| load.concurrency.to_string()));
    let rows = [
        ("Successful requests:", summary.completed.to_string()),
        (
            "Failed requests:",
            failed(summary.failed, &summary.failures),
        ),
        ("Maximum request concurrency:", asked),
        (
            "Mean requests in flight:",
            significant(summary.mean_in_flight),
        ),
        ("Benchmark duration (s):", significant(summary.duration_s)),
        ("Total input tokens:", tokens(summary.input_tokens)),
        ("Total generated tokens:", tokens(summary.output_tokens)),
        (
            "Request throughput (req/s):",
            significant(summary.requests_per_s),
        ),
        (
            "Output token throughput (tok/s):",
            or_absent(summary.output_tokens_per_s.map(significant)),
        ),
        (
            "Total token throughput (tok/s):",
            or_absent(total.map(significant)),
        ),
    ];
    rows.iter()
        .map(|(label, value)| format!("  {label:<LABEL$}{value}\n"))
        .collect()
}

/// A row per metric, and below the table what each of them is.
fn metrics(summary: &ServeSummary) -> String {
    let metrics: [(Metric, &Option<Distribution>); 4] = [
        (ttft::METRIC, &summary.ttft_ms),
        (tpot::METRIC, &summary.tpot_ms),
        (itl::METRIC, &summary.itl_ms),
        (e2el::METRIC, &summary.e2el_ms),
    ];
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
    for (metric, distribution) in metrics {
        let Some(of) = distribution else { continue };
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
    notes.push("intervals: of the mean by bootstrap over requests, of the median by order statistics (ITL: bootstrap); none below 6 requests; p90 needs 20 values, p99 200".to_owned());
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
