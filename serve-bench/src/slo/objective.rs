//! What latencies are to keep, such as `p99_ttft<=5s`, and what the requests of one load say about it.
//!
//! Decided by intervals and not by single values: of a mean by bootstrap over blocks of successive requests, which resemble each
//! other in a queue; of a percentile by order statistics of as many requests as these are worth when they are independent.

use std::fmt;
use std::str::FromStr;

use program::command_line::time;
use record::ServeRequest;
use record::metric::{e2el, itl, tpot, ttft};
use serde::Serialize;
use stats::{distribution_pooled, sorted};

/// Blocks of successive requests that are resampled whole; fewer requests than twice these are blocks of one.
const BLOCKS: usize = 25;

/// The standard normal quantile of 97.5%.
const Z: f64 = 1.959_964;

/// A limit on a statistic of a latency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objective {
    statistic: &'static Statistic,
    latency: &'static Latency,
    /// At most this, ms.
    limit_ms: f64,
}

/// A statistic's name, the part of the values that is no larger (none of a mean), and the requests that a run needs at least for it
/// to be decided: a percentile needs two beyond it to have a value, and twice that for an upper end below the largest value. The
/// largest value has no interval.
type Statistic = (&'static str, Option<f64>, u32);

const STATISTICS: [Statistic; 6] = [
    ("mean", None, 20),
    ("p50", Some(0.5), 20),
    ("p90", Some(0.9), 40),
    ("p95", Some(0.95), 80),
    ("p99", Some(0.99), 400),
    ("max", Some(1.0), 1),
];

/// A latency's name and its values of a request, ms.
type Latency = (&'static str, fn(&ServeRequest) -> Vec<f64>);

const LATENCIES: [Latency; 4] = [
    ("ttft", |request| ttft(request).into_iter().collect()),
    ("tpot", |request| tpot(request).into_iter().collect()),
    ("itl", itl),
    ("e2el", |request| vec![e2el(request)]),
];

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (what, limit) = text.split_once("<=")?;
            let (statistic, latency) = what.trim().split_once('_')?;
            let limit = time(limit.trim()).ok().filter(|_| limit.ends_with('s'))?;
            Some(Self {
                statistic: STATISTICS.iter().find(|one| one.0 == statistic)?,
                latency: LATENCIES.iter().find(|one| one.0 == latency)?,
                limit_ms: limit.as_nanos() as f64 / 1e6,
            })
        };
        read().ok_or_else(|| {
            format!(
                "`{text}` is no objective; write it as p99_ttft<=5s or mean_tpot<=50ms, of mean, p50, p90, p95, p99 or max of ttft, \
                 tpot, itl or e2el, in ms, s or us"
            )
        })
    }
}

/// As it is said: `p99 TTFT 5 s`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name())?;
        match self.limit_ms {
            ms if ms >= 1e3 => write!(f, "{} s", ms / 1e3),
            ms => write!(f, "{ms} ms"),
        }
    }
}

/// What requests say about an objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Seen {
    /// The objective in words.
    pub(super) objective: String,
    /// The latency, such as `ttft`.
    pub(super) latency: &'static str,
    /// The statistic, ms; `None` where there are too few requests for it.
    pub(super) value_ms: Option<f64>,
    /// Its 95% interval, ms.
    pub(super) interval_ms: Option<(f64, f64)>,
    /// Requests that had this latency.
    pub(super) requests: usize,
    /// `Some(true)` where the whole interval is within the limit, `Some(false)` where the whole of it is beyond.
    pub(super) kept: Option<bool>,
}

