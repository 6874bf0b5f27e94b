//! The document of a sweep that ended: what was done and left, with the figures of each cell and the knee of each curve.

use std::path::Path;

use import::serve::Latency;
use record::exit;
use view::comparison::listed;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Tone};

use super::args::LABEL;
use super::cells::{Cell, Measured, curves, knee};
use crate::planner::Lost;

/// The page with curves, in the sweep's folder.
pub(super) const PAGE: &str = "sweep.html";

/// Curves whose knee stands in the answer, and rows that a screen shows without details.
const KNEES: usize = 3;
const ROWS: usize = 16;

/// A cell with the exit code of its load, or why it has none.
pub(super) type Ended<'a> = (&'a Cell, Result<u8, Lost>);

/// The document of a sweep whose cells ended so and measured this.
pub(super) fn swept(ended: &[Ended<'_>], results: &[Measured<'_>], folder: &Path) -> Document {
    let is_failed = |end: &Result<u8, Lost>| match end {
        Ok(code) => *code != exit::DONE,
        Err(lost) => !lost.is_server,
    };
    let failed = ended.iter().filter(|(_, end)| is_failed(end));
    let failed: Vec<String> = failed.map(|(cell, _)| cell.name.clone()).collect();
    let labelled = results.iter().map(|(cell, one)| {
        let config = Some(cell.config.clone()).filter(|label| label != LABEL);
        (config, one.clone())
    });
    let mut document = view::serve::results(&labelled.collect::<Vec<_>>(), &[]);
    let down = ended.iter().filter_map(|(cell, end)| {
        let lost = end.as_ref().err().filter(|lost| lost.is_server)?;
        Some((&cell.server, &lost.reason))
    });
    let down: Vec<_> = down.collect();
    let left = down.chunk_by(|one, other| one.0 == other.0).map(|cells| {
        let ((server, reason), left) = (cells[0], cells.len());
        let text = format!("{server}: {left} cells left: {reason}");
        Item::of(Tone::Bad, text).coded("server-not-started")
    });
    let doubted = (!failed.is_empty()).then(|| {
        let text = format!("Not to be relied on: {}", listed(&failed, ", "));
        Item::of(Tone::Warning, text).coded("cell-failed")
    });
    document.findings.splice(0..0, left.chain(doubted));
    document.title = "Sweep".to_owned();
    let done = ended.iter().filter(|(_, end)| end.is_ok()).count();
    document.tone = match (document.findings.is_empty(), done == ended.len()) {
        (true, true) => Tone::Good,
        (_, true) => Tone::Warning,
        (_, false) => Tone::Bad,
    };
    let (folder, of) = (folder.display(), ended.len());
    document.answer = vec![format!("{done} of {of} cells are done: {folder}")];
    let curves = curves(results);
    let knees = curves.iter().filter_map(|curve| at_knee(curve));
    document.answer.extend(knees.take(KNEES));
    if document.answer.len() == 1 {
        let none = "No knee: it takes three loads of one length, with latencies.";
        document.answer.push(none.to_owned());
    }
    let mut further = Vec::new();
    if let Some(Block::Table(means)) = document.sections[0].blocks.first_mut() {
        let mut rest = means.clone();
        rest.rows = means.rows.split_off(ROWS.min(means.rows.len()));
        further.extend((!rest.rows.is_empty()).then_some(Block::Table(rest)));
    }
    further.extend(document.sections[0].blocks.drain(1..));
    let further = Section::detail("Curves and further cells", further);
    document.sections.insert(1, further);
    document.next = vec![Next::plain(match (failed.is_empty(), down.is_empty()) {
        (false, _) => {
            "run the same command with --redo: it measures failed cells again.".to_owned()
        }
        (_, false) => "run the same command again: it resumes with what is left.".to_owned(),
        _ => format!("the page with curves is {folder}/{PAGE}."),
    })];
    document
}

/// Where the knee of a curve is.
fn at_knee(curve: &[&Measured<'_>]) -> Option<String> {
    let at = knee(curve)?;
    let (cell, one) = curve[at];
    let load = view::serve::arrivals(&one.run).replacen("up to ", "", 1);
    let of = match cell.config.as_str() {
        LABEL => String::new(),
        _ => format!("{}, ", cell.server),
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
