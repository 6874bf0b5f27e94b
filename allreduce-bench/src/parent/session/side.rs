//! The ranks that a run asks, and how far it is.

use std::fmt;

use program::{Budget, Progress};
use record::Failure;

use super::super::group::{Group, Trouble};
use crate::engine_probe::Probe;

/// The ranks that are asked: those of the library, or of an engine.
pub(super) struct Side<'a> {
    /// Ranks that joined and wait for work, or why starting them went wrong, which the next point tells; none are started yet.
    pub(super) ranks: Option<Result<Group<'a>, Trouble>>,
    /// Whether ranks of it became one communicator.
    pub(super) joined: bool,
    /// Why none are started any more.
    pub(super) over: Option<Failure>,
    /// The serving engine whose ranks these are; `None` for the library's.
    pub(super) engine: Option<Engine>,
}

/// A serving engine.
pub(super) struct Engine {
    pub(super) probe: Probe,
    /// Its name and version, as far as it told them.
    pub(super) name: String,
}

impl<'a> Side<'a> {
    /// No ranks yet.
    pub(super) fn of(engine: Option<Probe>) -> Self {
        let engine = engine.map(|probe| Engine {
            name: probe.name().to_owned(),
            probe,
        });
        Self {
            ranks: None,
            joined: false,
            over: None,
            engine,
        }
    }

    /// Takes ranks that were started.
    pub(super) fn begin(&mut self, ranks: Result<Group<'a>, Trouble>) {
        self.joined |= ranks.is_ok();
        self.ranks = Some(ranks);
    }

    pub(super) fn probe(&self) -> Option<&Probe> {
        self.engine.as_ref().map(|engine| &engine.probe)
    }
}

/// How it is called in progress.
impl fmt::Display for Side<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.probe() {
            Some(probe) => write!(f, ", {}", probe.name()),
            None => Ok(()),
        }
    }
}

/// How far the run is.
pub(super) struct Pace<'a> {
    pub(super) progress: Progress<'a>,
    pub(super) budget: Budget,
}
