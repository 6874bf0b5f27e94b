//! The documents of a sweep: what was done and left, and what would be run.

use std::path::Path;

use import::serve::ServeResult;
use program::compare::listed;
use view::{Block, Document, Item, Next, Section, Table, Tone};

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
    pub(super) results: Vec<(Option<String>, ServeResult)>,
}

/// The document of a sweep that ended: its cells as `show` has them, and what was left.
pub(super) fn swept(swept: &Swept<'_>) -> Document {
    let (done, of) = swept.done_of;
    let mut document = view::serve::results(&swept.results, &[]);
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
    let done = format!("{done} of {of} cells are done: {folder}");
    document.answer.insert(0, done);
    document.next = vec![match (swept.failed.is_empty(), swept.down.is_empty()) {
        (false, _) => Next::by(
            "measure the failed cells again.",
            "tplens serve sweep PLAN --redo",
        ),
        (true, false) => Next::plain("run the same command again: it resumes with what is left."),
        (true, true) => Next::by(
            "write a page with curves.",
            format!("tplens serve show {folder} --html FILE"),
        ),
    }];
    document
}

/// A server's name and command, and its cells with what is to be done.
pub(super) type Planned = (String, String, Vec<(String, &'static str)>);

/// The cells and the commands of their servers; nothing is run.
pub(super) fn planned(servers: &[Planned]) -> Document {
    let mut sections = Vec::new();
    for (name, command, cells) in servers {
        let mut table = Table::under(["cell", ""]);
        for (cell, state) in cells {
            table.row([cell.clone(), (*state).to_owned()]);
        }
        let blocks = vec![Block::Code(vec![command.clone()]), Block::Table(table)];
        sections.push(Section::new(name, blocks));
    }
    let cells: usize = servers.iter().map(|(.., cells)| cells.len()).sum();
    Document {
        title: "Plan of a sweep".to_owned(),
        answer: vec![format!(
            "{} servers, {cells} cells; nothing was run.",
            servers.len()
        )],
        sections,
        ..Document::default()
    }
}
