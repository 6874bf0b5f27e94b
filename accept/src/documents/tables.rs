//! The tables of a run: a row a group, every check by group, what was not looked at, devices.

use std::collections::{BTreeMap, BTreeSet};

use record::unit::ByteCount;
use view::{Block, Section, Table};

use super::words::{ABSENT, Quantity, compared_with, covered, cut, kind_of_devices, main_evidence};
use crate::checks::{self, Group, KINDS, title};
use crate::report::{Check, Evidence, Measured, ReasonCode, Report, Verdict};

/// All sections; only the first is no detail.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let mut sections = Vec::new();
    if !report.devices.is_empty() {
        sections.push(Section::new("Groups", vec![Block::Table(groups(report))]));
    }
    for (heading, checks) in grouped(report) {
        sections.push(Section::detail(heading, vec![Block::Table(table(&checks))]));
    }
    let mut add = |heading: &str, blocks| sections.push(Section::detail(heading, blocks));
    add("Not looked at", vec![not_looked_at(report)]);
    if !report.notes.is_empty() {
        let notes = report.notes.iter().map(|note| cut(note));
        add("Caveats", vec![Block::warnings(notes)]);
    }
    add("Devices", vec![Block::Table(of_devices(report))]);
    sections
}

/// A row for each group: its worst verdict, how many checks of how many devices, and the span of each kind's figures with the worst of them,
/// or what else it came to.
fn groups(report: &Report) -> Table {
    let devices = format!("{}s", kind_of_devices(report));
    let mut table = Table::under(["", "verdict", "checks", &devices, "found"]);
    for (heading, checks) in grouped(report) {
        // Where nothing is wrong, what could not be read stands before what passed.
        let bad = |check: &&&Check| (check.verdict.severity(), check.verdict == Verdict::Skip);
        let Some(worst) = checks.iter().max_by_key(bad) else {
            continue;
        };
        let unread = checks.iter().filter(|check| check.verdict == Verdict::Skip);
        let unread: BTreeSet<&str> = unread.map(|check| title(&check.kind)).collect();
        let spans = KINDS.iter().filter_map(|kind| span(kind, &checks));
        let spans: Vec<String> = spans.take(SPANS).collect();
        let found = match (worst.verdict, spans.is_empty()) {
            (Verdict::Pass, true) => String::new(),
            (Verdict::Skip, _) => format!("not read: {}", Vec::from_iter(unread).join(", ")),
            (_, true) => format!("{} {}", title(&worst.kind), worst.about.join(" ")),
            (_, false) => spans.join(", "),
        };
        let of = covered(report, &checks).to_string();
        let (verdict, count) = (worst.verdict.to_string(), checks.len().to_string());
        table.row([heading.to_owned(), verdict, count, of, found]);
    }
    table
}

/// Kinds whose figures stand in the row of a group.
const SPANS: usize = 2;

/// The figures of a kind among these checks, from the least to the most, and what has the worst of them.
fn span(kind: &checks::Kind, checks: &[&Check]) -> Option<String> {
    let own = checks.iter().filter(|check| check.kind == kind.key);
    let figures = own.filter_map(|check| Some((main_evidence(check)?.measured()?, *check)));
    let mut values: Vec<(&Measured, &Check)> = figures.filter(|(one, _)| one.unit != "1").collect();
    let unit = &values.first()?.0.unit;
    values.retain(|(one, _)| one.unit == *unit);
    values.sort_by(|one, other| one.0.value.total_cmp(&other.0.value));
    // Times of several sizes are no range: the shortest is that of a small call.
    if kind.key == "allreduce" {
        values.truncate(1);
    }
    let [least, most] =
        [values.first()?, values.last()?].map(|(one, _)| Quantity(one.value, "").to_string());
    if least == most {
        return Some(format!("{} {most} {unit}", kind.title));
    }
    let worst = if unit == "GB/s" { 0 } else { values.len() - 1 };
    let (title, worst) = (kind.title, values[worst].1.about.join(" "));
    Some(format!("{title} {least}-{most} {unit}, worst {worst}"))
}

/// Checks that were looked at or could not be read, by group in the order of a run.
pub(super) fn grouped(report: &Report) -> Vec<(&'static str, Vec<&Check>)> {
    let mut groups: BTreeMap<Option<Group>, Vec<&Check>> = BTreeMap::new();
    let is_shown = |check: &&Check| {
        check.verdict != Verdict::Skip || check.reason.code == ReasonCode::Unreadable
    };
    for check in report.checks.iter().filter(is_shown) {
        let group = checks::kind(&check.kind).map(|kind| kind.group);
        groups.entry(group).or_default().push(check);
    }
    let title = |group: Option<Group>| group.map_or("Other checks", Group::title);
    let groups = groups.into_iter();
    let titled = groups.map(|(group, checks)| (title(group), checks));
    titled.collect()
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
        let (code, detail) = (check.reason.code.code(), cut(&check.reason.detail));
        let why = match check.verdict {
            Verdict::Pass => String::new(),
            _ => format!("[{code}] {detail}"),
        };
        table.row([
            check.id.clone(),
            check.verdict.to_string(),
            figure,
            interval,
            n,
            compared_with(check),
            why.trim().to_owned(),
        ]);
        let more = check.evidence.iter().skip(1);
        for piece in more.filter(|_| check.verdict != Verdict::Pass) {
            let [figure, interval, n] = cells(Some(piece));
            let [verdict, limit, why] = [const { String::new() }; 3];
            let name = format!("  {}", piece.what());
            table.row([name, verdict, figure, interval, n, limit, why]);
        }
    }
    table
}

/// A figure, its 95% interval, and how many samples or readings.
fn cells(evidence: Option<&Evidence>) -> [String; 3] {
    let absent = || ABSENT.to_owned();
    let (ends, n) = match evidence {
        Some(Evidence::Measured(one)) => (one.low.zip(one.high), Some(one.n)),
        Some(Evidence::Seen(one)) => (None, Some(one.n)),
        _ => (None, None),
    };
    let shown = |(low, high)| format!("{}-{}", Quantity(low, ""), Quantity(high, ""));
    [
        evidence.map_or_else(absent, ToString::to_string),
        ends.map_or_else(absent, shown),
        n.map_or_else(absent, |n| n.to_string()),
    ]
}

/// Skipped checks by code, then what no run looks at.
fn not_looked_at(report: &Report) -> Block {
    let mut codes: BTreeMap<ReasonCode, Vec<&str>> = BTreeMap::new();
    let checks = report.checks.iter();
    for check in checks.filter(|check| check.verdict == Verdict::Skip) {
        codes.entry(check.reason.code).or_default().push(&check.id);
    }
    let codes = codes.iter();
    let skipped = codes.map(|(code, ids)| format!("[{}] {}", code.code(), ids.join(", ")));
    Block::list(skipped.chain(report.not_covered.iter().cloned()))
}

fn of_devices(report: &Report) -> Table {
    let mut table = Table::under(["", "name", "slot", "node", "memory", "identity"]);
    for device in &report.devices {
        let memory = device.memory_bytes.map(ByteCount);
        let cells = [
            Some(device.label.clone()),
            Some(device.name.clone()),
            device.slot.clone(),
            device.node.map(|node| node.to_string()),
            memory.map(|memory| memory.to_string()),
            device.identity.clone(),
        ];
        table.row(cells.map(|cell| cell.unwrap_or_else(|| ABSENT.to_owned())));
    }
    table
}
