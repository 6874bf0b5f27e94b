//! The points of a serving engine's own all-reduce, which its ranks do in the engine's Python after those of the library.
//!
//! They are measured as the library's are. The engine chooses who does a call by its size, so each point has a name of its own.

use std::collections::BTreeSet;

use program::Break;
use record::{BufferPlacement, CallMode, CollectiveKind, CollectivesEvent, ElementType};

use super::super::arms::Variant;
use super::super::group::Group;
use super::super::wanted::Wanted;
use super::Session;
use super::launch::{Engine, EngineCalls, Launch, Pace, Ranks, Said};

/// The types that engines reduce themselves.
const ELEMENTS: [ElementType; 3] = [ElementType::Bf16, ElementType::F16, ElementType::F32];

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
        let mut launch = Launch {
            variant,
            number,
            of: self.args.launches,
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
        let arm = launch.variant.name().map(str::to_owned);
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
