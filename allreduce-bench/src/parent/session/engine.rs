//! The points of a serving engine's own all-reduce, which its ranks do in the engine's Python after those of the library.
//!
//! They are measured as the library's are. The engine chooses who does a call by its size, so each point has a name of its own.

use program::Break;
use record::{CallMode, CollectiveKind, CollectivesEvent};

use super::super::wanted::Wanted;
use super::Session;
use super::side::{Engine, Pace, Ranks, Side};

impl Session<'_> {
    /// The calls of the run that an engine does itself.
    pub(super) fn engine_calls(&self) -> Vec<Wanted> {
        let calls = self.wanted.iter().filter(|_| self.probe.is_some());
        let calls = calls.filter(|call| call.kind == CollectiveKind::AllReduce);
        calls.copied().collect()
    }

    /// All points of the engine.
    pub(super) fn engine(
        &mut self,
        calls: &[Wanted],
        modes: &[CallMode],
        pace: &mut Pace<'_>,
    ) -> Result<(), Break> {
        let Some(probe) = self.probe.clone().filter(|_| !calls.is_empty()) else {
            return Ok(());
        };
        let mut side = Side::of(Some(Engine::new(&probe)));
        // Here and not at the first point: what starting takes is no part of the time for samples.
        let (name, python) = (probe.name(), probe.python.display());
        pace.progress.note(&format!(
            "starting {name} by {python}, which can take minutes"
        ));
        side.ranks = match side.start(self.setup) {
            Ok((group, opened)) => Ranks::Ready(group, opened),
            Err(trouble) => Ranks::Lost(trouble),
        };
        self.points(&mut side, (calls, modes), pace)
    }

    /// Who did the point of an engine; what the engine said besides goes into the record where it is new. `None` for a library.
    pub(super) fn engine_of(&mut self, side: &mut Side<'_>) -> Result<Option<String>, Break> {
        let Some(engine) = &mut side.engine else {
            return Ok(None);
        };
        let Some((by, mut facts)) = engine.said.take() else {
            return Ok(Some(engine.name.clone()));
        };
        let said = self.engine.as_ref();
        let mut known = said.map_or_else(Vec::new, |facts| facts.notes.clone());
        for note in std::mem::take(&mut facts.notes) {
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
