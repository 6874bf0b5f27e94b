//! A report as a page: the verdict and what to do first, then the evidence with pictures.
//!
//! One file without script and without an address of the net; every text of others was cleaned before and is escaped again where it is
//! written.

use ::report::{Block, Page, Section, Table};

use super::answer;
use super::words::{self, device_rows, setting_row};
use super::{pictures, text};
use crate::report::{Check, Evidence, Report, Verdict};

/// Rows of evidence that a page shows.
const EVIDENCE: usize = 1000;

/// The whole HTML document.
pub(crate) fn html(report: &Report) -> String {
    let report = &super::texts::cleaned(report);
    let (notes, to_do, not_looked_at) = (
        &report.notes,
        answer::to_do(report),
        answer::not_looked_at(report),
    );
    let mut sections = Vec::new();
    let mut add = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section {
                heading: heading.to_owned(),
                blocks,
            });
        }
    };
    if !notes.is_empty() {
        add("Reservations", vec![Block::Warnings(notes.clone())]);
    }
    if !to_do.is_empty() {
        add("What to do", vec![Block::List(to_do)]);
    }
    add("At a glance", vec![Block::Table(glance(report))]);
    for (title, checks) in words::grouped(report) {
        add(title, group(report, &checks));
    }
    add("Over time", pictures::over_time(report));
    if !not_looked_at.is_empty() {
        add("Not looked at", vec![Block::List(not_looked_at)]);
    }
    add("The machine", machine(report));
    add("All evidence", evidence(report));
    let page = Page {
        title: format!(
            "{}: {} held against {}",
            report.verdict.words(),
            report.node.name,
            words::profile_label(report)
        ),
        simulated: report.simulated.as_ref().map(|soft| soft.box_name.clone()),
        answer: opening(report)
            .into_iter()
            .chain(answer::answer(report))
            .collect(),
        sections,
        made_by: format!("{}; {}", words::made_by(report), words::ending(report)),
    };
    page.html()
}

/// On what it was measured; the page's own head says that a run is simulated.
fn opening(report: &Report) -> Option<String> {
    report.simulated.is_none().then(|| answer::opening(report))
}

/// How many checks of each group came to what.
fn glance(report: &Report) -> Table {
    let heads = ["", "pass", "warn", "fail", "inconclusive", "skip"];
    let mut rows: Vec<Vec<String>> = Vec::new();
    let count = |checks: &[&Check], verdict: Verdict| {
        let count = checks
            .iter()
            .filter(|check| check.verdict == verdict)
            .count();
        // Nothing where none did: a narrow page leaves such cells out.
        if count == 0 {
            String::new()
        } else {
            count.to_string()
        }
    };
    let verdicts = [
        Verdict::Pass,
        Verdict::Warn,
        Verdict::Fail,
        Verdict::Inconclusive,
        Verdict::Skip,
    ];
    let skipped: Vec<&Check> = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Skip)
        .collect();
    for (title, checks) in words::grouped(report)
        .into_iter()
        .chain([("Not looked at", skipped)])
    {
        let counts = verdicts.map(|verdict| count(&checks, verdict));
        rows.push(std::iter::once(title.to_owned()).chain(counts).collect());
    }
    Table {
        heads: heads.map(str::to_owned).to_vec(),
        rows,
    }
}

/// A group's checks as a table, its pictures, and what its limits rest on.
fn group(report: &Report, checks: &[&Check]) -> Vec<Block> {
    let table = Table {
        // The verdict stands where a narrow page still shows it.
        heads: ["check", "verdict", "figure", "95% interval", "n", "limit"]
            .map(str::to_owned)
            .to_vec(),
        rows: checks.iter().map(|check| row(check)).collect(),
    };
    let not_good = checks.iter().filter(|check| check.verdict != Verdict::Pass);
    let reasons: Vec<String> = not_good
        .map(|check| {
            let (word, code) = (
                check.verdict.word().to_uppercase(),
                check.reason.code.word(),
            );
            format!("{word} {} ({code}): {}", check.id, check.reason.text)
        })
        .collect();
    let mut bases: Vec<String> = Vec::new();
    for check in checks {
        if let Some(limit) = &check.limit {
            let basis = format!("Limit of {}: {}", check.kind, words::basis(limit));
            if !bases.contains(&basis) {
                bases.push(basis);
            }
        }
    }
    let mut blocks = Vec::new();
    if !reasons.is_empty() {
        blocks.push(Block::Warnings(reasons));
    }
    blocks.push(Block::Table(table));
    blocks.extend(pictures::of_checks(report, checks));
    if !bases.is_empty() {
        blocks.push(Block::List(bases));
    }
    blocks
}

fn row(check: &Check) -> Vec<String> {
    let [id, figure, interval, n, limit, verdict] = text::row(check);
    vec![id, verdict, figure, interval, n, limit]
}

/// Devices and settings.
fn machine(report: &Report) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !report.devices.is_empty() {
        blocks.push(Block::Table(Table {
            heads: ["", "name", "slot", "node", "memory", "identity"]
                .map(str::to_owned)
                .to_vec(),
            rows: device_rows(report).into_iter().map(Vec::from).collect(),
        }));
    }
    if !report.settings.is_empty() {
        blocks.push(Block::Paragraph(
            "Settings, which explain figures and are not judged:".to_owned(),
        ));
        blocks.push(Block::Table(Table {
            heads: ["setting", "value"].map(str::to_owned).to_vec(),
            rows: report
                .settings
                .iter()
                .map(|setting| setting_row(setting).to_vec())
                .collect(),
        }));
    }
    blocks
}

/// Every piece of evidence with its source.
fn evidence(report: &Report) -> Vec<Block> {
    let all = report
        .checks
        .iter()
        .flat_map(|check| check.evidence.iter().map(move |piece| (check, piece)));
    let count = all.clone().count();
    let row = |(check, piece): (&Check, &Evidence)| {
        let (Evidence::Measured { what, source, .. }
        | Evidence::Counted { what, source, .. }
        | Evidence::Seen { what, source, .. }) = piece;
        vec![
            check.id.clone(),
            what.clone(),
            words::sentence(piece),
            source.clone(),
        ]
    };
    if count == 0 {
        return Vec::new();
    }
    let table = Table {
        heads: ["check", "what", "figure", "source"]
            .map(str::to_owned)
            .to_vec(),
        rows: all.take(EVIDENCE).map(row).collect(),
    };
    let more = (count > EVIDENCE).then(|| {
        Block::Paragraph(format!(
            "The first {EVIDENCE} of {count}; report.json has all of them."
        ))
    });
    std::iter::once(Block::Table(table)).chain(more).collect()
}
