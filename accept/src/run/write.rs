//! What a run leaves in its folder: `run.json` with everything, for its owner; `report.json` and a page, which can be handed on.

use std::path::Path;

use anyhow::Context;
use program::show::Show;
use program::{Stop, say};
use record::write_whole;

use sha2::{Digest, Sha256};

use super::folder::JOURNAL;
use crate::cli::Forms;
use crate::documents;
use crate::report::{BoxVerdict, REPORT_FILE, Report, RunStatus, hex};

/// The report with identities and words of other programs.
const FULL: &str = "run.json";
pub(super) const PAGE: &str = "report.html";

/// Writes the report as it stands, after each step: a run that is killed leaves one that accepts nothing.
pub(super) fn keep(report: &Report, folder: &Path, identify: bool) -> Result<(), Stop> {
    let report = Report {
        journal_sha256: journal_sum(folder),
        ..report.clone()
    };
    write(folder, FULL, &json(&report)?)?;
    let handed_on = documents::redacted(report, identify);
    write(folder, REPORT_FILE, &json(&handed_on)?)
}

/// The sha256 of a run's journal.
fn journal_sum(folder: &Path) -> Option<String> {
    let bytes = bounded::regular(&folder.join(JOURNAL), bounded::RESULT).ok()?;
    Some(hex(&Sha256::digest(bytes)))
}

fn json(report: &Report) -> Result<String, Stop> {
    Ok(documents::json(report).context("writing the report")?)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Stop> {
    let written = write_whole(&folder.join(name), text.as_bytes());
    Ok(written.context("make room, then use --resume")?)
}

/// Writes the report of a run that has ended, and prints it.
pub(super) fn finish(
    report: &Report,
    folder: &Path,
    forms: &Forms,
    show: Show,
) -> Result<u8, Stop> {
    keep(report, folder, forms.identify)?;
    let handed_on = documents::redacted(report.clone(), forms.identify);
    write(folder, PAGE, &documents::verdict(&handed_on).html())?;
    let written = documents::write(report, forms, show);
    let shown = folder.display();
    say!("result: {shown}, page: {shown}/{PAGE}");
    if report.verdict == BoxVerdict::Rejected {
        let command = format!("tplens accept report {shown} --identify --html vendor.html");
        say!("for the vendor, with serials: {command}");
    }
    Ok(written)
}

/// The report of a run by its folder or its `report.json`, with everything where that is there.
pub(crate) fn told(path: &Path) -> Result<Report, String> {
    let folder = match path.is_dir() {
        true => Some(path),
        false => path.parent().filter(|_| path.ends_with(REPORT_FILE)),
    };
    let full = folder.map(|folder| folder.join(FULL));
    let full = full.filter(|full| full.exists());
    let read = Report::read(full.as_deref().unwrap_or(path));
    let report = read.map_err(|error| format!("{error:#}"))?;
    // A report alone is shown as it is.
    let is_other = |folder: &&Path| {
        let sums = report.journal_sha256.clone().zip(journal_sum(folder));
        report.status == RunStatus::Complete && sums.is_some_and(|(then, now)| then != now)
    };
    match folder.filter(is_other).map(Path::display) {
        Some(run) => Err(format!(
            "{run} is refused: it is not of the journal beside it"
        )),
        None => Ok(report),
    }
}
