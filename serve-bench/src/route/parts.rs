//! The time to first token in parts: what the router saw, and within it what engines counted. What nobody explains is a part.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::Interval;

use super::counters::Counters;
use super::journal::Row;

/// One part.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Part {
    /// Its code.
    pub(super) code: &'static str,
    /// Mean, ms; `None` where nobody counted it.
    pub(super) mean_ms: Option<f64>,
    /// The 95% interval of the mean; engines tell no more than sums.
    pub(super) interval_ms: Option<Interval>,
    /// Requests.
    pub(super) n: usize,
    /// Whether engines counted it.
    pub(super) is_counted: bool,
}

/// The time to first token from the head of the request at the router to the first part of the reply.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Parts {
    pub(super) schema: u32,
    /// Requests that were served to their end.
    pub(super) n: usize,
    /// All others.
    pub(super) failed: usize,
    pub(super) dialect: String,
    /// The simulated machine of an engine.
    pub(super) simulated: Option<String>,
    /// Whether both engines worked at once, so that parts overlap and only those of the decode engine add up.
    pub(super) is_concurrent: bool,
    pub(super) ttft_ms: f64,
    pub(super) ttft_interval_ms: Option<Interval>,
    pub(super) parts: Vec<Part>,
    /// Tokens times seconds of leases that nobody ended.
    pub(super) stranded: usize,
}

/// Mean and its interval by a normal distribution; below six values there is none.
#[expect(clippy::cast_precision_loss, reason = "numbers of requests")]
fn mean(values: &[f64]) -> Option<(f64, Option<Interval>)> {
    let n = values.len() as f64;
    let mean = (n > 0.0).then(|| values.iter().sum::<f64>() / n)?;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    let half = 1.96 * (variance / n).sqrt();
    let interval = (values.len() >= 6).then_some(Interval {
        low: mean - half,
        high: mean + half,
        level: 0.95,
    });
    Some((mean, interval))
}

/// By how much a histogram grew: mean in ms and number.
fn grown(counters: &[Counters], is_prefill: bool, name: &str, unit_ms: f64) -> Option<(f64, f64)> {
    // The last line of each engine at the beginning and at the end.
    let mut engines: BTreeMap<(&str, bool), (f64, f64)> = BTreeMap::new();
    for line in counters.iter().filter(|line| line.is_prefill == is_prefill) {
        let value = |suffix| line.values.get(&format!("{name}{suffix}")).copied();
        let both = (value("_sum")?, value("_count")?);
        engines.insert((line.engine.as_str(), line.is_end), both);
    }
    let mut total: BTreeMap<bool, (f64, f64)> = BTreeMap::new();
    for ((engine, is_end), (sum, count)) in &engines {
        // An engine that was read once only tells nothing of these requests.
        engines.get(&(engine, !is_end))?;
        let entry = total.entry(*is_end).or_default();
        *entry = (entry.0 + sum, entry.1 + count);
    }
    let (begin, end) = (total.get(&false)?, total.get(&true)?);
    let count = end.1 - begin.1;
    (count > 0.0).then(|| ((end.0 - begin.0) / count * unit_ms, count))
}

impl Parts {
    /// The mean of a part, ms; `None` where nobody counted it.
    pub(crate) fn mean_ms(&self, code: &str) -> Option<f64> {
        self.parts.iter().find(|part| part.code == code)?.mean_ms
    }

    /// From the lines of a journal; `None` where no request was served.
    #[expect(clippy::cast_precision_loss, reason = "microseconds of requests")]
    pub(super) fn of(rows: &[Row], counters: &[Counters]) -> Option<Self> {
        let done: Vec<&Row> = rows.iter().filter(|row| row.outcome == "done").collect();
        let between = |from: fn(&Row) -> Option<u64>, to: fn(&Row) -> Option<u64>| {
            let ms = |row: &&Row| Some((to(row)? as f64 - from(row)? as f64) * 1e-3);
            done.iter().filter_map(ms).collect::<Vec<f64>>()
        };
        let stamped = |code, values: &[f64]| {
            let found = mean(values);
            Part {
                code,
                mean_ms: found.map(|(mean, _)| mean),
                interval_ms: found.and_then(|(_, interval)| interval),
                n: values.len(),
                is_counted: false,
            }
        };
        let counted = |code, is_prefill, names: &[(&str, f64)]| {
            let mut found = names
                .iter()
                .filter_map(|(name, unit)| grown(counters, is_prefill, name, *unit));
            let found = found.next();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count"
            )]
            let n = found.map_or(0, |(_, count)| count as usize);
            Part {
                code,
                mean_ms: found.map(|(mean, _)| mean),
                interval_ms: None,
                n,
                is_counted: true,
            }
        };
        let rest = |code, whole: &Part, within: &[&Part]| Part {
            code,
            mean_ms: whole
                .mean_ms
                .map(|ms| ms - within.iter().filter_map(|part| part.mean_ms).sum::<f64>()),
            interval_ms: None,
            n: whole.n,
            is_counted: false,
        };
        let zero: fn(&Row) -> Option<u64> = |_| Some(0);
        let ttft = between(zero, |row| row.decode_first_us);
        let (ttft_ms, ttft_interval_ms) = mean(&ttft)?;
        let is_concurrent = done
            .iter()
            .any(|row| row.prefill_reply_us > row.decode_sent_us);

        let queue = ("vllm:request_queue_time_seconds", 1e3);
        let prefill = ("vllm:request_prefill_time_seconds", 1e3);
        let links = [
            ("vllm:nixl_xfer_time_seconds", 1e3),
            ("vllm:mooncake_xfer_time_seconds", 1e3),
            ("sglang:kv_transfer_latency_ms", 1.0),
        ];
        let p_queue = counted("prefill-queue", true, &[queue]);
        let p_work = counted("prefill", true, &[prefill]);
        let link = counted("kv-transfer", false, &links);
        let d_queue = counted("decode-queue", false, &[queue]);
        let d_step = counted("first-step", false, &[prefill]);
        let decode = stamped(
            "decode",
            &between(|row| row.decode_sent_us, |row| row.decode_first_us),
        );
        let mut parts = Vec::new();
        if is_concurrent {
            parts.push(stamped("router", &between(zero, |row| row.decode_sent_us)));
            // What the decode engine waits for: the prefill engine, and what follows.
            let within: &[&Part] = &[&p_queue, &p_work, &link, &d_queue, &d_step];
            let left = rest("unexplained", &decode, within);
            parts.extend([p_queue, p_work, link, d_queue, d_step, left]);
        } else {
            let leg = between(|row| row.prefill_sent_us, |row| row.prefill_reply_us);
            let leg = stamped("prefill-leg", &leg);
            parts.push(stamped("router", &between(zero, |row| row.prefill_sent_us)));
            let reply = rest("prefill-reply", &leg, &[&p_queue, &p_work]);
            parts.extend([p_queue, p_work, reply]);
            parts.push(stamped(
                "dispatch",
                &between(|row| row.prefill_reply_us, |row| row.decode_sent_us),
            ));
            let left = rest("unexplained", &decode, &[&link, &d_queue, &d_step]);
            parts.extend([link, d_queue, d_step, left]);
        }
        Some(Self {
            schema: 1,
            n: ttft.len(),
            failed: rows.len() - done.len(),
            dialect: done
                .first()
                .map(|row| row.dialect.clone())
                .unwrap_or_default(),
            simulated: counters.iter().find_map(|line| line.simulated.clone()),
            is_concurrent,
            ttft_ms,
            ttft_interval_ms,
            parts,
            stranded: rows.iter().filter(|row| row.lease_s.is_some()).count(),
        })
    }
}
