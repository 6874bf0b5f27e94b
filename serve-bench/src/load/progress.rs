//! How far the load is, with the medians so far.
//!
//! These medians are for who watches; those of the record come from every value.

use hdrhistogram::Histogram;
use measure::metric::{e2el, tpot, ttft};
use measure::record::ServeRequest;
use program::Progress;

/// Lines over a whole run where there is no bar.
const LINES: usize = 10;

/// Progress over the measured requests.
pub(super) struct LoadProgress<'a> {
    progress: Progress<'a>,
    total: usize,
    done: usize,
    failed: usize,
    shown: Option<usize>,
    ttft_us: Option<Histogram<u64>>,
    tpot_us: Option<Histogram<u64>>,
    e2el_us: Option<Histogram<u64>>,
}

impl<'a> LoadProgress<'a> {
    /// Before the first request of so many; of an unknown number for 0.
    pub(super) fn new(total: usize, say: &'a dyn Fn(&str)) -> Self {
        // Three digits are enough to watch; the histogram grows by itself.
        let histogram = || Histogram::new(3).ok();
        Self {
            progress: Progress::new(total, say),
            total,
            done: 0,
            failed: 0,
            shown: None,
            ttft_us: histogram(),
            tpot_us: histogram(),
            e2el_us: histogram(),
        }
    }

    /// A request ended.
    pub(super) fn add(&mut self, request: &ServeRequest) {
        if request.error.is_some() {
            self.failed += 1;
        } else {
            put(&mut self.ttft_us, ttft::of(request));
            put(&mut self.tpot_us, tpot::of(request));
            put(&mut self.e2el_us, Some(e2el::of(request)));
        }
        // Where nobody knows how many come, at each doubling.
        let tenth = match self.total {
            0 => (self.done + 1).ilog2() as usize,
            total => self.done * LINES / total,
        };
        if self.shown.replace(tenth) != Some(tenth) {
            let text = self.text();
            self.progress.begin(&text, "");
        }
        self.progress.end();
        self.done += 1;
    }

    /// Something worth a line.
    pub(super) fn note(&self, text: &str) {
        self.progress.note(text);
    }

    fn text(&self) -> String {
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
        parts.join(", ")
    }
}

fn put(values: &mut Option<Histogram<u64>>, ms: Option<f64>) {
    if let (Some(values), Some(ms)) = (values, ms) {
        // A value that no histogram holds is missing from what is watched only.
        let _ = values.record((ms * 1e3).max(0.0) as u64);
    }
}
