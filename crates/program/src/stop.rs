//! Why a run ends before its last measurement.

use record::exit;
use record::{Failure, FolderError};
use runner::child::ProgramError;
use runner::run::RunError;
use runner::{Signal, WorkerError};

/// Why a run ended before it measured anything.
#[derive(Debug)]
pub enum Stop {
    /// The command line is wrong: exit 2.
    Usage(String),
    /// Nothing can be measured: exit 3.
    Refused(Failure),
    /// The program or the disk failed: exit 4.
    Internal(anyhow::Error),
    /// A signal came.
    Interrupted(Signal),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Internal(error)
    }
}

impl From<WorkerError> for Stop {
    fn from(error: WorkerError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<ProgramError> for Stop {
    fn from(error: ProgramError) -> Self {
        RunError::from(error).into()
    }
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        match (error.exit_code(), error) {
            (_, RunError::Interrupted(signal)) => Self::Interrupted(signal),
            (exit::USAGE, error) => Self::Usage(error.to_string()),
            (exit::INCONCLUSIVE, error) => Self::Refused(error.kind().of(error.to_string())),
            (_, error) => Self::Internal(error.into()),
        }
    }
}

/// What ends a run that has begun before its last measurement; what was measured until then is kept.
#[derive(Debug)]
pub enum Break {
    /// A signal came.
    Signal(Signal),
    /// The disk does not take what was found.
    NotDurable(FolderError),
    /// Anything else.
    Stop(Stop),
}

impl From<FolderError> for Break {
    fn from(error: FolderError) -> Self {
        Self::NotDurable(error)
    }
}

impl From<Stop> for Break {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted(signal) => Self::Signal(signal),
            other => Self::Stop(other),
        }
    }
}

/// The signal's name in records.
#[must_use]
pub fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt => "SIGINT",
        Signal::Terminate => "SIGTERM",
        Signal::Hangup => "SIGHUP",
    }
}

/// What to do about a result folder that cannot be made.
pub(crate) const OTHER_FOLDER: &str = "choose a folder that can be written with --out";

/// An error with its causes, each told once: the words of many errors hold those of their cause already.
#[must_use]
pub fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if text.is_empty() {
            text = words;
        } else if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
    }
    text
}
