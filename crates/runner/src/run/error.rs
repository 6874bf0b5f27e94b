//! Why a run ended before its last step.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use record::{FailureKind, FolderError, exit};

use crate::child::ProgramError;
use crate::deadline::Silence;
use crate::interrupt::Signal;
use crate::server::{ServerError, ServerExit};

/// Why a run ended; what its steps measured is in its folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A signal came.
    #[error("interrupted")]
    Interrupted(Signal),
    /// The folder is there and holds something that no run of this kind made.
    #[error("{} holds something else than {what}; choose another folder with --out", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// What should be in it.
        what: &'static str,
    },
    /// The settings that are kept cannot be read.
    #[error("{} is not {what} of this version: {reason}; choose another folder with --out", file.display())]
    Settings {
        /// The file.
        file: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The folder holds a run with other settings.
    #[error("{} holds {what} with {flag} {was}, not {is}; resume it with the same settings, or choose another folder with --out", folder.display())]
    Differs {
        /// The folder.
        folder: PathBuf,
        /// What is in it.
        what: &'static str,
        /// The flag.
        flag: String,
        /// Its value there, as JSON.
        was: String,
        /// Its value now, as JSON.
        is: String,
    },
    /// Another run is at work in the folder.
    #[error("another run (pid {pid}) is at work in {}; wait until it has ended, or choose another folder with --out", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// Its process.
        pid: u32,
    },
    /// Programs of a run that was killed do not end.
    #[error("{} is still held after {} s by programs of a run that has ended; end them, or choose another folder with --out", folder.display(), waited.as_secs())]
    Leftover {
        /// The folder.
        folder: PathBuf,
        /// How long they were waited for.
        waited: Duration,
    },
    /// The disk or the system refuses.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried, such as `cannot write`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file cannot be kept.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A program could not be started.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A server could not be had.
    #[error(transparent)]
    Server(ServerError),
    /// A server that the user runs does not answer.
    #[error(
        "no server answers at {url}/health; start the one for {what}, then run the same command again"
    )]
    NoServer {
        /// Where.
        url: String,
        /// What it serves on.
        what: String,
    },
    /// A step ended and left nothing that can be used.
    #[error("{step} ended with exit code {code}: {last} (all of it is in {})", log.display())]
    NoResult {
        /// The step.
        step: String,
        /// Its program's exit code.
        code: u8,
        /// Its last words.
        last: String,
        /// What it printed.
        log: PathBuf,
    },
    /// A step left no result, and the server that it needs has ended.
    #[error("{step} ended with exit code {code}: {exit}")]
    ServerGone {
        /// The step.
        step: String,
        /// Its program's exit code.
        code: u8,
        /// How the server ended.
        exit: ServerExit,
    },
    /// A step made no progress and was ended.
    #[error("{step} was ended: {silence} (what it printed is in {})", log.display())]
    Stalled {
        /// The step.
        step: String,
        /// What is known of its silence.
        silence: Silence,
        /// What it printed.
        log: PathBuf,
    },
}

impl From<ServerError> for RunError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Interrupted(signal) => Self::Interrupted(signal),
            other => Self::Server(other),
        }
    }
}

impl RunError {
    /// The exit code of a run that it ended.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted(signal) => signal.exit_code(),
            Self::Foreign { .. }
            | Self::Settings { .. }
            | Self::Differs { .. }
            | Self::Busy { .. }
            | Self::Server(ServerError::PortInUse { .. }) => exit::USAGE,
            Self::Leftover { .. }
            | Self::NoServer { .. }
            | Self::ServerGone { .. }
            | Self::Stalled { .. } => exit::INCONCLUSIVE,
            Self::Server(ServerError::Start(_) | ServerError::NoPort(_)) => exit::INTERNAL,
            Self::Server(_) => exit::INCONCLUSIVE,
            Self::NoResult { code, .. } => match *code {
                code @ (exit::USAGE | exit::INCONCLUSIVE) => code,
                _ => exit::INTERNAL,
            },
            Self::Io { .. } | Self::Folder(_) | Self::Program(_) => exit::INTERNAL,
        }
    }

    /// Whether it is of one step or its server, so that other steps may still be done.
    #[must_use]
    pub fn is_of_step(&self) -> bool {
        match self {
            Self::NoResult { .. } | Self::ServerGone { .. } | Self::Stalled { .. } => true,
            Self::Server(error) => {
                matches!(error, ServerError::Exited(_) | ServerError::Silent { .. })
            }
            _ => false,
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Stalled { silence, .. } => silence.kind(),
            Self::Leftover { .. } => FailureKind::HostBusy,
            Self::NoServer { .. } | Self::Server(_) | Self::ServerGone { .. } => {
                FailureKind::Dependency
            }
            _ => FailureKind::Internal,
        }
    }
}
