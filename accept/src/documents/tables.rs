//! The tables of a run: figures by kind, every check by group, what was not looked at, devices and settings.

use std::collections::BTreeMap;

use record::unit::ByteCount;
use view::{Block, Section, Table};

use super::pictures;
use super::words::{
    ABSENT, compared_with, cut, figure, interval, main_evidence, number, quantity, what,
};
use crate::checks::{self, Group, KINDS};
use crate::report::{Check, Evidence, ReasonCode, Report, Verdict};

/// All sections; only the first is no detail.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let figures = figures(report);
    let mut sections = Vec::new();
    if !figures.rows.is_empty() {
        sections.push(Section::new("Figures", vec![Block::Table(figures)]));
    }
    for (heading, checks) in grouped(report) {
        let mut blocks = vec![Block::Table(table(&checks))];
        blocks.extend(pictures::of_checks(report, &checks));
        sections.push(Section::detail(heading, blocks));
    }
    let mut add = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section::detail(heading, blocks));
        }
    };
    add("Not looked at", vec![Block::list(not_looked_at(report))]);
    if !report.notes.is_empty() {
        add(
            "Caveats",
            vec![Block::warnings(report.notes.iter().map(|note| cut(note)))],
        );
    }
    add("Devices", vec![Block::Table(of_devices(report))]);
    sections
}

/// A row for each kind with figures in a unit: the span over its checks, and the worst verdict.
fn figures(report: &Report) -> Table {
    let mut table = Table::under(["", "figure", "limit", "checks", "verdict"]);
    for kind in KINDS {
        let all: Vec<(&Check, f64, &str)> = report
            .checks
            .iter()
            .filter(|check| check.kind == kind.key)
            .filter_map(|check| match main_evidence(check)? {
                Evidence::Measured { value, unit, .. } if unit != "1" => {
                    Some((check, *value, unit.as_str()))
                }
                _ => None,
            })
            .collect();
        let Some((first, _, unit)) = all.first() else {
            continue;
        };
        let alike = all.iter().filter(|(_, _, own)| own == unit);
        let least = alike.clone().map(|row| row.1).fold(f64::INFINITY, f64::min);
        let most = alike.map(|row| row.1).fold(f64::NEG_INFINITY, f64::max);
        let span = match number(least) == number(most) {
            true => quantity(least, unit),
            false => format!("{}-{}", number(least), quantity(most, unit)),
        };
        let severity = |verdict: Verdict| match verdict {
            Verdict::Fail => 3,
            Verdict::Inconclusive => 2,
            Verdict::Warn => 1,
            Verdict::Pass | Verdict::Skip => 0,
        };
        let worst = all
            .iter()
            .map(|row| row.0.verdict)
            .max_by_key(|verdict| severity(*verdict));
        table.row([
            kind.title.to_owned(),
            span,
            compared_with(first),
            all.len().to_string(),
            worst.map_or("", Verdict::word).to_owned(),
        ]);
    }
    table
}

/// Checks that were looked at, by group in the order of a run.
fn grouped(report: &Report) -> Vec<(&'static str, Vec<&Check>)> {
    let mut groups: BTreeMap<Option<Group>, Vec<&Check>> = BTreeMap::new();
    let looked_at = |check: &&Check| check.verdict != Verdict::Skip;
    for check in report.checks.iter().filter(looked_at) {
        let group = checks::kind(&check.kind).map(|kind| kind.group);
        groups.entry(group).or_default().push(check);
    }
    groups
        .into_iter()
        .map(|(group, checks)| (group.map_or("Other checks", Group::title), checks))
        .collect()
}

fn table(checks: &[&Check]) -> Table {
    let mut table = Table::under([
        "check",
        "verdict",
        "figure",
        "95% interval",
        "n",
        "limit",
        "why",
    ]);
    for check in checks {
        let evidence = main_evidence(check);
        let [interval, n] = evidence.map_or_else(|| [ABSENT, ABSENT].map(str::to_owned), interval);
        let why = match check.verdict {
            Verdict::Pass => String::new(),
            _ => format!(
                "[{}] {}",
                check.reason.code.code(),
                cut(&check.reason.detail)
            ),
        };
        table.row([
            check.id.clone(),
            check.verdict.word().to_owned(),
            evidence.map_or_else(|| ABSENT.to_owned(), figure),
            interval,
            n,
            compared_with(check),
            why.trim().to_owned(),
        ]);
        let more = check
            .evidence
            .iter()
            .skip(1)
            .filter(|_| check.verdict != Verdict::Pass);
        for piece in more {
            let [interval, n] = self::interval(piece);
            let name = format!("  {}", what(piece));
            table.row([
                name,
                String::new(),
                figure(piece),
                interval,
                n,
                String::new(),
                String::new(),
            ]);
        }
    }
    table
}

/// Skipped checks by code, then what no run looks at.
fn not_looked_at(report: &Report) -> Vec<String> {
    let mut codes: BTreeMap<ReasonCode, Vec<&str>> = BTreeMap::new();
    let skipped = |check: &&Check| check.verdict == Verdict::Skip;
    for check in report.checks.iter().filter(skipped) {
        codes.entry(check.reason.code).or_default().push(&check.id);
    }
    let skipped = codes
        .iter()
        .map(|(code, ids)| format!("[{}] {}", code.code(), ids.join(", ")));
    skipped.chain(report.not_covered.iter().cloned()).collect()
}

fn of_devices(report: &Report) -> Table {
    let mut table = Table::under(["", "name", "slot", "node", "memory", "identity"]);
    let shown = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    for device in &report.devices {
        table.row([
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
        ]);
    }
    table
}
