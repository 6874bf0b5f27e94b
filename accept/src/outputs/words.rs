//! Parts of a report as they are written: verdicts, figures, limits, devices, settings, and where the report is from. All forms write them
//! alike because they take them from here.
//!
//! Nothing is judged here, and nothing is laid out; the answer stands in `answer`.

use std::collections::BTreeMap;

use measure::unit::ByteCount;

use crate::checks::{self, Group};
use crate::plural::plural;
use crate::report::{
    BoxVerdict, Check, Evidence, Limit, Report, RunStatus, Setting, Side, Verdict,
};

/// What a cell shows where there is nothing to show.
pub(super) const ABSENT: &str = "—";

impl Verdict {
    /// As it is written in files and tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Skip => "skip",
        }
    }
}

impl BoxVerdict {
    /// As it is written in files.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::AcceptedWithWarnings => "accepted_with_warnings",
            Self::Rejected => "rejected",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// A sentence without its full stop, to go on behind it.
pub(super) fn without_stop(text: &str) -> &str {
    text.trim_end_matches('.')
}

/// The first few of a list, and how many others there are.
pub(super) fn list(words: &[&str]) -> String {
    const MOST: usize = 6;
    let shown = words
        .iter()
        .take(MOST)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match words.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Checks that were looked at, by group in the order of a run; those of kinds that this program does not know come last.
pub(super) fn grouped(report: &Report) -> Vec<(&'static str, Vec<&Check>)> {
    let mut groups: BTreeMap<(bool, Option<Group>), Vec<&Check>> = BTreeMap::new();
    for check in report
        .checks
        .iter()
        .filter(|check| check.verdict != Verdict::Skip)
    {
        let group = checks::kind(&check.kind).map(|kind| kind.group);
        groups
            .entry((group.is_none(), group))
            .or_default()
            .push(check);
    }
    groups
        .into_iter()
        .map(|((_, group), checks)| (group.map_or("Other checks", title), checks))
        .collect()
}

/// A group's heading.
pub(super) fn title(group: Group) -> &'static str {
    match group {
        Group::Inventory => "Inventory",
        Group::HostLinks => "Links to the host",
        Group::PeerLinks => "Links between devices",
        Group::Concurrent => "Several copies at once",
        Group::Numa => "NUMA nodes",
        Group::Collectives => "Collectives",
        Group::Soak => "Over time",
        Group::Serving => "Serving",
        Group::Counters => "Errors counted",
        Group::Watch => "Heat, power and clocks",
    }
}

/// The evidence that a check is read by: the figure in the unit of its limit, else the first.
pub(super) fn main_evidence(check: &Check) -> Option<&Evidence> {
    let unit = check.limit.as_ref().map(|limit| limit.unit.as_str());
    let in_unit = |evidence: &&Evidence| match evidence {
        Evidence::Measured { unit: own, .. } => Some(own.as_str()) == unit,
        _ => false,
    };
    check
        .evidence
        .iter()
        .find(in_unit)
        .or_else(|| check.evidence.first())
}

/// A piece of evidence in cells: figure, interval, how many.
pub(super) fn cells(evidence: &Evidence) -> [String; 3] {
    match evidence {
        Evidence::Measured {
            value,
            unit,
            n,
            low,
            high,
            ..
        } => {
            let interval = match (low, high) {
                (Some(low), Some(high)) => format!("{} .. {}", number(*low), number(*high)),
                _ => ABSENT.to_owned(),
            };
            [quantity(*value, unit), interval, n.to_string()]
        }
        Evidence::Counted {
            before,
            after,
            over_s,
            ..
        } => {
            let count = |count: &Option<u64>| {
                count.map_or_else(|| "not read".to_owned(), |count| count.to_string())
            };
            let figure = format!("{} to {} in {over_s:.0} s", count(before), count(after));
            [figure, ABSENT.to_owned(), ABSENT.to_owned()]
        }
        Evidence::Seen { value, n, .. } => [value.clone(), ABSENT.to_owned(), n.to_string()],
    }
}

/// A piece of evidence as a sentence has it.
pub(super) fn sentence(evidence: &Evidence) -> String {
    let [figure, interval, n] = cells(evidence);
    match evidence {
        Evidence::Measured { .. } if interval == ABSENT => format!("{figure}, no interval, n={n}"),
        Evidence::Measured { .. } => format!("{figure}, 95% interval {interval}, n={n}"),
        Evidence::Counted { .. } => figure,
        Evidence::Seen {
            expected: Some(expected),
            n: read,
            ..
        } => format!(
            "{figure}, expected {expected}, read {}",
            plural(*read, "time")
        ),
        Evidence::Seen { n: read, .. } => format!("{figure}, read {}", plural(*read, "time")),
    }
}

/// A number with its unit; a ratio has none.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "" | "1" => number(value),
        _ => format!("{} {unit}", number(value)),
    }
}

