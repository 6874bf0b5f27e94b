//! What the router counts, and its text for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::journal::{Kv, Row};

/// Upper ends of the histograms' buckets, seconds.
const BUCKETS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// Counters of one router.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Requests under way.
    pub(super) in_flight: AtomicUsize,
    /// Bytes of bodies that are held.
    pub(super) held_bytes: AtomicUsize,
    /// Blocks that were given back.
    released: AtomicU64,
    /// Requests whose blocks wait for their lease.
    stranded: AtomicU64,
    /// Tokens of these, each times the seconds of its lease.
    stranded_token_s: AtomicU64,
    asked: AtomicU64,
    outcomes: Mutex<BTreeMap<String, u64>>,
    prefill: Histogram,
    hand_over: Histogram,
    decode_first: Histogram,
    first: Histogram,
}

/// Durations in buckets.
#[derive(Debug, Default)]
struct Histogram {
    buckets: [AtomicU64; BUCKETS.len()],
    count: AtomicU64,
    sum_us: AtomicU64,
}

impl Histogram {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a request")]
    fn add(&self, us: u64) {
        let seconds = us as f64 * 1e-6;
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            if seconds <= end {
                bucket.fetch_add(1, Relaxed);
            }
        }
        self.count.fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    #[expect(clippy::cast_precision_loss, reason = "microseconds")]
    fn write(&self, name: &str, help: &str, out: &mut String) {
        let count = self.count.load(Relaxed);
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(
                out,
                "{name}_bucket{{le=\"{end}\"}} {}",
                bucket.load(Relaxed)
            );
        }
        let sum = self.sum_us.load(Relaxed) as f64 * 1e-6;
        let _ = writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        );
    }
}

impl Metrics {
    /// Counts a request that has ended.
    pub(super) fn count(&self, row: &Row) {
        if let Ok(mut outcomes) = self.outcomes.lock() {
            *outcomes.entry(row.outcome.clone()).or_default() += 1;
        }
        self.asked.fetch_add(u64::from(row.asked), Relaxed);
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let legs = [
            (
                &self.prefill,
                between(row.prefill_sent_us, row.prefill_reply_us),
            ),
            (
                &self.hand_over,
                between(row.prefill_reply_us, row.decode_sent_us),
            ),
            (
                &self.decode_first,
                between(row.decode_sent_us, row.decode_first_us),
            ),
            (&self.first, row.decode_first_us),
        ];
        for (histogram, us) in legs {
            if let Some(us) = us {
                histogram.add(us);
            }
        }
        match row.kv {
            Kv::Released => drop(self.released.fetch_add(1, Relaxed)),
            Kv::Lease => {
                self.stranded.fetch_add(1, Relaxed);
                let tokens = row.prompt_tokens.unwrap_or(0);
                let seconds = u64::from(row.lease_s.unwrap_or(0));
                self.stranded_token_s.fetch_add(tokens * seconds, Relaxed);
            }
            Kv::None | Kv::Taken | Kv::Closed => {}
        }
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "# HELP tplens_route_requests_total Requests by how they ended.\n# TYPE tplens_route_requests_total counter"
        );
        if let Ok(outcomes) = self.outcomes.lock() {
            for (outcome, count) in outcomes.iter() {
                let _ = writeln!(
                    out,
                    "tplens_route_requests_total{{outcome=\"{outcome}\"}} {count}"
                );
            }
        }
        let counters = [
            (
                "tplens_route_engines_asked_total",
                "Requests that were sent to engines.",
                &self.asked,
            ),
            (
                "tplens_route_kv_released_total",
                "Requests whose keys and values a decode engine took for one token.",
                &self.released,
            ),
            (
                "tplens_route_kv_stranded_total",
                "Requests whose keys and values wait for their lease.",
                &self.stranded,
            ),
            (
                "tplens_route_kv_stranded_token_seconds_total",
                "Tokens of these times the seconds of their leases.",
                &self.stranded_token_s,
            ),
        ];
        for (name, help, counter) in counters {
            let value = counter.load(Relaxed);
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}"
            );
        }
        let gauges = [
            (
                "tplens_route_in_flight",
                "Requests under way.",
                &self.in_flight,
            ),
            (
                "tplens_route_held_bytes",
                "Bytes of request bodies that are held.",
                &self.held_bytes,
            ),
        ];
        for (name, help, gauge) in gauges {
            let value = gauge.load(Relaxed);
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        }
        let histograms = [
            (
                "tplens_route_prefill_seconds",
                "From the prefill engine's request to its whole reply.",
                &self.prefill,
            ),
            (
                "tplens_route_hand_over_seconds",
                "From the prefill engine's reply to the decode engine's request.",
                &self.hand_over,
            ),
            (
                "tplens_route_decode_first_seconds",
                "From the decode engine's request to its first part.",
                &self.decode_first,
            ),
            (
                "tplens_route_first_seconds",
                "From the client's request to the first part of the reply.",
                &self.first,
            ),
        ];
        for (name, help, histogram) in histograms {
            histogram.write(name, help, &mut out);
        }
        out
    }
}
