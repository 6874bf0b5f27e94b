//! What the monitor saw beside the load: changes of links, throttling, temperature, memory repairs.
//!
//! Where nobody watched, nothing is found good.

use record::{MonitorSample, MonitorValues};
use topology::PcieLink;

use super::judging::{Judging, Piece, seen, seen_times};
use super::readings::{Readings, Value};
use super::three_way::Figure;
use crate::checks::Group;
use crate::plural::plural;
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Side, Subject, Verdict};

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
const REPAIRS: &str = "memory_repairs";

fn of_devices(
    judging: &Judging<'_>,
    kind: &str,
    values: &[Value<'_>],
    judge: impl Fn(&str, &Readings<'_>) -> Check,
) -> Vec<Check> {
    if judging.findings.monitor.is_empty() {
        return Vec::new();
    }
    let one = |label: String| {
        let readings = Readings::of(&judging.findings.monitor, &label, values);
        let check = judge(&label, &readings);
        // A fault that was seen stands; that all was well does not, where nobody looked.
        match unwatched(judging, &readings, &check) {
            Some(detail) if check.verdict != Verdict::Fail => {
                let subject = judging.unwatched(kind, &label);
                subject.open(ReasonCode::Unreadable, &detail, check.limit, check.evidence)
            }
            _ => check,
        }
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// Why a device was not watched long enough for this check.
fn unwatched(judging: &Judging<'_>, readings: &Readings<'_>, check: &Check) -> Option<String> {
    // Repairs are counted by the device: two readings cover all between them, and what is not read now is not read later.
    let is_kept = check.kind == REPAIRS;
    if is_kept && check.verdict == Verdict::Skip && readings.samples.len() > 1 {
        return None;
    }
    let missing = judging.findings.missing.get(&Group::Watch);
    if let Some(lost) = missing.filter(|missing| missing.code == ReasonCode::Unreadable) {
        return Some(lost.text.clone());
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
    const KIND: &str = "link_transitions";
    if judging.is_host() {
        return vec![judging.skip(KIND, "box", ReasonCode::NotApplicable)];
    }
    let value: Value<'_> = &|values| values.slot_link.is_some();
    of_devices(judging, KIND, &[value], |label, readings| {
        let samples = readings.samples.iter();
        let read: Vec<(&MonitorSample, PcieLink)> = samples
            .filter_map(|sample| Some((*sample, sample.values.slot_link?)))
            .collect();
        // The copies' own readings see what falls between two of the monitor's.
        let fell = judging.pool.device(label).and_then(|device| {
            let mut loaded = device.loaded.iter();
            loaded.find_map(|(reading, source)| Some((reading.narrowed_to?, source)))
        });
        if read.is_empty() && fell.is_none() {
            return match judging.is_guest() {
                true => judging.skip(KIND, label, ReasonCode::Unreadable),
                false => judging.open(KIND, label, ReasonCode::Unreadable, ""),
            };
        }
        let changes = read
            .windows(2)
            .filter(|two| is_transition(two[0], two[1]))
            .map(|two| format!("{} to {}", two[0].1, two[1].1));
        let changes: Vec<String> = changes.collect();
        let count = changes.len().max(usize::from(fell.is_some()));
        let allowed = judging.profile.link.transitions_at_most;
        let value = match (&changes[..], &fell) {
            ([], None) => "none".to_owned(),
            ([], Some((to, _))) => format!("down to {to} while copies ran"),
            (changes, _) => changes.join(", "),
        };
        let expected = Some(format!("{allowed} at most"));
        let evidence = seen_times(read.len(), "changes of the link", value, expected, SOURCE);
        let limit = Limit {
            good: Side::AtMost,
            fail: Some(f64::from(allowed)),
            unit: "changes".to_owned(),
            source: judging.profile.link.source.clone(),
            ..Limit::default()
        };
        let copies =
            fell.map(|(to, source)| seen("slowest link under load", to.to_string(), None, source));
        let (verdict, code) = match count > allowed as usize {
            true => (Verdict::Fail, ReasonCode::LinkDegraded),
            false => (Verdict::Pass, ReasonCode::AsExpected),
        };
        let came = (verdict, code, String::new());
        let seen = Seen::new(evidence, copies);
        judging.judged(KIND, [label.to_owned()], came, Some(limit), seen)
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
    const KIND: &str = "throttle";
    let value: Value<'_> = &|values| values.throttle.is_some();
    of_devices(judging, KIND, &[value], |label, readings| {
        let samples = readings.samples.iter();
        let told: Vec<&Vec<String>> = samples
            .filter_map(|sample| sample.values.throttle.as_ref())
            .collect();
        if told.is_empty() {
            return judging.skip(KIND, label, ReasonCode::Unreadable);
        }
        let of = plural(told.len(), "reading");
        let held = REASONS.iter().filter_map(|(reason, verdict)| {
            let has_it = |reasons: &&&Vec<String>| reasons.iter().any(|told| told == reason);
            let times = told.iter().filter(has_it).count();
            (times > 0).then(|| (*verdict, format!("{reason} in {times} of {of}")))
        });
        let held: Vec<(Verdict, String)> = held.collect();
        let words: Vec<&str> = held.iter().map(|(_, words)| words.as_str()).collect();
        let none = "no heat or power limit".to_owned();
        let value = match words.is_empty() {
            true => none.clone(),
            false => words.join(", "),
        };
        let what = "clock throttle reasons";
        let evidence = seen_times(told.len(), what, value, Some(none), SOURCE);
        let worst = held.iter().map(|(verdict, _)| *verdict).max();
        let (verdict, code) = match worst {
            Some(verdict) => (verdict, ReasonCode::Throttled),
            None => (Verdict::Pass, ReasonCode::AsExpected),
        };
        judging.noted(KIND, label, (verdict, code), Seen::new(evidence, []))
    })
}

/// The least margin below the temperature that a device slows down at.
pub(super) fn temperature(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "temperature";
    let value: Value<'_> = &|values| values.temperature_margin_c.is_some();
    of_devices(judging, KIND, &[value], |label, readings| {
        let values = readings.samples.iter().map(|sample| &sample.values);
        let margins = values.filter_map(|values| Some((values.temperature_margin_c?, values)));
        let margins: Vec<_> = margins.collect();
        let Some((least, nearest)) = margins.iter().min_by_key(|(margin, _)| *margin) else {
            return judging.skip(KIND, label, ReasonCode::Unreadable);
        };
        let limit = judging.row(KIND, None);
        let limit = limit.map(Limit::of);
        let below = |line: Option<f64>| line.is_some_and(|line| f64::from(*least) < line);
        let (verdict, code) = match &limit {
            Some(limit) if below(limit.fail) => (Verdict::Fail, ReasonCode::BeyondLimit),
            Some(limit) if below(limit.warn) => (Verdict::Warn, ReasonCode::BeyondLimit),
            _ => (Verdict::Pass, ReasonCode::AsExpected),
        };
        // The least of all readings has no interval.
        let least = Figure {
            value: f64::from(*least),
            ends: None,
            n: margins.len(),
            samples: vec![],
        };
        let what = "least margin below the temperature of slowdown";
        let evidence = least.evidence(what, "degC", SOURCE);
        let at = nearest.temperature_c;
        let at = at.map(|at| seen("temperature", format!("{at} degC"), None, SOURCE));
        let came = (verdict, code, String::new());
        let seen = Seen::new(evidence, at);
        judging.judged(KIND, [label.to_owned()], came, limit, seen)
    })
}

type Count = fn(&MonitorValues) -> Option<u64>;

/// Counts over the life of a device, by the names of their limits.
const FIGURES: [(&str, Count); 3] = [
    ("remapped_uncorrectable", |values| {
        values.row_remaps.map(|rows| rows.uncorrected)
    }),
    ("remapped_correctable", |values| {
        values.row_remaps.map(|rows| rows.corrected)
    }),
    ("retired_pages", |values| {
        values.retired_pages.map(|pages| pages.retired)
    }),
];

/// Repairs of memory: those that failed or wait, those of this run, and those of before.
pub(super) fn repairs(judging: &Judging<'_>) -> Vec<Check> {
    let values: [Value<'_>; 2] = [&|values| values.row_remaps.is_some(), &|values| {
        values.retired_pages.is_some()
    }];
    of_devices(judging, REPAIRS, &values, |label, readings| {
        let figures = FIGURES.iter();
        let counts = figures.filter_map(|figure| repaired(judging, label, readings, figure));
        let mut pieces: Vec<Piece> = counts.collect();
        if pieces.is_empty() {
            // Where a driver does not report it, there is nothing to require.
            let subject = Subject::new(REPAIRS, [label.to_owned()], false);
            return subject.skipped(ReasonCode::Unreadable, "");
        }
        pieces.push(state(readings));
        judging.worst(REPAIRS, vec![label.to_owned()], pieces)
    })
}

fn repaired(
    judging: &Judging<'_>,
    label: &str,
    readings: &Readings<'_>,
    (key, count): &(&str, Count),
) -> Option<Piece> {
    let samples = readings.samples.iter();
    let mut counts = samples.filter_map(|sample| count(&sample.values));
    let before = counts.next()?;
    let after = counts.next_back().unwrap_or(before);
    let row = judging.row_of(REPAIRS, key);
    #[expect(clippy::cast_precision_loss, reason = "rows are far below 2^53")]
    let beyond = |line: Option<f64>| line.is_some_and(|line| after as f64 > line);
    let came = match row {
        _ if after < before => (Verdict::Inconclusive, ReasonCode::Unreadable),
        _ if after > before => (Verdict::Fail, ReasonCode::ErrorsCounted),
        Some(row) if beyond(row.fail) => (Verdict::Fail, ReasonCode::ErrorsCounted),
        Some(row) if beyond(row.warn) => (Verdict::Warn, ReasonCode::ErrorsCounted),
        _ => (Verdict::Pass, ReasonCode::AsExpected),
    };
    let row = row.filter(|_| after == before && after > 0);
    Some(Piece {
        came,
        detail: String::new(),
        limit: row.map(Limit::of),
        evidence: Evidence::Counted {
            what: format!("{key} of {label}"),
            before: Some(before),
            after: Some(after),
            over_s: readings.over_s,
            source: SOURCE.to_owned(),
        },
    })
}

fn state(readings: &Readings<'_>) -> Piece {
    let last = readings.samples.iter().rev();
    let rows = last.clone().find_map(|sample| sample.values.row_remaps);
    let pages = last.clone().find_map(|sample| sample.values.retired_pages);
    let (rows, pages) = (rows.unwrap_or_default(), pages.unwrap_or_default());
    let has_failed = rows.failed || pages.failed.is_some_and(|pages| pages > 0);
    let waits = (Verdict::Inconclusive, ReasonCode::Unreadable);
    let (came, value) = match () {
        () if has_failed => ((Verdict::Fail, ReasonCode::ErrorsCounted), "one failed"),
        () if rows.pending || (pages.pending && !pages.by_itself) => {
            (waits, "one waits for a reset")
        }
        () if pages.pending => (waits, "one waits for the driver"),
        () => ((Verdict::Pass, ReasonCode::AsExpected), "none"),
    };
    let expected = Some("none".to_owned());
    Piece {
        came,
        detail: String::new(),
        limit: None,
        evidence: seen("repairs that failed or wait", value, expected, SOURCE),
    }
}
