//! The document of a fleet: what is slow, which machines were not accepted, and a row for each machine.

use std::fmt;

use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::words::{Quantity, cut};
use crate::checks::{plural, title};
use crate::fleet::judge::{Fleet, Group, MIN_ALIKE, Outlier};
use crate::report::BoxVerdict;

/// Findings on a screen.
const NAMED: usize = 10;

/// The document.
pub(crate) fn document(fleet: &Fleet) -> Document {
    let mut findings = findings(fleet);
    if let more @ 1.. = findings.len().saturating_sub(NAMED) {
        findings.truncate(NAMED);
        findings.push(Item::plain(format!("{more} more: -v shows every machine.")));
    }
    Document {
        title: answer(fleet),
        simulated: fleet.simulated.clone(),
        tone: match fleet.exit_code {
            record::exit::DONE => Tone::Good,
            record::exit::REJECTED => Tone::Bad,
            _ => Tone::Warning,
        },
        answer: vec![answer(fleet)],
        findings,
        next: next(fleet),
        sections: fleet.groups.iter().map(section).collect(),
        made_by: format!("tplens accept fleet {}", env!("CARGO_PKG_VERSION")),
    }
}

fn answer(fleet: &Fleet) -> String {
    let expected = fleet.expected;
    let expected = expected.map_or_else(String::new, |expected| format!(" of {expected} expected"));
    let is_compared = fleet.groups.iter().any(|group| group.compared > 0);
    let slow = fleet.nodes().filter(|node| node.outliers > 0).count();
    let slower = match (is_compared, slow) {
        (false, _) => format!("fewer than {MIN_ALIKE} alike, so none is compared"),
        (true, 0) => "none slower than its like".to_owned(),
        (true, slow) => format!("{slow} slower than their like"),
    };
    format!(
        "{}{expected}: {slower}, {} rejected, {} inconclusive.",
        plural(fleet.nodes().count(), "machine"),
        fleet.count(BoxVerdict::Rejected),
        fleet.count(BoxVerdict::Inconclusive)
    )
}

fn findings(fleet: &Fleet) -> Vec<Item> {
    let outliers = fleet.groups.iter().flat_map(|group| &group.outliers);
    let slow = outliers.map(|one| Item::of(Tone::Bad, one.to_string()).coded("outlier"));
    let refused = fleet.nodes().filter_map(|node| {
        let tone = match node.verdict {
            BoxVerdict::Rejected => Tone::Bad,
            BoxVerdict::Inconclusive => Tone::Warning,
            _ => return None,
        };
        let (words, reasons) = (node.verdict.words(), node.reasons.join("; "));
        let line = format!("{words} {}: {}", node.node, cut(&reasons));
        Some(Item::of(tone, line))
    });
    let mut groups = fleet.groups.iter();
    let small = groups.any(|group| group.nodes.len() < MIN_ALIKE).then(|| {
        let words =
            format!("A group has fewer than {MIN_ALIKE} machines: none is cleared as a whole.");
        Item::of(Tone::Warning, words)
    });
    let unreadable = fleet.unreadable.iter().map(|file| {
        let line = format!("{}: {}", file.path, cut(&file.detail));
        Item::of(Tone::Warning, line).coded("unreadable")
    });
    let earlier = (fleet.superseded > 0).then(|| {
        let earlier = plural(fleet.superseded, "report");
        Item::plain(format!("{earlier} of earlier runs left out"))
    });
    let all = slow.chain(refused).chain(small);
    all.chain(unreadable).chain(earlier).collect()
}

impl fmt::Display for Outlier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = self.about.join(" ");
        let what = match (about.is_empty(), self.slots.is_empty()) {
            (true, _) => "as a whole",
            (false, true) => &about,
            (false, false) => &format!("{about} (slot {})", self.slots.join(", ")),
        };
        let [value, median] = [self.value, self.median].map(|one| Quantity(one, &self.unit));
        let (node, check, percent) = (&self.node, title(&self.check), self.worse_percent);
        write!(f, "{node} {what}: {check} {value}, {percent:.1}% worse ")?;
        write!(f, "than {median} of {} alike", self.alike)
    }
}

fn next(fleet: &Fleet) -> Vec<Next> {
    let mut outliers = fleet.groups.iter().flat_map(|group| &group.outliers);
    let mut next = Vec::new();
    if outliers.clone().any(|one| one.about.is_empty()) {
        let text = "Compare BIOS, power limit, CPU and cooling with a machine that is not slow:";
        next.push(Next::by(text, "tplens accept compare GOOD SLOW"));
    } else if outliers.next().is_some() {
        let text = "Exchange the named card with one of a good machine and see whether the fault moves with it.";
        next.push(Next::plain(text));
    }
    if fleet.nodes().any(|node| !node.reasons.is_empty()) {
        let text = "Read the machine's own report:";
        next.push(Next::by(text, "tplens accept report FOLDER"));
    }
    next
}

fn section(group: &Group) -> Section {
    let of = &group.fingerprint;
    let versions = [&of.driver, &of.kernel, &of.collectives];
    let versions: Vec<String> = versions.into_iter().flatten().cloned().collect();
    let (devices, versions) = (of.devices.join(", "), versions.join(", "));
    let head = format!("{devices}; profile {}; {versions}", group.profile);
    let mut table = Table::under(["machine", "verdict", "outliers", "why", "report"]);
    for node in &group.nodes {
        table.row([
            node.node.clone(),
            node.verdict.words().to_owned(),
            node.outliers.to_string(),
            node.reasons.join("; "),
            node.report.clone(),
        ]);
    }
    let blocks = vec![Block::Paragraph(head), Block::Table(table)];
    Section::detail(plural(group.nodes.len(), "machine"), blocks)
}
