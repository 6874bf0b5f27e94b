//! A report as JUnit: the machine as a case, then a suite with a case for each check.
//!
//! A required check that was skipped leaves a machine undecided, and many readers of JUnit take skipped cases for good ones: the case of the
//! machine is in error then. What is not required decides nothing, so that it is skipped where it is not good.

use view::page::{Junit, JunitCase, JunitOutcome, JunitSuite};

use super::verdict;
use super::words::{CameTo, compared_with};
use crate::report::{BoxVerdict, Check, Report, Verdict};

/// The whole XML document.
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
    let soft = report.simulated.iter();
    let properties: Vec<(String, String)> = soft
        .map(|soft| ("simulated", soft.box_name.clone()))
        .chain([
            ("node", report.node.called().to_owned()),
            ("profile", profile_label(report)),
            ("level", report.level.clone()),
        ])
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
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
pub(super) fn profile_label(report: &Report) -> String {
    match report.profile.shipped {
        true => report.profile.name.clone(),
        false => format!("own:{}", report.profile.name),
    }
}

fn of_check(check: &Check) -> JunitCase {
    let (kind, message) = (
        check.reason.code.code().to_owned(),
        CameTo(check).to_string(),
    );
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
        output: vec![format!(
            "{} {}: {}; limit: {}",
            check.verdict,
            check.reason.code.code(),
            CameTo(check),
            compared_with(check)
        )],
    }
}
