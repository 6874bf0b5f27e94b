//! Child processes of a program: how it starts a hidden subcommand of its own, and the pipes that the child holds.
//!
//! What parent and child say to each other is theirs; nothing here looks into it.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use serde::de::DeserializeOwned;
use supervisor::child::{self, Inbox, Outbox};
use supervisor::{Ladder, Worker, WorkerSpec};

use crate::stop::Stop;

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
        child::die_with_parent(child::expected_parent()?)?;
        Ok(Self {
            outbox: Outbox::claim()?,
            inbox: child::inbox()?,
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
pub fn start(argument: &str, name: &str) -> Result<Worker, Stop> {
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
) -> Result<Worker, Stop> {
    let mut spec =
        WorkerSpec::this_program(name, [Path::new(argument)]).map_err(anyhow::Error::from)?;
    let variables = variables.into_iter();
    spec.environment
        .extend(variables.map(|(name, value)| (name.into(), value.into())));
    Worker::spawn(spec).map_err(|error| Stop::Internal(error.into()))
}

/// Ties this process to its parent and becomes the command, of whose environment only what `is_kept` says by its name is left; returns
/// only where it cannot.
///
/// Also a program that knows nothing of its parent then dies with it: the tie survives the change (prctl(2), PR_SET_PDEATHSIG).
pub fn become_tied(
    mut words: impl Iterator<Item = OsString>,
    is_kept: impl Fn(&OsStr) -> bool,
) -> anyhow::Error {
    if let Err(error) = child::expected_parent().and_then(child::die_with_parent) {
        return error.into();
    }
    let Some(program) = words.next() else {
        return anyhow!("no command");
    };
    let kept = std::env::vars_os().filter(|(name, _)| is_kept(name));
    let error = Command::new(&program)
        .args(words)
        .env_clear()
        .envs(kept)
        .exec();
    anyhow!("cannot start {}: {error}", program.display())
}

/// The last line that is not empty: what a crashed child said.
#[must_use]
pub fn last_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("it said nothing")
        .to_owned()
}
