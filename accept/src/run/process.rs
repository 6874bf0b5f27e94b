//! One program of a run as a process: started in a process group of its own, watched for progress, and ended
//! where it stands still or its time is over.
//!
//! What it measured is in its own folder; only its words are kept here, in a log.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use record::private;
use runner::child as others;
use runner::{
    Event, Interrupt, Ladder, LineSink, ProgressDeadline, Signal, Silence, Worker, WorkerSpec,
};

use super::environment;

/// A hidden first argument of this program: become the program that follows, and die with this one.
pub(crate) const TIED: &str = "__accept_tied";

/// Ends a program: none reads its standard input, each ends its own workers on SIGTERM, which takes 13 s at most, and writes what it has.
const LADDER: Ladder = Ladder {
    abort: Duration::from_millis(10),
    term: Duration::from_secs(14),
    kill: Duration::from_secs(5),
};

/// How often it is looked whether a program goes on.
const LOOK: Duration = Duration::from_millis(250);

/// A program to run.
pub(crate) struct Program<'a> {
    /// For messages.
    pub(crate) name: &'a str,
    /// The command, in one word or two.
    pub(crate) command: &'a str,
    /// Its arguments.
    pub(crate) arguments: &'a [String],
    /// Where its words go.
    pub(crate) log: &'a Path,
    /// A file whose growth is progress, as its words are: its journal.
    pub(crate) grows: &'a Path,
    /// Told to end once this is true, for one that goes on beside another.
    pub(crate) until: Option<&'a AtomicBool>,
}

/// How long a program may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Without progress.
    pub(crate) silent: Duration,
    /// In all.
    pub(crate) total: Duration,
}

/// How a program ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Ended {
    /// By itself, with this exit code.
    Exit {
        /// Its code.
        code: i32,
        /// The end of what it said.
        said: String,
    },
    /// By a signal that this program did not send.
    Killed {
        /// The signal's number.
        signal: i32,
        /// The end of what it said.
        said: String,
    },
    /// It was ended: it made no progress.
    Silent {
        /// For how long, and what its processes did meanwhile.
        silence: Silence,
        /// The end of what it said.
        said: String,
    },
    /// It was ended: the time was over.
    OutOfTime,
    /// It was told to end as planned.
    Told,
    /// It was ended because this program was told to stop.
    Interrupted(Signal),
}

/// What this program becomes where it was started with [`TIED`]; returns only where it cannot.
pub(crate) fn become_tied() -> anyhow::Error {
    let words = std::env::args_os().skip(2);
    runner::child::become_tied(words, |_| true).into()
}

/// Starts a program that dies with this one; its lines go to `sink`.
///
/// # Errors
/// The system refuses.
pub(crate) fn start(
    name: &str,
    command: &str,
    arguments: &[String],
    sink: LineSink,
) -> Result<Worker> {
    let mut spec = spec(name, command, arguments)?;
    spec.noise = Some(sink);
    Ok(Worker::spawn(spec)?)
}

/// How a program is started; on a simulated machine its name is that of its noise, too.
fn spec(name: &str, command: &str, arguments: &[String]) -> Result<WorkerSpec> {
    let words = [OsString::from(TIED), others::tplens()?.into()]
        .into_iter()
        .chain(
            others::words(command, arguments)
                .into_iter()
                .map(Into::into),
        );
    let mut spec = WorkerSpec::this_program(name, words)?;
    spec.environment = environment::added(|name| std::env::var_os(name).is_some());
    if arguments.iter().any(|word| word == "--sim") {
        let stream = (environment::STREAM.into(), name.into());
        spec.environment.push(stream);
    }
    Ok(spec)
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, or its log cannot be written.
pub(crate) fn run(program: &Program<'_>, limits: Limits, interrupt: &Interrupt) -> Result<Ended> {
    let (sink, lines) = log(program.log)?;
    let mut worker = start(program.name, program.command, program.arguments, sink)?;
    let begun = Instant::now();
    let mut mark = (0, 0);
    let mut patience = ProgressDeadline::of_program(limits.silent, worker.id());
    loop {
        match worker.next::<serde_json::Value>(LOOK, interrupt) {
            Event::Exited(status) => {
                let said = worker.tail();
                return Ok(match (status.code(), status.signal()) {
                    (Some(code), _) => Ended::Exit { code, said },
                    (None, signal) => Ended::Killed {
                        signal: signal.unwrap_or_default(),
                        said,
                    },
                });
            }
            Event::Interrupted(signal) => {
                worker.end(LADDER);
                return Ok(Ended::Interrupted(signal));
            }
            Event::Message(_) | Event::Garbled { .. } | Event::Silent { .. } => {}
        }
        let now = (lines.load(Ordering::Relaxed), length(program.grows));
        if now != mark {
            mark = now;
            patience.restart();
        }
        // A process that not even SIGKILL ends is left behind.
        if begun.elapsed() >= limits.total {
            worker.end(LADDER);
            return Ok(Ended::OutOfTime);
        }
        let until = program.until;
        if until.is_some_and(|until| until.load(Ordering::SeqCst)) {
            worker.end(LADDER);
            return Ok(Ended::Told);
        }
        if let Some(silence) = patience.over() {
            worker.end(LADDER);
            let said = worker.tail();
            return Ok(Ended::Silent { silence, said });
        }
    }
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |found| found.len())
}

/// A sink that appends lines to a file, and the count of lines that came.
fn log(path: &Path) -> Result<(LineSink, Arc<AtomicU64>)> {
    let file = private::append(path).with_context(|| format!("cannot write {}", path.display()))?;
    let file = Mutex::new(file);
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let sink: LineSink = Arc::new(move |line: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // The program's own folder is what must be on the disk; its words may be lost on a full one.
        let _ = writeln!(file, "{line}");
    });
    Ok((sink, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_on_a_soft_box_has_noise_of_its_own_and_none_elsewhere() {
        let stream = |name: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let spec = spec(name, "p2p", &words).unwrap();
            let set = spec.environment.into_iter();
            set.filter(|(name, _)| name == "TPLENS_SIM_STREAM")
                .map(|(_, value)| value)
                .collect::<Vec<OsString>>()
        };
        let played = ["--cases", "h2d_pinned_ce", "--sim", "l40x4"];
        assert_eq!(stream("host-links", &played), ["host-links"]);
        assert_eq!(
            stream("host-links-again-1", &played),
            ["host-links-again-1"]
        );
        assert!(stream("host-links", &["--gpus", "0"]).is_empty());
    }
}
