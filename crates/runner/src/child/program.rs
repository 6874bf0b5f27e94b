//! Another command of this project, run to its end: its output kept in a log, ended where it stands still.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use record::exit;

use super::watcher::{LADDER, LADDER_AT_ONCE, STEP};
use crate::deadline::{ProgressDeadline, Silence};
use crate::interrupt::{Interrupt, Signal};
use crate::worker::{Event, LineSink, Worker, WorkerError, WorkerSpec, last_line, own_file};

/// How often it is looked whether a program makes progress.
const LOOK: Duration = Duration::from_millis(500);

/// A command of ours to run.
pub struct Program<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// The command, such as `serve run`.
    pub command: &'a str,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Variables besides those of this process.
    pub environment: &'a [(OsString, OsString)],
    /// What it prints goes to the end of this file.
    pub log: &'a Path,
    /// The lines that are kept there.
    pub is_kept: fn(&str) -> bool,
    /// A file whose growth is progress, as a line of output is: its journal.
    pub grows: &'a Path,
    /// Without progress for so long it is ended.
    pub deadline: Duration,
}

/// How a program ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, with this exit code, or 128 and the signal's number.
    Exit {
        /// The code.
        code: u8,
        /// The last line that it printed, which says why where there is something to say.
        last: String,
    },
    /// It made no progress and was ended.
    Stalled(Silence),
    /// A signal came; the program was ended and wrote what it had.
    Interrupted(Signal),
}

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// This program's own file is not known.
    #[error("cannot find this program's own file: {0}")]
    Own(#[source] io::Error),
    /// Its log cannot be written.
    #[error("cannot write {}: {source}", log.display())]
    Log {
        /// The log.
        log: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It did not start.
    #[error(transparent)]
    Start(#[from] WorkerError),
}

/// The file with which a command of ours starts another.
///
/// # Errors
/// The system does not tell this program's own file.
pub fn tplens() -> Result<PathBuf, ProgramError> {
    let own = own_file().map_err(ProgramError::Own)?;
    // An old name may be a copy and no link.
    let beside = own.with_file_name("tplens");
    Ok(if beside.is_file() { beside } else { own })
}

/// The words after the file that start a command, such as `serve run`, with its arguments.
#[must_use]
pub fn words(command: &str, arguments: &[String]) -> Vec<String> {
    let command = command.split(' ').map(str::to_owned);
    command.chain(arguments.iter().cloned()).collect()
}

/// Runs a program to its end, watched over: nothing of it outlives this process.
///
/// # Errors
/// It cannot be started, or its log cannot be written.
pub fn run(program: &Program<'_>, interrupt: &Interrupt) -> Result<Ended, ProgramError> {
    let ended = run_within(program, Duration::MAX, None, interrupt)?;
    Ok(ended.unwrap_or_else(|| Ended::Exit {
        code: exit::INTERNAL,
        last: String::new(),
    }))
}

/// The same for so long at most, and until a flag says that it is to end; `None` where it was ended for one of these.
///
/// # Errors
/// As [`run`].
pub fn run_within(
    program: &Program<'_>,
    limit: Duration,
    until: Option<&AtomicBool>,
    interrupt: &Interrupt,
) -> Result<Option<Ended>, ProgramError> {
    let own = words(program.command, program.arguments);
    let words = [OsString::from(STEP), tplens()?.into()]
        .into_iter()
        .chain(own.into_iter().map(OsString::from));
    let mut spec = WorkerSpec::this_program(program.name, words).map_err(ProgramError::Own)?;
    spec.environment = program.environment.to_vec();
    spec.noise = Some(into_log(program.log, program.is_kept)?);
    let mut worker = Worker::spawn(spec)?;
    let size = |file: &Path| std::fs::metadata(file).map_or(0, |file| file.len());
    let progress = || (size(program.log), size(program.grows));
    let mut deadline = ProgressDeadline::of_program(program.deadline, worker.id());
    let mut before = progress();
    let begun = Instant::now();
    loop {
        match worker.next::<serde_json::Value>(LOOK, interrupt) {
            Event::Exited(status) => {
                let code = status
                    .code()
                    .or(status.signal().map(|signal| 128 + signal))
                    .and_then(|code| u8::try_from(code).ok())
                    .unwrap_or(exit::INTERNAL);
                return Ok(Some(Ended::Exit {
                    code,
                    last: last_line(&worker.tail()),
                }));
            }
            Event::Interrupted(signal) => {
                worker.end(LADDER);
                return Ok(Some(Ended::Interrupted(signal)));
            }
            Event::Message(_) | Event::Garbled { .. } | Event::Silent { .. } => {}
        }
        let is_to_end = until.is_some_and(|until| until.load(Ordering::SeqCst));
        if is_to_end || begun.elapsed() >= limit {
            worker.end(LADDER);
            return Ok(None);
        }
        let now = progress();
        if now != before {
            before = now;
            deadline.restart();
        } else if let Some(silence) = deadline.over() {
            // Its watcher then waits for nothing; where it does not read, the ladder ends it.
            drop(worker.send(&()));
            worker.end(LADDER_AT_ONCE);
            return Ok(Some(Ended::Stalled(silence)));
        }
    }
}

/// What takes the lines of a process that are to be kept to the end of a file.
pub(crate) fn into_log(log: &Path, is_kept: fn(&str) -> bool) -> Result<LineSink, ProgramError> {
    let file = record::private::append(log).map_err(|source| ProgramError::Log {
        log: log.to_owned(),
        source,
    })?;
    let file = Mutex::new(file);
    Ok(Arc::new(move |line: &str| {
        if is_kept(line) {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // What a program measured is in its own folder; its words may be lost on a full disk.
            let _ = writeln!(file, "{line}");
        }
    }))
}
