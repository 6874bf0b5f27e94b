//! The forms of a report that a command line asks for: whether they can be written, and writing them.

use std::path::Path;

use program::outputs::{self as files, check_file};
use program::show::Show;
use record::exit;

use super::shared::redacted;
use super::{junit, ocp, prometheus, verdict};
use crate::cli::Forms;
use crate::report::{REPORT_FILE, Report};
use crate::run::JOURNAL_FILE;

/// The report as `report.json` has it.
pub(crate) fn json(report: &Report) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// Whether the files that are asked for can be written, and none would replace what the run in this folder reads.
pub(crate) fn check(forms: &Forms, folder: Option<&Path>) -> Result<(), String> {
    let read = folder.map(|folder| {
        let files = [REPORT_FILE, JOURNAL_FILE, "run.json", "groups", "sim"];
        files.map(|name| ("the run", folder.join(name)))
    });
    files_of(forms).try_for_each(|(flag, path)| {
        check_file(flag, path)?;
        files::check_not_read(flag, path, read.as_ref().map_or(&[], |read| read))
    })
}

/// Writes the files that are asked for, without identities unless they are to stay, prints the document or the JSON, and gives the exit code of
/// having done so. The screen is the user's own and shows the host's name and the words of drivers; what can be handed on does not.
pub(crate) fn write(report: &Report, forms: &Forms, show: Show) -> u8 {
    let handed_on = redacted(report.clone(), forms.identify);
    let mut codes: Vec<u8> = files_of(forms)
        .map(|(flag, path)| {
            let form = match flag {
                "--html" => verdict::document(&handed_on).html(),
                "--junit" => junit::junit(&handed_on),
                "--prometheus" => prometheus::prometheus(&handed_on),
                _ => ocp::ocp(&handed_on),
            };
            files::write(path, Ok(form))
        })
        .collect();
    codes.push(match forms.json {
        true => files::ended(files::json(&handed_on)),
        false => show.print(&verdict::document(report)),
    });
    exit::fold(codes)
}

/// The files that are asked for, by their flags.
fn files_of(forms: &Forms) -> impl Iterator<Item = (&'static str, &Path)> {
    let all = [
        ("--html", &forms.html),
        ("--junit", &forms.junit),
        ("--prometheus", &forms.prometheus),
        ("--ocp", &forms.ocp),
    ];
    all.into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
}
