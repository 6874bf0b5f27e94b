//! Errors that links and memory counted between the first load and the end of the last.
//!
//! A count is all that happened, and has no interval. A rate has one: it fails only where as many events as were counted are unlikely at
//! the rate that fails, so that two errors in a short run do not stand for a hundred an hour.

use super::judging::Judging;
use crate::findings::{Counter, Counters};
use crate::plural::plural;
use crate::profile::{LimitRow, LimitUnit};
use crate::report::{Check, Evidence, Limit, ReasonCode, Seen, Verdict};

const KIND: &str = "counters";

/// The counter of errors of memory that lost data.
const UNCORRECTABLE: &str = "ecc_uncorrectable";

/// Where they come from.
const SOURCE: &str = "counters before and after";

/// One check for each device and for each bridge above several.
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
    abouts
        .into_iter()
        .map(|about| of_devices(judging, counters, about))
        .collect()
}

/// What one counter came to.
struct Counted {
    verdict: Verdict,
    code: ReasonCode,
    text: String,
    limit: Option<Limit>,
}

fn of_devices(judging: &Judging<'_>, counters: &Counters, about: &[String]) -> Check {
    let rows: Vec<&Counter> = counters
        .rows
        .iter()
        .filter(|row| row.devices == about)
        .collect();
    let mut evidence: Vec<Evidence> = rows
        .iter()
        .map(|row| evidence(row, counters.over_s))
        .collect();
    let is_one_boot = matches!(&counters.boot, [Some(before), Some(after)] if before == after);
    if counters.boot.iter().all(Option::is_some) && !is_one_boot {
        let text = "the machine started anew in between, so that no rise is known".to_owned();
        let subject = judging.subject(KIND, about.to_vec());
        return subject.inconclusive(ReasonCode::CounterReset, text, None, evidence);
    }
    let came: Vec<(usize, Counted)> = rows
        .iter()
        .enumerate()
        .filter_map(|(at, row)| Some((at, of_row(judging, row, counters.over_s)?)))
        .chain(unended(judging, &rows))
        .collect();
    let unread: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.before.as_ref().err())
        .map(String::as_str)
        .collect();
    let order = |(_, counted): &&(usize, Counted)| match counted.verdict {
        Verdict::Fail => 3,
        Verdict::Inconclusive => 2,
        Verdict::Warn => 1,
        _ => 0,
    };
    let Some((at, worst)) = came.iter().max_by_key(order) else {
        return unreadable(judging, about, &unread, evidence);
    };
    // What decides stands first, as the figure beside its limit.
    evidence[..=*at].rotate_right(1);
    let all: Vec<&str> = came
        .iter()
        .filter(|(_, counted)| counted.verdict != Verdict::Pass)
        .map(|(_, counted)| counted.text.as_str())
        .collect();
    let mut text = if all.is_empty() {
        format!(
            "{} within the limits in {:.0} s",
            plural(came.len(), "counter"),
            counters.over_s
        )
    } else {
        all.join("; ")
    };
    if !unread.is_empty() {
        text.push_str(&format!(
            "; {} could not be read ({})",
            unread.len(),
            unread[0]
        ));
    }
    let limit = worst.limit.clone();
    match (worst.verdict, &evidence[..]) {
        (Verdict::Inconclusive, _) | (_, []) => judging
            .subject(KIND, about.to_vec())
            .inconclusive(worst.code, text, limit, evidence),
        (verdict, [first, rest @ ..]) => {
            let came = (verdict, worst.code, text);
            judging.judged(
                KIND,
                about.to_vec(),
                came,
                limit,
                Seen::new(first.clone(), rest.to_vec()),
            )
        }
    }
}

/// None of the counters could be read.
fn unreadable(
    judging: &Judging<'_>,
    about: &[String],
    unread: &[&str],
    evidence: Vec<Evidence>,
) -> Check {
    let why = unread.first().copied().unwrap_or("no limit is set on them");
    let text = format!("no counter could be read: {why}");
    let subject = judging.subject(KIND, about.to_vec());
    if judging.is_guest() {
        return subject.skipped(ReasonCode::Virtualized, text);
    }
    let is_refused = ["ermission", "permitted", "root"]
        .iter()
        .any(|word| why.contains(word));
    let code = if is_refused {
        ReasonCode::Permission
    } else {
        ReasonCode::Unreadable
    };
    subject.inconclusive(code, text, None, evidence)
}

/// How much a counter rose, as it is held against a limit.
pub(crate) struct Rise {
    /// In the limit's unit.
    value: f64,
    /// So much at least, in the limit's unit, with 97.5% confidence of a rate.
    certain: f64,
    /// Whether memory lost data before, which is worth a look though this run saw none of it.
    has_stood: bool,
}

