//! Counters, gauges and histograms, and their text for Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper ends of the histograms' buckets, ms.
const BUCKETS: [u64; 11] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 30_000];

/// Durations in buckets, their number and sum.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Each bucket's own; the last has what is longer than any.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    sum_ns: AtomicU64,
}

impl Times {
    /// Adds one.
    pub(crate) fn add(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|end| end * 1_000_000 < ns);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
    }
}

/// A metric's value.
pub(crate) enum Value<'a> {
    Counter(f64),
    Gauge(f64),
    Histogram(&'a Times),
}

/// Name behind the prefix, and value.
pub(crate) type Row<'a> = (&'static str, Value<'a>);

fn number(count: &AtomicU64) -> f64 {
    count.load(Relaxed) as f64
}

/// What only grows.
pub(crate) fn counter(count: &AtomicU64) -> Value<'static> {
    Value::Counter(number(count))
}

/// What is there now.
pub(crate) fn gauge(count: &AtomicU64) -> Value<'static> {
    Value::Gauge(number(count))
}

/// The text of metrics whose names begin alike, with these labels. Writing to a String does not fail.
pub(crate) fn text(rows: &[Row<'_>], prefix: &str, labels: &str) -> String {
    let mut text = String::new();
    let (braced, before) = match labels {
        "" => (String::new(), String::new()),
        _ => (format!("{{{labels}}}"), format!("{labels},")),
    };
    for (name, value) in rows {
        let name = format!("{prefix}{name}");
        let (kind, value) = match value {
            Value::Counter(value) => ("counter", value),
            Value::Gauge(value) => ("gauge", value),
            Value::Histogram(times) => {
                let _ = writeln!(text, "# TYPE {name} histogram");
                let ends = BUCKETS.map(|ms| Duration::from_millis(ms).as_secs_f64().to_string());
                let ends = ends.into_iter().chain(["+Inf".to_owned()]);
                let mut count = 0;
                for (end, bucket) in ends.zip(&times.buckets) {
                    count += bucket.load(Relaxed);
                    let _ = writeln!(text, "{name}_bucket{{{before}le=\"{end}\"}} {count}.0");
                }
                let sum = number(&times.sum_ns) * 1e-9;
                let _ = writeln!(text, "{name}_sum{braced} {sum:?}");
                let _ = writeln!(text, "{name}_count{braced} {count}.0");
                continue;
            }
        };
        let _ = writeln!(text, "# TYPE {name} {kind}\n{name}{braced} {value:?}");
    }
    text
}
