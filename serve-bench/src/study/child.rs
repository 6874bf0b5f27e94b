//! The other programs of this repository as processes: found beside this one, run to their end, their words kept in a log.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use program::others::{self, last_error};
use supervisor::{Event, Interrupt, Signal, Worker, WorkerSpec};

use super::server::LADDER;
use super::watcher;

/// How long a program may be silent here: it has deadlines of its own for whatever can hang.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How a program ended.
pub(crate) enum Ended {
    /// By itself, with this exit code and these last words.
    Exit { code: u8, last: String },
    /// A signal came; the program was ended and wrote what it had.
    Interrupted(Signal),
}

/// The file of a program that stands beside this one.
///
/// # Errors
/// It is not there; the error says how to build it.
pub(crate) fn beside(program: &str) -> Result<PathBuf, String> {
    others::beside(program, "cargo xtask study")
}

/// Runs a program to its end, with variables besides those of this process; the lines of its output that are to be kept go to
/// the end of `log`.
///
/// # Errors
/// It cannot be started, or the log cannot be written.
pub(crate) fn run(
    name: &str,
    program: &Path,
    arguments: &[String],
    environment: Vec<(OsString, OsString)>,
    log: &Path,
    is_kept: fn(&str) -> bool,
    interrupt: &Interrupt,
) -> Result<Ended> {
    let file =
        measure::private::append(log).with_context(|| format!("cannot write {}", log.display()))?;
    let file = Arc::new(Mutex::new(file));
    // Watched over, because a program that outlived the study would write into the folder of the next one.
    let words = [OsString::from(watcher::STEP), program.into()]
        .into_iter()
        .chain(arguments.iter().map(OsString::from));
    let mut spec = WorkerSpec::this_program(name, words)?;
    spec.environment = environment;
    spec.noise = Some(Arc::new(move |line: &str| {
        if !is_kept(line) {
            return;
        }
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // The program's own folder is what must be on the disk; its words may be lost on a full one.
        let _ = writeln!(file, "{line}");
    }));
    let mut worker = Worker::spawn(spec)?;
    loop {
        match worker.next::<serde_json::Value>(PATIENCE, interrupt) {
            Event::Exited(status) => {
                let code = status
                    .code()
                    .or(status.signal().map(|signal| 128 + signal))
                    .and_then(|code| u8::try_from(code).ok())
                    .unwrap_or(measure::exit::INTERNAL);
                return Ok(Ended::Exit {
                    code,
                    last: last_error(&worker.tail()),
                });
            }
            Event::Interrupted(signal) => {
                worker.end(LADDER);
                return Ok(Ended::Interrupted(signal));
            }
            Event::Message(_) | Event::Garbled { .. } | Event::Silent { .. } => {}
        }
    }
}
