//! What the router counts, and its text for Prometheus.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::journal::{Kv, Row};
use crate::prometheus::Value::{Gauge, Histogram};
use crate::prometheus::{Times, counter, text};

/// Counters of one router.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Requests under way.
    pub(super) in_flight: AtomicUsize,
    /// Requests whose keys and values a decode engine took for one token.
    released: AtomicU64,
    /// Requests whose keys and values wait for their lease, and tokens of these times the seconds of their leases.
    stranded: AtomicU64,
    stranded_token_s: AtomicU64,
    /// Requests that were sent to engines.
    asked: AtomicU64,
    /// Requests by how they ended.
    outcomes: Mutex<BTreeMap<String, u64>>,
    /// From the prefill engine's request to its whole reply.
    prefill: Times,
    /// From the prefill engine's reply to the decode engine's request.
    hand_over: Times,
    /// From the decode engine's request to its first part.
    decode_first: Times,
    /// From the client's request to the first part of the reply.
    first: Times,
}

impl Metrics {
    /// Counts a request that has ended.
    pub(super) fn count(&self, row: &Row) {
        if let Ok(mut outcomes) = self.outcomes.lock() {
            *outcomes.entry(row.outcome.clone()).or_default() += 1;
        }
        self.asked.fetch_add(u64::from(row.asked), Relaxed);
        let add = |times: &Times, from: Option<u64>, to: Option<u64>| {
            if let Some((from, to)) = from.zip(to) {
                times.add(Duration::from_micros(to.saturating_sub(from)));
            }
        };
        add(&self.prefill, row.prefill_sent_us, row.prefill_reply_us);
        add(&self.hand_over, row.prefill_reply_us, row.decode_sent_us);
        add(&self.decode_first, row.decode_sent_us, row.decode_first_us);
        add(&self.first, Some(0), row.decode_first_us);
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
        let mut out = "# TYPE tplens_route_requests_total counter\n".to_owned();
        if let Ok(outcomes) = self.outcomes.lock() {
            for (outcome, count) in outcomes.iter() {
                let name = "tplens_route_requests_total";
                out += &format!("{name}{{outcome=\"{outcome}\"}} {count}.0\n");
            }
        }
        let token_seconds = counter(&self.stranded_token_s);
        let in_flight = Gauge(self.in_flight.load(Relaxed) as f64);
        let rows = [
            ("engines_asked_total", counter(&self.asked)),
            ("kv_released_total", counter(&self.released)),
            ("kv_stranded_total", counter(&self.stranded)),
            ("kv_stranded_token_seconds_total", token_seconds),
            ("in_flight", in_flight),
            ("prefill_seconds", Histogram(&self.prefill)),
            ("hand_over_seconds", Histogram(&self.hand_over)),
            ("decode_first_seconds", Histogram(&self.decode_first)),
            ("first_seconds", Histogram(&self.first)),
        ];
        out + &text(&rows, "tplens_route_", "")
    }
}
