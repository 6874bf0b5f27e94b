//! Error counters before and after the run, and the lines of the kernel's log.

use super::judging::{Judging, seen};
use crate::findings::{Counter, Counters};
use crate::profile::LimitUnit;
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Verdict};

const KIND: &str = "counters";
const KERNEL_LOG: &str = "kernel_log";
const UNCORRECTABLE: &str = "ecc_uncorrectable";

/// Lines of the kernel's log in a report.
const SHOWN: usize = 8;

/// One check for each set of devices that share a link.
pub(super) fn counters(judging: &Judging<'_>) -> Vec<Check> {
    let Some(counters) = &judging.findings.counters else {
        return Vec::new();
    };
    let mut abouts: Vec<&[String]> = Vec::new();
    for row in &counters.rows {
        if !abouts.contains(&row.devices.as_slice()) {
            abouts.push(&row.devices);
        }
    }
    let abouts = abouts.into_iter();
    abouts
        .map(|about| of_devices(judging, counters, about))
        .collect()
}

/// What a counter came to.
struct Counted {
    /// Its place among the evidence.
    at: usize,
    verdict: Verdict,
    code: ReasonCode,
    detail: String,
    limit: Option<Limit>,
}

fn of_devices(judging: &Judging<'_>, counters: &Counters, about: &[String]) -> Check {
    let rows = counters.rows.iter().filter(|row| row.devices == about);
    let rows: Vec<&Counter> = rows.collect();
    let evidence = rows.iter().map(|row| Evidence::Counted {
        what: format!("{} of {}", row.key, row.place),
        before: row.before,
        after: row.after,
        over_s: counters.over_s,
        source: "counters before and after".to_owned(),
    });
    let mut evidence: Vec<Evidence> = evidence.collect();
    let subject = || judging.subject(KIND, about.to_vec());
    let came = rows.iter().enumerate();
    let came = came.filter_map(|(at, row)| counted(judging, at, row, counters.over_s));
    let came: Vec<Counted> = came.collect();
    let worst = came.iter().max_by_key(|counted| match counted.verdict {
        Verdict::Fail => 3,
        Verdict::Inconclusive => 2,
        Verdict::Warn => 1,
        _ => 0,
    });
    let Some(worst) = worst else {
        return match judging.is_guest() {
            true => subject().skipped(ReasonCode::Unreadable, ""),
            false => subject().open(ReasonCode::Unreadable, "", None, evidence),
        };
    };

    // What decides stands first, as the figure beside its limit.
    evidence[..=worst.at].rotate_right(1);
    let bad = came
        .iter()
        .filter(|counted| counted.verdict != Verdict::Pass);
    let detail: Vec<&str> = bad.map(|counted| counted.detail.as_str()).collect();
    let (detail, limit) = (detail.join("; "), worst.limit.clone());
    match (worst.verdict, &evidence[..]) {
        (Verdict::Inconclusive, _) | (_, []) => {
            subject().open(worst.code, &detail, limit, evidence)
        }
        (verdict, [first, rest @ ..]) => {
            let came = (verdict, worst.code, detail);
            let seen = Seen::new(first.clone(), rest.to_vec());
            judging.judged(KIND, about.to_vec(), came, limit, seen)
        }
    }
}

/// A counter with a limit, where it was read at the start. What is not read at the end, or fell, is open.
fn counted(judging: &Judging<'_>, at: usize, row: &Counter, over_s: f64) -> Option<Counted> {
    let limits = judging.row_of(KIND, &row.key)?;
    let before = row.before?;
    let name = format!("{} of {}", row.key, row.place);
    let open = |detail: String| Counted {
        at,
        verdict: Verdict::Inconclusive,
        code: ReasonCode::Unreadable,
        detail,
        limit: None,
    };
    let Some(after) = row.after else {
        return Some(open(format!("{name} not read at the end")));
    };
    let Some(events) = after.checked_sub(before) else {
        return Some(open(format!("{name} fell from {before} to {after}")));
    };
    #[expect(clippy::cast_precision_loss, reason = "errors are far below 2^53")]
    let events = events as f64;
    let is_rate = limits.unit == LimitUnit::EventsPerHour;
    let an_hour = |events: f64| events / over_s.max(1.0) * 3600.0;
    // A few events of a short run are no certain rate.
    let (certain, value) = match is_rate {
        true => (an_hour(at_least(events)), an_hour(events)),
        false => (events, events),
    };
    let beyond = |value: f64, line: Option<f64>| line.is_some_and(|line| value > line);
    let has_stood = row.key == UNCORRECTABLE && before > 0;
    let is_warned = beyond(value, limits.warn.or(limits.fail)) || has_stood;
    let (verdict, code) = match () {
        () if beyond(certain, limits.fail) => (Verdict::Fail, ReasonCode::ErrorsCounted),
        () if is_warned => (Verdict::Warn, ReasonCode::ErrorsCounted),
        () => (Verdict::Pass, ReasonCode::AsExpected),
    };
    let detail = match is_rate {
        _ if has_stood => format!("{name}: {before} before the run"),
        true => format!("{name}: {value:.0} an hour"),
        false => name,
    };
    Some(Counted {
        at,
        verdict,
        code,
        detail,
        limit: Some(Limit::of(limits, &row.key)),
    })
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
        Ok(lines) => of_lines(judging, "box", lines, false),
        Err(why) => judging.open(KERNEL_LOG, "box", ReasonCode::Unreadable, why),
    });
    let before = Some(&findings.kernel_log_before).filter(|lines| !lines.is_empty());
    let before = before.map(|lines| of_lines(judging, "before the run", lines, true));
    during.into_iter().chain(before).collect()
}

fn of_lines(judging: &Judging<'_>, about: &str, lines: &[String], is_before: bool) -> Check {
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
    let of = |count: usize| format!("{count} of {} lines", lines.len());
    let count = seen("lines of faults", of(events.len()), Some(of(0)), SOURCE);
    let shown = events.iter().take(SHOWN);
    let shown = shown.map(|(_, means, line)| seen(means, (*line).clone(), None, SOURCE));
    let came = match events.first() {
        Some((worst, means, _)) => (*worst, ReasonCode::ErrorsCounted, means.clone()),
        None => (Verdict::Pass, ReasonCode::AsExpected, String::new()),
    };
    let evidence = Seen::new(count, shown);
    judging.judged(KERNEL_LOG, [about.to_owned()], came, None, evidence)
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
