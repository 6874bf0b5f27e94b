//! The measuring part of a run: probes, then one point after another, each kept before the next begins.

use std::time::Instant;

use inventory::{Built, Found, caveats as known};
use program::{Break, Budget, Progress, Recorder, Stop, provenance};
use record::caveat::{Caveat, Condition};
use record::plan::Plan;
use record::{Endpoint, FailureKind, LinkDevice, LinkReading, Links, LinksEvent, Outcome, Point};
use runner::Interrupt;

use super::ceiling::BoxLinks;
use super::finding::{Health, Suspect};
use super::intent::{self, Intents};
use super::measurer::{JobEnd, Measurer};
use super::monitor::{Monitor, Readings};
use super::plan::Planned;
use super::{access, fabric, link, nvlink, verdict};
use crate::begun::Begun;
use crate::cases::Pattern;
use crate::cli::RunArgs;
use crate::messages::{Finding, Job, Member};

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) begun: &'a Begun,
    pub(super) found: &'a [Found],
    pub(super) interrupt: &'a Interrupt,
    pub(super) recorder: Recorder<Links>,
    /// What earlier boots of this machine did; known once the devices are.
    pub(super) remembered: Intents,
}

/// No last-level cache holds this much.
const SURELY_UNCACHED_BYTES: u64 = 1 << 30;

/// What is known before anything is measured; of the caveats those of devices in use come first.
pub(super) fn described(
    begun: &Begun,
    found: &[Found],
    devices: Vec<LinkDevice>,
    planned: &[Planned],
    interrupt: &Interrupt,
) -> Links {
    let chosen = &begun.chosen;
    let mut caveats: Vec<Caveat> = known::busy(&devices).collect();
    caveats.extend(nvlink::caveats(found, &devices));
    caveats.extend(known::said(chosen));
    caveats.extend(known::shared_cpus(found, &devices));
    if chosen.inventory.soft_box.is_none() {
        let caches = found.iter().filter_map(|device| device.cache_bytes);
        let cache_bytes = caches
            .chain(begun.machine.cpus.last_level_cache_bytes)
            .max();
        // Sizes that a case has of its own are meant to be what they are.
        let sized = planned
            .iter()
            .filter(|point| point.case.fixed_bytes().is_none());
        let sizes = || sized.clone().map(|point| point.bytes.0);
        let of_host = begun.machine.cpus.last_level_cache_bytes;
        let is_unknown = chosen.backend == Built::Host && of_host.is_none();
        let mut small = sizes().filter(|bytes| is_unknown && *bytes < SURELY_UNCACHED_BYTES);
        caveats.extend(small.next().map(|_| Condition::CacheUnknown.with("")));
        let held = sizes();
        let held = held.filter(|bytes| Some(*bytes) <= cache_bytes).max();
        let cached = held.zip(cache_bytes);
        caveats.extend(
            cached.map(|(bytes, cache_bytes)| Caveat::CacheResident { bytes, cache_bytes }),
        );
        caveats.extend(link::assumed_payload(&devices));
        let by_kernel = chosen.backend.copies_by_kernel();
        caveats.extend(by_kernel.map(|detail| Condition::CopiesByKernel.with(detail)));
    }
    caveats.extend(known::hidden_mig(chosen));
    caveats.extend(known::unmanaged(chosen));
    let (paths, unknown) = fabric::paths((&devices, found), begun, interrupt);
    caveats.extend(unknown);
    Links {
        machine: Some(begun.machine.clone()),
        backend: Some(inventory::backend(chosen)),
        nvlinks: nvlink::readings(found, &devices),
        devices,
        paths,
        caveats,
        ..Links::default()
    }
}

impl<'a> Session<'a> {
    /// Measures all points, or as many as it can.
    pub(super) fn measure(
        &mut self,
        mut devices: Vec<LinkDevice>,
        planned: &[Planned],
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let mut monitor =
            Monitor::start(self.begun, self.found, self.args.deadline, self.interrupt)?;
        monitor.ask(0..devices.len());
        for (position, reading) in monitor.collect() {
            devices[position].idle = Some(reading);
        }
        let known = described(self.begun, self.found, devices, planned, self.interrupt);
        for caveat in &known.caveats {
            if matches!(caveat, Caveat::DeviceBusy { .. }) {
                say(&view::caveat(caveat).text);
            }
        }
        self.recorder.add(LinksEvent::Found {
            machine: Box::new(self.begun.machine.clone()),
            backend: inventory::backend(&self.begun.chosen),
            devices: known.devices,
            paths: known.paths,
        })?;
        for reading in known.nvlinks {
            self.recorder.add(LinksEvent::Nvlink { reading })?;
        }
        self.say_all(known.caveats)?;
        if planned
            .iter()
            .any(|point| point.case.pattern.joins_devices())
        {
            self.remember()?;
            if !self.args.no_peer {
                self.probes(say)?;
            }
        }
        self.points(planned, &mut monitor, say)?;
        let links = &self.recorder.payload;
        let mut caveats = link::caveats(&links.devices);
        caveats.extend(verdict::staged_kernels(links));
        if !links.nvlinks.is_empty() {
            let backend = self.begun.chosen.backend;
            let now = inventory::nvlinks(backend, self.args.deadline, self.interrupt)?;
            caveats.extend(nvlink::risen(self.found, &links.devices, &now));
        }
        let lost = monitor.lost.take();
        caveats.extend(lost.map(|why| Condition::LinkReadingLost.with(why)));
        self.say_all(caveats)?;
        monitor.finish();
        Ok(())
    }

