//! The measuring part of a run: launches of arms one after another, and in each one point after another, each kept before the next
//! begins, with fresh ranks after trouble.

mod engine;
mod launch;
mod point;

use std::time::Instant;

use inventory::{Built, Chosen, Found, caveats};
use program::{Break, Budget, Progress, Recorder, reservations};
use record::caveat::{Caveat, Condition};
use record::unit::ByteCount;
use record::{
    Arm, BufferCache, CallMode, CollectiveOutcome, CollectivePoint, Collectives, CollectivesEvent,
    EngineRunFacts, FailureKind, LinkDevice,
};
use stats::rounds;
use topology::{Machine, Sysfs};

use self::launch::{Launch, Pace, Ranks};
use super::arms::{Variant, not_logged};
use super::group::{Group, Opened, Setup};
use super::losses::Course;
use super::modes::{modes, not_here};
use super::transport::{Around, logged_run};
use super::wanted::{Steps, Wanted};
use crate::cli::{ModeArg, RunArgs};
use crate::engine_probe::Probe;
use crate::messages::Job;

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) chosen: &'a Chosen,
    pub(super) machine: &'a Machine,
    pub(super) sysfs: &'a Sysfs,
    pub(super) found: &'a [Found],
    pub(super) devices: Vec<LinkDevice>,
    /// Whether every device reaches every other, as the driver says.
    pub(super) peer_access: Option<bool>,
    pub(super) steps: &'a Steps,
    pub(super) wanted: &'a [Wanted],
    /// The arms of the command line; empty where there is one variant without a name.
    pub(super) arms: &'a [Arm],
    pub(super) seed: u64,
    pub(super) setup: &'a Setup<'a>,
    pub(super) opened: Opened,
    pub(super) recorder: Recorder<Collectives>,
    /// The serving engine whose own all-reduce is measured too.
    pub(super) probe: Option<Probe>,
    /// What it said so far.
    pub(super) engine: Option<EngineRunFacts>,
}

impl<'a> Session<'a> {
    /// Measures all points, or as many as it can; `group` has opened device and library with nothing of an arm's.
    pub(super) fn measure(&mut self, group: Group<'a>, say: &dyn Fn(&str)) -> Result<(), Break> {
        self.found()?;
        let asked: Vec<CallMode> = self.args.modes.iter().map(|mode| (*mode).into()).collect();
        let modes = modes(&asked, self.chosen.backend, self.opened.soft_box.is_some());
        let mut variants = Variant::of(self.arms);
        let mut engines = Variant::of(self.arms);
        let launches = self.args.launches;
        let of_engine = self.engine_calls(&modes);
        let points = self.wanted.len() * modes.len() + of_engine.points();
        let total = points * variants.len() * launches as usize;
        let mut pace = Pace {
            progress: Progress::new(total, say),
            budget: Budget::new(self.args.budget, total),
        };
        let s = if total == 1 { "" } else { "s" };
        say(&format!("{total} point{s} to measure"));
        let mut first = if variants.iter().all(|variant| variant.arm.is_none()) {
            Some(group)
        } else {
            group.finish();
            None
        };
        for (number, order) in (0..launches).zip(rounds(variants.len(), launches, self.seed)) {
            for index in order {
                let mut launch = Launch {
                    variant: &mut variants[index],
                    number,
                    of: self.args.launches,
                    engine: None,
                };
                let ranks = match first.take() {
                    Some(group) => self.joined(group, &mut launch),
                    None => Ranks::None,
                };
                self.points(&mut launch, (self.wanted, &modes), ranks, &mut pace)?;
                if number == 0 {
                    self.transport(&variants[index])?;
                }
                self.engine(&mut engines[index], number, &of_engine, &mut pace)?;
            }
        }
        Ok(())
    }

