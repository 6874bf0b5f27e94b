//! The measuring part of a run: one point after another, each kept before the next begins, with fresh ranks after trouble.

use std::time::{Duration, Instant};

use inventory::{Built, Chosen, Found, caveats};
use program::{Break, Budget, Progress, Recorder, reservations};
use record::caveat::{Caveat, Condition};
use record::plan::Plan;
use record::unit::ByteCount;
use record::{
    CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Collectives, CollectivesEvent,
    EngineRunFacts, Failure, FailureKind, LibraryFacts, LinkDevice, Verification, exit,
};
use topology::Machine;

use super::group::{Group, Setup, Trouble};
use super::sampling::{SYNCED_SAMPLES, Series};
use super::transport::{Known, logged_run};
use super::wanted::Steps;
use crate::cli::RunArgs;
use crate::engine_probe::Probe;
use crate::messages::{Described, Job};
use crate::rank;

/// Losses in a row after which the direction turns, and then a series ends.
const LIMIT: u32 = 2;

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) chosen: &'a Chosen,
    pub(super) machine: &'a Machine,
    pub(super) found: &'a [Found],
    pub(super) devices: Vec<LinkDevice>,
    /// Whether every device reaches every other, as the driver says.
    pub(super) peer_access: Option<bool>,
    pub(super) steps: &'a Steps,
    pub(super) wanted: &'a [Job],
    pub(super) setup: &'a Setup<'a>,
    /// The serving engine whose own all-reduce is measured too.
    pub(super) probe: Option<&'a Probe>,
    pub(super) recorder: Recorder<Collectives>,
}

/// The ranks that are asked: those of the library, or of a serving engine.
struct Side<'a> {
    /// The engine; `None` for the library.
    probe: Option<&'a Probe>,
    /// Ranks that joined and wait for work, or why starting them went wrong, which the next point tells; none are started yet.
    ranks: Option<Result<Group<'a>, Trouble>>,
    /// The library or engine, once ranks became one communicator.
    joined: Option<LibraryFacts>,
    /// Why none are started any more.
    over: Option<Failure>,
}

impl<'a> Side<'a> {
    /// With ranks that were started.
    fn of(probe: Option<&'a Probe>, ranks: Result<Group<'a>, Trouble>) -> Self {
        Self {
            probe,
            joined: library_of(&ranks),
            ranks: Some(ranks),
            over: None,
        }
    }

    /// The engine's name and version, as far as it told them.
    fn engine(&self) -> Option<String> {
        let joined = self.joined.as_ref();
        let version = joined.and_then(|facts| facts.version.as_ref());
        self.probe.map(|probe| match version {
            Some(version) => format!("{} {version}", probe.name()),
            None => probe.name().to_owned(),
        })
    }
}

fn library_of(ranks: &Result<Group<'_>, Trouble>) -> Option<LibraryFacts> {
    let group = ranks.as_ref().ok()?;
    Some(group.opened.library.clone())
}

impl<'a> Session<'a> {
    /// Measures all points, or as many as it can; `group` has opened device and library.
    pub(super) fn measure(&mut self, group: Group<'a>, say: &dyn Fn(&str)) -> Result<(), Break> {
        self.found(&group.opened.library)?;
        let modes = modes(&self.args.modes, self.chosen.backend, self.is_simulated());
        let is_its = |call: &&Job| call.kind == CollectiveKind::AllReduce && self.probe.is_some();
        let of_engine: Vec<Job> = self.wanted.iter().filter(is_its).copied().collect();
        let total = (self.wanted.len() + of_engine.len()) * modes.len();
        let mut progress = Progress::new(total, say);
        let mut budget = Budget::new(self.args.budget, total);
        let s = if total == 1 { "" } else { "s" };
        say(&format!("{total} point{s} to measure"));
        let mut library = Side::of(None, group.join());
        let calls = (self.wanted, &modes[..]);
        self.points(&mut library, calls, (&mut progress, &mut budget))?;
        if library.joined.is_some() && self.chosen.backend != Built::Host {
            self.transport()?;
        }
        let Some(probe) = self.probe.filter(|_| !of_engine.is_empty()) else {
            return Ok(());
        };
        // Here and not at the first point: what starting takes is no part of the time for samples.
        let (name, python) = (probe.name(), probe.python.display());
        progress.note(&format!(
            "starting {name} by {python}, which can take minutes"
        ));
        let mut engine = Side::of(Some(probe), Group::joined(self.setup, Some(probe), None));
        let calls = (&of_engine[..], &modes[..]);
        self.points(&mut engine, calls, (&mut progress, &mut budget))
    }

