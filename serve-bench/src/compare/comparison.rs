//! A comparison of two serving results as data: each metric of both with its ratio, or why there is none.

use import::serve::{Finding, Latency, ServeFormat, ServeResult, Spread};
use program::compare::both_simulated;
use serde::Serialize;
use stats::{Interval, blocks};
use stats::{Threshold, Verdict, judge_by};

use super::differences::Difference;
use super::ratio;

/// The form of the JSON; it grows only when an older reader would misunderstand it.
const SCHEMA: u32 = 2;

/// What two runs of one setting may differ by beyond the threshold (our choice: means of repeated runs on one quiet machine were
/// seen some percent apart).
const RUN_TO_RUN: f64 = 0.05;

/// A server that completes this part of the requests that are offered keeps up with them.
const KEEPS_UP: f64 = 0.9;

/// Two results against each other.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) schema: u32,
    /// What counts as a difference, as a fraction.
    pub(super) threshold: Threshold,
    /// The simulated machines behind both.
    pub(super) simulated: Option<(String, String)>,
    /// In what else they differ; some of it makes them incomparable.
    pub(super) differences: Vec<Difference>,
    /// How much the ratios are worth; `None` where they are refused.
    pub(super) grade: Option<Grade>,
    /// The one ratio that says how much faster B is.
    pub(super) headline: Headline,
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) rows: Vec<Row>,
    /// Metrics that only one of them has.
    pub(super) only_a: Vec<String>,
    pub(super) only_b: Vec<String>,
}

/// One of the results.
#[derive(Debug, Serialize)]
pub(super) struct Side {
    pub(super) file: String,
    pub(super) format: ServeFormat,
    /// Whether this project measured it, in whatever form it was kept.
    pub(super) ours: bool,
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

/// How much the ratios are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Grade {
    /// One load, and intervals over the requests of both.
    A,
    /// One load, one run each without single requests, or lengths that differ.
    B,
    /// Another load, or one of the clients was the limit: the ratio is of both.
    C,
}

/// How much faster B is, by the number that a server under this load is chosen by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Headline {
    pub(super) metric: String,
    pub(super) unit: &'static str,
    pub(super) a: f64,
    pub(super) b: f64,
    /// How many times as fast B is: B over A of a rate, A over B of a time.
    pub(super) times: f64,
    pub(super) interval: Option<Interval>,
    pub(super) verdict: Verdict,
}

/// A metric of both.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) metric: String,
    pub(super) unit: &'static str,
    pub(super) a: f64,
    pub(super) b: f64,
    /// B over A.
    pub(super) ratio: f64,
    /// 95% interval of the ratio by bootstrap over requests, where both files have every request.
    pub(super) interval: Option<Interval>,
    /// What the interval or, without one, a large ratio says; not judged where the two are not comparable.
    pub(super) verdict: Verdict,
    /// Whether more is better, as of a rate.
    #[serde(skip)]
    pub(super) more_is_better: bool,
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
    let is_refused = differences.iter().any(Difference::refuses);
    let (mut rows, mut only_a, mut only_b) = (Vec::new(), Vec::new(), Vec::new());
    for (metric, unit, more_is_better, values, interval) in numbers(a, b) {
        let [a, b] = match values {
            [Some(a), Some(b)] => [a, b],
            [Some(_), None] => {
                only_a.push(metric);
                continue;
            }
            [None, Some(_)] => {
                only_b.push(metric);
                continue;
            }
            [None, None] => continue,
        };
        let verdict = judge_by(b / a, interval, more_is_better, RUN_TO_RUN, threshold);
        rows.push(Row {
            metric,
            unit,
            a,
            b,
            ratio: b / a,
            interval,
            verdict: if is_refused {
                Verdict::NotJudged
            } else {
                verdict
            },
            more_is_better,
        });
    }
    let headline = Headline::of(&rows, a, b);
    let grade = Grade::of(&differences, headline.interval);
    Ok(Comparison {
        schema: SCHEMA,
        threshold,
        simulated,
        grade: (!is_refused).then_some(grade),
        headline,
        differences,
        a: Side::of(a),
        b: Side::of(b),
        rows,
        only_a,
        only_b,
    })
}

impl Grade {
    fn of(differences: &[Difference], interval: Option<Interval>) -> Self {
        let of_load = differences.iter().any(Difference::is_other_load);
        let of_lengths = differences.iter().any(Difference::is_other_length);
        match (of_load, interval) {
            (true, _) => Self::C,
            (false, Some(_)) if !of_lengths => Self::A,
            (false, _) => Self::B,
        }
    }
}

