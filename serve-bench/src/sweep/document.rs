//! The document of a sweep that ended: what was done and left, with the figures of each cell and the knee of each curve.

use std::path::Path;

use import::serve::Latency;
use view::comparison::listed;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Tone};

use super::args::LABEL;
use super::cells::{Measured, curves, knee};

/// The page with curves, in the sweep's folder.
pub(super) const PAGE: &str = "sweep.html";

/// Curves whose knee stands in the answer, and rows that a screen shows without details.
const KNEES: usize = 3;
const ROWS: usize = 16;

/// What became of a sweep.
#[derive(Default)]
pub(super) struct Swept {
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
pub(super) fn swept(swept: &Swept, folder: &Path) -> Document {
    let (done, of) = swept.done_of;
    let named = |(cell, one): &Measured| {
        let config = Some(cell.group.config.clone()).filter(|label| label != LABEL);
        (config, one.clone())
    };
    let results: Vec<_> = swept.results.iter().map(named).collect();
    let mut document = view::serve::results(&results, &[]);
    let down = swept.down.iter().map(|(name, left, reason)| {
        let text = format!("{name}: {left} cells left: {reason}");
        Item::of(Tone::Bad, text).coded("server-not-started")
    });
    let failed = (!swept.failed.is_empty()).then(|| {
        let text = format!("Not to be relied on: {}", listed(&swept.failed, ", "));
        Item::of(Tone::Warning, text).coded("cell-failed")
    });
    let findings: Vec<Item> = down.chain(failed).collect();
    document.findings.splice(0..0, findings);
    document.title = "Sweep".to_owned();
    document.tone = match (document.findings.is_empty(), done == of) {
        (true, true) => Tone::Good,
        (_, true) => Tone::Warning,
        (_, false) => Tone::Bad,
    };
    let folder = folder.display();
    document.answer = vec![format!("{done} of {of} cells are done: {folder}")];
    let knees = curves(&swept.results);
    let knees = knees.iter().filter_map(|curve| at_knee(curve));
    document.answer.extend(knees.take(KNEES));
    let mut further = Vec::new();
    if let Some(Block::Table(means)) = document.sections[0].blocks.first_mut() {
        let mut rest = means.clone();
        means.rows.truncate(ROWS);
        rest.rows.drain(..means.rows.len());
        further.extend((!rest.rows.is_empty()).then_some(Block::Table(rest)));
    }
    let plots = document.sections[0].blocks.drain(1..);
    further.extend(plots);
    let further = Section::detail("Curves and further cells", further);
    document.sections.insert(1, further);
    document.next = vec![match (swept.failed.is_empty(), swept.down.is_empty()) {
        (false, _) => {
            Next::plain("run the same command with --redo: it measures failed cells again.")
        }
        (true, false) => Next::plain("run the same command again: it resumes with what is left."),
        (true, true) => Next::plain(format!("the page with curves is {folder}/{PAGE}.")),
    }];
    document
}

/// Where the knee of a curve is.
fn at_knee(curve: &[&Measured]) -> Option<String> {
    let at = knee(curve)?;
    let (cell, one) = curve[at];
    let load = view::serve::arrivals(&one.run);
    let of = match cell.group.config.as_str() {
        LABEL => String::new(),
        _ => format!("{}, ", cell.group.name()),
    };
    if at + 1 == curve.len() {
        return Some(format!("{of}{} in: no knee up to {load}.", cell.input));
    }
    let mean = |latency| significant(one.spread(latency).map_or(f64::NAN, |of| of.mean));
    Some(format!(
        "{of}{} in: knee at {load}: {} tok/s, TTFT {} ms, TPOT {} ms.",
        cell.input,
        significant(one.output_tokens_per_s()?),
        mean(Latency::Ttft),
        mean(Latency::Tpot)
    ))
}