    fn say_all(&mut self, caveats: impl IntoIterator<Item = Caveat>) -> Result<(), Break> {
        for caveat in caveats {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    /// Reads what earlier boots left. Host memory cannot take a machine down, so there is nothing to remember.
    fn remember(&mut self) -> Result<(), Break> {
        if self.begun.chosen.backend == Built::Host {
            return Ok(());
        }
        let host = provenance::host().unwrap_or_else(|| "unknown".to_owned());
        let boot_id = self.begun.machine.boot_id.as_deref().unwrap_or("unknown");
        let (intents, unknown) = intent::open(self.args.state_dir.as_deref(), &host, boot_id);
        self.remembered = intents;
        // The journal still has the intents; only a later run will not know of them.
        let caveat = unknown.map(|reason| Condition::CrashNotRemembered.with(reason));
        self.say_all(caveat)
    }

    /// Does what may take the machine down, with its intents on the disk meanwhile.
    pub(super) fn guarded(
        &self,
        intents: &[String],
        run: impl FnOnce() -> Result<JobEnd, Stop>,
    ) -> Result<JobEnd, Break> {
        self.remembered
            .append(intents, false)
            .map_err(Stop::Internal)?;
        let end = run();
        // A process that cannot be ended may yet take the machine down.
        if !end.as_ref().is_ok_and(|end| end.unkillable) {
            self.remembered
                .append(intents, true)
                .map_err(Stop::Internal)?;
        }
        Ok(end?)
    }

    /// Backend, box, driver and the devices by what stays the same across boots: what was tried.
    pub(super) fn pair(&self, from: usize, to: usize) -> String {
        let chosen = &self.begun.chosen;
        let soft = chosen.inventory.soft_box.iter();
        let identity = [chosen.backend.name().to_owned()].into_iter();
        let identity = identity.chain(soft.map(|name| format!("soft {name}")));
        let identity: Vec<String> = identity.chain(chosen.inventory.driver.clone()).collect();
        let name = |at: usize| {
            let device = &self.recorder.payload.devices[at];
            let address = device.address.map(|address| address.to_string());
            let name = device.uuid.clone().or(address);
            name.unwrap_or_else(|| device.label.clone())
        };
        format!("{} {}>{}", identity.join(" "), name(from), name(to))
    }

    pub(super) fn measurer(&self) -> Measurer<'a> {
        Measurer::new(
            self.begun.chosen.backend,
            self.args.deadline,
            self.interrupt,
        )
    }

    fn points(
        &mut self,
        planned: &[Planned],
        monitor: &mut Monitor<'_>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let mut progress = Progress::new(planned.len(), say);
        let mut measurer = self.measurer();
        let mut budget = Budget::new(self.args.budget, planned.len());
        let mut health = Health::default();
        let s = if planned.len() == 1 { "" } else { "s" };
        say(&format!("{} point{s} to measure", planned.len()));
        for point in planned {
            if let Some(signal) = self.interrupt.signal() {
                return Err(Break::Signal(signal));
            }
            let (key, ends) = (point.case.key, self.ends(point));
            progress.begin(key, &format!("{ends} {}", point.bytes));
            let began = Instant::now();
            let found = match self.refusal(point, &health) {
                Some(outcome) => Finding::without_numbers(outcome),
                None => {
                    let job = self.job(point, &budget);
                    self.point(point, &job, &mut measurer, monitor)?
                }
            };
            if let Some(blame) = &found.blame {
                health.failed(&point.suspects(), blame);
            }
            if let Outcome::Failed { reason } = &found.outcome {
                progress.note(&format!("{key} {ends}: {reason}"));
            }
            let point = Box::new(Point {
                case: key.to_owned(),
                from: point.from,
                to: point.to,
                bytes: point.bytes.0,
                outcome: found.outcome,
                caveats: found.caveats,
            });
            self.recorder.add(LinksEvent::Point { point })?;
            budget.spend(began.elapsed());
            progress.end();
        }
        measurer.finish();
        Ok(())
    }

    fn label(&self, position: usize) -> String {
        let device = self.recorder.payload.devices.get(position);
        device.map_or_else(|| position.to_string(), |device| device.label.clone())
    }

    fn ends(&self, point: &Planned) -> String {
        let name = |end| match end {
            Endpoint::Host => "host".to_owned(),
            Endpoint::All => "all".to_owned(),
            Endpoint::Device(position) => self.label(position),
        };
        format!("{} to {}", name(point.from), name(point.to))
    }

    /// Why a point is not tried at all.
    fn refusal(&self, point: &Planned, health: &Health) -> Option<Outcome> {
        let (backend, no_peer) = (self.begun.chosen.backend, self.args.no_peer);
        if let Some(outcome) = access::refusal(point, backend, no_peer, &self.recorder.payload) {
            return Some(outcome);
        }
        // Peer copies have their probe for that.
        let is_risky = point.case.pattern == Pattern::DriverStaged && !self.args.risk;
        let mut intents = self.intents(point).into_iter().filter(|_| is_risky);
        if let Some(why) = intents.find_map(|pair| self.remembered.lost(&pair)) {
            // What was not looked at is not a pass.
            let reason = FailureKind::Hang.of(why).within("not tried");
            return Some(Outcome::Failed { reason });
        }
        let (suspect, why) = health.left_alone(&point.suspects())?;
        let name = match suspect {
            Suspect::Device(device) => self.label(device),
            Suspect::Pair(from, to) => format!("{} to {}", self.label(from), self.label(to)),
            Suspect::Group(key) => key.to_owned(),
        };
        let reason = Health::refusal(name, why);
        Some(Outcome::Skipped { reason })
    }

    /// What is put on the disk before a point: each pair by the device that accesses the other, as it was probed.
    fn intents(&self, point: &Planned) -> Vec<String> {
        match (point.case.pattern, point.pair()) {
            (Pattern::DriverStaged, Some((from, to))) => {
                vec![format!("{} by the driver", self.pair(from, to))]
            }
            _ => {
                let accesses = point.accesses().into_iter();
                accesses.map(|(from, to)| self.pair(from, to)).collect()
            }
        }
    }

    fn point(
        &mut self,
        point: &Planned,
        job: &Job,
        measurer: &mut Measurer<'_>,
        monitor: &mut Monitor<'_>,
    ) -> Result<Finding, Break> {
        let mut on_sample = || {
            // Copies within a device put no load on its link.
            if point.case.pattern != Pattern::Local {
                monitor.ask(point.devices());
            }
        };
        let run = || measurer.run(job, &mut on_sample);
        let end = self.guarded(&self.intents(point), run)?;
        let readings = monitor.collect();
        self.keep(&readings)?;
        let links = BoxLinks {
            links: &self.recorder.payload,
            readings: &readings,
            nvlink_gb_per_s: nvlink::each(self.found),
        };
        let link = |quantities: &[_]| links.used(point, quantities);
        Finding::of(end, link).map_err(Break::Signal)
    }

    /// Puts link readings into the record where they say something new.
    fn keep(&mut self, readings: &Readings) -> Result<(), Break> {
        for (device, reading) in readings {
            let devices = &self.recorder.payload.devices;
            let before = devices.get(*device).and_then(|one| one.loaded.as_ref());
            let says = |one: &LinkReading| (one.device, one.slot, one.narrowed_to);
            let merged = link::merged(before, reading.clone());
            if before.map(says) != Some(says(&merged)) {
                let (device, reading) = (*device, merged);
                self.recorder.add(LinksEvent::Reading { device, reading })?;
            }
        }
        Ok(())
    }

    fn job(&self, point: &Planned, budget: &Budget) -> Job {
        let ordinal = |end| match end {
            Endpoint::Host | Endpoint::All => end,
            Endpoint::Device(position) => Endpoint::Device(self.found[position].ordinal),
        };
        // A simulated machine's nodes are not this machine's, so there nothing is bound.
        let is_soft = self.begun.chosen.inventory.soft_box.is_some();
        let devices = self.recorder.payload.devices.iter();
        let all: Vec<Member> = devices
            .map(|device| Member {
                ordinal: device.ordinal,
                node: device.node.filter(|_| !is_soft),
            })
            .collect();
        // A group's devices may be near different CPUs, and the host backend's workers are on their own already: there the issuing
        // thread is not bound.
        let is_bound = !point.is_group() && self.begun.chosen.backend != Built::Host;
        let near = point.devices().first().and_then(|first| all[*first].node);
        let near = near.filter(|_| is_bound);
        let near = near.and_then(|node| self.begun.machine.node(node));
        Job {
            case: point.case.key.to_owned(),
            from: ordinal(point.from),
            to: ordinal(point.to),
            bytes: point.bytes.0,
            plan: Plan::new(self.args.samples as usize, budget.share()),
            cpus: near.map_or_else(Vec::new, |node| node.cpus.iter().collect()),
            thread_node: None,
            all,
        }
    }
}
