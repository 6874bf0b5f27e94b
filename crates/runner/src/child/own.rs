//! The worker's own side: die with the parent, read its messages, write messages to it.
//!
//! A worker's first three calls are [`die_with_parent`], [`Outbox::claim`] and [`inbox`], before it loads a vendor
//! library. This file does not measure and handles no signal.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::worker::PARENT_VARIABLE;
use crate::worker::encode;

/// What can go wrong on the worker's side.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// The variable that names the parent is absent or no number.
    #[error(
        "{PARENT_VARIABLE} does not name the parent; workers are started by the program itself, not by hand"
    )]
    NoParent,
    /// The parent was gone before the worker could tie itself to it.
    #[error("parent process {expected} is gone; nothing is left to work for")]
    ParentGone {
        /// The process id the parent had.
        expected: u32,
    },
    /// The system refused.
    #[error("{what} failed: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The program that it was to become cannot be started.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: std::path::PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A line from the parent is no message of the expected type.
    #[error("message from the parent not understood: {source}; the line was {line}")]
    Garbled {
        /// The line.
        line: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A message could not be written, as a rule because the parent has gone.
    #[error("message to the parent not written: {source}")]
    Write {
        /// The reason.
        source: io::Error,
    },
}

/// Returns the process id of the parent that started this worker.
///
/// # Errors
/// [`ChildError::NoParent`] where the process was not started by [`crate::Worker::spawn`].
pub fn expected_parent() -> Result<u32, ChildError> {
    std::env::var(PARENT_VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(ChildError::NoParent)
}

/// Asks the kernel to kill this process when its parent ends, however the parent ends.
///
/// The parent here is the thread that started the worker, not the whole process (prctl(2), PR_SET_PDEATHSIG), so
/// workers are started from a thread that lives as long as they do. A parent that ended before this call would go
/// unnoticed, so its process id is compared afterwards.
///
/// # Errors
/// [`ChildError::ParentGone`] where the parent is not `expected_parent` any more: exit. [`ChildError::System`] where
/// the kernel refuses.
pub fn die_with_parent(expected_parent: u32) -> Result<(), ChildError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| ChildError::System {
        what: "setting the parent death signal",
        source: error.into(),
    })?;
    let parent = getppid()
        .map(Pid::as_raw_nonzero)
        .map(|id| id.get().unsigned_abs());
    if parent == Some(expected_parent) {
        Ok(())
    } else {
        Err(ChildError::ParentGone {
            expected: expected_parent,
        })
    }
}

/// Where a worker writes its messages.
pub struct Outbox {
    pipe: File,
}

impl Outbox {
    /// Takes the pipe that is this process's standard output, and lets standard output lead to standard error.
    ///
    /// What a vendor library prints on standard output from then on is noise and cannot land inside a message, and
    /// programs that the worker starts do not hold the message pipe. Call it once, before anything else prints; what
    /// Rust's own standard output still buffers goes the new way.
    ///
    /// # Errors
    /// [`ChildError::System`] where a descriptor cannot be copied.
    pub fn claim() -> Result<Outbox, ChildError> {
        let failed = |error: rustix::io::Errno| ChildError::System {
            what: "taking standard output for messages",
            source: error.into(),
        };
        let pipe = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3).map_err(failed)?;
        rustix::stdio::dup2_stdout(io::stderr()).map_err(failed)?;
        Ok(Outbox {
            pipe: File::from(pipe),
        })
    }

    /// Writes one message to the parent; it is on the pipe when this returns.
    ///
    /// # Errors
    /// [`ChildError::Write`] where it has no JSON form or the parent has gone.
    pub fn send(&mut self, message: &impl Serialize) -> Result<(), ChildError> {
        let line = encode(message).map_err(|error| ChildError::Write {
            source: error.into(),
        })?;
        self.pipe
            .write_all(&line)
            .map_err(|source| ChildError::Write { source })
    }
}

/// Messages from the parent; their end means that the parent asks to stop.
pub struct Inbox<T> {
    lines: Receiver<io::Result<String>>,
    ended: Arc<AtomicBool>,
    message: PhantomData<T>,
}

/// Starts to read the parent's messages from standard input, on a thread of its own.
///
/// Call it once.
///
/// # Errors
/// [`ChildError::System`] where no thread can be started.
pub fn inbox<T: DeserializeOwned>() -> Result<Inbox<T>, ChildError> {
    let (sender, lines) = channel();
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    thread::Builder::new()
        .name("inbox".to_owned())
        .spawn(move || {
            for line in io::stdin().lock().lines() {
                let failed = line.is_err();
                if sender.send(line).is_err() || failed {
                    break;
                }
            }
            flag.store(true, Ordering::SeqCst);
        })
        .map_err(|source| ChildError::System {
            what: "starting the inbox thread",
            source,
        })?;
    Ok(Inbox {
        lines,
        ended,
        message: PhantomData,
    })
}

impl<T> Inbox<T> {
    /// Returns a flag that turns true as soon as the parent asks to stop, for work that looks between its steps.
    ///
    /// It turns true also where messages are still unread.
    pub fn abort_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ended)
    }
}

impl<T: DeserializeOwned> Iterator for Inbox<T> {
    type Item = Result<T, ChildError>;

    /// Waits for the next message; `None` means the parent asks to stop, or is gone.
    fn next(&mut self) -> Option<Result<T, ChildError>> {
        Some(match self.lines.recv().ok()? {
            Ok(line) => {
                serde_json::from_str(&line).map_err(|source| ChildError::Garbled { line, source })
            }
            Err(source) => Err(ChildError::System {
                what: "reading standard input",
                source,
            }),
        })
    }
}
