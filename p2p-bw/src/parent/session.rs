//! The measuring part of a run: probes, then one point after another, each kept before the next begins.

use std::time::{Duration, Instant};

use inventory::{Built, Chosen, Found};
use program::{Break, Budget, Progress, Recorder, Stop, provenance};
use record::caveat::{Caveat, Condition};
use record::{Endpoint, LinkDevice, LinkUse, Links, LinksEvent, NamedQuantity, Outcome, Point};
use runner::Interrupt;
use topology::{Machine, Sysfs};

use super::finding::Finding;
use super::health::Health;
use super::intent::{Intents, Remembered, default_folder};
use super::measurer::{JobEnd, Measurer};
use super::monitor::{Monitor, Readings};
use super::plan::Planned;
use super::probes::Probes;
use super::{ceiling, fabric, facts, link, nvlink, verdict};
use crate::cases::Pattern;
use crate::cli::RunArgs;
use crate::messages::Job;

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) chosen: &'a Chosen,
    pub(super) sysfs: &'a Sysfs,
    pub(super) machine: &'a Machine,
    pub(super) found: &'a [Found],
    pub(super) interrupt: &'a Interrupt,
    pub(super) recorder: Recorder<Links>,
    /// What earlier boots of this machine did; known once the devices are.
    pub(super) remembered: Remembered,
}

