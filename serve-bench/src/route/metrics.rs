//! What the router counts, and its text for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::journal::{Kv, Row};

/// Counts of all requests so far.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Requests under way.
    pub(super) in_flight: AtomicUsize,
    /// Bytes of request bodies that are held.
    pub(super) held_bytes: AtomicUsize,
    released: AtomicU64,
    stranded: AtomicU64,
    stranded_token_s: AtomicU64,
    asked: AtomicU64,
    outcomes: Mutex<BTreeMap<String, u64>>,
    prefill: Times,
    hand_over: Times,
    decode_first: Times,
    first: Times,
}

/// How many there were, and their sum; each is in the journal.
#[derive(Debug, Default)]
struct Times {
    count: AtomicU64,
    sum_us: AtomicU64,
}

impl Metrics {
    /// Counts a request that has ended.
    pub(super) fn count(&self, row: &Row) {
        if let Ok(mut outcomes) = self.outcomes.lock() {
            *outcomes.entry(row.outcome.clone()).or_default() += 1;
        }
        self.asked.fetch_add(u64::from(row.asked), Relaxed);
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let handed = between(row.prefill_reply_us, row.decode_sent_us);
        let decoded = between(row.decode_sent_us, row.decode_first_us);
        for (times, us) in [
            (
                &self.prefill,
                between(row.prefill_sent_us, row.prefill_reply_us),
            ),
            (&self.hand_over, handed),
            (&self.decode_first, decoded),
            (&self.first, row.decode_first_us),
        ] {
            if let Some(us) = us {
                times.count.fetch_add(1, Relaxed);
                times.sum_us.fetch_add(us, Relaxed);
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

    /// All counts, as Prometheus reads them.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let mut write = |name: &str, kind: &str, help: &str, values: &[(String, String)]| {
            let name = format!("tplens_route_{name}");
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (of, value) in values {
                let _ = writeln!(out, "{name}{of} {value}");
            }
        };
        let outcomes = self.outcomes.lock();
        let outcomes = outcomes.map_or_else(|_| BTreeMap::new(), |outcomes| outcomes.clone());
        let outcomes: Vec<(String, String)> = outcomes
            .iter()
            .map(|(outcome, count)| (format!("{{outcome=\"{outcome}\"}}"), count.to_string()))
            .collect();
        let help = "Requests by how they ended.";
        write("requests_total", "counter", help, &outcomes);
        for (name, help, counter) in [
            (
                "engines_asked_total",
                "Requests that were sent to engines.",
                &self.asked,
            ),
            (
                "kv_released_total",
                "Requests whose keys and values a decode engine took for one token.",
                &self.released,
            ),
            (
                "kv_stranded_total",
                "Requests whose keys and values wait for their lease.",
                &self.stranded,
            ),
            (
                "kv_stranded_token_seconds_total",
                "Tokens of these times the seconds of their leases.",
                &self.stranded_token_s,
            ),
        ] {
            let value = counter.load(Relaxed).to_string();
            write(name, "counter", help, &[(String::new(), value)]);
        }
        let held = "Bytes of request bodies that are held.";
        for (name, help, gauge) in [
            ("in_flight", "Requests under way.", &self.in_flight),
            ("held_bytes", held, &self.held_bytes),
        ] {
            let value = gauge.load(Relaxed).to_string();
            write(name, "gauge", help, &[(String::new(), value)]);
        }
        for (name, help, times) in [
            (
                "prefill_seconds",
                "From the prefill engine's request to its whole reply.",
                &self.prefill,
            ),
            (
                "hand_over_seconds",
                "From the prefill engine's reply to the decode engine's request.",
                &self.hand_over,
            ),
            (
                "decode_first_seconds",
                "From the decode engine's request to its first part.",
                &self.decode_first,
            ),
            (
                "first_seconds",
                "From the client's request to the first part of the reply.",
                &self.first,
            ),
        ] {
            let sum = Duration::from_micros(times.sum_us.load(Relaxed)).as_secs_f64();
            let count = times.count.load(Relaxed);
            let values = [("_sum", sum.to_string()), ("_count", count.to_string())];
            let values = values.map(|(of, value)| (of.to_owned(), value));
            write(name, "summary", help, &values);
        }
        out
    }
}
