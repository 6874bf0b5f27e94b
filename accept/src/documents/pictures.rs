//! The pictures of a page: figures with their limits.

use std::collections::BTreeMap;

use view::Block;
use view::page::{LimitBar, LimitBars, Tone};

use super::words::{main_evidence, number, title};
use crate::report::{Check, Evidence, Report, Verdict};

/// Bars in one picture.
const MOST: usize = 16;

/// The pictures of a group's checks.
pub(super) fn of_checks(report: &Report, checks: &[&Check]) -> Vec<Block> {
    let mut kinds: BTreeMap<&str, Vec<&Check>> = BTreeMap::new();
    for check in checks {
        if matches!(main_evidence(check), Some(Evidence::Measured { .. })) {
            kinds.entry(&check.kind).or_default().push(check);
        }
    }
    let all = kinds.iter();
    all.filter_map(|(kind, checks)| bars(report, kind, checks))
        .collect()
}

/// A value, its interval and its unit.
type Figure<'a> = (f64, Option<(f64, f64)>, &'a str);

fn measured(check: &Check) -> Option<Figure<'_>> {
    match main_evidence(check)? {
        Evidence::Measured {
            value,
            unit,
            low,
            high,
            ..
        } => Some((*value, low.zip(*high), unit)),
        _ => None,
    }
}

fn bars(report: &Report, kind: &str, checks: &[&Check]) -> Option<Block> {
    let limited = checks.iter().filter(|check| check.limit.is_some());
    let mut limited: Vec<&&Check> = limited.collect();
    limited.sort_by_key(|check| check.verdict == Verdict::Pass);
    let bar = |check: &&&Check| {
        let (value, interval, _) = measured(check)?;
        let limit = check.limit.as_ref()?;
        Some(LimitBar {
            label: check.about.join(" "),
            value,
            interval,
            fail: limit.fail,
            warn: limit.warn,
            tone: match check.verdict {
                Verdict::Pass => Tone::Good,
                Verdict::Warn => Tone::Warning,
                Verdict::Fail => Tone::Bad,
                Verdict::Inconclusive | Verdict::Skip => Tone::Open,
            },
            words: format!("{} {}", number(value), check.verdict.word()),
        })
    };
    let rows: Vec<LimitBar> = limited.iter().filter_map(bar).take(MOST).collect();
    let unit = unit(measured(checks.first()?)?.2).to_owned();
    (!rows.is_empty()).then(|| {
        Block::LimitBars(LimitBars {
            title: format!("{}, {unit}, median with its 95% interval", title(kind)),
            unit,
            simulated: report.simulated.is_some(),
            rows,
        })
    })
}

fn unit(unit: &str) -> &str {
    match unit {
        "" | "1" => "ratio",
        _ => unit,
    }
}
