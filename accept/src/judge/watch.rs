//! What the monitor saw beside the load: changes of links, throttling, temperature, memory repairs; and how much of the time it watched.
//!
//! Where nobody watched, nothing is found good.

use std::time::Duration;

use record::{MonitorLine, MonitorSample, MonitorValues};
use topology::PcieLink;

use super::judging::Judging;
use crate::checks::plural;
use crate::cli::Level;
use crate::report::{Came, Check, Counted, Limit, Measured, ReasonCode, Seen, Side, Verdict};

/// Throttle reasons of heat and power, as drivers name them; others are of no fault.
const REASONS: &[(&str, Verdict)] = &[
    ("hardware slowdown", Verdict::Fail),
    ("hardware thermal slowdown", Verdict::Fail),
    ("hardware power brake slowdown", Verdict::Fail),
    ("software thermal slowdown", Verdict::Warn),
];

/// A link that carries so much is loaded: 1 GB/s.
const LOADED_KB_PER_S: u64 = 1_000_000;

/// So much of the time a device must be watched.
const WATCHED: f64 = 0.9;

const SOURCE: &str = "monitor";
const TRANSITIONS: &str = "link_transitions";
const TEMPERATURE: &str = "temperature";
const REPAIRS: &str = "memory_repairs";

/// A check for each device by the monitor's readings of it.
fn of_devices(
    judging: &Judging<'_>,
    kind: &str,
    values: &[Value<'_>],
    judge: impl Fn(&str, &Readings<'_>) -> Came,
) -> Vec<Check> {
    if judging.findings.monitor.is_empty() {
        return Vec::new();
    }
    let one = |label: &str| {
        let readings = Readings::of(&judging.findings.monitor, label, values);
        let came = judge(label, &readings);
        // A fault that was seen stands; that all was well does not, where nobody looked.
        match unwatched(judging, &readings, kind, &came) {
            Some(detail) if !came.is_fault() => {
                let open = Came::open(ReasonCode::Unreadable).saying(detail);
                let open = open.by(came.limit).with(came.evidence);
                let mut check = judging.check(kind, &[label], open);
                check.required |= judging.level == Level::Soak;
                check
            }
            _ => judging.check(kind, &[label], came),
        }
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// Why a device was not watched long enough for this check.
fn unwatched(
    judging: &Judging<'_>,
    readings: &Readings<'_>,
    kind: &str,
    came: &Came,
) -> Option<String> {
    // Repairs are counted by the device: two readings cover all between them, and what is not read now is not read later.
    let is_kept = kind == REPAIRS;
    if is_kept && came.verdict == Verdict::Skip && readings.samples.len() > 1 {
        return None;
    }
    if let Some(lost) = judging.lost_monitor() {
        return Some(lost.detail.clone());
    }
    if readings.counted < 2 {
        return Some(format!("{}, too few", plural(readings.counted, "reading")));
    }
    let is_seldom = readings.watched < WATCHED && !is_kept;
    (readings.has_ended || is_seldom)
        .then(|| format!("watched for {:.0}% of the time", readings.watched * 100.0))
}

/// Changes of width at any time, and of speed under load.
pub(super) fn transitions(judging: &Judging<'_>) -> Vec<Check> {
    if judging.is_host() {
        let none = Came::skip(ReasonCode::NotApplicable);
        return vec![judging.check(TRANSITIONS, &["box"], none)];
    }
    let value: Value<'_> = &|values| values.slot_link.is_some();
    of_devices(judging, TRANSITIONS, &[value], |label, readings| {
        let read = readings.read(|sample| Some((sample, sample.values.slot_link?)));
        // The copies' own readings see what falls between two of the monitor's.
        let fell = judging.pool.device(label).and_then(|device| {
            let mut loaded = device.loaded.iter();
            loaded.find_map(|(reading, source)| Some((reading.narrowed_to?, source)))
        });
        if read.is_empty() && fell.is_none() {
            return judging.unreadable();
        }
        let changes = read.windows(2).filter(|two| is_transition(two[0], two[1]));
        let changes = changes.map(|two| format!("{} to {}", two[0].1, two[1].1));
        let changes: Vec<String> = changes.collect();
        let count = changes.len().max(usize::from(fell.is_some()));
        let allowed = judging.profile.link.transitions_at_most;
        let value = match (&changes[..], &fell) {
            ([], None) => "none".to_owned(),
            ([], Some((to, _))) => format!("down to {to} while copies ran"),
            (changes, _) => changes.join(", "),
        };
        let seen = Seen::of("changes of the link", value, SOURCE).times(read.len());
        let seen = seen.expecting(format!("{allowed} at most"));
        let limit = Limit {
            good: Side::AtMost,
            fail: Some(f64::from(allowed)),
            unit: "changes".to_owned(),
            source: judging.profile.link.source.clone(),
            ..Limit::default()
        };
        let copies = fell.map(|(to, source)| Seen::of("slowest link under load", to, source));
        let came = Came::seen(count <= allowed as usize, ReasonCode::LinkDegraded, seen);
        came.by(Some(limit)).with(copies)
    })
}

fn is_transition(a: (&MonitorSample, PcieLink), b: (&MonitorSample, PcieLink)) -> bool {
    let is_loaded = |sample: &MonitorSample| {
        let values = &sample.values;
        let received = values.pcie_rx_kb_per_s.into_iter();
        let traffic = received.chain(values.pcie_tx_kb_per_s);
        traffic.map(u64::from).sum::<u64>() >= LOADED_KB_PER_S
    };
    a.1.width() != b.1.width() || (a.1 != b.1 && is_loaded(a.0) && is_loaded(b.0))
}

/// Clocks that heat or power held down.
pub(super) fn throttle(judging: &Judging<'_>) -> Vec<Check> {
    let value: Value<'_> = &|values| values.throttle.is_some();
    of_devices(judging, "throttle", &[value], |_, readings| {
        let told = readings.read(|sample| sample.values.throttle.as_ref());
        if told.is_empty() {
            return Came::skip(ReasonCode::Unreadable);
        }
        let of = plural(told.len(), "reading");
        let seen = |value: &str| {
            let seen = Seen::of("clock throttle reasons", value, SOURCE);
            let none = "no heat or power limit";
            seen.expecting(none).times(told.len())
        };
        let held = REASONS.iter().filter_map(|(reason, verdict)| {
            let has_it = |reasons: &&&Vec<String>| reasons.iter().any(|told| told == reason);
            let times = told.iter().filter(has_it).count();
            (times > 0).then(|| (*verdict, format!("{reason} in {times} of {of}")))
        });
        let held: Vec<(Verdict, String)> = held.collect();
        let words: Vec<&str> = held.iter().map(|(_, words)| words.as_str()).collect();
        match held.iter().map(|(verdict, _)| *verdict).max() {
            Some(worst) => Came::new(worst, ReasonCode::Throttled).with([seen(&words.join(", "))]),
            None => Came::pass(seen("no heat or power limit")),
        }
    })
}

/// The least margin below the temperature that a device slows down at.
pub(super) fn temperature(judging: &Judging<'_>) -> Vec<Check> {
    let value: Value<'_> = &|values| values.temperature_margin_c.is_some();
    of_devices(judging, TEMPERATURE, &[value], |_, readings| {
        let margins = readings.read(|sample| {
            let values = &sample.values;
            Some((values.temperature_margin_c?, values.temperature_c))
        });
        let Some((least, at)) = margins.iter().min_by_key(|(margin, _)| *margin) else {
            return Came::skip(ReasonCode::Unreadable);
        };
        let limit = judging.row(TEMPERATURE, None).map(Limit::of);
        // The least of all readings has no interval.
        let what = "least margin below the temperature of slowdown";
        let (least, n) = (f64::from(*least), margins.len());
        let exactly = Measured::out_of(least, Some((least, least)), n);
        let least = Measured::out_of(least, None, n);
        let least = least.named(what).in_unit("degC", SOURCE);
        let came = match &limit {
            Some(limit) => exactly.against(limit),
            None => (Verdict::Pass, ReasonCode::AsExpected, false),
        };
        let came = Came::new(came.0, came.1);
        let at = at.map(|at| Seen::of("temperature", format!("{at} degC"), SOURCE));
        came.by(limit).with([least]).with(at)
    })
}

type Count = fn(&MonitorValues) -> Option<u64>;

/// Counts over the life of a device, by the names of their limits.
const FIGURES: [(&str, Count); 3] = [
    ("remapped_uncorrectable", |of| {
        of.row_remaps.map(|rows| rows.uncorrected)
    }),
    ("remapped_correctable", |of| {
        of.row_remaps.map(|rows| rows.corrected)
    }),
    ("retired_pages", |of| {
        of.retired_pages.map(|pages| pages.retired)
    }),
];

/// Repairs of memory: those that failed or wait, those of this run, and those of before.
pub(super) fn repairs(judging: &Judging<'_>) -> Vec<Check> {
    let values: [Value<'_>; 2] = [&|values| values.row_remaps.is_some(), &|values| {
        values.retired_pages.is_some()
    }];
    let mut checks = of_devices(judging, REPAIRS, &values, |label, readings| {
        let repaired = |figure| repaired(judging, label, readings, figure);
        let mut all: Vec<Came> = FIGURES.iter().filter_map(repaired).collect();
        if !all.is_empty() {
            all.push(state(readings));
        }
        Came::worst(all).unwrap_or_else(|| Came::skip(ReasonCode::Unreadable))
    });
    // Where a driver does not report it, there is nothing to require.
    for check in &mut checks {
        check.required &= check.verdict != Verdict::Skip;
    }
    checks
}

fn repaired(
    judging: &Judging<'_>,
    label: &str,
    readings: &Readings<'_>,
    (key, count): &(&str, Count),
) -> Option<Came> {
    let counts = readings.read(|sample| count(&sample.values));
    let (before, after) = (*counts.first()?, *counts.last()?);
    let row = judging.row_of(REPAIRS, key);
    #[expect(clippy::cast_precision_loss, reason = "rows are far below 2^53")]
    let beyond = |line: Option<f64>| line.is_some_and(|line| after as f64 > line);
    let counted = |verdict| Came::new(verdict, ReasonCode::ErrorsCounted);
    let came = match row {
        _ if after < before => Came::open(ReasonCode::Unreadable),
        _ if after > before => counted(Verdict::Fail),
        Some(row) if beyond(row.fail) => counted(Verdict::Fail),
        Some(row) if beyond(row.warn) => counted(Verdict::Warn),
        _ => Came::new(Verdict::Pass, ReasonCode::AsExpected),
    };
    let row = row.filter(|_| after == before && after > 0);
    let counted = Counted::of(&format!("{key} of {label}"), (before, after), SOURCE);
    let over_s = readings.over_s;
    let came = came.by(row.map(Limit::of));
    Some(came.with([Counted { over_s, ..counted }]))
}

fn state(readings: &Readings<'_>) -> Came {
    let rows = readings.read(|sample| sample.values.row_remaps).pop();
    let pages = readings.read(|sample| sample.values.retired_pages).pop();
    let (rows, pages) = (rows.unwrap_or_default(), pages.unwrap_or_default());
    let has_failed = rows.failed || pages.failed.is_some_and(|pages| pages > 0);
    let waits = Came::open(ReasonCode::Unreadable);
    let failed = Came::new(Verdict::Fail, ReasonCode::ErrorsCounted);
    let (came, value) = match () {
        () if has_failed => (failed, "one failed"),
        () if rows.pending || (pages.pending && !pages.by_itself) => {
            (waits, "one waits for a reset")
        }
        () if pages.pending => (waits, "one waits for the driver"),
        () => (Came::new(Verdict::Pass, ReasonCode::AsExpected), "none"),
    };
    let seen = Seen::of("repairs that failed or wait", value, SOURCE);
    came.with([seen.expecting("none")])
}

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