/// A number with three or four digits that count.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        v if v >= 0.001 => format!("{value:.4}"),
        v if v >= 0.00001 => format!("{value:.6}"),
        _ => format!("{value:.2e}"),
    }
}

/// What a check is held against: its limit, or what was expected to be seen.
pub(super) fn held_against(check: &Check) -> String {
    if let Some(limit) = &check.limit {
        return lines(limit);
    }
    match main_evidence(check) {
        Some(Evidence::Seen {
            expected: Some(expected),
            ..
        }) => expected.clone(),
        _ => ABSENT.to_owned(),
    }
}

/// The lines of a limit, as `>= 23.05, warns below 25.35 GB/s`.
fn lines(limit: &Limit) -> String {
    let (good, beyond) = match limit.good {
        Side::AtLeast => (">=", "below"),
        Side::AtMost => ("<=", "above"),
    };
    let with_unit = |value: f64| quantity(value, &limit.unit);
    match (limit.fail, limit.warn) {
        (Some(fail), Some(warn)) => format!(
            "{good} {}, warns {beyond} {}",
            number(fail),
            with_unit(warn)
        ),
        (Some(fail), None) => format!("{good} {}", with_unit(fail)),
        (None, Some(warn)) => format!("warns {beyond} {}", with_unit(warn)),
        (None, None) => ABSENT.to_owned(),
    }
}

/// How a limit was worked out and where it comes from.
pub(super) fn basis(limit: &Limit) -> String {
    match (limit.basis.is_empty(), limit.source.is_empty()) {
        (_, true) => limit.basis.clone(),
        (true, false) => limit.source.clone(),
        (false, false) => format!("{}; {}", without_stop(&limit.basis), limit.source),
    }
}

/// A verdict, and whether it decides nothing.
pub(super) fn verdict(check: &Check) -> String {
    let word = check.verdict.word();
    match (check.verdict, check.required) {
        (Verdict::Fail | Verdict::Inconclusive, false) => format!("{word}, not required"),
        _ => word.to_owned(),
    }
}

/// A row for each device: label, name, slot, node, memory, identity.
pub(super) fn device_rows(report: &Report) -> Vec<[String; 6]> {
    let shown = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    let rows = report.devices.iter().map(|device| {
        [
            device.label.clone(),
            device.name.clone(),
            shown(device.slot.clone()),
            shown(device.node.map(|node| node.to_string())),
            shown(
                device
                    .memory_bytes
                    .map(|bytes| ByteCount(bytes).to_string()),
            ),
            shown(device.identity.clone()),
        ]
    });
    rows.collect()
}

/// A setting and its value, or why it was not read.
pub(super) fn setting_row(setting: &Setting) -> [String; 2] {
    let value = match (&setting.value, &setting.why_not) {
        (Some(value), _) => value.clone(),
        (None, Some(why)) => format!("not read: {why}"),
        (None, None) => ABSENT.to_owned(),
    };
    [setting.name.clone(), value]
}

/// The name of the profile where a machine reads it, so that a user's own never passes for one that came with the program.
pub(super) fn profile_label(report: &Report) -> String {
    match report.profile.shipped {
        true => report.profile.name.clone(),
        false => format!("own:{}", report.profile.name),
    }
}

/// Where a report is from: program, profile, level, time.
pub(super) fn made_by(report: &Report) -> String {
    let profile = &report.profile;
    let digest: String = profile.sha256.chars().take(12).collect();
    let shipped = match profile.shipped {
        true => "came with the program",
        false => "of the user's own",
    };
    let baseline = profile
        .baseline_sha256
        .as_ref()
        .map_or_else(String::new, |digest| {
            format!(
                ", and against the baseline {}",
                digest.chars().take(12).collect::<String>()
            )
        });
    // Of a run that was killed only its steps' times are known.
    let of_steps = match &report.status {
        RunStatus::Broken => " in the steps that ended",
        _ => "",
    };
    format!(
        "accept {}, {}, level {}, {} s{of_steps}; profile {} ({shipped}, sha256 {digest}){baseline}",
        report.version,
        report.started,
        report.level,
        number(report.took_s),
        profile.name
    )
}

/// The last line: how the run ended, and its exit code.
pub(super) fn ending(report: &Report) -> String {
    let how = match &report.status {
        RunStatus::Complete => "complete",
        RunStatus::Interrupted { .. } => "interrupted",
        RunStatus::Broken => "broken off",
        RunStatus::Failed { .. } => "failed",
    };
    format!("{how}; exit code {}", report.exit_code)
}
