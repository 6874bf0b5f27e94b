//! The monitor's readings of one device, and how much of the time somebody watched it: until when it answered, and what lay between.
//!
//! What the readings show is the judges' matter.

use std::time::Duration;

use record::{MonitorLine, MonitorSample, MonitorValues};

/// Longer without a reading, ns, and nobody watched (our choice: five readings at ten a second).
const GAP_NS: u64 = 500_000_000;

/// Nor while a call had no answer for longer, ns (our choice: twice that, as a driver under load answers slowly and does answer).
const CALL_NS: u64 = 2 * GAP_NS;

/// Without an answer for so long the watch has ended.
const SILENT: Duration = Duration::from_secs(10);

/// Nor is one that blocked at the end of a short run a watch to its end: so long without an answer, and a tenth of the run.
const SHORT: Duration = Duration::from_secs(2);

/// Whether a watch that has been silent for so long, out of the whole time, has ended.
pub(crate) fn has_ended(silent: Duration, whole: Duration) -> bool {
    silent >= SILENT || (silent >= SHORT && silent * 10 >= whole)
}

/// Whether a sample has a value.
pub(super) type Value = fn(&MonitorValues) -> bool;

/// The readings of one device by the monitors of a run.
pub(super) struct Readings<'a> {
    /// All of them, one monitor's behind the other's.
    pub(super) samples: Vec<&'a MonitorSample>,
    /// The same by monitor: the clock of each begins at 0.
    spans: Vec<Span<'a>>,
}

/// What one monitor read of the device.
#[derive(Default)]
struct Span<'a> {
    /// Place of the device in this monitor's header; `None` where it does not stand there.
    device: Option<usize>,
    samples: Vec<&'a MonitorSample>,
    /// Those of them that count: that have what the device tells.
    counted: Vec<&'a MonitorSample>,
    /// The instant of the monitor's last line, of whatever device.
    until_ns: u64,
}

impl<'a> Readings<'a> {
    /// The readings of the device of this label; those count that have what it tells of these values, or all where it tells none.
    pub(super) fn of(lines: &'a [MonitorLine], label: &str, values: &[Value]) -> Self {
        let mut spans: Vec<Span<'a>> = Vec::new();
        for line in lines {
            // A monitor that was started anew has a header of its own.
            if let MonitorLine::Header(header) = line {
                let mut devices = header.devices.iter();
                spans.push(Span {
                    device: devices.position(|device| device.label == label),
                    ..Span::default()
                });
            }
            let Some(span) = spans.last_mut() else {
                continue;
            };
            span.until_ns = span.until_ns.max(line.written_ns());
            match line {
                MonitorLine::Sample(sample) if span.device == Some(sample.device) => {
                    span.samples.push(sample);
                }
                _ => {}
            }
        }
        let samples: Vec<_> = spans.iter().flat_map(|span| span.samples.clone()).collect();
        let is_told = |value: &&Value| samples.iter().any(|sample| value(&sample.values));
        let told: Vec<&Value> = values.iter().filter(is_told).collect();
        let counts = |sample: &&MonitorSample| told.iter().all(|value| value(&sample.values));
        for span in &mut spans {
            span.counted = span.samples.iter().copied().filter(counts).collect();
        }
        Self { samples, spans }
    }

    /// How many readings count.
    pub(super) fn counted(&self) -> usize {
        self.spans.iter().map(|span| span.counted.len()).sum()
    }

    /// The part of the time in which readings that count followed each other soon enough.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
    pub(super) fn part(&self) -> f64 {
        let blind: u64 = self.spans.iter().map(Span::blind_ns).sum();
        let whole: u64 = self.spans.iter().map(|span| span.until_ns).sum();
        1.0 - blind as f64 / (whole as f64).max(1.0)
    }

    /// The first monitor's watch that begins too late or ends too early.
    pub(super) fn ended_early(&self) -> bool {
        self.spans.iter().any(Span::ended_early)
    }

    /// Seconds from the first to the last reading that has a value, of each monitor's.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
    pub(super) fn over_s(&self, is_told: impl Fn(&MonitorValues) -> bool) -> f64 {
        let of_span = |span: &Span<'_>| {
            let mut told = span.samples.iter().filter(|sample| is_told(&sample.values));
            let first = told.next()?;
            let last = told.next_back()?;
            Some(last.answered_ns.saturating_sub(first.asked_ns))
        };
        let over_ns: u64 = self.spans.iter().filter_map(of_span).sum();
        over_ns as f64 / 1e9
    }
}

impl Span<'_> {
    /// The time before the first answer and behind the last.
    fn ends_ns(&self) -> (u64, u64) {
        match &self.counted[..] {
            [] => (self.until_ns, 0),
            [first, .., last] | [first @ last] => (
                first.answered_ns,
                self.until_ns.saturating_sub(last.answered_ns),
            ),
        }
    }

    /// The time that nobody watched.
    fn blind_ns(&self) -> u64 {
        let beyond = |ns: u64, limit: u64| if ns > limit { ns } else { 0 };
        let between = self.counted.windows(2).map(|two| {
            let gap = two[1].asked_ns.saturating_sub(two[0].answered_ns);
            let call = two[1].answered_ns.saturating_sub(two[1].asked_ns);
            beyond(gap, GAP_NS) + beyond(call, CALL_NS)
        });
        let (before, behind) = self.ends_ns();
        // A call may be under way at either end.
        between.sum::<u64>() + beyond(before, CALL_NS) + beyond(behind, CALL_NS)
    }

    fn ended_early(&self) -> bool {
        let whole = Duration::from_nanos(self.until_ns);
        let (before, behind) = self.ends_ns();
        let is_long = |ns: u64| has_ended(Duration::from_nanos(ns), whole);
        is_long(before) || is_long(behind)
    }
}