    /// Everything that is known before the first point.
    fn found(&mut self) -> Result<(), Break> {
        self.recorder.add(CollectivesEvent::Found {
            machine: Box::new(self.machine.clone()),
            backend: inventory::backend(self.chosen),
            library: self.opened.library.clone(),
            paths: match self.setup.leader {
                Some(leader) => leader.paths(),
                None => inventory::paths(&self.devices, self.machine),
            },
            devices: self.devices.clone(),
            steps: self.steps.steps.clone(),
        })?;
        if let Some(leader) = self.setup.leader {
            let facts = leader.facts();
            self.recorder.add(CollectivesEvent::Launcher { facts })?;
        }
        if !self.arms.is_empty() {
            let arms = self.arms.to_vec();
            self.recorder.add(CollectivesEvent::Arms { arms })?;
        }
        let mut told: Vec<Caveat> = caveats::busy(&self.devices).collect();
        told.extend(caveats::said(self.chosen));
        told.extend(caveats::shared_cpus(self.found, &self.devices));
        told.extend(caveats::hidden_mig(self.chosen));
        told.extend(caveats::unmanaged(self.chosen));
        told.extend(self.host_memory());
        // Where the engine's own all-reduce is timed beside it, nothing is missing.
        let own_kernels = self.steps.own_kernels().filter(|_| self.probe.is_none());
        told.extend(own_kernels.map(|largest| {
            Condition::EngineKernelNotTimed.with(format!("all-reduces of up to {largest}"))
        }));
        told.extend(not_logged());
        told.extend(self.played_arms());
        told.extend(self.without_interleaved());
        let assumed = self.steps.assumed.iter();
        told.extend(assumed.map(|detail| Condition::PlanAssumed.with(detail)));
        told.extend(self.drawn());
        for caveat in told {
            self.recorder.add(CollectivesEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    /// That arms and launches on a simulated machine differ in few variables only.
    fn played_arms(&self) -> Option<Caveat> {
        let is_soft = self.opened.soft_box.is_some();
        let is_several = !self.args.arms.is_empty() || self.args.launches > 1;
        (is_soft && is_several).then(|| Condition::ArmsSimulated.with(""))
    }

    /// That the mode that predicts serving was left out; on the host backend it predicts nothing.
    fn without_interleaved(&self) -> Option<Caveat> {
        let is_there =
            self.args.modes.is_empty() || self.args.modes.contains(&ModeArg::Interleaved);
        let is_missing = !is_there && self.chosen.backend != Built::Host;
        is_missing.then(|| Condition::InterleavedMissing.with(""))
    }

    /// That the ranks are processes of the host.
    fn host_memory(&self) -> Option<Caveat> {
        let is_host = self.chosen.backend == Built::Host;
        is_host.then(|| Condition::HostMemoryRanks.with(""))
    }

    /// How the order of arms came about.
    fn drawn(&self) -> Option<Caveat> {
        (self.arms.len() > 1).then(|| Condition::ArmOrder.with(format!("--seed {}", self.seed)))
    }

    /// All points of one launch, these calls in these modes, with ranks that may be there already.
    fn points(
        &mut self,
        launch: &mut Launch<'_>,
        (calls, modes): (&[Wanted], &[CallMode]),
        mut ranks: Ranks<'a>,
        pace: &mut Pace<'_>,
    ) -> Result<(), Break> {
        let mut course = Course::of(calls, modes);
        while let Some((wanted, mode)) = course.next(&launch.variant.losses) {
            if let Some(signal) = self.setup.interrupt.signal() {
                return Err(Break::Signal(signal));
            }
            let group = format!("{}{launch}", wanted.kind);
            let what = format!("{} {mode}", ByteCount(wanted.bytes_per_rank));
            pace.progress.begin(&group, &what);
            let began = Instant::now();
            let of_library = launch.engine.is_none();
            let is_simulated = self.opened.soft_box.is_some();
            let not_here = not_here(mode, self.chosen.backend, is_simulated).filter(|_| of_library);
            let outcome = match not_here {
                Some(reason) => {
                    let reason = FailureKind::Unsupported.of(reason);
                    CollectiveOutcome::NotApplicable { reason }
                }
                None => match launch.variant.losses.leave_out(&wanted) {
                    Some(reason) => CollectiveOutcome::Skipped { reason },
                    None => self.tried(launch, &mut ranks, &wanted, mode, pace)?,
                },
            };
            self.keep(launch, &wanted, mode, outcome)?;
            pace.budget.spend(began.elapsed());
            pace.progress.end();
        }
        if let Ranks::Ready(group, _) = ranks {
            group.finish();
        }
        Ok(())
    }

    fn keep(
        &mut self,
        launch: &mut Launch<'_>,
        wanted: &Wanted,
        mode: CallMode,
        outcome: CollectiveOutcome,
    ) -> Result<(), Break> {
        let engine = self.engine_of(launch)?;
        let mut caveats = Vec::new();
        if let CollectiveOutcome::Measured { time, .. } = &outcome {
            caveats.extend(reservations(time));
        }
        let point = CollectivePoint {
            kind: wanted.kind,
            element: wanted.element,
            bytes_per_rank: wanted.bytes_per_rank,
            ranks: self.ranks(),
            mode,
            placement: wanted.placement,
            cache: BufferCache::Hot,
            engine,
            arm: launch.variant.name().map(str::to_owned),
            launch: launch.number,
            outcome,
            caveats,
        };
        self.recorder.add(CollectivesEvent::Point {
            point: Box::new(point),
        })?;
        Ok(())
    }

    /// What the library says of the way it takes, from ranks of their own that are not timed. Calls that lost the ranks would only
    /// do so again.
    fn transport(&mut self, variant: &Variant) -> Result<(), Break> {
        let is_library = self.chosen.backend != Built::Host;
        let calls = self.wanted.iter();
        let known_good = calls.filter(|wanted| !variant.losses.know(wanted));
        let jobs: Vec<Job> = known_good.map(|wanted| wanted.job(false)).collect();
        if !is_library || !variant.joined || jobs.is_empty() {
            return Ok(());
        }
        let leader = self.setup.leader;
        let hosts = leader.map_or_else(Vec::new, |leader| leader.facts().hosts);
        let around = Around {
            is_soft: self.opened.soft_box.is_some(),
            machine: self.machine,
            sysfs: self.sysfs,
            devices: &self.devices,
            hosts: &hosts,
            mig: self.found.iter().any(|device| device.mig.is_some()),
            peer_access: self.peer_access,
        };
        let start = variant.start();
        let facts = logged_run(self.setup, &start, variant.arm.as_ref(), &jobs, &around);
        let facts = Box::new(facts.map_err(Break::Signal)?);
        self.recorder.add(CollectivesEvent::Transport { facts })?;
        Ok(())
    }

    fn ranks(&self) -> u32 {
        u32::try_from(self.found.len()).unwrap_or(u32::MAX)
    }
}
