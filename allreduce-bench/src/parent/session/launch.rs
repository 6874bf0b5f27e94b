//! What a launch is made of: its ranks, the serving engine whose ranks they are, and how far the run is.

use std::fmt;

use program::{Budget, Progress};
use record::{CallMode, EngineRunFacts, LibraryFacts};

use super::super::arms::Variant;
use super::super::group::{Group, Opened, Start, Trouble};
use super::super::wanted::Wanted;
use crate::engine_probe::Probe;
use crate::messages::Described;

/// The ranks, if there are any just now.
pub(super) enum Ranks<'a> {
    /// They joined and wait for work.
    Ready(Group<'a>, Opened),
    /// They are to be started.
    None,
    /// Joining went wrong, which the next point tells.
    Lost(Trouble),
}

/// One launch of an arm's ranks by one clock.
pub(super) struct Launch<'v> {
    pub(super) variant: &'v mut Variant,
    pub(super) number: u32,
    /// How many launches there are of each arm.
    pub(super) of: u32,
    /// The serving engine whose ranks these are; `None` for the library's.
    pub(super) engine: Option<Engine>,
}

impl Launch<'_> {
    /// What the ranks begin with.
    pub(super) fn start(&self) -> Start {
        Start {
            engine: self.engine.as_ref().map(|engine| engine.probe.clone()),
            ..self.variant.start()
        }
    }
}

/// How it is called in progress: nothing where there is one launch without a name.
impl fmt::Display for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(engine) = &self.engine {
            write!(f, ", {}", engine.probe.name())?;
        }
        if let Some(name) = self.variant.name() {
            write!(f, ", arm {name}")?;
        }
        match self.of {
            1 => Ok(()),
            _ => write!(f, ", launch {}", self.number + 1),
        }
    }
}

/// How far the run is.
pub(super) struct Pace<'a> {
    pub(super) progress: Progress<'a>,
    pub(super) budget: Budget,
}

/// The engine of one launch.
pub(super) struct Engine {
    pub(super) probe: Probe,
    /// Its name and version, as far as it told them.
    pub(super) name: String,
    /// What it said of the point before it is kept.
    pub(super) said: Option<Said>,
}

/// What an engine said of a point.
pub(super) struct Said {
    pub(super) by: String,
    pub(super) facts: EngineRunFacts,
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
        self.said = Some(Said { by, facts });
    }
}

/// What is measured of an engine.
pub(super) struct EngineCalls {
    pub(super) calls: Vec<Wanted>,
    pub(super) modes: Vec<CallMode>,
}

impl EngineCalls {
    /// How many points that are in one launch of one arm.
    pub(super) fn points(&self) -> usize {
        self.calls.len() * self.modes.len()
    }
}
