//! The measuring part of a run: one point after another, each kept before the next begins, with fresh ranks after trouble.

use std::time::Instant;

use inventory::{Built, Chosen, Found, caveats};
use measure::caveat::Caveat;
use measure::plan::Plan;
use measure::quantity::TimeSource;
use measure::record::{
    CallMode, CollectiveOutcome, CollectivePoint, Collectives, CollectivesEvent, ElementType,
    LibraryFacts, LinkDevice,
};
use measure::unit::ByteCount;
use program::{Break, Budget, Progress, Recorder, reservations};
use topology::Machine;

use super::group::{Group, Opened, Setup, Trouble};
use super::sampling::{SYNCED_SAMPLES, measure};
use super::wanted::{Steps, Wanted};
use crate::cli::RunArgs;
use crate::messages::Job;

/// Groups that may be lost one after another before the rest is left alone.
const LIMIT: u32 = 2;

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) chosen: &'a Chosen,
    pub(super) machine: &'a Machine,
    pub(super) found: &'a [Found],
    pub(super) devices: Vec<LinkDevice>,
    pub(super) steps: &'a Steps,
    pub(super) wanted: &'a [Wanted],
    pub(super) setup: &'a Setup<'a>,
    pub(super) opened: Opened,
    pub(super) recorder: Recorder<Collectives>,
}

/// The ranks, if there are any just now.
enum Ranks<'a> {
    /// They joined and wait for work.
    Ready(Group<'a>),
    /// They are to be started.
    None,
    /// Joining went wrong, which the next point tells.
    Lost(Trouble),
}

impl<'a> Session<'a> {
    /// Measures all points, or as many as it can, with the group that has opened device and library.
    pub(super) fn measure(&mut self, group: Group<'a>, say: &dyn Fn(&str)) -> Result<(), Break> {
        let (mut ranks, transport) = joined(group);
        self.found(transport)?;
        let modes = self.modes();
        let element = ElementType::from(self.args.dtype);
        let total = self.wanted.len() * modes.len();
        let mut progress = Progress::new(total, say);
        let mut budget = Budget::new(self.args.budget, total);
        // Groups lost in a row, and why the last one was.
        let mut lost = (0, String::new());
        let s = if total == 1 { "" } else { "s" };
        say(&format!("{total} point{s} to measure"));
        for wanted in self.wanted {
            for mode in &modes {
                if let Some(signal) = self.setup.interrupt.signal() {
                    return Err(Break::Signal(signal));
                }
                let what = format!("{} {mode}", ByteCount(wanted.bytes_per_rank));
                progress.begin(&wanted.kind.to_string(), &what);
                let began = Instant::now();
                let job = Job {
                    kind: wanted.kind,
                    element,
                    bytes_per_rank: wanted.bytes_per_rank,
                    verify: !self.args.no_verify,
                };
                let outcome = match self.not_here(*mode) {
                    Some(reason) => CollectiveOutcome::NotApplicable { reason },
                    None if lost.0 >= LIMIT => CollectiveOutcome::Skipped {
                        reason: format!(
                            "the ranks were lost {LIMIT} times in a row and are not started again; last: {}",
                            lost.1
                        ),
                    },
                    None => match self.point(&mut ranks, job, *mode, &budget) {
                        Ok(outcome) => {
                            lost.0 = 0;
                            outcome
                        }
                        Err(trouble) => {
                            let (outcome, is_last) = told(trouble)?;
                            let why = reason_of(&outcome).to_owned();
                            progress.note(&format!("{} {what}: {why}", wanted.kind));
                            lost = (if is_last { LIMIT } else { lost.0 + 1 }, why);
                            outcome
                        }
                    },
                };
                self.keep(wanted, *mode, element, outcome)?;
                budget.spend(began.elapsed());
                progress.end();
            }
        }
        if let Ranks::Ready(group) = ranks {
            group.finish();
        }
        Ok(())
    }

