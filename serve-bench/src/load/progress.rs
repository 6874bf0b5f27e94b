//! How far the load is: a bar that is drawn anew a few times a second on a terminal, ten lines elsewhere.
//!
//! What it shows is for who watches: its medians come from histograms and its numbers in flight from the schedule; those of
//! the record come from every value. It runs on the thread that keeps the record, never on the load's.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use measure::metric::{e2el, tpot, ttft};
use measure::record::ServeRequest;
use program::Progress;

/// Lines over a whole run where there is no bar.
const LINES: usize = 10;

/// How often a bar is drawn anew, also while nothing ends.
pub(super) const REDRAW: Duration = Duration::from_millis(250);

/// What was asked for, as far as it shows what is in flight.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Asked {
    /// Requests; 0 where only a time ends the run.
    pub(super) total: usize,
    /// Requests in flight at most.
    pub(super) limit: Option<usize>,
    /// When requests are due after the start, ascending; empty in a closed loop.
    pub(super) due: Vec<Duration>,
}

impl Asked {
    /// Requests in flight, or due and waiting for a place, after a time of which so many ended.
    fn in_flight(&self, after: Duration, done: usize) -> Option<usize> {
        let begun = if self.due.is_empty() {
            match self.total {
                0 => return self.limit,
                total => total.min(done + self.limit?),
            }
        } else {
            self.due.partition_point(|due| *due <= after)
        };
        Some(begun.saturating_sub(done))
    }
}

/// Progress over the measured requests.
pub(super) struct LoadProgress<'a> {
    /// `None` where nothing is to be shown.
    progress: Option<Progress<'a>>,
    say: &'a dyn Fn(&str),
    asked: Asked,
    on_terminal: bool,
    began: Option<Instant>,
    drawn: Option<Instant>,
    done: usize,
    failed: usize,
    tokens: u64,
    shown: Option<usize>,
    ttft_us: Option<Histogram<u64>>,
    tpot_us: Option<Histogram<u64>>,
    e2el_us: Option<Histogram<u64>>,
}

impl<'a> LoadProgress<'a> {
    /// Before the first request; nothing is shown where it is quiet.
    pub(super) fn new(asked: Asked, is_quiet: bool, say: &'a dyn Fn(&str)) -> Self {
        // Three digits are enough to watch; the histogram grows by itself.
        let histogram = || Histogram::new(3).ok();
        Self {
            progress: (!is_quiet).then(|| Progress::new(asked.total, say)),
            say,
            asked,
            on_terminal: std::io::stderr().is_terminal(),
            began: None,
            drawn: None,
            done: 0,
            failed: 0,
            tokens: 0,
            shown: None,
            ttft_us: histogram(),
            tpot_us: histogram(),
            e2el_us: histogram(),
        }
    }

    /// The measured part begins.
    pub(super) fn begin(&mut self, at: Instant) {
        self.began = Some(at);
    }

    /// A request ended.
    pub(super) fn add(&mut self, request: &ServeRequest) {
        if request.error.is_some() {
            self.failed += 1;
        } else {
            put(&mut self.ttft_us, ttft::of(request));
            put(&mut self.tpot_us, tpot::of(request));
            put(&mut self.e2el_us, Some(e2el::of(request)));
            self.tokens += u64::from(request.output_tokens.unwrap_or(0));
        }
        // Where nobody knows how many come, at each doubling.
        let tenth = match self.asked.total {
            0 => (self.done + 1).ilog2() as usize,
            total => self.done * LINES / total,
        };
        let is_new = self.shown.replace(tenth) != Some(tenth);
        let text = (is_new && !self.on_terminal).then(|| self.medians().join(", "));
        if let Some(progress) = &mut self.progress {
            if let Some(text) = text {
                progress.begin(&text, "");
            }
            progress.end();
        }
        self.done += 1;
        self.draw();
    }