impl Objective {
    /// What is limited: `p99 TTFT`.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.statistic.0, self.latency.0.to_uppercase())
    }

    /// Requests that a run needs at least for this to be decided.
    pub(super) fn least_requests(&self) -> u32 {
        self.statistic.2
    }

    /// Whether its limit is one of single requests, as of a percentile, and not of their mean.
    pub(super) fn is_of_requests(&self) -> bool {
        self.statistic.1.is_some()
    }

    /// Whether a request keeps it; a mean's limit is none of single requests.
    pub(super) fn is_kept_by(&self, request: &ServeRequest) -> bool {
        let values = (self.latency.1)(request);
        !self.is_of_requests() || values.iter().all(|ms| *ms <= self.limit_ms)
    }

    /// What these requests, all successful and in the order of their arrival, say.
    pub(super) fn seen(&self, requests: &[&ServeRequest]) -> Seen {
        let groups = requests.iter().map(|request| (self.latency.1)(request));
        let groups: Vec<Vec<f64>> = groups.filter(|values| !values.is_empty()).collect();
        let (value_ms, interval_ms) = self.of_groups(&groups).unzip();
        let interval_ms = interval_ms.flatten();
        Seen {
            objective: self.to_string(),
            latency: self.latency.0,
            value_ms,
            interval_ms,
            requests: groups.len(),
            kept: interval_ms.and_then(|(low, high)| match self.limit_ms {
                limit if high <= limit => Some(true),
                limit if low > limit => Some(false),
                _ => None,
            }),
        }
    }

    /// The statistic of values in groups, one for each request, and its interval.
    fn of_groups(&self, groups: &[Vec<f64>]) -> Option<(f64, Option<(f64, f64)>)> {
        let Some(part) = self.statistic.1 else {
            let size = (groups.len() / BLOCKS).max(1);
            let blocks: Vec<Vec<f64>> = groups.chunks(size).map(<[_]>::concat).collect();
            let found = distribution_pooled(&blocks)?;
            let interval = found.mean_interval;
            return Some((found.mean, interval.map(|of| (of.low, of.high))));
        };
        let values = sorted(&groups.concat());
        if part == 1.0 {
            let largest = *values.last()?;
            return Some((largest, Some((largest, largest))));
        }
        // Fewer than two beyond it are no percentile; 1e-9 for products that end in ...999.
        let beyond = groups.len() as f64 * (1.0 - part);
        (beyond >= 2.0 - 1e-9).then_some(())?;
        let (low, high) = wilson(part, independent(groups));
        let at = |part| value_at(&values, part);
        Some((at(part)?, at(low).zip(at(high))))
    }
}

/// Independent requests that these successive ones are worth: fewer, where the means of blocks differ by more than chance lets
/// them. Of a queue that remembers more than a block of them, still too many.
fn independent(groups: &[Vec<f64>]) -> f64 {
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let variance = |values: &[f64]| {
        let mean = mean_of(values);
        let squares = values.iter().map(|value| (value - mean).powi(2));
        squares.sum::<f64>() / (values.len() as f64 - 1.0)
    };
    let size = groups.len() / BLOCKS;
    let n = groups.len() as f64;
    if size < 2 {
        return n;
    }
    let means: Vec<f64> = groups.iter().map(|values| mean_of(values)).collect();
    let of_blocks: Vec<f64> = means.chunks_exact(size).map(mean_of).collect();
    let by_chance = variance(&means) / size as f64;
    n * (by_chance / variance(&of_blocks)).min(1.0)
}

