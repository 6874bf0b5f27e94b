//! The end of a run: its report, judged as a whole, on the disk and printed.
//!
//! What single checks come to is the judges' matter.

use measure::exit;
use program::{Stop, say};
use supervisor::Signal;

use super::folder::Folder;
use super::journal::{Done, Entry};
use super::session::Session;
use super::start::Run;
use super::{series, write};
use crate::plural::plural;
use crate::report::{BoxVerdict, ReasonCode, Report, RunStatus, Verdict};

impl Run<'_> {
    /// The report of a run that ended, on the disk and printed.
    pub(super) fn end(
        &self,
        mut report: Report,
        mut session: Session<'_>,
        status: RunStatus,
        folder: &Folder,
    ) -> Result<u8, Stop> {
        report.checks = std::mem::take(&mut session.checks);
        report.verdict = BoxVerdict::of(&report.checks);
        // What was not looked at because a signal came is not found good.
        if status != RunStatus::Complete && report.verdict.exit_code() == exit::DONE {
            report.verdict = BoxVerdict::Inconclusive;
        }
        report.exit_code = match &status {
            RunStatus::Interrupted { .. } => self
                .interrupt
                .signal()
                .map_or(exit::INTERRUPTED, Signal::exit_code),
            _ => report.verdict.exit_code(),
        };
        report.status = status;
        report.took_s = session.before_s + self.begun.elapsed().as_secs_f64();
        report.series = series::of(&session.findings.monitor);
        report.notes.append(&mut session.notes);
        report
            .notes
            .extend(done_again(&session.broken, &session.done));
        if let Some(fingerprint) = session.findings.fingerprint.take() {
            report.node.fingerprint = fingerprint;
        }
        session.keep(&Entry::End {
            report: Box::new(report.clone()),
        })?;
        let written = write::finish(&report, folder.path(), &self.args.forms)?;
        say!("result: {}", folder.path().display());
        if let RunStatus::Interrupted { .. } = report.status {
            say!(
                "broken off; the same command with --resume {} in place of --out goes on with it",
                folder.path().display()
            );
        }
        if is_open(&report, &session.done) {
            say!(
                "steps broke or had no time; the same command with --resume {} in place of --out, and a longer --budget where that was spent, does them",
                folder.path().display()
            );
        }
        Ok(exit::fold([report.exit_code, written]))
    }
}

/// Whether a run that is complete left something that `--resume` does; [`super::kept::Kept::is_open`] is the same of a journal.
fn is_open(report: &Report, done: &[Done]) -> bool {
    let has_broken = |step: &Done| step.missing.as_ref().is_some_and(|missing| missing.is_open);
    let mut checks = report.checks.iter();
    report.status == RunStatus::Complete
        && report.verdict != BoxVerdict::Rejected
        && (done.iter().any(has_broken)
            || checks.any(|check| check.reason.code == ReasonCode::Budget))
}

/// A note for each step that broke and was done again.
fn done_again(broken: &[Done], done: &[Done]) -> Vec<String> {
    let note = |step: &Done| {
        let before: Vec<&Done> = broken.iter().filter(|one| one.name == step.name).collect();
        let last = before.last()?.missing.as_ref()?;
        Some(format!(
            "{} was done {}, and the last one counts; before it broke: {}",
            step.name,
            plural(before.len() + 1, "time"),
            last.text
        ))
    };
    done.iter().filter_map(note).collect()
}

impl Session<'_> {
    /// What the checks came to until now, for a run whose disk refuses.
    pub(super) fn in_short(&self) -> Vec<String> {
        let failed = self
            .checks
            .iter()
            .filter(|check| check.verdict == Verdict::Fail && check.required);
        failed
            .map(|check| format!("until then: {} failed: {}", check.id, check.reason.text))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Group;
    use crate::findings::Missing;

    #[test]
    fn a_step_that_broke_and_was_done_again_is_told_with_how_often() {
        let step = |name: &str, missing: Option<&str>| Done {
            group: Group::HostLinks,
            name: name.to_owned(),
            folder: format!("groups/{name}-1"),
            took_s: 1.0,
            missing: missing.map(|text| Missing {
                is_open: true,
                ..Missing::of(ReasonCode::WorkerFailed, text)
            }),
            unwatched: None,
        };
        let broken = [
            step("a", Some("x")),
            step("a", Some("y")),
            step("b", Some("z")),
        ];
        // `b` was not done again, `c` never broke.
        let told = done_again(&broken, &[step("a", None), step("c", None)]);
        assert_eq!(
            told,
            ["a was done 3 times, and the last one counts; before it broke: y"]
        );
    }
}
