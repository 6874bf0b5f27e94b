//! A comparison of two serving results as data: each metric of both with its ratio, or why there is none.

use import::serve::{Finding, Latency, ServeResult, Spread};
use program::compare::both_simulated;
use serde::Serialize;
use stats::{Interval, Threshold, Verdict, blocks, judge_by, ratio_of_means};

use super::differences::{Difference, Grade};

/// The form of the JSON; it grows only when an older reader would misunderstand it.
const SCHEMA: u32 = 3;

/// A server that completes this part of the requests that are offered keeps up with them.
const KEEPS_UP: f64 = 0.9;

/// Two results against each other.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    schema: u32,
    /// What counts as a difference, as a fraction.
    pub(super) threshold: Threshold,
    /// The simulated machines behind both.
    pub(super) simulated: Option<(String, String)>,
    /// In what else they differ; some of it makes them incomparable.
    pub(super) differences: Vec<Difference>,
    /// How much the ratios are worth; `None` where they are refused.
    pub(super) grade: Option<Grade>,
    /// The number that a server under this load is chosen by.
    pub(super) headline: Row,
    pub(super) a: Side,
    pub(super) b: Side,
    /// The worst first.
    pub(super) rows: Vec<Row>,
    /// Metrics that only one of them has.
    pub(super) only_a: Vec<String>,
    pub(super) only_b: Vec<String>,
}

/// One of the results.
#[derive(Debug, Serialize)]
pub(super) struct Side {
    pub(super) file: String,
    pub(super) model: Option<String>,
    pub(super) tp: Option<u32>,
    pub(super) completed: u64,
    pub(super) failed: Option<u64>,
    /// How requests came.
    pub(super) load: String,
    /// Requests in flight, or a second, or at once, as they were asked for.
    pub(super) size: f64,
    pub(super) in_flight: Option<f64>,
    pub(super) input_tokens_each: Option<f64>,
    pub(super) output_tokens_each: Option<f64>,
    pub(super) findings: Vec<Finding>,
}

/// A metric of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) metric: String,
    pub(super) unit: &'static str,
    pub(super) a: f64,
    pub(super) b: f64,
    /// B over A.
    pub(super) ratio: f64,
    /// 95% interval of the ratio by bootstrap over requests, where both files have every request.
    pub(super) interval: Option<Interval>,
    /// How many times as fast B is: B over A of a rate, A over B of a time.
    pub(super) times: f64,
    /// What the interval or, without one, a large ratio says; not judged where the two are not comparable.
    pub(super) verdict: Verdict,
}

/// Compares two results, A being the baseline.
///
/// # Errors
/// Only one of them is simulated: such numbers are no baseline of real ones.
pub(super) fn compare(
    a: &ServeResult,
    b: &ServeResult,
    threshold: Threshold,
) -> anyhow::Result<Comparison> {
    let simulated = both_simulated(
        (&a.run.origin, a.run.simulated.as_deref()),
        (&b.run.origin, b.run.simulated.as_deref()),
    )?;
    let differences = Difference::all(a, b);
    let mut grades = differences.iter().map(Difference::grade);
    let grade = grades.try_fold(Grade::A, |worst, one| Some(worst.max(one?)));
    let (mut rows, mut only_a, mut only_b) = (Vec::new(), Vec::new(), Vec::new());
    for (metric, unit, values, interval) in numbers(a, b) {
        let [Some(a), Some(b)] = values else {
            only_a.extend(values[0].map(|_| metric.clone()));
            only_b.extend(values[1].map(|_| metric));
            continue;
        };
        let is_rate = unit != MS;
        rows.push(Row {
            metric,
            unit,
            a,
            b,
            ratio: b / a,
            interval,
            times: if is_rate { b / a } else { a / b },
            verdict: match grade {
                None => Verdict::NotJudged,
                Some(_) => judge_by(b / a, interval, is_rate, threshold),
            },
        });
    }
    // Every result has its requests a second.
    let headline = headline(&rows, a, b).unwrap_or(&rows[0]).clone();
    rows.sort_by(|one, other| {
        let of_times = one.times.total_cmp(&other.times);
        one.verdict.cmp(&other.verdict).then(of_times)
    });
    Ok(Comparison {
        schema: SCHEMA,
        threshold,
        simulated,
        grade: match headline.interval {
            None => grade.map(|grade| grade.max(Grade::B)),
            Some(_) => grade,
        },
        headline,
        differences,
        a: Side::of(a),
        b: Side::of(b),
        rows,
        only_a,
        only_b,
    })
}