    /// Everything that is known before the first point.
    fn found(&mut self, transport: Option<String>) -> Result<(), Break> {
        let library = LibraryFacts {
            transport,
            ..self.opened.library.clone()
        };
        self.recorder.add(CollectivesEvent::Found {
            machine: Box::new(self.machine.clone()),
            backend: inventory::backend(self.chosen),
            library,
            paths: inventory::paths(&self.devices, self.machine),
            devices: self.devices.clone(),
            steps: self.steps.steps.clone(),
        })?;
        let mut told: Vec<Caveat> = caveats::busy(&self.devices).collect();
        told.extend(caveats::said(self.chosen));
        told.extend(caveats::shared_cpus(self.found, &self.devices));
        told.extend(caveats::hidden_mig(self.chosen));
        told.extend(caveats::unmanaged(self.chosen));
        told.extend(self.host_memory());
        let of_plan = self.steps.own_kernels().into_iter();
        let of_plan = of_plan.chain(self.steps.assumed.iter().cloned());
        told.extend(of_plan.map(|text| Caveat::Note { text }));
        for caveat in told {
            self.recorder.add(CollectivesEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    /// What the numbers of the host backend are not.
    fn host_memory(&self) -> Option<Caveat> {
        (self.chosen.backend == Built::Host).then(|| Caveat::Note {
            text: "the ranks are processes that reduce in host memory with this project's own collectives: these are no figures \
                   of GPUs, and not of an engine's own collectives either; measure where the GPUs are, or play a box with --sim"
                .to_owned(),
        })
    }

    /// The modes that were asked for, or those that the backend has.
    fn modes(&self) -> Vec<CallMode> {
        let all = [CallMode::HostSynced, CallMode::BackToBack, CallMode::Graph];
        let asked: Vec<CallMode> = self.args.modes.iter().map(|mode| (*mode).into()).collect();
        all.into_iter()
            .filter(|mode| {
                if asked.is_empty() {
                    self.not_here(*mode).is_none()
                } else {
                    asked.contains(mode)
                }
            })
            .collect()
    }

    /// Why a mode says nothing here.
    fn not_here(&self, mode: CallMode) -> Option<String> {
        match (mode, self.opened.events, self.chosen.backend) {
            (CallMode::HostSynced, TimeSource::VirtualClock, _) => Some(
                "a soft box has no host clock: the time that this machine needs for it means nothing"
                    .to_owned(),
            ),
            (CallMode::Graph, _, Built::Host) => Some("the host backend has no graphs".to_owned()),
            _ => None,
        }
    }

    /// One point, with ranks that are started where there are none.
    fn point(
        &self,
        ranks: &mut Ranks<'a>,
        job: Job,
        mode: CallMode,
        budget: &Budget,
    ) -> Result<CollectiveOutcome, Trouble> {
        let mut group = match std::mem::replace(ranks, Ranks::None) {
            Ranks::Ready(group) => group,
            Ranks::Lost(trouble) => return Err(trouble),
            Ranks::None => {
                let (mut group, _) = Group::open(self.setup)?;
                group.join()?;
                group
            }
        };
        let times = match mode {
            CallMode::HostSynced => SYNCED_SAMPLES,
            CallMode::BackToBack | CallMode::Graph => 1,
        };
        let plan = Plan::new(
            self.args.samples.saturating_mul(times) as usize,
            budget.share(),
        );
        let number = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
        let outcome = measure(&mut group, &self.opened, job, number, mode, plan)?;
        *ranks = Ranks::Ready(group);
        Ok(outcome)
    }

    fn keep(
        &mut self,
        wanted: &Wanted,
        mode: CallMode,
        element: ElementType,
        outcome: CollectiveOutcome,
    ) -> Result<(), Break> {
        let caveats = match &outcome {
            CollectiveOutcome::Measured { time, .. } => reservations(time),
            _ => Vec::new(),
        };
        let point = CollectivePoint {
            kind: wanted.kind,
            element,
            bytes_per_rank: wanted.bytes_per_rank,
            ranks: u32::try_from(self.found.len()).unwrap_or(u32::MAX),
            mode,
            outcome,
            caveats,
        };
        self.recorder.add(CollectivesEvent::Point {
            point: Box::new(point),
        })?;
        Ok(())
    }
}

/// Joins a group; that it went wrong is told by the first point.
fn joined(mut group: Group<'_>) -> (Ranks<'_>, Option<String>) {
    match group.join() {
        Ok(transport) => (Ranks::Ready(group), transport),
        Err(trouble) => (Ranks::Lost(trouble), None),
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

fn reason_of(outcome: &CollectiveOutcome) -> &str {
    match outcome {
        CollectiveOutcome::Failed { reason } => reason,
        CollectiveOutcome::Hang { doing } => doing,
        _ => "",
    }
}
