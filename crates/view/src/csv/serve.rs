//! The numbers of a serving benchmark.

use super::cell::{number, run_word, table};
use record::metric::{self, Metric};
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
    numbers.push(metric(metric::REQUEST_THROUGHPUT, summary.requests_per_s));
    numbers.extend(
        summary
            .output_tokens_per_s
            .map(|rate| metric(metric::OUTPUT_THROUGHPUT, rate)),
    );
    let rates = [
        (metric::PEAK_OUTPUT, summary.peak_output_tokens_per_s),
        (metric::TOTAL_THROUGHPUT, summary.total_tokens_per_s),
        (metric::GOODPUT, summary.goodput_per_s),
        (
            metric::PEAK_IN_FLIGHT,
            summary.peak_in_flight.map(f64::from),
        ),
        (metric::IN_FLIGHT, Some(summary.mean_in_flight)),
    ];
    for (of, value) in rates {
        numbers.extend(value.map(|value| metric(of, value)));
    }
    let spreads = [
        (metric::TTFT, &summary.ttft_ms),
        (metric::TPOT, &summary.tpot_ms),
        (metric::ITL, &summary.itl_ms),
        (metric::E2EL, &summary.e2el_ms),
        (metric::TTFC, &summary.ttfc_ms),
        (metric::ITL_PER_TOKEN, &summary.itl_per_token_ms),
        (metric::TPOT_DECODE, &summary.tpot_decode_ms),
        (metric::TPOT_MIXED, &summary.tpot_mixed_ms),
        (metric::QUEUE_TIME, &summary.queue_ms),
        (metric::E2EL_INTENDED, &summary.e2el_intended_ms),
        (metric::INPUT_LENGTH, &summary.input_lengths),
        (metric::OUTPUT_LENGTH, &summary.output_lengths),
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