impl Headline {
    /// Output tokens a second; of servers that keep up with the rate that is offered, which both give, the time of a token or reply.
    fn of(rows: &[Row], a: &ServeResult, b: &ServeResult) -> Self {
        const RATES: [&str; 2] = ["output tokens", "requests"];
        const TIMES: [&str; 3] = ["TPOT mean", "E2EL mean", "TTFT mean"];
        let keeps_up = |one: &ServeResult| {
            let asked = one.run.request_rate_asked;
            asked.is_some_and(|rate| one.run.requests_per_s >= rate * KEEPS_UP)
        };
        let is_paced = keeps_up(a) && keeps_up(b);
        let order = match is_paced {
            true => [&TIMES[..], &RATES[..]].concat(),
            false => RATES.to_vec(),
        };
        let find = |metric: &&str| rows.iter().find(|row| row.metric == *metric);
        let found = order.iter().find_map(find);
        // Every result has its requests a second.
        let row = found.unwrap_or(&rows[0]);
        let inverse = |interval: Interval| Interval {
            low: interval.high.recip(),
            high: interval.low.recip(),
            ..interval
        };
        Self {
            metric: row.metric.clone(),
            unit: row.unit,
            a: row.a,
            b: row.b,
            times: gain(row),
            interval: match row.more_is_better {
                true => row.interval,
                false => row.interval.map(inverse),
            },
            verdict: row.verdict,
        }
    }
}

/// How many times as good B is.
pub(super) fn gain(row: &Row) -> f64 {
    match row.more_is_better {
        true => row.ratio,
        false => row.ratio.recip(),
    }
}

impl Comparison {
    /// Whether a ratio would be of something else.
    pub(super) fn is_refused(&self) -> bool {
        self.differences.iter().any(Difference::refuses)
    }

    /// Whether a metric is worse in B.
    pub(super) fn is_worse(&self) -> bool {
        let is_worse = |row: &Row| row.verdict == Verdict::Regression;
        self.rows.iter().any(is_worse)
    }

    /// Numbers that are better, worse or the same.
    pub(super) fn judged(&self) -> usize {
        let is_judged = |row: &&Row| !matches!(row.verdict, Verdict::NotJudged | Verdict::Unclear);
        self.rows.iter().filter(is_judged).count()
    }
}

impl Side {
    fn of(result: &ServeResult) -> Self {
        let run = &result.run;
        Self {
            file: run.origin.clone(),
            format: run.format,
            ours: result.ours,
            model: run.model.clone(),
            tp: run.tp,
            completed: run.completed,
            failed: run.failed,
            load: view::serve::arrivals(run),
            size: size(result),
            in_flight: result.in_flight(),
            input_tokens_each: result.input_each(),
            output_tokens_each: result.output_each(),
            findings: result.findings.clone(),
        }
    }
}

/// How large a load is, by what was asked for.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn size(result: &ServeResult) -> f64 {
    let run = &result.run;
    let rate = run.request_rate_asked.filter(|rate| rate.is_finite());
    let sent = run.completed + run.failed.unwrap_or(0);
    run.concurrency_asked.or(rate).unwrap_or(sent as f64)
}

/// A metric and its value in each, where it has one.
type Number = (
    String,
    &'static str,
    bool,
    [Option<f64>; 2],
    Option<Interval>,
);

/// Every metric, rates first.
fn numbers(a: &ServeResult, b: &ServeResult) -> Vec<Number> {
    let rate = |metric: &str, unit, of: fn(&ServeResult) -> Option<f64>| {
        let both = [of(a), of(b)];
        let interval = both[0].zip(both[1]);
        let interval = interval.and_then(|(base, new)| of_rates(a, b, new / base));
        (metric.to_owned(), unit, true, both, interval)
    };
    let mut numbers = vec![
        rate("requests", "req/s", |one| Some(one.run.requests_per_s)),
        rate("output tokens", "tok/s", ServeResult::output_tokens_per_s),
        rate("all tokens", "tok/s", ServeResult::total_tokens_per_s),
    ];
    for latency in Latency::ALL {
        numbers.extend(times(a, b, latency));
    }
    numbers
}

/// The interval of a ratio of rates in a closed loop: the places divided by the mean time of a request (Little), so that it is as
/// wide as that of the ratio of these times.
fn of_rates(a: &ServeResult, b: &ServeResult, ratio: f64) -> Option<Interval> {
    let is_closed = |one: &ServeResult| one.run.request_rate_asked.is_none();
    if !is_closed(a) || !is_closed(b) {
        return None;
    }
    let (base, new) = (a.values(Latency::E2el), b.values(Latency::E2el));
    let times = ratio::interval(&base, &new)?;
    let of_means = ratio::of_means(&base, &new);
    Some(Interval {
        low: ratio * of_means / times.high,
        high: ratio * of_means / times.low,
        level: times.level,
    })
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

/// Mean, median and 99th percentile of a latency; only the mean has an interval: a median may fall between two groups of requests,
/// into the one or the other by what varies from run to run.
fn times(a: &ServeResult, b: &ServeResult, latency: Latency) -> [Number; 3] {
    let spreads = [a, b].map(|one| one.spread(latency));
    let values = [a, b].map(|one| independent(one, latency));
    let number = |statistic: &str, of: fn(&Spread) -> Option<f64>, interval| {
        let metric = format!("{} {statistic}", latency.name());
        let both = spreads.map(|spread| spread.and_then(of));
        (metric, "ms", false, both, interval)
    };
    let interval = match &values {
        [Some(a), Some(b)] => ratio::interval(a, b),
        _ => None,
    };
    [
        number("mean", |of| Some(of.mean), interval),
        number("median", |of| of.median, None),
        number("p99", |of| of.p99, None),
    ]
}
