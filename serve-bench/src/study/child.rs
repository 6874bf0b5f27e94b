//! The other programs of this repository as processes: found beside this one, run to their end, their words kept in a log.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
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
    let own = std::env::current_exe()
        .map_err(|error| format!("cannot find this program's own file: {error}"))?;
    let file = own.with_file_name(program);
    if file.is_file() {
        Ok(file)
    } else {
        Err(format!(
            "{} is not there; `cargo xtask study` builds all programs, or build it with `cargo build --release -p {program}`",
            file.display()
        ))
    }
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
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| format!("cannot write {}", log.display()))?;
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

/// The line that says what went wrong, or else the last one.
fn last_error(text: &str) -> String {
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .rev();
    let is_error = |line: &&str| {
        let begins = ["error:", "nothing was measured", "INVALID:"];
        begins.iter().any(|begin| line.starts_with(begin))
    };
    let said = lines.clone().find(is_error).or_else(|| lines.next());
    said.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_error_is_told_and_not_the_one_after_it() {
        assert_eq!(last_error("a\nerror: b\nresult: c\n"), "error: b");
        assert_eq!(last_error("INVALID: a\ncomplete\n"), "INVALID: a");
        assert_eq!(last_error("a\nb\n\n"), "b");
        assert_eq!(last_error(""), "it said nothing");
    }
}
