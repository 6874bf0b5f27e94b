//! The monitor's readings of one device, and how much of the time somebody watched it.
//!
//! What the readings show is the judges' matter.

use std::time::Duration;

use record::{MonitorLine, MonitorSample, MonitorValues};

/// Longer without an answer, ns, and nobody watched (our choice: ten readings at ten a second, as a driver under load answers slowly).
const GAP_NS: u64 = 1_000_000_000;

/// Without an answer for so long the watch has ended.
const SILENT: Duration = Duration::from_secs(10);

/// Nor is one that blocked at the end of a short run a watch to its end: so long without an answer, and a tenth of the run.
const SHORT: Duration = Duration::from_secs(2);

/// Whether a watch that has been silent for so long, out of the whole time, has ended.
pub(crate) fn has_ended(silent: Duration, whole: Duration) -> bool {
    silent >= SILENT || (silent >= SHORT && silent * 10 >= whole)
}

/// Whether a sample has a value.
pub(super) type Value<'v> = &'v dyn Fn(&MonitorValues) -> bool;

/// The readings of one device by the monitors of a run.
pub(super) struct Readings<'a> {
    /// All of them, one monitor's behind the other's.
    pub(super) samples: Vec<&'a MonitorSample>,
    /// How many of them have what the device tells.
    pub(super) counted: usize,
    /// The part of the time in which such readings followed each other soon enough.
    pub(super) watched: f64,
    /// Whether a monitor's watch of the device begins too late or ends too early.
    pub(super) has_ended: bool,
    /// Seconds that monitors ran.
    pub(super) over_s: f64,
}

impl<'a> Readings<'a> {
    /// A value of each reading that has it.
    pub(super) fn read<T>(&self, value: impl Fn(&'a MonitorSample) -> Option<T>) -> Vec<T> {
        let samples = self.samples.iter();
        samples.filter_map(|sample| value(sample)).collect()
    }

    /// The readings of the device of this label; those count that have what it tells of these values, or all where it tells none.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
    pub(super) fn of(lines: &'a [MonitorLine], label: &str, values: &[Value<'_>]) -> Self {
        // Each monitor's samples, and the instant of its last line, of whatever device: the clock of each begins at 0.
        let mut monitors: Vec<(Vec<&MonitorSample>, u64)> = Vec::new();
        let mut device = None;
        for line in lines {
            if let MonitorLine::Header(header) = line {
                let mut devices = header.devices.iter();
                device = devices.position(|device| device.label == label);
                monitors.push((Vec::new(), 0));
            }
            let Some((samples, until_ns)) = monitors.last_mut() else {
                continue;
            };
            *until_ns = line.written_ns().max(*until_ns);
            match line {
                MonitorLine::Sample(sample) if device == Some(sample.device) => {
                    samples.push(sample);
                }
                _ => {}
            }
        }
        let all = monitors.iter().flat_map(|(samples, _)| samples);
        let samples: Vec<&MonitorSample> = all.copied().collect();
        let is_told = |value: &&Value<'_>| samples.iter().any(|sample| value(&sample.values));
        let told: Vec<&Value<'_>> = values.iter().filter(is_told).collect();
        let (mut counted, mut blind_ns, mut has_ended) = (0, 0, false);
        for (samples, until_ns) in &monitors {
            let own = samples.iter();
            let own = own.filter(|sample| told.iter().all(|value| value(&sample.values)));
            let mut answers: Vec<u64> = own.map(|sample| sample.answered_ns).collect();
            counted += answers.len();
            answers.push(*until_ns);
            let mut before_ns = 0;
            let last = answers.len() - 1;
            for (at, answer_ns) in answers.into_iter().enumerate() {
                let gap = answer_ns.saturating_sub(before_ns);
                blind_ns += if gap > GAP_NS { gap } else { 0 };
                let [gap, whole] = [gap, *until_ns].map(Duration::from_nanos);
                has_ended |= (at == 0 || at == last) && self::has_ended(gap, whole);
                before_ns = answer_ns;
            }
        }
        let whole_ns: u64 = monitors.iter().map(|(_, until_ns)| until_ns).sum();
        Self {
            samples,
            counted,
            watched: 1.0 - blind_ns as f64 / (whole_ns as f64).max(1.0),
            has_ended,
            over_s: whole_ns as f64 / 1e9,
        }
    }
}
