//! The documents of a sweep: what was done and left, with the figures of each cell and the knee of each curve, and what would be run.

use std::path::Path;

use import::serve::{Latency, ServeResult};
use view::comparison::listed;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::args::LABEL;
use super::knee::{Measured, curves, knee};

/// The page with curves, in the sweep's folder.
pub(super) const PAGE: &str = "sweep.html";

/// Curves whose knee stands in the answer.
const KNEES: usize = 3;

/// What stands for a number that is not there.
const ABSENT: &str = "—";

/// Rows that a screen shows without details.
const ROWS: usize = 16;

/// What became of a sweep.
pub(super) struct Swept<'a> {
    /// Its folder.
    pub(super) folder: &'a Path,
    /// Cells that are done, and all that were asked for.
    pub(super) done_of: (usize, usize),
    /// Cells whose runs are not to be relied on.
    pub(super) failed: Vec<String>,
    /// Servers that could not be had, with the cells that are left and the reason.
    pub(super) down: Vec<(String, usize, String)>,
    /// What the cells that are done measured.
    pub(super) results: Vec<Measured>,
}

/// The document of a sweep that ended.
pub(super) fn swept(swept: &Swept<'_>) -> Document {
    let (done, of) = swept.done_of;
    let named = |(cell, one): &Measured| {
        let config = Some(cell.group.config.clone()).filter(|label| label != LABEL);
        (config, one.clone())
    };
    let results: Vec<_> = swept.results.iter().map(named).collect();
    let mut document = view::serve::results(&results, &[]);
    let mut findings = Vec::new();
    for (name, left, reason) in &swept.down {
        let text = format!("{name}: {left} cells left: {reason}");
        findings.push(Item::of(Tone::Bad, text).coded("server-not-started"));
    }
    if !swept.failed.is_empty() {
        let text = format!("Not to be relied on: {}", listed(&swept.failed, ", "));
        findings.push(Item::of(Tone::Warning, text).coded("cell-failed"));
    }
    document.findings.splice(0..0, findings);
    document.title = "Sweep".to_owned();
    document.tone = match (document.findings.is_empty(), done == of) {
        (true, true) => Tone::Good,
        (_, true) => Tone::Warning,
        (_, false) => Tone::Bad,
    };
    let folder = swept.folder.display();
    document.answer = vec![format!("{done} of {of} cells are done: {folder}")];
    let (table, knees) = cells(&swept.results);
    document.answer.extend(knees);
    // The figures of the cells stand in one table, and the curves on the page.
    if let Some(means) = document.sections.first_mut() {
        means.heading = "Curves".to_owned();
        means.detail = true;
    }
    let (mut shown, mut rest) = (table.clone(), table);
    let more = shown.rows.len() > ROWS;
    shown.rows.truncate(ROWS);
    let section = Section::new("Means of each cell", vec![Block::Table(shown)]);
    document.sections.insert(0, section);
    if more {
        rest.rows.drain(..ROWS);
        let section = Section::detail("Further cells", vec![Block::Table(rest)]);
        document.sections.insert(1, section);
    }
    document.next = vec![match (swept.failed.is_empty(), swept.down.is_empty()) {
        (false, _) => {
            Next::plain("run the same command with --redo: it measures failed cells again.")
        }
        (true, false) => Next::plain("run the same command again: it resumes with what is left."),
        (true, true) => Next::plain(format!("the page with curves is {folder}/{PAGE}.")),
    }];
    document
}

/// A row for each cell, and a sentence for the knee of each curve.
fn cells(results: &[Measured]) -> (Table, Vec<String>) {
    let mut table = Table::under([
        "config", "in", "out", "load", "req/s", "tok/s", "TTFT ms", "p99", "TPOT ms", "p99", "",
    ]);
    let has_configs = results.iter().any(|(cell, _)| cell.group.config != LABEL);
    let mut knees = Vec::new();
    let number = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), significant);
    for curve in curves(results) {
        let all: Vec<&ServeResult> = curve.iter().map(|one| &one.1).collect();
        let at = knee(&all);
        let last = curve.len() - 1;
        for (index, (cell, one)) in curve.iter().enumerate() {
            let mean = |latency| number(one.spread(latency).map(|of| of.mean));
            let p99 = |latency| number(one.spread(latency).and_then(|of| of.p99));
            let row = [
                cell.group.name(),
                cell.input.to_string(),
                cell.output.to_string(),
                view::serve::arrivals(&one.run),
                significant(one.run.requests_per_s),
                number(one.output_tokens_per_s()),
                mean(Latency::Ttft),
                p99(Latency::Ttft),
                mean(Latency::Tpot),
                p99(Latency::Tpot),
                if at == Some(index) && index != last {
                    "knee"
                } else {
                    ""
                }
                .to_owned(),
            ];
            table.row(row);
        }
        knees.extend(at.map(|at| sentence(&curve, at)));
    }
    let is_empty = |at: usize| table.rows.iter().all(|row| row[at] == ABSENT);
    let empty: Vec<usize> = (0..table.heads.len())
        .filter(|at| (*at == 0 && !has_configs) || is_empty(*at))
        .collect();
    for at in empty.into_iter().rev() {
        table.heads.remove(at);
        table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }
    knees.truncate(KNEES);
    (table, knees)
}

/// Where the knee of a curve is.
fn sentence(curve: &[&Measured], at: usize) -> String {
    let (cell, one) = curve[at];
    let load = view::serve::arrivals(&one.run);
    let of = match cell.group.config.as_str() {
        LABEL => String::new(),
        _ => format!("{}, ", cell.group.name()),
    };
    if at + 1 == curve.len() {
        return format!("{of}{} in: no knee up to {load}.", cell.input);
    }
    let mean = |latency| one.spread(latency).map_or(f64::NAN, |of| of.mean);
    let (ttft, tpot) = (mean(Latency::Ttft), mean(Latency::Tpot));
    format!(
        "{of}{} in: knee at {load}: {} tok/s, TTFT {} ms, TPOT {} ms.",
        cell.input,
        significant(one.output_tokens_per_s().unwrap_or(f64::NAN)),
        significant(ttft),
        significant(tpot)
    )
}

/// The document of a sweep that is listed: each server with its command, and whether a cell is done.
pub(super) fn planned(servers: Vec<(String, String, Vec<String>)>) -> Document {
    let cells: usize = servers.iter().map(|(.., cells)| cells.len()).sum();
    let answer = format!("{} servers, {cells} cells; nothing was run.", servers.len());
    let sections = servers.into_iter().map(|(name, command, cells)| {
        let blocks = vec![Block::Code(vec![command]), Block::list(cells)];
        Section::new(&name, blocks)
    });
    Document {
        title: "Plan of a sweep".to_owned(),
        answer: vec![answer],
        sections: sections.collect(),
        ..Document::default()
    }
}
