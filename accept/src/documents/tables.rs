//! The tables of a run: a row a group, every check by group, what was not looked at, devices.

use std::collections::BTreeMap;

use record::unit::ByteCount;
use view::{Block, Section, Table};

use super::words::{ABSENT, Quantity, compared_with, cut, main_evidence, title, what};
use crate::checks::{self, Group, KINDS};
use crate::report::{Check, Evidence, ReasonCode, Report, Verdict};

/// All sections; only the first is no detail.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let mut sections = Vec::new();
    if !report.devices.is_empty() {
        sections.push(Section::new("Groups", vec![Block::Table(groups(report))]));
    }
    for (heading, checks) in grouped(report) {
        sections.push(Section::detail(heading, vec![Block::Table(table(&checks))]));
    }
    let mut add = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section::detail(heading, blocks));
        }
    };
    add("Not looked at", vec![not_looked_at(report)]);
    if !report.notes.is_empty() {
        add(
            "Caveats",
            vec![Block::warnings(report.notes.iter().map(|note| cut(note)))],
        );
    }
    add("Devices", vec![Block::Table(of_devices(report))]);
    sections
}

/// A row for each group: its worst verdict, how many checks, and the span of each kind's figures or what else it came to.
fn groups(report: &Report) -> Table {
    let mut table = Table::under(["", "verdict", "checks", "found"]);
    for (heading, checks) in grouped(report) {
        let worst = checks.iter().max_by_key(|check| check.verdict.severity());
        let Some(worst) = worst else {
            continue;
        };
        let spans = KINDS.iter().filter_map(|kind| span(kind, &checks));
        let spans: Vec<String> = spans.take(SPANS).collect();
        let found = match (worst.verdict, spans.is_empty()) {
            (Verdict::Pass, true) => String::new(),
            (_, true) => format!("{} {}", title(&worst.kind), worst.about.join(" ")),
            (_, false) => spans.join(", "),
        };
        let count = checks.len().to_string();
        table.row([heading.to_owned(), worst.verdict.to_string(), count, found]);
    }
    table
}

/// Kinds whose figures stand in the row of a group.
const SPANS: usize = 2;

/// The figures of a kind among these checks, from the least to the most.
fn span(kind: &checks::Kind, checks: &[&Check]) -> Option<String> {
    let own = checks.iter().filter(|check| check.kind == kind.key);
    let mut values: Vec<(f64, &str)> = own
        .filter_map(|check| match main_evidence(check)? {
            Evidence::Measured { value, unit, .. } if unit != "1" => Some((*value, unit.as_str())),
            _ => None,
        })
        .collect();
    let unit = values.first()?.1;
    values.retain(|(_, own)| *own == unit);
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Times of several sizes are no range: the shortest is that of a small call.
    if kind.key == "allreduce" {
        values.truncate(1);
    }
    let (least, most) = (values.first()?.0, values.last()?.0);
    let (least, most) = (
        Quantity(least, "").to_string(),
        Quantity(most, "").to_string(),
    );
    let from = if least == most {
        String::new()
    } else {
        least + "-"
    };
    Some(format!("{} {from}{most} {unit}", kind.title))
}

/// Checks that were looked at, by group in the order of a run.
pub(super) fn grouped(report: &Report) -> Vec<(&'static str, Vec<&Check>)> {
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
    let heads = [
        "check",
        "verdict",
        "figure",
        "95% interval",
        "n",
        "limit",
        "why",
    ];
    let mut table = Table::under(heads);
    for check in checks {
        let evidence = main_evidence(check);
        let [figure, interval, n] = cells(evidence);
        let code = check.reason.code.code();
        let why = match check.verdict {
            Verdict::Pass => String::new(),
            _ => format!("[{code}] {}", cut(&check.reason.detail)),
        };
        table.row([
            check.id.clone(),
            check.verdict.to_string(),
            figure,
            interval,
            n,
            compared_with(check).into_owned(),
            why.trim().to_owned(),
        ]);
        let more = check.evidence.iter().skip(1);
        for piece in more.filter(|_| check.verdict != Verdict::Pass) {
            let [figure, interval, n] = cells(Some(piece));
            let [verdict, limit, why] = [const { String::new() }; 3];
            let name = format!("  {}", what(piece));
            table.row([name, verdict, figure, interval, n, limit, why]);
        }
    }
    table
}

/// A figure, its 95% interval, and how many samples or readings.
fn cells(evidence: Option<&Evidence>) -> [String; 3] {
    let absent = || ABSENT.to_owned();
    let (ends, n) = match evidence {
        Some(Evidence::Measured { n, low, high, .. }) => (low.zip(*high), Some(n)),
        Some(Evidence::Seen { n, .. }) => (None, Some(n)),
        _ => (None, None),
    };
    let shown = |(low, high)| format!("{}-{}", Quantity(low, ""), Quantity(high, ""));
    [
        evidence.map_or_else(absent, ToString::to_string),
        ends.map_or_else(absent, shown),
        n.map_or_else(absent, ToString::to_string),
    ]
}

/// Skipped checks by code, then what no run looks at.
fn not_looked_at(report: &Report) -> Block {
    let mut codes: BTreeMap<ReasonCode, Vec<&str>> = BTreeMap::new();
    let skipped = |check: &&Check| check.verdict == Verdict::Skip;
    for check in report.checks.iter().filter(skipped) {
        codes.entry(check.reason.code).or_default().push(&check.id);
    }
    let skipped = codes
        .iter()
        .map(|(code, ids)| format!("[{}] {}", code.code(), ids.join(", ")));
    Block::list(skipped.chain(report.not_covered.iter().cloned()))
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
