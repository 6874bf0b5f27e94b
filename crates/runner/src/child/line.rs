//! A hidden subcommand as a worker: how a program starts it, and the pipes that it holds.
//!
//! What parent and child say to each other is theirs; nothing here looks into it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::own::{Inbox, Outbox, die_with_parent, expected_parent, inbox};
use crate::worker::{Ladder, Worker, WorkerError, WorkerSpec};

/// Ends children that only list or read.
pub const SHORT_LADDER: Ladder = Ladder {
    abort: Duration::from_secs(1),
    term: Duration::from_secs(2),
    kill: Duration::from_secs(5),
};

/// A child's ends of the pipes.
pub struct Line<T> {
    inbox: Inbox<T>,
    outbox: Outbox,
}

impl<T: DeserializeOwned> Line<T> {
    /// Ties this process to its parent and takes both pipes; a child's first call.
    ///
    /// # Errors
    /// This process was not started by a parent, or the system refuses.
    pub fn open() -> Result<Self> {
        die_with_parent(expected_parent()?)?;
        Ok(Self {
            outbox: Outbox::claim()?,
            inbox: inbox()?,
        })
    }

    /// The next request; `None` when the parent is done with this child.
    ///
    /// # Errors
    /// The pipe broke, or a request was not understood.
    pub fn request(&mut self) -> Result<Option<T>> {
        self.inbox.next().transpose().context("reading a request")
    }

    /// A flag that turns true as soon as the parent asks to stop, for work that looks between its steps.
    #[must_use]
    pub fn abort_flag(&self) -> Arc<AtomicBool> {
        self.inbox.abort_flag()
    }

    /// Answers the parent.
    ///
    /// # Errors
    /// The pipe broke.
    pub fn send(&mut self, reply: &impl Serialize) -> Result<()> {
        self.outbox.send(reply).context("answering the parent")
    }
}

/// Starts the child that an argument of this program stands for; `name` is for messages.
///
/// # Errors
/// The system refuses.
pub fn start(argument: &str, name: &str) -> Result<Worker, WorkerError> {
    start_with(argument, name, [])
}

/// As [`start`], with variables that the child has besides those of this process.
///
/// # Errors
/// The system refuses.
pub fn start_with<'a>(
    argument: &str,
    name: &str,
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Worker, WorkerError> {
    let spec = WorkerSpec::this_program(name, [Path::new(argument)]);
    let mut spec = spec.map_err(|source: io::Error| WorkerError::Spawn {
        name: name.to_owned(),
        program: argument.into(),
        source,
    })?;
    let variables = variables.into_iter();
    spec.environment
        .extend(variables.map(|(name, value)| (name.into(), value.into())));
    Worker::spawn(spec)
}
