//! `accept report`: a run's report again, in other forms; also of a run that was killed before it could write one.
//!
//! It judges nothing anew: the verdict is that of the run, by its journal where that is there. The exit code says whether the forms were written, not what the box came to.

use measure::exit;
use program::say;

use super::{check, check_not_read, redacted, write};
use crate::cli::ReportArgs;
use crate::report;
use crate::run::{JOURNAL_FILE, Written, of_alone, told};

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
    let (report, goes_on) = match told(&args.run) {
        Ok(Written {
            report,
            is_alone,
            goes_on,
        }) => {
            if is_alone {
                say!("note: {}", of_alone(&report));
            }
            (report, goes_on)
        }
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
    let code = write(&redacted(report, args.forms.identify), &args.forms);
    if let Some(command) = goes_on {
        say!("note: the run is not done; this goes on with it: {command}");
    }
    code
}