impl<'a> Session<'a> {
    /// Measures all points, or as many as it can.
    pub(super) fn measure(
        &mut self,
        mut devices: Vec<LinkDevice>,
        planned: &[Planned],
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let mut monitor = self.monitor()?;
        if let Some(monitor) = &mut monitor {
            monitor.ask(&(0..devices.len()).collect::<Vec<_>>());
            for (position, reading) in monitor.collect() {
                devices[position].idle = Some(reading);
            }
        }
        // Sizes that a case has of its own are meant to be what they are.
        let sized = planned
            .iter()
            .filter(|point| point.case.fixed_bytes().is_none());
        let sizes: Vec<u64> = sized.map(|point| point.bytes.0).collect();
        let caveats = facts::caveats(self.chosen, self.found, &devices, &sizes, self.machine);
        let busy = |caveat: &&Caveat| matches!(caveat, Caveat::DeviceBusy { .. });
        caveats
            .iter()
            .filter(busy)
            .for_each(|caveat| say(&view::caveat(caveat).text));
        let (paths, unknown) = fabric::paths(
            (&devices, self.found),
            self.machine,
            self.sysfs,
            self.interrupt,
        );
        let nvlinks = nvlink::readings(self.found, &devices);
        let backend = inventory::backend(self.chosen);
        let machine = Box::new(self.machine.clone());
        self.recorder.add(LinksEvent::Found {
            machine,
            backend,
            devices,
            paths,
        })?;
        for reading in nvlinks {
            self.recorder.add(LinksEvent::Nvlink { reading })?;
        }
        for caveat in caveats.into_iter().chain(unknown) {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        if planned
            .iter()
            .any(|point| point.case.pattern.joins_devices())
        {
            self.remember()?;
            if !self.args.no_peer {
                self.probe(say)?;
            }
        }
        self.points(planned, &mut monitor, say)?;
        let of_kernels = verdict::signatures(&self.recorder.payload);
        let of_links = link::caveats(&self.recorder.payload.devices);
        for caveat in of_links.into_iter().chain(of_kernels) {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        if !self.recorder.payload.nvlinks.is_empty() {
            let now = inventory::nvlinks(self.chosen.backend, self.args.deadline, self.interrupt)?;
            let devices = &self.recorder.payload.devices;
            for caveat in nvlink::risen(self.found, devices, &now) {
                self.recorder.add(LinksEvent::Caveat { caveat })?;
            }
        }
        if let Some(reason) = monitor.as_ref().and_then(|monitor| monitor.lost.clone()) {
            self.recorder.add(LinksEvent::Caveat {
                caveat: Condition::LinkReadingLost.with(reason),
            })?;
        }
        if let Some(monitor) = monitor {
            monitor.finish();
        }
        Ok(())
    }

    fn monitor(&self) -> Result<Option<Monitor<'a>>, Stop> {
        if self.chosen.backend == Built::Host {
            return Ok(None);
        }
        let devices = self.found.iter().map(|found| found.pci.clone()).collect();
        Monitor::start(
            self.chosen.backend,
            self.sysfs.root().to_owned(),
            devices,
            self.interrupt,
        )
        .map(Some)
    }

    fn probe(&mut self, say: &dyn Fn(&str)) -> Result<(), Break> {
        let probes = Probes {
            backend: self.chosen.backend,
            deadline: self.args.deadline,
            risk: self.args.risk,
            remembered: &self.remembered,
            identity: self.identity(),
            inventory: &self.chosen.inventory.devices,
            interrupt: self.interrupt,
            machine: self.machine,
            sysfs: self.sysfs,
        };
        probes.run(&mut self.recorder, say)?;
        Ok(())
    }

    /// Reads what earlier boots left. Host memory cannot take a machine down, so there is nothing to remember.
    fn remember(&mut self) -> Result<(), Break> {
        if self.chosen.backend == Built::Host {
            return Ok(());
        }
        self.remembered = match self.intents() {
            Ok(intents) => Remembered::Known(intents),
            Err(error) => Remembered::Unknown(format!("{error:#}")),
        };
        if let (Remembered::Unknown(reason), true) = (&self.remembered, self.args.risk) {
            // The journal still has the intent; only a later run will not know of it.
            let caveat = Condition::CrashNotRemembered.with(reason);
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    fn intents(&self) -> anyhow::Result<Intents> {
        let folder = match &self.args.state_dir {
            Some(folder) => folder.clone(),
            None => default_folder()?,
        };
        let host = provenance::host().unwrap_or_else(|| "unknown".to_owned());
        let boot_id = self.machine.boot_id.as_deref().unwrap_or("unknown");
        Intents::open(&folder, &host, boot_id)
    }

    fn points(
        &mut self,
        planned: &[Planned],
        monitor: &mut Option<Monitor<'_>>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let mut progress = Progress::new(planned.len(), say);
        let mut measurer = Measurer::new(self.chosen.backend, self.args.deadline, self.interrupt);
        let mut budget = Budget::new(self.args.budget, planned.len());
        let mut health = Health::default();
        let mut spent = Duration::ZERO;
        let s = if planned.len() == 1 { "" } else { "s" };
        say(&format!("{} point{s} to measure", planned.len()));
        for point in planned {
            if let Some(signal) = self.interrupt.signal() {
                return Err(Break::Signal(signal));
            }
            progress.begin(
                point.case.key,
                &format!("{} {}", self.ends(point), point.bytes),
            );
            let began = Instant::now();
            let (outcome, caveats) = match self.refusal(point, &health) {
                Some(outcome) => (outcome, Vec::new()),
                None => {
                    let job = self.job(point, &budget);
                    self.point(point, &job, &mut measurer, monitor, &mut health)?
                }
            };
            if let Outcome::Failed { reason } = &outcome {
                progress.note(&format!(
                    "{} {}: {reason}",
                    point.case.key,
                    self.ends(point)
                ));
            }
            if matches!(outcome, Outcome::Measured { .. }) {
                spent += began.elapsed();
            }
            let point = Point {
                case: point.case.key.to_owned(),
                from: point.from,
                to: point.to,
                bytes: point.bytes.0,
                outcome,
                caveats,
            };
            self.recorder.add(LinksEvent::Point {
                point: Box::new(point),
            })?;
            budget.spend(began.elapsed());
            progress.end();
        }
        measurer.finish();
        if let Some(caveat) = self.overspent(spent) {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    pub(super) fn label(&self, position: usize) -> String {
        self.recorder
            .payload
            .devices
            .get(position)
            .map_or_else(|| position.to_string(), |device| device.label.clone())
    }

    fn ends(&self, point: &Planned) -> String {
        let name = |end| match end {
            Endpoint::Host => "host".to_owned(),
            Endpoint::All => "all".to_owned(),
            Endpoint::Device(position) => self.label(position),
        };
        format!("{} to {}", name(point.from), name(point.to))
    }

    fn point(
        &mut self,
        point: &Planned,
        job: &Job,
        measurer: &mut Measurer<'_>,
        monitor: &mut Option<Monitor<'_>>,
        health: &mut Health,
    ) -> Result<(Outcome, Vec<Caveat>), Break> {
        let positions = point.devices();
        let intents = self.intents_of(point);
        self.remembered.begin(&intents).map_err(Stop::Internal)?;
        let end = measurer.run(job, &mut || {
            // Copies within a device put no load on its link.
            if let Some(monitor) = monitor
                .as_mut()
                .filter(|_| point.case.pattern != Pattern::Local)
            {
                monitor.ask(&positions);
            }
        });
        // A process that cannot be ended may yet take the machine down.
        let unkillable = matches!(
            &end,
            Ok(JobEnd::Hang {
                unkillable: true,
                ..
            } | JobEnd::Interrupted {
                unkillable: true,
                ..
            })
        );
        if !unkillable {
            self.remembered.end(&intents).map_err(Stop::Internal)?;
        }
        let end = end?;
        let readings = monitor.as_mut().map(Monitor::collect).unwrap_or_default();
        self.keep(&readings)?;
        let link = |quantities: &[NamedQuantity]| self.link_use(point, &readings, quantities);
        let found = Finding::of(end, link).map_err(Break::Signal)?;
        if let Some(blame) = &found.blame {
            health.failed(&point.suspects(), blame);
        }
        Ok((found.outcome, found.caveats))
    }

    /// Puts link readings into the record where they say something new.
    fn keep(&mut self, readings: &Readings) -> Result<(), Break> {
        for (position, reading) in readings {
            let Some(device) = self.recorder.payload.devices.get(*position) else {
                continue;
            };
            let merged = link::merged(device, reading);
            let says =
                |reading: &record::LinkReading| (reading.device, reading.slot, reading.narrowed_to);
            if device.loaded.as_ref().map(says) != Some(says(&merged)) {
                self.recorder.add(LinksEvent::Reading {
                    device: *position,
                    reading: merged,
                })?;
            }
        }
        Ok(())
    }

    fn link_use(
        &self,
        point: &Planned,
        readings: &Readings,
        quantities: &[NamedQuantity],
    ) -> LinkUse {
        let has_links = self.chosen.backend != Built::Host;
        let links = ceiling::BoxLinks {
            links: &self.recorder.payload,
            readings,
            nvlink_gb_per_s: nvlink::each(self.found),
        };
        ceiling::link_use(point, links, quantities, has_links)
    }
}
