//! The end of a run: its report, judged as a whole, on the disk and printed.
//!
//! What single checks come to is the judges' matter.

use measure::exit;
use program::{Stop, say};
use supervisor::Signal;

use super::folder::Folder;
use super::journal::Entry;
use super::session::Session;
use super::start::Run;
use super::{series, write};
use crate::report::{BoxVerdict, Report, RunStatus, Verdict};

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
        Ok(exit::fold([report.exit_code, written]))
    }
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
