//! One point of a run: with ranks that are there or are started for it, and what is told of it where they were lost.

use program::Break;
use record::plan::Plan;
use record::unit::ByteCount;
use record::{CallMode, CollectiveOutcome, Failure, FailureKind};

use super::super::course::{Course, given_up};
use super::super::group::Trouble;
use super::super::sampling::{SYNCED_SAMPLES, measure};
use super::super::wanted::Wanted;
use super::Session;
use super::side::{Pace, Ranks, Side};

impl<'a> Session<'a> {
    /// What came of one point; where the ranks were lost, that.
    pub(super) fn tried(
        &self,
        side: &mut Side<'a>,
        course: &mut Course,
        (wanted, mode): (&Wanted, CallMode),
        pace: &Pace<'_>,
    ) -> Result<CollectiveOutcome, Break> {
        let trouble = match self.point(side, wanted, mode, pace) {
            Ok(outcome) => {
                course.held();
                return Ok(outcome);
            }
            Err(trouble) => trouble,
        };
        let (outcome, why, for_good) = told(trouble)?;
        let bytes = ByteCount(wanted.bytes_per_rank);
        let kind = wanted.kind;
        pace.progress
            .note(&format!("{kind} {bytes} {mode}{side}: {why}"));
        // An engine that does not start would not start again, and that takes minutes.
        if for_good || (side.engine.is_some() && !side.joined) {
            side.over = Some(given_up(&why));
        }
        course.lose(why);
        Ok(outcome)
    }

    /// One point, with ranks that are started where there are none.
    fn point(
        &self,
        side: &mut Side<'a>,
        wanted: &Wanted,
        mode: CallMode,
        pace: &Pace<'_>,
    ) -> Result<CollectiveOutcome, Trouble> {
        let (mut group, opened) = match std::mem::replace(&mut side.ranks, Ranks::None) {
            Ranks::None => side.start(self.setup)?,
            Ranks::Ready(group, opened) => (group, opened),
            Ranks::Lost(trouble) => return Err(trouble),
        };
        let times = match mode {
            CallMode::HostSynced => SYNCED_SAMPLES,
            CallMode::BackToBack | CallMode::Graph | CallMode::Interleaved => 1,
        };
        let plan = Plan::new(
            self.args.samples.saturating_mul(times) as usize,
            pace.budget.share(),
        );
        let job = wanted.job(!self.args.no_verify);
        let (ranks, gap_us) = (self.ranks(), self.args.gap);
        let outcome = measure(&mut group, &opened, job, ranks, mode, plan, gap_us)?;
        if let Some(engine) = &mut side.engine {
            engine.hear(&opened.library, group.describe()?);
        }
        side.ranks = Ranks::Ready(group, opened);
        Ok(outcome)
    }
}

/// What a point says of trouble, why, and whether no more ranks should be started.
fn told(trouble: Trouble) -> Result<(CollectiveOutcome, Failure, bool), Break> {
    match trouble {
        Trouble::Failed { reason } => {
            let why = reason.clone();
            Ok((CollectiveOutcome::Failed { reason }, why, false))
        }
        Trouble::Hang { doing, unkillable } => {
            let why = FailureKind::Hang.of(&doing);
            Ok((CollectiveOutcome::Hang { doing }, why, unkillable))
        }
        Trouble::Interrupted(signal) => Err(Break::Signal(signal)),
        Trouble::Stop(stop) => Err(stop.into()),
    }
}
