//! The points of a serving engine's own all-reduce, which its ranks do in the engine's Python after those of the library.
//!
//! They are measured as the library's are. The engine chooses who does a call by its size, so each point has a name of its own.

use std::collections::BTreeSet;

use program::Break;
use record::{
    BufferPlacement, CallMode, CollectiveKind, CollectivesEvent, ElementType, EngineRunFacts,
    LibraryFacts,
};

use super::super::arms::Variant;
use super::super::group::Group;
use super::super::wanted::Wanted;
use super::{Launch, Pace, Ranks, Session};
use crate::engine_probe::Probe;
use crate::messages::Described;

/// The types that engines reduce themselves.
const ELEMENTS: [ElementType; 3] = [ElementType::Bf16, ElementType::F16, ElementType::F32];

/// The engine of one launch.
pub(super) struct Engine {
    pub(super) probe: Probe,
    /// Its name and version, as far as it told them.
    name: String,
    /// What it said of the point before it is kept.
    said: Option<Said>,
}

/// What an engine said of a point.
struct Said {
    by: String,
    facts: EngineRunFacts,
}

impl Engine {
    fn new(probe: &Probe) -> Self {
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
    calls: Vec<Wanted>,
    modes: Vec<CallMode>,
}

impl EngineCalls {
    /// How many points that are in one launch of one arm.
    pub(super) fn points(&self) -> usize {
        self.calls.len() * self.modes.len()
    }
}

impl<'a> Session<'a> {
    /// The calls of the run that an engine does itself, each size and type once: where the result lies is its own matter.
    pub(super) fn engine_calls(&self, modes: &[CallMode]) -> EngineCalls {
        let is_its = |call: &&Wanted| {
            call.kind == CollectiveKind::AllReduce && ELEMENTS.contains(&call.element)
        };
        let wanted = self.wanted.iter().filter(|_| self.probe.is_some());
        let calls: BTreeSet<Wanted> = wanted
            .filter(is_its)
            .map(|call| Wanted {
                placement: BufferPlacement::OutOfPlace,
                ..*call
            })
            .collect();
        EngineCalls {
            calls: calls.into_iter().collect(),
            modes: modes.to_vec(),
        }
    }

    /// All points of one launch of the engine's ranks.
    pub(super) fn engine(
        &mut self,
        variant: &mut Variant,
        number: u32,
        calls: &EngineCalls,
        pace: &mut Pace<'_>,
    ) -> Result<(), Break> {
        let Some(probe) = self.probe.clone().filter(|_| calls.points() > 0) else {
            return Ok(());
        };
        let label = format!(", {}{}", probe.name(), self.label(variant, number));
        let mut launch = Launch {
            variant,
            number,
            label,
            engine: Some(Engine::new(&probe)),
        };
        let mut ranks = Ranks::None;
        if launch.variant.losses.over().is_none() {
            // Here and not at the first point: what starting takes is no part of the time for samples.
            let (name, python) = (probe.name(), probe.python.display());
            pace.progress.note(&format!(
                "starting {name} by {python}, which can take minutes"
            ));
            ranks = match Group::open(self.setup, &launch.start()) {
                Ok((mut group, opened)) => match group.join() {
                    Ok(()) => {
                        launch.variant.joined = true;
                        Ranks::Ready(group, opened)
                    }
                    Err(trouble) => Ranks::Lost(trouble),
                },
                Err(trouble) => Ranks::Lost(trouble),
            };
        }
        self.points(&mut launch, (&calls.calls, &calls.modes), ranks, pace)
    }

    /// Who did the point of an engine; what the engine said besides goes into the record where it is new. `None` for a library.
    pub(super) fn engine_of(&mut self, launch: &mut Launch<'_>) -> Result<Option<String>, Break> {
        let arm = launch.variant.name();
        let Some(engine) = &mut launch.engine else {
            return Ok(None);
        };
        let Some(Said { by, mut facts }) = engine.said.take() else {
            return Ok(Some(engine.name.clone()));
        };
        if let Some(arm) = arm {
            let of_arm = |note: &String| format!("arm {arm}: {note}");
            facts.notes = facts.notes.iter().map(of_arm).collect();
        }
        let said = self.engine.clone();
        let mut known = said.map_or_else(Vec::new, |facts| facts.notes);
        for note in facts.notes {
            if !known.contains(&note) {
                known.push(note);
            }
        }
        facts.notes = known;
        if self.engine.as_ref() != Some(&facts) {
            self.engine = Some(facts.clone());
            self.recorder.add(CollectivesEvent::Engine { facts })?;
        }
        Ok(Some(format!("{} {by}", engine.name)))
    }
}