/// Output tokens a second; of servers that keep up with the rate that is offered, which both give, the time of a token or reply.
fn headline<'a>(rows: &'a [Row], a: &ServeResult, b: &ServeResult) -> Option<&'a Row> {
    const RATES: &[&str] = &["output tokens", "requests"];
    const PACED: &[&str] = &["TPOT mean", "E2EL mean", "TTFT mean", "output tokens"];
    let keeps_up = |one: &ServeResult| {
        let asked = one.run.request_rate_asked;
        asked.is_some_and(|rate| one.run.requests_per_s >= rate * KEEPS_UP)
    };
    let order = match keeps_up(a) && keeps_up(b) {
        true => PACED,
        false => RATES,
    };
    let find = |metric: &&str| rows.iter().find(|row| row.metric == *metric);
    order.iter().find_map(find)
}

impl Row {
    /// Whether more is better, as of all but times.
    pub(super) fn is_rate(&self) -> bool {
        self.unit != MS
    }
}

impl Comparison {
    /// Whether it is B that is worse, and not the load under which it ran.
    pub(super) fn is_worse(&self) -> bool {
        self.has_worse() && self.grade < Some(Grade::C)
    }

    /// Whether a number is worse; these come first.
    pub(super) fn has_worse(&self) -> bool {
        self.rows[0].verdict == Verdict::Regression
    }

    /// A metric that both have.
    pub(super) fn row(&self, metric: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.metric == metric)
    }
}

impl Side {
    fn of(result: &ServeResult) -> Self {
        let run = &result.run;
        let rate = run.request_rate_asked.filter(|rate| rate.is_finite());
        let sent = run.completed + run.failed.unwrap_or(0);
        Self {
            file: run.origin.clone(),
            model: run.model.clone(),
            tp: run.tp,
            completed: run.completed,
            failed: run.failed,
            load: view::serve::arrivals(run),
            size: run.concurrency_asked.or(rate).unwrap_or(sent as f64),
            in_flight: result.in_flight(),
            input_tokens_each: result.input_each(),
            output_tokens_each: result.output_each(),
            findings: result.findings.clone(),
        }
    }
}

/// The unit of times; all others are of rates.
const MS: &str = "ms";

/// A metric with its unit, its value in each, where it has one, and the interval of their ratio.
type Number = (String, &'static str, [Option<f64>; 2], Option<Interval>);

/// Every metric, rates first.
fn numbers(a: &ServeResult, b: &ServeResult) -> Vec<Number> {
    // In a closed loop a rate is the places divided by the mean time of a request (Little), so that the interval of its ratio is as wide
    // as that of the ratio of these times.
    let is_closed = [a, b]
        .iter()
        .all(|one| one.run.request_rate_asked.is_none());
    let of_requests = is_closed
        .then(|| ratio_of_means(&b.values(Latency::E2el), &a.values(Latency::E2el)))
        .flatten();
    let rate = |metric: &str, unit, of: fn(&ServeResult) -> Option<f64>| {
        let both = [of(a), of(b)];
        let interval = both[0].zip(both[1]).zip(of_requests);
        let interval = interval.map(|((base, new), times)| Interval {
            low: new / base * times.value / times.interval.high,
            high: new / base * times.value / times.interval.low,
            ..times.interval
        });
        (metric.to_owned(), unit, both, interval)
    };
    let mut numbers = vec![
        rate("requests", "req/s", |one| Some(one.run.requests_per_s)),
        rate("output tokens", "tok/s", ServeResult::output_tokens_per_s),
        rate("all tokens", "tok/s", ServeResult::total_tokens_per_s),
    ];
    for latency in Latency::ALL {
        let spreads = [a, b].map(|one| one.spread(latency));
        let number = |statistic: &str, of: fn(&Spread) -> Option<f64>, interval| {
            let metric = format!("{} {statistic}", latency.name());
            let both = spreads.map(|spread| spread.and_then(of));
            (metric, MS, both, interval)
        };
        let values = independent(b, latency).zip(independent(a, latency));
        let ratio = values.and_then(|(new, base)| ratio_of_means(&new, &base));
        // Only the mean has an interval: a median may fall between two groups of requests, into the one or the other by what varies
        // from run to run.
        let interval = ratio.map(|ratio| ratio.interval);
        numbers.push(number("mean", |of| Some(of.mean), interval));
        numbers.push(number("median", |of| of.median, None));
        numbers.push(number("p99", |of| of.p99, None));
    }
    numbers
}

/// The values of each request, in an open loop of blocks of successive ones: there a request that came late makes the next one
/// late. `None` where not even blocks are independent.
fn independent(one: &ServeResult, latency: Latency) -> Option<Vec<Vec<f64>>> {
    let values = one.values(latency);
    match one.run.request_rate_asked {
        None => Some(values),
        Some(_) => blocks(&values),
    }
}
