//! The forms of a report that a command line asks for: whether they can be written, and writing them.

use std::path::{Path, PathBuf};

use program::outputs::{self as files, check_apart, check_file};
use record::exit;

use program::show::Show;

use super::shared::redacted;
use super::{junit, ocp, prometheus, verdict};
use crate::cli::Forms;
use crate::report::{REPORT_FILE, Report};
use crate::run::JOURNAL_FILE;

/// The report as `report.json` has it.
pub(crate) fn json(report: &Report) -> Result<String, String> {
    serde_json::to_string_pretty(report)
        .map(|text| text + "\n")
        .map_err(|error| format!("cannot encode the report: {error}"))
}

/// Whether the files that are asked for can be written, and nothing of them would replace another one or what stands in `kept`.
pub(crate) fn check(forms: &Forms, kept: &[(&str, &Path)]) -> Result<(), String> {
    let mut places: Vec<(&str, std::path::PathBuf)> = Vec::new();
    for (name, path) in kept {
        places.push((name, path.to_path_buf()));
    }
    for (flag, path) in files_of(forms) {
        check_file(flag, path)?;
        places.push((flag, path.to_owned()));
    }
    check_apart(&places, &[])
}

/// Whether nothing that is asked for would replace what the run in this folder reads: its report, its journal, what the monitor saw, and
/// the records of its steps.
pub(crate) fn check_not_read(forms: &Forms, folder: &Path) -> Result<(), String> {
    let mut read: Vec<PathBuf> = [REPORT_FILE, JOURNAL_FILE, "run.json", "groups", "sim"]
        .map(|name| folder.join(name))
        .to_vec();
    let monitors = (1..).map(|number| folder.join(crate::run::monitor_file(number)));
    read.extend(monitors.take_while(|path| path.exists()));
    let name = format!("the run in {}", folder.display());
    let read: Vec<_> = read.into_iter().map(|path| (name.as_str(), path)).collect();
    files_of(forms).try_for_each(|(flag, path)| files::check_not_read(flag, path, &read))
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
                "--ocp" => ocp::ocp(&handed_on),
                _ => prometheus::prometheus(&handed_on),
            };
            files::write(path, Ok(form))
        })
        .collect();
    codes.push(match forms.json {
        true => json(&handed_on).map_or(exit::INTERNAL, |json| files::print(&json)),
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
