//! `accept report`: a run's report again, in other forms; also of a run that was killed before it could write one.
//!
//! It judges nothing anew: the verdict is that of the run. The exit code says whether the forms were written, not what the box came to.

use std::path::{Path, PathBuf};

use measure::exit;
use program::say;

use super::{check, check_not_read, redacted, write};
use crate::cli::ReportArgs;
use crate::report::{self, Report};
use crate::run::{JOURNAL_FILE, read_journal};

/// Reads the report, writes what is asked for, and gives the exit code.
pub(crate) fn again(args: &ReportArgs) -> u8 {
    let file = report::file_of(&args.run);
    if let Err(reason) = check(&args.forms, &[("the report that is read", &file)]) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    // A file that was handed on stands in no run's folder.
    let folder = match args.run.is_dir() {
        true => Some(args.run.as_path()),
        false => args.run.parent(),
    };
    let folder = folder.filter(|folder| folder.join(JOURNAL_FILE).exists());
    if let Some(Err(reason)) = folder.map(|folder| check_not_read(&args.forms, folder)) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    let report = match of_run(&args.run, args.forms.identify) {
        Ok(report) => report,
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    if args.forms.identify && !report.node.identified {
        say!(
            "note: this report was written without identities, so that --identify shows none; a run's own folder has them, and so has what `accept run --identify` writes"
        );
    }
    write(&redacted(report, args.forms.identify), &args.forms)
}

/// The report of a run. Where it was broken off, its journal tells more than a report that an earlier part of it wrote; where identities
/// are asked for, the journal alone has them.
fn of_run(path: &Path, identify: bool) -> Result<Report, String> {
    let of_file = || report::read(path).map_err(|error| error.to_string());
    let Some(journal) = journal_of(path) else {
        return of_file();
    };
    let has_report = path.is_dir() && report::file_of(path).exists();
    let kept = match read_journal(&journal) {
        Ok(kept) => kept,
        Err(why) if has_report => {
            say!("note: {why}; what follows is from the report beside it");
            return of_file();
        }
        Err(why) => return Err(why),
    };
    if kept.is_ended && has_report && !identify {
        return of_file();
    }
    let report = kept.report();
    match report::unsound(&report) {
        None => Ok(report),
        Some(what) => Err(format!("{} is refused: {what}", journal.display())),
    }
}

/// The journal of a run, where there is one: a file, as every journal is.
fn journal_of(path: &Path) -> Option<PathBuf> {
    let journal = match path.extension() {
        Some(extension) if extension == "jsonl" => path.to_owned(),
        _ if path.is_dir() => path.join(JOURNAL_FILE),
        _ => return None,
    };
    let found = journal.symlink_metadata().ok()?;
    found.file_type().is_file().then_some(journal)
}
