//! One point of a run: with ranks that are there or are started for it, and what is told of it where they were lost.

use program::{Break, Budget};
use record::plan::Plan;
use record::unit::ByteCount;
use record::{CallMode, CollectiveOutcome, Failure, FailureKind};

use super::super::group::{Group, Trouble};
use super::super::sampling::{SYNCED_SAMPLES, measure};
use super::super::wanted::Wanted;
use super::Session;
use super::launch::{Launch, Pace, Ranks};
use crate::messages::Job;

impl<'a> Session<'a> {
    /// What came of one point; where the ranks were lost, that.
    pub(super) fn tried(
        &self,
        launch: &mut Launch<'_>,
        ranks: &mut Ranks<'a>,
        wanted: &Wanted,
        mode: CallMode,
        pace: &Pace<'_>,
    ) -> Result<CollectiveOutcome, Break> {
        let job = wanted.job(!self.args.no_verify);
        match self.point(launch, ranks, job, mode, &pace.budget) {
            Ok(outcome) => {
                launch.variant.losses.held();
                Ok(outcome)
            }
            Err(trouble) => {
                let (outcome, for_good) = told(trouble)?;
                let why = reason_of(&outcome);
                let bytes = ByteCount(wanted.bytes_per_rank);
                let kind = wanted.kind;
                pace.progress
                    .note(&format!("{kind} {bytes} {mode}{launch}: {why}"));
                // An engine that does not start would not start again, and that takes minutes.
                let for_good = for_good || (launch.engine.is_some() && !launch.variant.joined);
                launch.variant.losses.lose(wanted, why, for_good);
                Ok(outcome)
            }
        }
    }

    /// One point, with ranks that are started where there are none.
    fn point(
        &self,
        launch: &mut Launch<'_>,
        ranks: &mut Ranks<'a>,
        job: Job,
        mode: CallMode,
        budget: &Budget,
    ) -> Result<CollectiveOutcome, Trouble> {
        let ready = match std::mem::replace(ranks, Ranks::None) {
            Ranks::None => {
                let start = launch.start();
                let (mut group, opened) = Group::open(self.setup, &start)?;
                group.join()?;
                launch.variant.joined = true;
                Ok((group, opened))
            }
            Ranks::Ready(group, opened) => Ok((group, opened)),
            Ranks::Lost(trouble) => Err(trouble),
        };
        let (mut group, opened) = ready?;
        let times = match mode {
            CallMode::HostSynced => SYNCED_SAMPLES,
            CallMode::BackToBack | CallMode::Graph | CallMode::Interleaved => 1,
        };
        let plan = Plan::new(
            self.args.samples.saturating_mul(times) as usize,
            budget.share(),
        );
        let outcome = measure(
            &mut group,
            &opened,
            job,
            self.ranks(),
            mode,
            plan,
            self.args.gap,
        )?;
        if let Some(engine) = &mut launch.engine {
            engine.hear(&opened.library, group.describe()?);
        }
        *ranks = Ranks::Ready(group, opened);
        Ok(outcome)
    }

    /// Joins the group that opened the library; that it went wrong is reported by the first point.
    pub(super) fn joined(&self, mut group: Group<'a>, launch: &mut Launch<'_>) -> Ranks<'a> {
        match group.join() {
            Ok(()) => {
                launch.variant.joined = true;
                Ranks::Ready(group, self.opened.clone())
            }
            Err(trouble) => Ranks::Lost(trouble),
        }
    }
}

/// What a point says of trouble, and whether no more ranks should be started.
fn told(trouble: Trouble) -> Result<(CollectiveOutcome, bool), Break> {
    match trouble {
        Trouble::Failed { reason } => Ok((CollectiveOutcome::Failed { reason }, false)),
        Trouble::Hang { doing, unkillable } => Ok((CollectiveOutcome::Hang { doing }, unkillable)),
        Trouble::Interrupted(signal) => Err(Break::Signal(signal)),
        Trouble::Stop(stop) => Err(stop.into()),
    }
}

fn reason_of(outcome: &CollectiveOutcome) -> Failure {
    match outcome {
        CollectiveOutcome::Failed { reason } => reason.clone(),
        CollectiveOutcome::Hang { doing } => FailureKind::Hang.of(doing),
        _ => Failure::default(),
    }
}
