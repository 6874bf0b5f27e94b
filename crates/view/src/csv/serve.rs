//! The numbers of a serving benchmark.

use super::cell::{Column, run, shown, simulated, table};
use crate::serve::{distributions, summary};
use record::metric;
use record::{Distribution, Record, Serve, ServeLoad, ServeSummary};
use stats::Interval;

/// A number.
struct Line<'a> {
    record: &'a Record,
    serve: &'a Serve,
    quantity: String,
    statistic: &'static str,
    value: f64,
    unit: &'static str,
    interval: Option<Interval>,
    /// Values that it is of.
    n: Option<usize>,
}

/// One line for each number, a header line first. A run that was broken off has the numbers of the requests that ended; the column
/// `run` says so.
pub(super) fn lines(record: &Record, serve: &Serve) -> String {
    let columns: [Column<Line<'_>>; 14] = [
        ("quantity", |of| of.quantity.clone()),
        ("statistic", |of| of.statistic.to_owned()),
        ("value", |of| of.value.to_string()),
        ("unit", |of| of.unit.to_owned()),
        ("low", |of| shown(of.interval.map(|interval| interval.low))),
        ("high", |of| {
            shown(of.interval.map(|interval| interval.high))
        }),
        ("n", |of| shown(of.n)),
        ("model", |of| {
            shown(of.serve.target.as_ref().map(|target| &target.model))
        }),
        ("tp", |of| {
            shown(of.serve.target.as_ref().and_then(|it| it.tp))
        }),
        ("concurrency", |of| of.load(|load| load.concurrency)),
        ("input_tokens_asked", |of| of.load(|load| load.input_tokens)),
        ("output_tokens_asked", |of| {
            of.load(|load| load.output_tokens)
        }),
        ("run", |of| run(of.record)),
        ("simulated", |of| simulated(of.record)),
    ];
    let summary = summary(serve);
    let plain = |(quantity, unit, value)| Line {
        record,
        serve,
        quantity,
        statistic: "value",
        value,
        unit,
        interval: None,
        n: None,
    };
    let values = summary.iter().flat_map(values).map(plain);
    let spreads = summary.iter().flat_map(distributions);
    let statistics = spreads.flat_map(|(metric, of)| {
        statistics(of).map(move |(statistic, value, interval)| Line {
            statistic,
            interval,
            n: Some(of.n),
            ..plain((metric.name.to_owned(), metric.unit, value))
        })
    });
    table(&columns, values.chain(statistics))
}

impl Line<'_> {
    fn load(&self, of: fn(&ServeLoad) -> Option<u32>) -> String {
        shown(self.serve.load.as_ref().and_then(of))
    }
}

/// Name, unit and value of what has no spread.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
fn values(of: &ServeSummary) -> Vec<(String, &'static str, f64)> {
    let count = |name: &str, count: u32| Some((name.to_owned(), "requests", f64::from(count)));
    let tokens = |name: &str, count: Option<u64>| Some((name.to_owned(), "tokens", count? as f64));
    let rate = |metric: metric::Metric, value: Option<f64>| {
        Some((metric.name.to_owned(), metric.unit, value?))
    };
    let kinds = of.failures.iter();
    let kinds = kinds.map(|(kind, of)| count(&format!("Failed requests, {kind}"), *of));
    let peak = of.peak_in_flight.map(f64::from);
    [
        count("Completed requests", of.completed),
        count("Failed requests", of.failed),
    ]
    .into_iter()
    .chain(kinds)
    .chain([
        Some(("Duration".to_owned(), "s", of.duration_s)),
        tokens("Input tokens", of.input_tokens),
        tokens("Output tokens", of.output_tokens),
        rate(metric::REQUEST_THROUGHPUT, Some(of.requests_per_s)),
        rate(metric::OUTPUT_THROUGHPUT, of.output_tokens_per_s),
        rate(metric::PEAK_OUTPUT, of.peak_output_tokens_per_s),
        rate(metric::TOTAL_THROUGHPUT, of.total_tokens_per_s),
        rate(metric::GOODPUT, of.goodput_per_s),
        rate(metric::PEAK_IN_FLIGHT, peak),
        rate(metric::IN_FLIGHT, Some(of.mean_in_flight)),
    ])
    .flatten()
    .collect()
}

/// Name, value and interval of what is known of a spread.
fn statistics(of: &Distribution) -> impl Iterator<Item = (&'static str, f64, Option<Interval>)> {
    [
        ("mean", Some(of.mean), of.mean_interval),
        ("median", Some(of.median), of.median_interval),
        ("std", Some(of.std), None),
        ("min", Some(of.min), None),
        ("max", Some(of.max), None),
        ("p90", of.p90, None),
        ("p95", of.p95, None),
        ("p99", of.p99, None),
    ]
    .into_iter()
    .filter_map(|(statistic, value, interval)| Some((statistic, value?, interval)))
}