    /// Everything that is known before the first point.
    fn found(&mut self, library: &LibraryFacts) -> Result<(), Break> {
        let leader = self.setup.leader;
        self.recorder.add(CollectivesEvent::Found {
            machine: Box::new(self.machine.clone()),
            backend: inventory::backend(self.chosen),
            library: library.clone(),
            paths: match leader {
                Some(leader) => leader.paths(),
                None => inventory::paths(&self.devices, self.machine),
            },
            devices: self.devices.clone(),
            steps: self.steps.steps.clone(),
        })?;
        if let Some(leader) = leader {
            let facts = leader.facts();
            self.recorder.add(CollectivesEvent::Launcher { facts })?;
        }
        let is_host = self.chosen.backend == Built::Host;
        let mut told: Vec<Caveat> = caveats::busy(&self.devices).collect();
        told.extend(caveats::said(self.chosen));
        told.extend(caveats::shared_cpus(self.found, &self.devices));
        told.extend(caveats::hidden_mig(self.chosen));
        told.extend(caveats::unmanaged(self.chosen));
        told.extend(is_host.then(|| Condition::HostMemoryRanks.with("")));
        // Where the engine's own all-reduce is timed beside it, nothing is missing.
        let own_kernels = self.steps.own_kernels().filter(|_| self.probe.is_none());
        told.extend(own_kernels.map(|largest| {
            Condition::EngineKernelNotTimed.with(format!("all-reduces of up to {largest}"))
        }));
        let logged: Vec<&str> = rank::asked_to_log().collect();
        let is_logged = !logged.is_empty();
        told.extend(is_logged.then(|| Condition::TransportNotLogged.with(logged.join(" and "))));
        // The mode that predicts serving; on the host backend it predicts nothing.
        let asked = &self.args.modes;
        let lacks = !is_host && !asked.is_empty() && !asked.contains(&CallMode::Interleaved);
        told.extend(lacks.then(|| Condition::InterleavedMissing.with("")));
        let assumed = self.steps.assumed.iter();
        told.extend(assumed.map(|detail| Condition::PlanAssumed.with(detail)));
        for caveat in told {
            self.recorder.add(CollectivesEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    /// All points of these calls in these modes, operation after operation, by ranks that are there or are started for it.
    fn points(
        &mut self,
        side: &mut Side<'a>,
        (calls, modes): (&[Job], &[CallMode]),
        (progress, budget): (&mut Progress<'_>, &mut Budget),
    ) -> Result<(), Break> {
        let is_one = |a: &Job, b: &Job| (a.kind, a.element) == (b.kind, b.element);
        let of_engine = side.probe.map(|probe| format!(", {}", probe.name()));
        let of_engine = of_engine.unwrap_or_default();
        for calls in calls.chunk_by(is_one) {
            let in_modes = |call: Job| modes.iter().map(move |mode| (call, *mode));
            // From small to large. What hangs, hangs as a rule in a range of sizes, since libraries choose protocols by size: after two
            // losses in a row what is left is gone through from large to small, until two more are lost in a row. A fault at every size
            // thus costs four deadlines, and one in a range leaves the sizes on both sides of it.
            let calls = calls.iter().copied();
            let mut left: Vec<(Job, CallMode)> = calls.flat_map(in_modes).rev().collect();
            let (mut losses, mut is_backward, mut left_out) = (0, false, None);
            while let Some((wanted, mode)) = left.pop() {
                if let Some(signal) = self.setup.interrupt.signal() {
                    return Err(Break::Signal(signal));
                }
                let what = format!("{} {mode}", ByteCount(wanted.bytes_per_rank));
                let group = format!("{}{of_engine}", wanted.kind);
                progress.begin(&group, &what);
                let began = Instant::now();
                let mut by = side.engine();
                let not_here = not_here(mode, self.chosen.backend, self.is_simulated());
                let outcome = if let Some(reason) = not_here.filter(|_| by.is_none()) {
                    let reason = FailureKind::Unsupported.of(reason);
                    CollectiveOutcome::NotApplicable { reason }
                } else if let Some(reason) = side.over.clone().or_else(|| left_out.clone()) {
                    CollectiveOutcome::Skipped { reason }
                } else {
                    match self.point(side, &wanted, mode, budget.share()) {
                        Ok((outcome, described)) => {
                            losses = 0;
                            by = side.engine();
                            if let Some(described) = described {
                                by = by.map(|name| format!("{name} {}", described.by));
                                self.tell(side, described)?;
                            }
                            outcome
                        }
                        Err(Trouble::Stop(stop)) => return Err(stop.into()),
                        Err(Trouble::NotThere(reason)) => {
                            CollectiveOutcome::NotApplicable { reason }
                        }
                        Err(Trouble::Lost { reason, unkillable }) => {
                            progress.note(&format!("{group} {what}: {reason}"));
                            // An engine that does not start would not start again, and that takes minutes.
                            if unkillable || (side.probe.is_some() && side.joined.is_none()) {
                                side.over = Some(given_up(&reason));
                            }
                            losses += 1;
                            if losses == LIMIT && is_backward {
                                left_out = Some(given_up(&reason));
                            } else if losses == LIMIT {
                                left.reverse();
                                (is_backward, losses) = (true, 0);
                            }
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
                budget.spend(began.elapsed());
                progress.end();
            }
        }
        if let Some(Ok(group)) = side.ranks.take() {
            group.finish();
        }
        Ok(())
    }

    /// One point, with ranks that are started where there are none; and what an engine says of who did it.
    fn point(
        &self,
        side: &mut Side<'a>,
        wanted: &Job,
        mode: CallMode,
        budget: Duration,
    ) -> Result<(CollectiveOutcome, Option<Described>), Trouble> {
        let start = || Group::joined(self.setup, side.probe, None);
        let ranks = side.ranks.take().unwrap_or_else(start);
        side.joined = library_of(&ranks).or(side.joined.take());
        let mut group = ranks?;
        let times = match mode {
            CallMode::HostSynced => SYNCED_SAMPLES,
            CallMode::BackToBack | CallMode::Graph | CallMode::Interleaved => 1,
        };
        let samples = self.args.samples.saturating_mul(times) as usize;
        let series = Series {
            job: *wanted,
            verify: !self.args.no_verify,
            ranks: self.ranks(),
            mode,
            gap_us: (mode == CallMode::Interleaved).then_some(self.args.gap),
        };
        let outcome = match series.measure(&mut group, Plan::new(samples, budget)) {
            Err(Trouble::NotThere(reason)) => CollectiveOutcome::NotApplicable { reason },
            outcome => outcome?,
        };
        let described = group.described.take();
        side.ranks = Some(Ok(group));
        Ok((outcome, described))
    }

    /// Keeps what came of a point that this engine did, or the library.
    fn keep(
        &mut self,
        engine: Option<String>,
        wanted: &Job,
        mode: CallMode,
        outcome: CollectiveOutcome,
    ) -> Result<(), Break> {
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
            engine,
            outcome,
            caveats,
        };
        let point = Box::new(point);
        Ok(self.recorder.add(CollectivesEvent::Point { point })?)
    }

    /// Keeps what an engine said, where it is new.
    fn tell(&mut self, side: &Side<'_>, described: Described) -> Result<(), Break> {
        let (Some(probe), Some(joined)) = (side.probe, &side.joined) else {
            return Ok(());
        };
        let said = self.recorder.payload.engine.as_ref();
        let mut notes = said.map_or_else(Vec::new, |facts| facts.notes.clone());
        for note in described.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let facts = EngineRunFacts {
            name: joined.name.clone(),
            version: joined.version.clone(),
            python: probe.python.display().to_string(),
            device: described.device,
            notes,
        };
        if said != Some(&facts) {
            self.recorder.add(CollectivesEvent::Engine { facts })?;
        }
        Ok(())
    }

    /// What the library says of the way it takes, from ranks of their own that are not timed. Calls that lost the ranks would only
    /// do so again.
    fn transport(&mut self) -> Result<(), Break> {
        use CollectiveOutcome::{Measured, NotApplicable};
        let points = &self.recorder.payload.points;
        let is_good = |call: &&Job| {
            let of_call = points.iter().filter(|point| {
                (point.kind, point.bytes_per_rank) == (call.kind, call.bytes_per_rank)
            });
            let mut outcomes = of_call.map(|point| &point.outcome);
            outcomes.all(|outcome| matches!(outcome, Measured { .. } | NotApplicable { .. }))
        };
        let jobs: Vec<Job> = self.wanted.iter().filter(is_good).copied().collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let leader = self.setup.leader;
        let hosts = leader.map_or_else(Vec::new, |leader| leader.facts().hosts);
        let library = self.recorder.payload.library.clone().unwrap_or_default();
        let mut known = Known::read(&library, &self.devices, &hosts, self.machine);
        known.is_soft = self.is_simulated();
        known.mig = self.found.iter().any(|device| device.mig.is_some());
        known.peer_access = self.peer_access;
        let facts = Box::new(logged_run(self.setup, &jobs, &known)?);
        Ok(self.recorder.add(CollectivesEvent::Transport { facts })?)
    }

    fn ranks(&self) -> u32 {
        u32::try_from(self.found.len()).unwrap_or(u32::MAX)
    }

    fn is_simulated(&self) -> bool {
        self.chosen.inventory.soft_box.is_some()
    }
}

/// Why ranks that were lost are not started again.
fn given_up(why: &Failure) -> Failure {
    Failure {
        detail: format!("the ranks were lost and are not started again; last: {why}"),
        ..why.clone()
    }
}

/// The timings of a run: those that were asked for, or all that mean something on this backend.
fn modes(asked: &[CallMode], backend: Built, is_simulated: bool) -> Vec<CallMode> {
    let is_meant = |mode: &CallMode| {
        if asked.is_empty() {
            // Work between calls and the calls would share the CPUs.
            let is_shared = *mode == CallMode::Interleaved && backend == Built::Host;
            not_here(*mode, backend, is_simulated).is_none() && !is_shared
        } else {
            asked.contains(mode)
        }
    };
    CallMode::ALL.into_iter().filter(is_meant).collect()
}

/// Why a timing does not exist here; `None` where it does.
fn not_here(mode: CallMode, backend: Built, is_simulated: bool) -> Option<&'static str> {
    match (mode, backend) {
        (CallMode::Graph, Built::Host) => Some("the host backend has no graphs"),
        (CallMode::HostSynced, _) if is_simulated => {
            Some("the host's clock is this machine's and not the simulated one's")
        }
        _ => None,
    }
}

/// The exit code that the findings of a complete run call for.
pub(super) fn exit_code(collectives: &Collectives) -> u8 {
    use CollectiveOutcome::{Measured, NotApplicable};
    let of_point = |point: &CollectivePoint| match &point.outcome {
        Measured {
            verification: Verification::WrongData { .. },
            ..
        } => exit::WRONG_DATA,
        Measured { .. } | NotApplicable { .. } => exit::DONE,
        // What was not tried is not a pass.
        _ => exit::INCONCLUSIVE,
    };
    let is_measured = |point: &CollectivePoint| matches!(point.outcome, Measured { .. });
    let nothing = !collectives.points.iter().any(is_measured);
    let codes = collectives.points.iter().map(of_point);
    exit::fold(codes.chain(nothing.then_some(exit::INCONCLUSIVE)))
}
