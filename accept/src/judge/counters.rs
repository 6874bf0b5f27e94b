//! Error counters before and after the run, and the lines of the kernel's log.

use record::MonitorValues;

use super::judging::Judging;
use super::watch::Readings;
use crate::checks::Group;
use crate::findings::{Counter, Counters};
use crate::profile::LimitUnit;
use crate::report::{Came, Check, Counted, Limit, ReasonCode, Seen, Verdict};

const KIND: &str = "counters";
const KERNEL_LOG: &str = "kernel_log";
const UNCORRECTABLE: &str = "ecc_uncorrectable";

/// Lines of the kernel's log in a report.
const SHOWN: usize = 8;

/// A value of a monitor's samples.
type Value = fn(&MonitorValues) -> Option<u64>;

/// What the monitor reads of counters: the counter's key, and how it is got.
const MONITORED: [(&str, Value); 3] = [
    ("pcie_replays", |values| values.pcie_replays.map(u64::from)),
    ("ecc_correctable", |values| values.ecc_corrected),
    (UNCORRECTABLE, |values| values.ecc_uncorrected),
];

/// One check for each set of devices that share a link.
pub(super) fn counters(judging: &Judging<'_>) -> Vec<Check> {
    let Some(Counters { over_s, rows }) = &judging.findings.counters else {
        return Vec::new();
    };
    let mut rows = rows.clone();
    // What the kernel shows of a device's own memory counts once, unless the monitor saw more: a reset takes the kernel's back.
    for one in monitored(judging) {
        let is_same = |row: &&Counter| (&row.place, &row.key) == (&one.place, &one.key);
        let mut same = rows.iter().filter(is_same);
        if !same.any(|row| row.rise() >= one.rise()) {
            rows.push(one);
        }
    }
    let mut abouts: Vec<&[String]> = Vec::new();
    for row in &rows {
        if !abouts.contains(&row.devices.as_slice()) {
            abouts.push(&row.devices);
        }
    }
    let check = |about: &[String]| {
        // Of equals the last is the gravest.
        let own = rows.iter().rev().filter(|row| row.devices == about);
        let all = own.map(|row| counted(judging, row, *over_s));
        let (judged, others): (Vec<Came>, Vec<Came>) =
            all.partition(|came| came.code != ReasonCode::NotApplicable);
        let others = others.into_iter().flat_map(|came| came.evidence);
        let came = Came::worst(judged).unwrap_or_else(|| judging.unreadable());
        let about: Vec<&str> = about.iter().map(String::as_str).collect();
        judging.check(KIND, &about, came.with(others))
    };
    abouts.into_iter().map(check).collect()
}

/// What each device's counters rose by between the first and the last of the monitor's readings. A rise that was seen is one whatever came
/// of the monitor; that nothing rose is not known where it was lost, or told no more at the end.
fn monitored(judging: &Judging<'_>) -> Vec<Counter> {
    let findings = judging.findings;
    let is_lost = findings.missing.contains_key(&Group::Watch);
    let mut all = Vec::new();
    for label in judging.pool.labels() {
        for (key, value) in MONITORED {
            let is_told = |values: &MonitorValues| value(values).is_some();
            let readings = Readings::of(&findings.monitor, label, &[&is_told]);
            let counts = readings.read(|sample| value(&sample.values));
            let (Some(first), Some(last)) = (counts.first(), counts.last()) else {
                continue;
            };
            let rises = counts.windows(2).map(|two| two[1].saturating_sub(two[0]));
            all.push(Counter {
                devices: vec![label.to_owned()],
                place: label.to_owned(),
                key: key.to_owned(),
                before: Some(*first),
                after: match rises.sum::<u64>() {
                    0 => Some(*last).filter(|_| !is_lost && !readings.has_ended),
                    risen => Some(first + risen),
                },
            });
        }
    }
    all
}