/// The smallest value with at least this part of all at or below it.
fn value_at(ascending: &[f64], part: f64) -> Option<f64> {
    let rank = (part * ascending.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    ascending.get(rank - 1).copied()
}

/// Between which parts of `n` independent values the value of a part lies, at 95% (Wilson, 1927).
fn wilson(part: f64, n: f64) -> (f64, f64) {
    let square = Z * Z / n;
    let middle = part + square / 2.0;
    let half = (square * (part * (1.0 - part) + square / 4.0)).sqrt();
    let whole = 1.0 + square;
    ((middle - half) / whole, (middle + half) / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of two tokens with this TTFT and TPOT.
    fn request(ttft: f64, tpot: f64) -> ServeRequest {
        ServeRequest {
            ended_ms: ttft + tpot,
            token_chunks_ms: vec![ttft, ttft + tpot],
            output_tokens: Some(2),
            ..ServeRequest::default()
        }
    }

    fn seen(objective: &str, requests: &[ServeRequest]) -> Seen {
        let requests: Vec<&ServeRequest> = requests.iter().collect();
        objective.parse::<Objective>().unwrap().seen(&requests)
    }

    #[test]
    fn an_objective_is_a_statistic_a_latency_and_a_time() {
        let limit = |text: &str| text.parse::<Objective>().map(|read| read.to_string());
        assert_eq!(limit("p99_ttft<=5s").unwrap(), "p99 TTFT 5 s");
        assert_eq!(limit("mean_tpot <= 50ms").unwrap(), "mean TPOT 50 ms");
        assert_eq!(limit("max_itl<=250us").unwrap(), "max ITL 0.25 ms");
        for text in [
            "p99_ttft<5s",
            "ttft<=5s",
            "p98_ttft<=5s",
            "p99_tpft<=5s",
            "p99_ttft<=5",
            "p99_ttft<=0s",
        ] {
            assert!(limit(text).unwrap_err().contains("p95"), "{text}");
        }
    }

    #[test]
    fn a_limit_inside_the_interval_decides_nothing() {
        // 100 times 9 and 11 in turn: mean 10, standard error 0.1 of single values; blocks of 4 hold two of each, so their
        // means are all 10 and the interval is a point.
        let even: Vec<ServeRequest> = (0..100)
            .map(|index| request(if index % 2 == 0 { 9.0 } else { 11.0 }, 1.0))
            .collect();
        assert_eq!(seen("mean_ttft<=10ms", &even).kept, Some(true));
        assert_eq!(seen("mean_ttft<=9.9ms", &even).kept, Some(false));
        // The first half 9 and the second 11: block means are 9 or 11, their standard error 1/sqrt(25) = 0.2.
        let drifting: Vec<ServeRequest> = (0..100)
            .map(|index| request(if index < 50 { 9.0 } else { 11.0 }, 1.0))
            .collect();
        assert_eq!(seen("mean_ttft<=10ms", &drifting).kept, None);
        assert_eq!(seen("mean_ttft<=11ms", &drifting).kept, Some(true));
        assert_eq!(seen("mean_ttft<=9ms", &drifting).kept, Some(false));
    }

    #[test]
    fn a_percentile_is_decided_by_order_statistics() {
        // TTFT 1 to 400. Wilson about 0.99 of 400: middle 0.99 + 0.0048 = 0.9948; half sqrt(0.0096 (0.0099 + 0.0024)) = 0.01087;
        // over 1.0096 they are 0.97457 and 0.99611, ranks 389.8 and 398.4: values 390 and 399.
        // In an order in which blocks of 16 have means that differ by no more than chance lets them: 177 has no divisor in common
        // with 401.
        let ramp: Vec<ServeRequest> = (1..=400)
            .map(|number| request(f64::from(number * 177 % 401), 1.0))
            .collect();
        let found = seen("p99_ttft<=399ms", &ramp);
        assert_eq!(found.value_ms, Some(396.0));
        assert_eq!(found.interval_ms, Some((390.0, 399.0)));
        assert_eq!(found.kept, Some(true));
        assert_eq!(seen("p99_ttft<=398ms", &ramp).kept, None);
        assert_eq!(seen("p99_ttft<=389ms", &ramp).kept, Some(false));
        // In ascending order blocks are as far apart as they can be: the 400 are worth 400 x variance of all / 16 / variance of block
        // means = 400 x 13367 / 16 / 13867 = 24, and p99 of 24 may be the largest.
        let mut sorted = ramp.clone();
        sorted.sort_by(|a, b| a.ended_ms.total_cmp(&b.ended_ms));
        assert_eq!(seen("p99_ttft<=399ms", &sorted).kept, None);
        // Two requests beyond it are needed: 199 have 1.99.
        let few = seen("p99_ttft<=1s", &ramp[..199]);
        assert_eq!((few.value_ms, few.kept), (None, None));
    }

    #[test]
    fn a_latency_that_no_request_has_decides_nothing() {
        let one_token = ServeRequest {
            token_chunks_ms: vec![1.0],
            output_tokens: Some(1),
            ..ServeRequest::default()
        };
        let found = seen("mean_tpot<=1s", &[one_token]);
        assert_eq!(
            (found.requests, found.value_ms, found.kept),
            (0, None, None)
        );
    }
}
