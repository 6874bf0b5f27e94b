//! The forms of a report that a command line asks for: whether they can be written, and writing them; and JUnit.
//!
//! JUnit has the machine as a case, then a suite with a case for each check. A required check that was skipped leaves a machine undecided, and
//! many readers of JUnit take skipped cases for good ones: the case of the machine is in error then. What is not required decides nothing, so
//! that it is skipped where it is not good.

use std::path::Path;

use program::outputs::{self as files, check_file};
use program::show::Show;
use record::exit;
use view::page::{Junit, JunitCase, JunitOutcome, JunitSuite};

use super::ocp::ocp;
use super::shared::redacted;
use super::verdict;
use super::words::{CameTo, compared_with};
use crate::cli::Forms;
use crate::report::{BoxVerdict, Check, REPORT_FILE, Report, Verdict};
use crate::run::JOURNAL;

/// The report as `report.json` has it.
pub(crate) fn json(report: &Report) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// Whether the files that are asked for can be written, and none would replace what the run in this folder reads.
pub(crate) fn check(forms: &Forms, folder: Option<&Path>) -> Result<(), String> {
    let read = folder.map(|folder| {
        let files = [REPORT_FILE, JOURNAL, "run.json", "groups", "sim"];
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
    let written = files_of(forms).map(|(flag, path)| {
        let form = match flag {
            "--html" => verdict::document(&handed_on).html(),
            "--junit" => junit(&handed_on),
            _ => ocp(&handed_on),
        };
        files::write(path, Ok(form))
    });
    let printed = || match forms.json {
        true => files::ended(files::json(&handed_on)),
        false => show.print(&verdict::document(report)),
    };
    exit::fold(written.chain(std::iter::once_with(printed)))
}

/// The files that are asked for, by their flags.
fn files_of(forms: &Forms) -> impl Iterator<Item = (&'static str, &Path)> {
    let all = [
        ("--html", &forms.html),
        ("--junit", &forms.junit),
        ("--ocp", &forms.ocp),
    ];
    all.into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
}

/// The report as JUnit.
pub(super) fn junit(report: &Report) -> String {
    let document = verdict::document(report);
    let answer = document.answer.join(" ");
    let (kind, message) = (report.verdict.words().to_owned(), answer.clone());
    let verdict = JunitCase {
        class: "accept".to_owned(),
        name: "verdict".to_owned(),
        outcome: match report.verdict {
            BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings => JunitOutcome::Passed,
            BoxVerdict::Rejected => JunitOutcome::Failed { kind, message },
            BoxVerdict::Inconclusive => JunitOutcome::Error { kind, message },
        },
        output: vec![answer],
    };
    let soft = report.simulated().into_iter();
    let soft = soft.map(|soft| ("simulated", soft.to_owned()));
    let properties = soft.chain([
        ("node", report.node.called().to_owned()),
        ("profile", profile_label(report)),
        ("level", report.level.clone()),
    ]);
    let properties = properties.map(|(name, value)| (name.to_owned(), value));
    let properties: Vec<(String, String)> = properties.collect();
    let suite = |name: &str, cases: Vec<JunitCase>| JunitSuite {
        name: name.to_owned(),
        properties: properties.clone(),
        cases,
    };
    let simulated = report.simulated.as_ref().map_or("", |_| "SIMULATED ");
    Junit {
        name: format!("{simulated}accept {}", profile_label(report)),
        started: report.started.clone(),
        seconds: report.took_s,
        suites: vec![
            suite("machine", vec![verdict]),
            suite("checks", report.checks.iter().map(of_check).collect()),
        ],
    }
    .xml()
}

/// The name of the profile where a machine reads it, so that a user's own never passes for one that came with the program.
fn profile_label(report: &Report) -> String {
    match report.profile.shipped {
        true => report.profile.name.clone(),
        false => format!("own:{}", report.profile.name),
    }
}

fn of_check(check: &Check) -> JunitCase {
    let (code, came, limit) = (
        check.reason.code.code(),
        CameTo(check),
        compared_with(check),
    );
    let (kind, message) = (code.to_owned(), came.to_string());
    let skipped = |word: &str| JunitOutcome::Skipped {
        message: format!("{word}{kind}: {message}"),
    };
    JunitCase {
        class: check.kind.clone(),
        name: check.id.clone(),
        outcome: match check.verdict {
            Verdict::Pass | Verdict::Warn => JunitOutcome::Passed,
            Verdict::Fail if check.required => JunitOutcome::Failed { kind, message },
            Verdict::Inconclusive if check.required => JunitOutcome::Error { kind, message },
            Verdict::Fail => skipped("FAILED, not required, "),
            Verdict::Inconclusive => skipped("INCONCLUSIVE, not required, "),
            Verdict::Skip => skipped(""),
        },
        output: vec![format!("{} {code}: {came}; limit: {limit}", check.verdict)],
    }
}
