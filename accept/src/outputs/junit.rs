//! A report as JUnit: a suite for each group, a case for each check, and first of all the box itself as a case.
//!
//! A required check that was skipped leaves a box undecided, and many readers of JUnit take skipped cases for good ones: the case of the
//! box is in error then. A warning is a case that passed and says so in its output. What failed or stayed open and is not required decides
//! nothing, so that it is no failure of the suite: its case is neither good nor bad, skipped, and says what it is.

use ::report::{Junit, JunitCase, JunitOutcome, JunitSuite};

use super::{answer, words};
use crate::report::{BoxVerdict, Check, Evidence, Report, Verdict};

/// The whole XML document.
pub(crate) fn junit(report: &Report) -> String {
    let report = &super::texts::cleaned(report);
    let mut suites = vec![JunitSuite {
        name: "box".to_owned(),
        properties: properties(report),
        cases: vec![of_box(report)],
    }];
    for (title, checks) in words::grouped(report) {
        suites.push(JunitSuite {
            name: title.to_owned(),
            properties: properties(report),
            cases: checks.into_iter().map(of_check).collect(),
        });
    }
    let skipped: Vec<&Check> = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Skip)
        .collect();
    if !skipped.is_empty() {
        suites.push(JunitSuite {
            name: "Not looked at".to_owned(),
            properties: properties(report),
            cases: skipped.into_iter().map(of_check).collect(),
        });
    }
    let simulated = if report.simulated.is_some() {
        "SIMULATED "
    } else {
        ""
    };
    Junit {
        name: format!("{simulated}accept {}", words::profile_label(report)),
        started: report.started.clone(),
        seconds: report.took_s,
        suites,
    }
    .xml()
}

/// What a reader must know of every case.
fn properties(report: &Report) -> Vec<(String, String)> {
    let soft = report
        .simulated
        .as_ref()
        .map(|soft| ("simulated on soft box", soft.box_name.as_str()));
    soft.into_iter()
        .chain([
            ("node", report.node.name.as_str()),
            ("profile", words::profile_label(report).as_str()),
            ("level", report.level.as_str()),
        ])
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn of_box(report: &Report) -> JunitCase {
    let (kind, message) = (
        report.verdict.key().to_owned(),
        answer::answer(report).join(" "),
    );
    JunitCase {
        class: "accept".to_owned(),
        name: "verdict".to_owned(),
        outcome: match report.verdict {
            BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings => JunitOutcome::Passed,
            BoxVerdict::Rejected => JunitOutcome::Failed { kind, message },
            BoxVerdict::Inconclusive => JunitOutcome::Error { kind, message },
        },
        output: std::iter::once(answer::opening(report))
            .chain(answer::answer(report))
            .collect(),
    }
}

fn of_check(check: &Check) -> JunitCase {
    let (kind, message) = (
        check.reason.code.word().to_owned(),
        check.reason.text.clone(),
    );
    let warned = match check.verdict {
        Verdict::Warn => Some(format!(
            "WARN {}: {}",
            check.reason.code.word(),
            check.reason.text
        )),
        _ => None,
    };
    let figures = check.evidence.iter().map(|evidence| {
        let (Evidence::Measured { what, .. }
        | Evidence::Counted { what, .. }
        | Evidence::Seen { what, .. }) = evidence;
        format!("{what}: {}", words::sentence(evidence))
    });
    let limit = check.limit.as_ref().map(|limit| {
        format!(
            "limit: {}; {}",
            words::held_against(check),
            words::basis(limit)
        )
    });
    JunitCase {
        class: check.kind.clone(),
        name: check.id.clone(),
        outcome: match check.verdict {
            Verdict::Pass | Verdict::Warn => JunitOutcome::Passed,
            Verdict::Fail if check.required => JunitOutcome::Failed { kind, message },
            Verdict::Inconclusive if check.required => JunitOutcome::Error { kind, message },
            Verdict::Fail => JunitOutcome::Skipped {
                message: format!("FAILED, not required, {kind}: {message}"),
            },
            Verdict::Inconclusive => JunitOutcome::Skipped {
                message: format!("INCONCLUSIVE, not required, {kind}: {message}"),
            },
            Verdict::Skip => JunitOutcome::Skipped {
                message: format!("{kind}: {message}"),
            },
        },
        output: warned.into_iter().chain(figures).chain(limit).collect(),
    }
}