    /// Draws a bar anew, where there is one and its time has come.
    pub(super) fn draw(&mut self) {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW);
        if !self.on_terminal || !is_due || self.progress.is_none() {
            return;
        }
        let after = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        let text = self.live(after);
        if let Some(progress) = &mut self.progress {
            progress.begin("", &text);
        }
        self.drawn = Some(Instant::now());
    }

    /// Something worth a line.
    pub(super) fn note(&self, text: &str) {
        match &self.progress {
            Some(progress) => progress.note(text),
            None => (self.say)(text),
        }
    }

    /// What a bar says after this time: rates, in flight, medians, failures.
    fn live(&self, after: Duration) -> String {
        let mut parts = Vec::new();
        let seconds = after.as_secs_f64();
        if seconds > 0.0 && self.done > 0 {
            parts.push(format!("{:.2} req/s", self.done as f64 / seconds));
            if self.tokens > 0 {
                parts.push(format!("{:.0} tok/s", self.tokens as f64 / seconds));
            }
        }
        if let Some(in_flight) = self.asked.in_flight(after, self.done) {
            // At a rate some of them may be due and wait for a place.
            let waiting = self
                .asked
                .limit
                .map_or(0, |limit| in_flight.saturating_sub(limit));
            parts.push(format!("{} in flight", in_flight - waiting));
            if waiting > 0 {
                parts.push(format!("{waiting} due"));
            }
        }
        parts.extend(self.medians());
        parts.join(", ")
    }

    fn medians(&self) -> Vec<String> {
        let of = [
            ("TTFT", &self.ttft_us),
            ("TPOT", &self.tpot_us),
            ("E2EL", &self.e2el_us),
        ];
        let mut parts: Vec<String> = of
            .into_iter()
            .filter_map(|(name, values)| {
                let values = values.as_ref().filter(|values| !values.is_empty())?;
                let median_ms = values.value_at_quantile(0.5) as f64 / 1e3;
                Some(format!("{name} p50 {median_ms:.1} ms"))
            })
            .collect();
        if self.failed > 0 {
            parts.push(format!("{} failed", self.failed));
        }
        parts
    }
}

fn put(values: &mut Option<Histogram<u64>>, ms: Option<f64>) {
    if let (Some(values), Some(ms)) = (values, ms) {
        // A value that no histogram holds is missing from what is watched only.
        let _ = values.record((ms * 1e3).max(0.0) as u64);
    }
}

#[cfg(test)]
mod tests {
    use measure::record::{RequestError, RequestErrorKind};

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn in_flight_follows_from_what_was_asked_and_what_ended() {
        let closed = Asked {
            total: 10,
            limit: Some(4),
            due: Vec::new(),
        };
        assert_eq!(closed.in_flight(seconds(1), 0), Some(4));
        // Two are left.
        assert_eq!(closed.in_flight(seconds(1), 8), Some(2));
        let timed = Asked {
            total: 0,
            limit: Some(4),
            due: Vec::new(),
        };
        assert_eq!(timed.in_flight(seconds(1), 100), Some(4));
        let open = Asked {
            total: 5,
            limit: None,
            due: (0..5).map(seconds).collect(),
        };
        // Due at 0, 1 and 2 s; one ended.
        assert_eq!(open.in_flight(seconds(2), 1), Some(2));
        assert_eq!(open.in_flight(seconds(99), 5), Some(0));
    }

    #[test]
    fn a_bar_tells_rates_medians_waits_and_failures() {
        let say = |_: &str| {};
        let asked = Asked {
            total: 6,
            limit: Some(2),
            due: vec![Duration::ZERO; 6],
        };
        let mut progress = LoadProgress::new(asked, true, &say);
        let good = ServeRequest {
            ended_ms: 70.0,
            token_chunks_ms: vec![50.0, 70.0],
            output_tokens: Some(2),
            ..ServeRequest::default()
        };
        let bad = ServeRequest {
            error: Some(RequestError {
                kind: RequestErrorKind::TimedOut,
                seen: String::new(),
            }),
            ..good.clone()
        };
        progress.add(&good);
        progress.add(&bad);
        // Two in 4 s: 0.5 a second; 2 tokens: 0.5 a second, shown as 0; four of six are left for two places.
        assert_eq!(
            progress.live(seconds(4)),
            "0.50 req/s, 0 tok/s, 2 in flight, 2 due, TTFT p50 50.0 ms, TPOT p50 20.0 ms, E2EL p50 70.0 ms, 1 failed"
        );
    }
}
