//! The ranks that are asked: those of the library, or of a serving engine in its Python.

use std::fmt;

use program::{Budget, Progress};
use record::{EngineRunFacts, Failure, LibraryFacts};

use super::super::group::{Group, Opened, Setup, Start, Trouble};
use crate::engine_probe::Probe;
use crate::messages::Described;

/// The ranks, if there are any just now.
pub(super) enum Ranks<'a> {
    /// They joined and wait for work.
    Ready(Group<'a>, Opened),
    /// They are to be started.
    None,
    /// Starting them went wrong, which the next point tells.
    Lost(Trouble),
}

/// The ranks of the library, or of an engine.
pub(super) struct Side<'a> {
    pub(super) ranks: Ranks<'a>,
    /// Whether ranks of it became one communicator.
    pub(super) joined: bool,
    /// Why none are started any more.
    pub(super) over: Option<Failure>,
    /// The serving engine whose ranks these are; `None` for the library's.
    pub(super) engine: Option<Engine>,
}

impl<'a> Side<'a> {
    /// No ranks yet.
    pub(super) fn of(engine: Option<Engine>) -> Self {
        Self {
            ranks: Ranks::None,
            joined: false,
            over: None,
            engine,
        }
    }

    /// Starts the ranks and makes them one communicator.
    pub(super) fn start(&mut self, setup: &'a Setup<'a>) -> Result<(Group<'a>, Opened), Trouble> {
        let engine = self.engine.as_ref().map(|engine| engine.probe.clone());
        let (group, opened) = Group::open(setup, &Start::quiet(engine))?;
        self.join(group).map(|group| (group, opened))
    }

    /// Makes ranks that have opened device and library one communicator.
    pub(super) fn join(&mut self, mut group: Group<'a>) -> Result<Group<'a>, Trouble> {
        group.join()?;
        self.joined = true;
        Ok(group)
    }
}

/// How it is called in progress.
impl fmt::Display for Side<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.engine {
            Some(engine) => write!(f, ", {}", engine.probe.name()),
            None => Ok(()),
        }
    }
}

/// How far the run is.
pub(super) struct Pace<'a> {
    pub(super) progress: Progress<'a>,
    pub(super) budget: Budget,
}

/// A serving engine.
pub(super) struct Engine {
    pub(super) probe: Probe,
    /// Its name and version, as far as it told them.
    pub(super) name: String,
    /// What it said of the point before it is kept: who did it, and the rest.
    pub(super) said: Option<(String, EngineRunFacts)>,
}

impl Engine {
    pub(super) fn new(probe: &Probe) -> Self {
        Self {
            probe: probe.clone(),
            name: probe.name().to_owned(),
            said: None,
        }
    }

    /// Takes what its ranks said of the calls that were timed last.
    pub(super) fn hear(&mut self, library: &LibraryFacts, described: Described) {
        self.name = match &library.version {
            Some(version) => format!("{} {version}", library.name),
            None => library.name.clone(),
        };
        let Described { by, device, notes } = described;
        let facts = EngineRunFacts {
            name: library.name.clone(),
            version: library.version.clone(),
            python: self.probe.python.display().to_string(),
            device,
            notes,
        };
        self.said = Some((by, facts));
    }
}
