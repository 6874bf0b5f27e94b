//! One step of a study: a program that runs to its end and leaves a folder with a record.
//!
//! A step whose folder holds a complete record is not done again; what was broken off is set aside under another name.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use measure::exit;
use measure::record::{Payload, Record, Status, load};
use program::Stop;

use super::Study;
use super::child::{self, Ended};

/// A step of a study and what came out.
pub(super) struct Step {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// Its exit code.
    pub(super) code: u8,
}
impl Study<'_> {
    /// Does a step, where its folder does not hold a complete record already.
    pub(super) fn step(
        &self,
        name: &str,
        program: &str,
        about: &str,
        arguments: impl FnOnce(&Self) -> Result<Vec<String>, Stop>,
    ) -> Result<Step, Stop> {
        let folder = self.folder.join(name);
        if let Some(record) = complete(&folder) {
            (self.say)(&format!("{name}: measured before, in {}", folder.display()));
            return Ok(Step {
                folder,
                code: record.exit_code,
            });
        }
        if let Some(kept) = set_aside(&folder)? {
            let why = load(&kept).err().map_or_else(
                || "it was broken off or has no result".to_owned(),
                |error| error.to_string(),
            );
            (self.say)(&format!(
                "{name}: done again; what was there is kept as {} ({why})",
                kept.display()
            ));
        }
        (self.say)(&format!("{name}: {about}"));
        let begun = Instant::now();
        let file = child::beside(program).map_err(Stop::Usage)?;
        let mut arguments = arguments(self)?;
        arguments.extend(["--out".to_owned(), folder.display().to_string()]);
        let log = self.folder.join(format!("{name}.log"));
        match child::run(
            name,
            &file,
            &arguments,
            Vec::new(),
            &log,
            |_| true,
            self.interrupt,
        )? {
            Ended::Interrupted(signal) => Err(Stop::Interrupted(signal)),
            Ended::Exit { code, last } => {
                if complete(&folder).is_none() {
                    return Err(without_result(program, code, &last, &log));
                }
                let seconds = begun.elapsed().as_secs_f64();
                (self.say)(&format!(
                    "{name}: done in {seconds:.1} s{}",
                    ending(code, &last)
                ));
                Ok(Step { folder, code })
            }
        }
    }
}

/// A program ended and left nothing that can be used.
pub(super) fn without_result(program: &str, code: u8, last: &str, log: &Path) -> Stop {
    let reason = format!(
        "{program} ended with exit code {code}: {last} (all of it is in {})",
        log.display()
    );
    match code {
        exit::USAGE => Stop::Usage(reason),
        exit::INCONCLUSIVE => Stop::Refused(reason),
        _ => Stop::Internal(anyhow!(reason)),
    }
}

/// How a program with a result ended, where it says more than that it is done.
pub(super) fn ending(code: u8, last: &str) -> String {
    match code {
        exit::DONE => String::new(),
        code => format!(", exit code {code}: {last}"),
    }
}

/// The record of a step that ran to its end.
pub(crate) fn complete(folder: &Path) -> Option<Record> {
    let record = load(folder).ok()?;
    let has_summary = match &record.payload {
        Payload::Serve(serve) => serve.summary.is_some(),
        Payload::Links(_) | Payload::Collectives(_) | Payload::Numa(_) => true,
    };
    (record.status == Status::Complete && has_summary).then_some(record)
}

/// Gives what a broken step left another name, so that it is kept and the step can be done again.
pub(crate) fn set_aside(folder: &Path) -> Result<Option<PathBuf>, Stop> {
    if !folder.exists() {
        return Ok(None);
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let free = (1..)
        .map(|number| folder.with_file_name(format!("{name}.broken-{number}")))
        .find(|other| !other.exists());
    let Some(other) = free else {
        return Ok(None);
    };
    std::fs::rename(folder, &other)
        .with_context(|| format!("cannot set {} aside", folder.display()))?;
    Ok(Some(other))
}
