//! The numbers of a serving benchmark.

use super::cell::{number, run_word, table};
use record::metric::{
    Metric, e2el, e2el_intended, goodput, in_flight, itl, itl_per_token, lengths,
    output_throughput, peak_in_flight, peak_output, queue_time, request_throughput, step_class,
    total_throughput, tpot, ttfc, ttft,
};
use record::{Distribution, Record, Serve, ServeSummary, summarise};
use stats::Interval;

const COLUMNS: [&str; 14] = [
    "quantity",
    "statistic",
    "value",
    "unit",
    "low",
    "high",
    "n",
    "model",
    "tp",
    "concurrency",
    "input_tokens_asked",
    "output_tokens_asked",
    "run",
    "simulated",
];

/// A number: quantity, statistic, value, unit, interval, count of values.
type Number = (
    String,
    &'static str,
    f64,
    &'static str,
    Option<Interval>,
    Option<usize>,
);

/// One line for each number, a header line first.
pub(super) fn lines(record: &Record, serve: &Serve) -> String {
    let simulated = record.soft_box().unwrap_or_default();
    let run = run_word(&record.status);
    let target = serve.target.clone().unwrap_or_default();
    let load = serve.load.clone();
    let of_load = |count: Option<u32>| count.map_or_else(String::new, |count| count.to_string());
    // A run that was broken off has the numbers of the requests that ended; the column `run` says so.
    let summary = serve.summary.clone().or_else(|| {
        let goals = load.as_ref().and_then(|load| load.goals.as_ref());
        summarise(&serve.requests, target.streamed, goals)
    });
    let numbers = summary.iter().flat_map(numbers);
    let rows = numbers.map(|(quantity, statistic, value, unit, interval, n)| {
        [
            quantity,
            statistic.to_owned(),
            number(value),
            unit.to_owned(),
            interval.map_or_else(String::new, |interval| number(interval.low)),
            interval.map_or_else(String::new, |interval| number(interval.high)),
            n.map_or_else(String::new, |n| n.to_string()),
            target.model.clone(),
            of_load(target.tp),
            of_load(load.as_ref().and_then(|load| load.concurrency)),
            of_load(load.as_ref().and_then(|load| load.input_tokens)),
            of_load(load.as_ref().and_then(|load| load.output_tokens)),
            run.to_owned(),
            simulated.clone(),
        ]
    });
    table(COLUMNS, rows)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
fn numbers(summary: &ServeSummary) -> Vec<Number> {
    let plain = |quantity: &str, value: f64, unit| {
        (
            quantity.to_owned(),
            "value",
            value,
            unit,
            None::<Interval>,
            None,
        )
    };
    let metric = |metric: Metric, value: f64| plain(metric.name, value, metric.unit);
    let mut numbers = vec![
        plain(
            "Completed requests",
            f64::from(summary.completed),
            "requests",
        ),
        plain("Failed requests", f64::from(summary.failed), "requests"),
    ];
    for (kind, count) in &summary.failures {
        let quantity = format!("Failed requests, {kind}");
        numbers.push(plain(&quantity, f64::from(*count), "requests"));
    }
    numbers.push(plain("Duration", summary.duration_s, "s"));
    let tokens = [
        ("Input tokens", summary.input_tokens),
        ("Output tokens", summary.output_tokens),
    ];
    for (quantity, count) in tokens {
        numbers.extend(count.map(|count| plain(quantity, count as f64, "tokens")));
    }
    numbers.push(metric(request_throughput::METRIC, summary.requests_per_s));
    numbers.extend(
        summary
            .output_tokens_per_s
            .map(|rate| metric(output_throughput::METRIC, rate)),
    );
    let rates = [
        (peak_output::METRIC, summary.peak_output_tokens_per_s),
        (total_throughput::METRIC, summary.total_tokens_per_s),
        (goodput::METRIC, summary.goodput_per_s),
        (
            peak_in_flight::METRIC,
            summary.peak_in_flight.map(f64::from),
        ),
        (in_flight::METRIC, Some(summary.mean_in_flight)),
    ];
    for (of, value) in rates {
        numbers.extend(value.map(|value| metric(of, value)));
    }
    let spreads = [
        (ttft::METRIC, &summary.ttft_ms),
        (tpot::METRIC, &summary.tpot_ms),
        (itl::METRIC, &summary.itl_ms),
        (e2el::METRIC, &summary.e2el_ms),
        (ttfc::METRIC, &summary.ttfc_ms),
        (itl_per_token::METRIC, &summary.itl_per_token_ms),
        (step_class::DECODE, &summary.tpot_decode_ms),
        (step_class::MIXED, &summary.tpot_mixed_ms),
        (queue_time::METRIC, &summary.queue_ms),
        (e2el_intended::METRIC, &summary.e2el_intended_ms),
        (lengths::INPUT, &summary.input_lengths),
        (lengths::OUTPUT, &summary.output_lengths),
    ];
    for (metric, distribution) in spreads {
        numbers.extend(
            distribution
                .iter()
                .flat_map(|distribution| statistics(metric, distribution)),
        );
    }
    numbers
}

fn statistics(metric: Metric, of: &Distribution) -> Vec<Number> {
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
    .filter_map(|(statistic, value, interval)| {
        let name = metric.name.to_owned();
        Some((name, statistic, value?, metric.unit, interval, Some(of.n)))
    })
    .collect()
}
