//! The report of a run that left a folder, held against the journal beside it: the journal is what the run did, a report is a copy that
//! anybody may change.
//!
//! A report that was handed on alone has no journal: it is held against itself and its profile, and who shows it says so.

use std::path::{Path, PathBuf};

use super::journal::FILE;
use super::kept::{Kept, read};
use crate::outputs;
use crate::report::{self, REPORT_FILE, Report, RunStatus};

/// What is said of a report that was handed on alone.
pub(crate) const ALONE: &str =
    "no journal beside it: it was held against itself, and not against what its run did";

/// The same of this report, with what of it nothing beside it shows: the baseline that it was held against, and required checks of which
/// it says that they do not apply or that the driver tells nothing.
pub(crate) fn of_alone(report: &Report) -> String {
    let baseline = report.profile.baseline_sha256.as_ref().map(|sha256| {
        let begin: String = sha256.chars().take(SHORT).collect();
        format!("the baseline that it was held against ({begin}) is not at hand, and its limits are taken as they stand")
    });
    let aside = report::set_aside(report);
    let aside = (!aside.is_empty()).then(|| {
        format!(
            "required, and taken as not applicable because it says so: {}",
            aside.join(", ")
        )
    });
    let untold = report::untold(report);
    let untold = (!untold.is_empty()).then(|| {
        format!(
            "required where the driver tells what they look at, and taken as not told because the report says so: {}",
            untold.join(", ")
        )
    });
    let all = [Some(ALONE.to_owned()), baseline, aside, untold];
    measure::control::replaced(&all.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Characters of a sha256 that are shown.
const SHORT: usize = 12;

/// A report as it was written.
#[derive(Debug)]
pub(crate) struct Written {
    /// The report.
    pub(crate) report: Report,
    /// Whether there is no journal beside it, so that it was held against itself alone.
    pub(crate) is_alone: bool,
    /// The command that goes on with the run, where it was broken off or left something to do and its journal was read.
    pub(crate) goes_on: Option<String>,
}

/// The report of a result folder or a file, as it was written; where the run was gone on with since, or did not end, the one that its
/// journal comes to, with identities only where the written one has them.
///
/// # Errors
/// In one sentence: it cannot be read, it contradicts itself, or the journal beside it cannot be read or says something else.
pub(crate) fn written(path: &Path) -> Result<Written, String> {
    let report = report::read(path).map_err(|error| error.to_string())?;
    let file = report::file_of(path);
    let Some(journal) = journal_of(path) else {
        return match report::contradiction(&report) {
            Some(what) => Err(format!("{} is refused: {what}", file.display())),
            None => Ok(Written {
                report,
                is_alone: true,
                goes_on: None,
            }),
        };
    };
    let kept = read(&journal)?;
    agrees(&kept, &report, &file)?;
    let report = match is_last(&kept, &report) {
        true => report,
        false => outputs::redacted(sound(&kept, &journal)?, report.node.identified),
    };
    Ok(Written {
        report,
        is_alone: false,
        goes_on: None,
    })
}

/// The report of a run, from its journal where there is one: where the run was broken off it tells more than a report that an earlier
/// part of it wrote, and it alone has identities.
///
/// # Errors
/// As [`written`].
pub(crate) fn told(path: &Path) -> Result<Written, String> {
    let Some(journal) = journal_of(path) else {
        return written(path);
    };
    let kept = read(&journal)?;
    let beside = report::file_of(path);
    if beside != journal && beside.exists() {
        let written = report::read(&beside).map_err(|error| error.to_string())?;
        agrees(&kept, &written, &beside)?;
    }
    let report = sound(&kept, &journal)?;
    let is_open = !kept.is_complete() || kept.is_open();
    let folder = journal.parent().filter(|_| is_open);
    Ok(Written {
        goes_on: folder.map(|folder| kept.key.command(&report.profile, folder)),
        report,
        is_alone: false,
    })
}

/// The report that a journal comes to.
fn sound(kept: &Kept, journal: &Path) -> Result<Report, String> {
    let report = kept.report();
    match report::unsound(&report) {
        None => Ok(report),
        Some(what) => Err(format!("{} is refused: {what}", journal.display())),
    }
}

/// Whether a report is the one with which the run ended last, and nothing stands behind that end.
fn is_last(kept: &Kept, written: &Report) -> bool {
    let last = kept.ends.last();
    kept.is_ended && last.is_some_and(|end| outputs::differs(end, written).is_none())
}

/// Whether a report is one that the run wrote: what it came to when it was taken up again, or one with which it ended. A run that was
/// killed right behind its end, or after it was taken up again, left that of an earlier one.
fn agrees(kept: &Kept, written: &Report, file: &Path) -> Result<(), String> {
    let file = file.display();
    // A run that is taken up again says so, and no such report finds a box good; what counts is the journal.
    if written.status == RunStatus::Broken && !kept.ends.is_empty() {
        return Ok(());
    }
    let mut differs = kept
        .ends
        .iter()
        .map(|end| outputs::differs(end, written))
        .rev();
    // What is told of is how it differs from the last.
    let Some(last) = differs.next() else {
        return Err(format!(
            "{file} is refused: the journal beside it has no end of a run, which comes before every report; `accept report` shows what the journal holds once that file is moved away"
        ));
    };
    match last {
        Some(what) if differs.all(|other| other.is_some()) => Err(format!(
            "{file} is refused: it is not what its run wrote: {what}; `accept report` makes it again from the journal once that file is moved away"
        )),
        _ => Ok(()),
    }
}

/// The journal of a run, where there is one: a file, as every journal is.
fn journal_of(path: &Path) -> Option<PathBuf> {
    let journal = match path.extension() {
        Some(extension) if extension == "jsonl" => path.to_owned(),
        _ if path.is_dir() => path.join(FILE),
        _ if path.file_name()? == REPORT_FILE => path.with_file_name(FILE),
        _ => return None,
    };
    let found = journal.symlink_metadata().ok()?;
    found.file_type().is_file().then_some(journal)
}