/// What a counter comes to; without a limit, or not read at the start, it is not applicable. What is not read at the end, or fell, is open.
fn counted(judging: &Judging<'_>, row: &Counter, over_s: f64) -> Came {
    let name = format!("{} of {}", row.key, row.place);
    let evidence = Counted {
        what: name.clone(),
        before: row.before,
        after: row.after,
        over_s,
        source: "counters before and after".to_owned(),
    };
    let limits = judging.row_of(KIND, &row.key);
    let Some((limits, before)) = limits.zip(row.before) else {
        return Came::skip(ReasonCode::NotApplicable).with([evidence]);
    };
    let Some(events) = row.rise() else {
        let detail = match row.after {
            None => format!("{name} not read at the end"),
            Some(after) => format!("{name} fell from {before} to {after}"),
        };
        let open = Came::open(ReasonCode::Unreadable).saying(detail);
        return open.with([evidence]);
    };
    #[expect(clippy::cast_precision_loss, reason = "errors are far below 2^53")]
    let risen = events as f64;
    let an_hour = |events: f64| events / over_s.max(1.0) * 3600.0;
    // A few events of a short run are no certain rate.
    let (certain, value, rate) = match limits.unit {
        LimitUnit::EventsPerHour => {
            let (certain, value) = (an_hour(at_least(risen)), an_hour(risen));
            (certain, value, format!(", {value:.0} an hour"))
        }
        _ => (risen, risen, String::new()),
    };
    let beyond = |value: f64, line: Option<f64>| line.is_some_and(|line| value > line);
    let has_stood = row.key == UNCORRECTABLE && before > 0;
    let warns = beyond(value, limits.warn.or(limits.fail)) || has_stood;
    let came = match beyond(certain, limits.fail) {
        true => Came::new(Verdict::Fail, ReasonCode::ErrorsCounted),
        false if warns => Came::new(Verdict::Warn, ReasonCode::ErrorsCounted),
        false => Came::new(Verdict::Pass, ReasonCode::AsExpected),
    };
    let detail = match has_stood {
        true => format!("{name}: {before} before the run"),
        false => format!("{name} rose by {events}{rate}"),
    };
    let came = came.saying(detail).by(Some(Limit::of(limits)));
    came.with([evidence])
}

/// The lower end of the 95% interval of a count, by Byar's approximation of Garwood's exact one.
fn at_least(events: f64) -> f64 {
    if events < 1.0 {
        return 0.0;
    }
    let part = 1.0 - 1.0 / (9.0 * events) - 1.959_964 / (3.0 * events.sqrt());
    events * part.max(0.0).powi(3)
}

/// The lines of the kernel's log during the run, and those of before.
pub(super) fn kernel_log(judging: &Judging<'_>) -> Vec<Check> {
    let findings = judging.findings;
    let during = findings.kernel_log.as_ref().map(|log| match log {
        Ok(lines) => of_lines(lines, false),
        Err(why) => Came::open(ReasonCode::Unreadable).saying(why),
    });
    let before = &findings.kernel_log_before;
    let before = (!before.is_empty()).then(|| of_lines(before, true));
    let check = |about: &str, came: Came| judging.check(KERNEL_LOG, &[about], came);
    let during = during.map(|came| check("box", came));
    let before = before.map(|came| check("before the run", came));
    during.into_iter().chain(before).collect()
}

fn of_lines(lines: &[String], is_before: bool) -> Came {
    const SOURCE: &str = "the kernel's log";
    let events = lines.iter().filter_map(|line| {
        let (how_bad, means) = doctor::event(line)?;
        match (how_bad, is_before) {
            (doctor::Verdict::Bad, false) => Some((Verdict::Fail, means, line)),
            (doctor::Verdict::Bad, true) | (_, false) => Some((Verdict::Warn, means, line)),
            (_, true) => None,
        }
    });
    let mut events: Vec<(Verdict, String, &String)> = events.collect();
    // Faults first, then the latest.
    events.reverse();
    events.sort_by_key(|(verdict, ..)| *verdict != Verdict::Fail);
    let of = |count: usize| match lines.len() {
        0 => "no lines".to_owned(),
        all => format!("{count} of {all} lines"),
    };
    let count = Seen::of("lines of faults", of(events.len()), SOURCE).expecting(of(0));
    let shown = events.iter().take(SHOWN);
    let shown = shown.map(|(_, means, line)| Seen::of(means, line, SOURCE).quoted());
    let came = match events.first() {
        Some((worst, means, _)) => Came::new(*worst, ReasonCode::ErrorsCounted).saying(means),
        None => Came::new(Verdict::Pass, ReasonCode::AsExpected),
    };
    came.with([count]).with(shown)
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_end_of_a_count_is_that_of_the_tables() {
        // Garwood's exact ends: 0.0253 for 1 event, 0.2422 for 2, 1.623 for 5, 12.217 for 20, 81.36 for 100.
        for (events, exact) in [
            (1.0, 0.0253),
            (2.0, 0.2422),
            (5.0, 1.623),
            (20.0, 12.217),
            (100.0, 81.364),
        ] {
            let low = at_least(events);
            assert!((-0.001..0.021).contains(&(exact - low)), "{events}: {low}");
        }
        assert_eq!(at_least(0.0), 0.0);
    }
}
