//! The forms of a report that a command line asks for: whether they can be written, and writing them.

use std::path::{Path, PathBuf};

use measure::exit;
use program::outputs::{self as files, check_apart, check_file};

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
    let mut read: Vec<PathBuf> = [REPORT_FILE, JOURNAL_FILE, "groups", "sim"]
        .map(|name| folder.join(name))
        .to_vec();
    let monitors = (1..).map(|number| crate::run::monitor_file(folder, number));
    read.extend(monitors.take_while(|path| path.exists()));
    let name = format!("the run in {}", folder.display());
    let read: Vec<_> = read.into_iter().map(|path| (name.as_str(), path)).collect();
    files_of(forms).try_for_each(|(flag, path)| files::check_not_read(flag, path, &read))
}

/// Writes the files that are asked for, prints the text or the JSON, and gives the exit code of having done so.
///
/// The report stands as it is to be shown: [`super::redacted`] comes before.
pub(crate) fn write(report: &Report, forms: &Forms) -> u8 {
    let mut codes: Vec<u8> = files_of(forms)
        .map(|(flag, path)| {
            let form = match flag {
                "--html" => super::html(report),
                "--junit" => super::junit(report),
                _ => super::prometheus(report),
            };
            files::write(path, Ok(form))
        })
        .collect();
    let shown = match forms.json {
        true => json(report),
        false => Ok(super::text(report)),
    };
    codes.push(match shown {
        Ok(shown) => files::print(&shown),
        Err(error) => {
            program::say!("error: {error}");
            exit::INTERNAL
        }
    });
    exit::fold(codes)
}

/// The files that are asked for, by their flags.
fn files_of(forms: &Forms) -> impl Iterator<Item = (&'static str, &Path)> {
    let all = [
        ("--html", &forms.html),
        ("--junit", &forms.junit),
        ("--prometheus", &forms.prometheus),
    ];
    all.into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
}
