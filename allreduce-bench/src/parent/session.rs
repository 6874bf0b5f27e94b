//! The measuring part of a run: one point after another, each kept before the next begins, with fresh ranks after trouble.

mod points;
mod side;

use inventory::{Built, Chosen, Found, caveats};
use program::{Break, Budget, Progress, Recorder, reservations};
use record::caveat::{Caveat, Condition};
use record::{
    BufferCache, BufferPlacement, CallMode, CollectiveOutcome, CollectivePoint, Collectives,
    CollectivesEvent, EngineRunFacts, LinkDevice,
};
use topology::{Machine, Sysfs};

use self::side::{Pace, Side};
use super::group::{Group, Opened, Setup};
use super::modes::modes;
use super::transport::{Known, logged_run, most_on_a_host, pairs, variables};
use super::wanted::{Steps, Wanted};
use crate::cli::RunArgs;
use crate::engine_probe::Probe;
use crate::messages::Job;
use crate::rank;

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
    pub(super) setup: &'a Setup<'a>,
    pub(super) opened: Opened,
    pub(super) recorder: Recorder<Collectives>,
    /// The serving engine whose own all-reduce is measured too.
    pub(super) probe: Option<Probe>,
    /// What it said so far.
    pub(super) engine: Option<EngineRunFacts>,
}

impl<'a> Session<'a> {
    /// Measures all points, or as many as it can; `group` has opened device and library.
    pub(super) fn measure(
        &mut self,
        mut group: Group<'a>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        self.found()?;
        let modes = modes(
            &self.args.modes,
            self.chosen.backend,
            self.opened.soft_box.is_some(),
        );
        let of_engine = self.engine_calls();
        let total = (self.wanted.len() + of_engine.len()) * modes.len();
        let mut pace = Pace {
            progress: Progress::new(total, say),
            budget: Budget::new(self.args.budget, total),
        };
        let s = if total == 1 { "" } else { "s" };
        say(&format!("{total} point{s} to measure"));
        let mut library = Side::of(None);
        library.begin(group.join().map(|()| group));
        self.points(&mut library, (self.wanted, &modes), &mut pace)?;
        self.transport(&library)?;
        self.engine(&of_engine, &modes, &mut pace)
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
        let mut told: Vec<Caveat> = caveats::busy(&self.devices).collect();
        told.extend(caveats::said(self.chosen));
        told.extend(caveats::shared_cpus(self.found, &self.devices));
        told.extend(caveats::hidden_mig(self.chosen));
        told.extend(caveats::unmanaged(self.chosen));
        told.extend(
            (self.chosen.backend == Built::Host).then(|| Condition::HostMemoryRanks.with("")),
        );
        // Where the engine's own all-reduce is timed beside it, nothing is missing.
        let own_kernels = self.steps.own_kernels().filter(|_| self.probe.is_none());
        told.extend(own_kernels.map(|largest| {
            Condition::EngineKernelNotTimed.with(format!("all-reduces of up to {largest}"))
        }));
        let logged: Vec<&str> = rank::asked_to_log().collect();
        let logged = Some(logged.join(" and ")).filter(|names| !names.is_empty());
        told.extend(logged.map(|names| Condition::TransportNotLogged.with(names)));
        let is_asked =
            self.args.modes.is_empty() || self.args.modes.contains(&CallMode::Interleaved);
        // The mode that predicts serving; on the host backend it predicts nothing.
        let is_host = self.chosen.backend == Built::Host;
        let lacks = !is_asked && !is_host;
        told.extend(lacks.then(|| Condition::InterleavedMissing.with("")));
        let assumed = self.steps.assumed.iter();
        told.extend(assumed.map(|detail| Condition::PlanAssumed.with(detail)));
        for caveat in told {
            self.recorder.add(CollectivesEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    /// Keeps what came of a point that this engine did, or the library.
    fn keep(
        &mut self,
        engine: Option<String>,
        wanted: &Wanted,
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
            placement: BufferPlacement::OutOfPlace,
            cache: BufferCache::Hot,
            engine,
            arm: None,
            launch: 0,
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
    fn transport(&mut self, library: &Side<'_>) -> Result<(), Break> {
        let points = &self.recorder.payload.points;
        let is_good = |call: &&Wanted| {
            let of_call = points.iter().filter(|point| {
                (point.kind, point.bytes_per_rank) == (call.kind, call.bytes_per_rank)
            });
            of_call.map(|point| &point.outcome).all(|outcome| {
                use CollectiveOutcome::{Measured, NotApplicable};
                matches!(outcome, Measured { .. } | NotApplicable { .. })
            })
        };
        let good = self.wanted.iter().filter(is_good);
        let jobs: Vec<Job> = good.map(|wanted| wanted.job(false)).collect();
        if self.chosen.backend == Built::Host || !library.joined || jobs.is_empty() {
            return Ok(());
        }
        let leader = self.setup.leader;
        let hosts = leader.map_or_else(Vec::new, |leader| leader.facts().hosts);
        let library = &self.opened.library;
        let version = library
            .version
            .iter()
            .flat_map(|text| text.split(['.', '-', '+']));
        let known = Known {
            library: library.name.clone(),
            version: version.map_while(|part| part.parse().ok()).collect(),
            is_soft: self.opened.soft_box.is_some(),
            cpu: self.machine.cpus.clone(),
            devices: most_on_a_host(self.devices.len(), &hosts),
            mig: self.found.iter().any(|device| device.mig.is_some()),
            peer_access: self.peer_access,
            variables: variables(),
            pairs: pairs(&self.devices, &hosts, self.machine, self.sysfs),
        };
        let facts = Box::new(logged_run(self.setup, &jobs, &known)?);
        self.recorder.add(CollectivesEvent::Transport { facts })?;
        Ok(())
    }

    fn ranks(&self) -> u32 {
        u32::try_from(self.found.len()).unwrap_or(u32::MAX)
    }
}