impl Rise {
    /// Of the counter of this key; `None` where it fell, so that its rise is not known.
    pub(crate) fn of(
        key: &str,
        before: u64,
        after: u64,
        over_s: f64,
        is_rate: bool,
    ) -> Option<Self> {
        let events = number(after.checked_sub(before)?);
        let an_hour = |events: f64| events / over_s.max(1.0) * 3600.0;
        let (certain, value) = match is_rate {
            true => (an_hour(at_least(events)), an_hour(events)),
            false => (events, events),
        };
        Some(Self {
            value,
            certain,
            has_stood: key == UNCORRECTABLE && before > 0,
        })
    }

    /// Of what is counted over the life of a device.
    pub(crate) fn of_life(count: u64) -> Self {
        let value = number(count);
        Self {
            value,
            certain: value,
            has_stood: false,
        }
    }

    /// What it comes to against the lines of a limit.
    pub(crate) fn against(&self, fail: Option<f64>, warn: Option<f64>) -> Verdict {
        let beyond = |value: f64, line: Option<f64>| line.is_some_and(|line| value > line);
        if beyond(self.certain, fail) {
            Verdict::Fail
        } else if beyond(self.value, warn.or(fail)) || self.has_stood {
            Verdict::Warn
        } else {
            Verdict::Pass
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of errors are far below 2^53"
)]
fn number(count: u64) -> f64 {
    count as f64
}

/// The limit of a counter.
fn limits_of<'a>(judging: &'a Judging<'_>, row: &Counter) -> Option<&'a LimitRow> {
    judging
        .row(KIND, Some(&row.key))
        .filter(|limit| limit.of.as_deref() == Some(&row.key))
}

/// Counters with a limit that were read before and not at the end: the place of the first, and what they come to.
fn unended(judging: &Judging<'_>, rows: &[&Counter]) -> Option<(usize, Counted)> {
    let is_unended = |row: &Counter| {
        row.before.is_ok() && row.after.is_err() && limits_of(judging, row).is_some()
    };
    let first = rows.iter().position(|row| is_unended(row))?;
    let names: Vec<String> = rows
        .iter()
        .filter(|row| is_unended(row))
        .map(|row| format!("{} of {}", row.key, row.place))
        .collect();
    let why = rows[first].after.as_ref().err()?;
    let text = format!(
        "{} not read at the end, so that no rise is known ({why})",
        names.join(", ")
    );
    Some((
        first,
        Counted {
            verdict: Verdict::Inconclusive,
            code: ReasonCode::Unreadable,
            text,
            limit: None,
        },
    ))
}

/// A counter against its limit; `None` where it was not read, or has none.
fn of_row(judging: &Judging<'_>, row: &Counter, over_s: f64) -> Option<Counted> {
    let (before, after) = row.before.as_ref().ok().zip(row.after.as_ref().ok())?;
    let limits = limits_of(judging, row)?;
    let name = format!("{} of {}", row.key, row.place);
    let is_rate = limits.unit == LimitUnit::EventsPerHour;
    let Some(rise) = Rise::of(&row.key, *before, *after, over_s, is_rate) else {
        return Some(Counted {
            verdict: Verdict::Inconclusive,
            code: ReasonCode::CounterReset,
            text: format!("{name} fell from {before} to {after}, so that its rise is not known"),
            limit: None,
        });
    };
    let verdict = rise.against(limits.fail, limits.warn);
    let code = match verdict {
        Verdict::Pass => ReasonCode::WithinLimit,
        _ => ReasonCode::CounterRate,
    };
    let stood = match rise.has_stood {
        true => format!("; {before} before the run"),
        false => String::new(),
    };
    let events = after - before;
    let told = match is_rate {
        true => format!(
            "{events} more in {over_s:.0} s, {:.0} an hour, at least {:.0} with 97.5% confidence",
            rise.value, rise.certain
        ),
        false => format!("{events} more in {over_s:.0} s"),
    };
    Some(Counted {
        verdict,
        code,
        text: format!("{name}: {told}{stood}"),
        limit: Some(limit(limits)),
    })
}

/// The number of events that is exceeded on average with 97.5% confidence, where so many were counted: the lower end of the Poisson
/// distribution's 95% interval by Wilson and Hilferty's formula, within 0.021 of the exact one.
fn at_least(events: f64) -> f64 {
    if events < 1.0 {
        return 0.0;
    }
    events
        * (1.0 - 1.0 / (9.0 * events) - 1.959_964 / (3.0 * events.sqrt()))
            .max(0.0)
            .powi(3)
}

fn limit(row: &LimitRow) -> Limit {
    Limit {
        good: row.good,
        fail: row.fail,
        warn: row.warn,
        unit: row.unit.word().to_owned(),
        basis: row.of.clone().unwrap_or_default(),
        source: row.source.clone(),
    }
}

fn evidence(row: &Counter, over_s: f64) -> Evidence {
    Evidence::Counted {
        what: format!("{} of {}", row.key, row.place),
        before: row.before.as_ref().ok().copied(),
        after: row.after.as_ref().ok().copied(),
        over_s,
        source: SOURCE.to_owned(),
    }
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
            assert!(
                (-0.001..0.021).contains(&(exact - low)),
                "{events}: {low} {exact}"
            );
        }
        assert_eq!(at_least(0.0), 0.0);
    }
}
