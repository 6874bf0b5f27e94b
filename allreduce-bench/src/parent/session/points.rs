//! The points of a run, by ranks of the library or of a serving engine in its Python: one after another, with ranks that are
//! there or are started for it, and what is told of it where they were lost.

use std::time::Instant;

use program::Break;
use record::plan::Plan;
use record::unit::ByteCount;
use record::{
    CallMode, CollectiveKind, CollectiveOutcome, CollectivesEvent, EngineRunFacts, Failure,
    FailureKind,
};

use super::super::course::{Course, given_up};
use super::super::group::{Group, Trouble};
use super::super::modes::not_here;
use super::super::sampling::{SYNCED_SAMPLES, measure};
use super::super::wanted::Wanted;
use super::Session;
use super::side::{Pace, Side};

impl<'a> Session<'a> {
    /// All points of these calls in these modes, operation after operation.
    pub(super) fn points(
        &mut self,
        side: &mut Side<'a>,
        (calls, modes): (&[Wanted], &[CallMode]),
        pace: &mut Pace<'_>,
    ) -> Result<(), Break> {
        let is_one = |a: &Wanted, b: &Wanted| (a.kind, a.element) == (b.kind, b.element);
        let is_simulated = self.opened.soft_box.is_some();
        for calls in calls.chunk_by(is_one) {
            let mut course = Course::of(calls, modes);
            while let Some((wanted, mode, left_out)) = course.next() {
                if let Some(signal) = self.setup.interrupt.signal() {
                    return Err(Break::Signal(signal));
                }
                let what = format!("{} {mode}", ByteCount(wanted.bytes_per_rank));
                let kind = wanted.kind;
                pace.progress.begin(&format!("{kind}{side}"), &what);
                let began = Instant::now();
                let not_here = not_here(mode, self.chosen.backend, is_simulated);
                let mut by = side.engine.as_ref().map(|engine| engine.name.clone());
                let outcome = if let Some(reason) = not_here.filter(|_| by.is_none()) {
                    let reason = FailureKind::Unsupported.of(reason);
                    CollectiveOutcome::NotApplicable { reason }
                } else if let Some(reason) = side.over.clone().or(left_out) {
                    CollectiveOutcome::Skipped { reason }
                } else {
                    match self.point(side, &wanted, mode, pace) {
                        Ok((outcome, told)) => {
                            course.held();
                            if let Some((name, facts)) = told {
                                by = Some(name);
                                self.tell(facts)?;
                            }
                            outcome
                        }
                        Err(Trouble::Stop(stop)) => return Err(stop.into()),
                        Err(Trouble::Lost { reason, unkillable }) => {
                            pace.progress
                                .note(&format!("{kind} {what}{side}: {reason}"));
                            // An engine that does not start would not start again, and that takes minutes.
                            if unkillable || (side.engine.is_some() && !side.joined) {
                                side.over = Some(given_up(&reason));
                            }
                            course.lose(reason.clone());
                            match reason.kind {
                                FailureKind::Hang => CollectiveOutcome::Hang {
                                    doing: reason.detail,
                                },
                                _ => CollectiveOutcome::Failed { reason },
                            }
                        }
                    }
                };
                self.keep(by, &wanted, mode, outcome)?;
                pace.budget.spend(began.elapsed());
                pace.progress.end();
            }
        }
        if let Some(Ok(group)) = side.ranks.take() {
            group.finish();
        }
        Ok(())
    }

    /// One point, with ranks that are started where there are none; and who did it with what an engine said besides.
    fn point(
        &self,
        side: &mut Side<'a>,
        wanted: &Wanted,
        mode: CallMode,
        pace: &Pace<'_>,
    ) -> Result<(CollectiveOutcome, Option<(String, EngineRunFacts)>), Trouble> {
        if side.ranks.is_none() {
            side.begin(Group::joined(self.setup, side.probe(), None));
        }
        let mut group = side.ranks.take().unwrap_or_else(|| {
            let reason = Failure::from("there are no ranks");
            Err(Trouble::Lost {
                reason,
                unkillable: false,
            })
        })?;
        let times = match mode {
            CallMode::HostSynced => SYNCED_SAMPLES,
            CallMode::BackToBack | CallMode::Graph | CallMode::Interleaved => 1,
        };
        let samples = self.args.samples.saturating_mul(times) as usize;
        let plan = Plan::new(samples, pace.budget.share());
        let job = wanted.job(!self.args.no_verify);
        let (ranks, gap_us) = (self.ranks(), self.args.gap);
        let outcome = measure(&mut group, job, ranks, mode, plan, gap_us)?;
        let mut told = None;
        if let Some(engine) = &mut side.engine {
            let described = group.describe()?;
            let library = &group.opened.library;
            engine.name = match &library.version {
                Some(version) => format!("{} {version}", library.name),
                None => library.name.clone(),
            };
            let facts = EngineRunFacts {
                name: library.name.clone(),
                version: library.version.clone(),
                python: engine.probe.python.display().to_string(),
                device: described.device,
                notes: described.notes,
            };
            told = Some((format!("{} {}", engine.name, described.by), facts));
        }
        side.ranks = Some(Ok(group));
        Ok((outcome, told))
    }

    /// Keeps what an engine said, where it is new.
    fn tell(&mut self, mut facts: EngineRunFacts) -> Result<(), Break> {
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
        Ok(())
    }

    /// The calls of the run that an engine does itself.
    pub(super) fn engine_calls(&self) -> Vec<Wanted> {
        let calls = self.wanted.iter().filter(|_| self.probe.is_some());
        let calls = calls.filter(|call| call.kind == CollectiveKind::AllReduce);
        calls.copied().collect()
    }

    /// All points of a serving engine's own all-reduce. The engine chooses who does a call by its size, so each point has a name of
    /// its own.
    pub(super) fn engine(
        &mut self,
        calls: &[Wanted],
        modes: &[CallMode],
        pace: &mut Pace<'_>,
    ) -> Result<(), Break> {
        let Some(probe) = self.probe.clone().filter(|_| !calls.is_empty()) else {
            return Ok(());
        };
        // Here and not at the first point: what starting takes is no part of the time for samples.
        let (name, python) = (probe.name(), probe.python.display());
        pace.progress.note(&format!(
            "starting {name} by {python}, which can take minutes"
        ));
        let ranks = Group::joined(self.setup, Some(&probe), None);
        let mut side = Side::of(Some(probe));
        side.begin(ranks);
        self.points(&mut side, (calls, modes), pace)
    }
}
