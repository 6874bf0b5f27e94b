//! The measuring part of a run: what is known before, probes, then the points.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use inventory::caveats as known;
use program::command_line::{Sizes, sizes};
use program::{Break, Recorder, provenance, say};
use record::caveat::{Caveat, Condition};
use record::{Endpoint, LinkReading, Links, LinksEvent, Outcome, Point};
use runner::Interrupt;

use super::ceiling::BoxLinks;
use super::intent::{self, Intents};
use super::measurer::Measurer;
use super::monitor::{Monitor, Readings};
use super::plan::Planned;
use super::points::{self, Points};
use super::{fabric, link, verdict};
use crate::begun::{Begun, DeviceArgs, RunningArgs, SamplingArgs};
use crate::cases::{self, Pattern};
use crate::messages::{Finding, Job};

/// What to measure and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) on: DeviceArgs,

    /// Cases by key, with `*` and `?`, separated by commas, such as `h2d_*,local_ce`; `core` is the set that a
    /// bare run takes, `all` is every case. See --list.
    #[arg(long, value_name = "GLOB", default_value = cases::DEFAULT)]
    pub(crate) cases: String,

    /// List the cases and the devices, and measure nothing. With --json the devices go there as a record without numbers, for other
    /// programs.
    #[arg(long)]
    pub(crate) list: bool,

    /// Bytes of one copy, K, M and G being powers of 1024: sizes such as 64M, lists such as 4K,1M, ranges in powers of
    /// two such as 4K..1G; without a letter bytes. Default:
    /// 256M; on the host backend the power of two above the last-level cache, 64M to 1G; on a simulated machine 16M.
    #[arg(long, value_name = "SIZES", value_parser = sizes, allow_negative_numbers = true)]
    pub(crate) sizes: Option<Sizes>,

    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,

    /// Leave peer access off and measure the paths through host memory instead.
    #[arg(long)]
    pub(crate) no_peer: bool,

    /// Try peer paths that are known to hang a host, or that did so before.
    #[arg(long)]
    pub(crate) risk: bool,

    #[command(flatten)]
    pub(crate) running: RunningArgs,

    /// Folder that remembers which peer copies were under way when a machine went down. Default: tplens in
    /// $XDG_STATE_HOME or ~/.local/state.
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// One run under way.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) begun: &'a Begun,
    pub(super) interrupt: &'a Interrupt,
    pub(super) recorder: Recorder<Links>,
    pub(super) monitor: Monitor<'a>,
    /// What was read of each device while copies of its last point ran.
    pub(super) last: Readings,
    /// What earlier boots of this machine did; known once the devices are.
    pub(super) remembered: Intents,
}

/// Seconds that samples take where the command line does not say.
const BUDGET: Duration = Duration::from_secs(30);

/// What is known before anything is measured; of the caveats those of devices in use come first.
pub(super) fn described(
    begun: &Begun,
    idle: &Readings,
    planned: &[Planned],
    interrupt: &Interrupt,
) -> Links {
    let (chosen, found) = (&begun.chosen, &begun.found);
    let mut devices = begun.devices.clone();
    for (position, reading) in idle {
        devices[*position].idle = Some(reading.clone());
    }
    let mut caveats: Vec<Caveat> = known::busy(&devices).collect();
    caveats.extend(fabric::nvlink_caveats(begun));
    caveats.extend(known::said(chosen));
    caveats.extend(known::shared_cpus(found, &devices));
    if !begun.is_soft() {
        caveats.extend(cached(begun, planned));
        caveats.extend(link::assumed_payload(&devices));
        let by_kernel = chosen.backend.copies_by_kernel();
        caveats.extend(by_kernel.map(|detail| Condition::CopiesByKernel.with(detail)));
    }
    caveats.extend(known::hidden_mig(chosen));
    caveats.extend(known::unmanaged(chosen));
    let (paths, unknown) = fabric::paths(begun, interrupt);
    caveats.extend(unknown);
    Links {
        machine: Some(begun.machine.clone()),
        backend: Some(inventory::backend(chosen)),
        nvlinks: fabric::nvlinks(begun),
        devices,
        paths,
        caveats,
        ..Links::default()
    }
}

/// What is to be said of copies that a cache holds; sizes that a case has of its own are meant to be what they are.
fn cached(begun: &Begun, planned: &[Planned]) -> Option<Caveat> {
    let of_host = begun.machine.cpus.last_level_cache_bytes;
    let caches = begun.found.iter().filter_map(|device| device.cache_bytes);
    let cache_bytes = caches.chain(of_host).max()?;
    let points = planned.iter();
    let sized = points.filter(|point| point.case.fixed_bytes().is_none());
    let held = sized.map(|point| point.bytes.0);
    let bytes = held.filter(|bytes| *bytes <= cache_bytes).max()?;
    Some(Caveat::CacheResident { bytes, cache_bytes })
}

impl Session<'_> {
    /// Measures all points, or as many as it can.
    pub(super) fn measure(&mut self, planned: &[Planned]) -> Result<(), Break> {
        let begun = self.begun;
        self.monitor.ask(0..begun.devices.len());
        let (idle, _) = self.monitor.collect();
        let known = described(begun, &idle, planned, self.interrupt);
        for caveat in known::busy(&begun.devices) {
            say!("{}", view::caveat(&caveat).text);
        }
        self.recorder.add(LinksEvent::Found {
            machine: Box::new(begun.machine.clone()),
            backend: inventory::backend(&begun.chosen),
            devices: known.devices,
            paths: known.paths,
        })?;
        for reading in known.nvlinks {
            self.recorder.add(LinksEvent::Nvlink { reading })?;
        }
        self.add(known.caveats)?;
        let joins = |point: &Planned| point.case.pattern.joins_devices();
        let joins = planned.iter().any(joins);
        let is_probed = joins && !self.args.no_peer;
        let devices = if is_probed { begun.devices.len() } else { 0 };
        let how = (begun, &self.args.sampling, BUDGET);
        points::announce(planned, how, devices * devices.saturating_sub(1));
        if joins {
            self.remember()?;
        }
        if is_probed {
            self.probes()?;
        }
        let (deadline, interrupt) = (self.args.running.deadline, self.interrupt);
        points::measure(self, planned, how, (deadline, interrupt))?;
        let links = &self.recorder.payload;
        let mut caveats = link::caveats(&links.devices);
        caveats.extend(verdict::staged_kernels(links));
        if !links.nvlinks.is_empty() {
            let now = inventory::nvlinks(begun.chosen.backend, deadline, interrupt)?;
            caveats.extend(fabric::nvlink_errors_risen(begun, &now));
        }
        let lost = self.monitor.finish();
        caveats.extend(lost.map(|why| Condition::LinkReadingLost.with(why)));
        self.add(caveats)
    }

    fn add(&mut self, caveats: impl IntoIterator<Item = Caveat>) -> Result<(), Break> {
        for caveat in caveats {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        Ok(())
    }

    /// Reads what earlier boots left. Host memory cannot take a machine down, so there is nothing to remember.
    fn remember(&mut self) -> Result<(), Break> {
        if self.begun.is_host() {
            return Ok(());
        }
        let host = provenance::host().unwrap_or_else(|| "unknown".to_owned());
        let boot_id = self.begun.machine.boot_id.as_deref().unwrap_or("unknown");
        let (intents, unknown) = intent::open(self.args.state_dir.as_deref(), &host, boot_id);
        self.remembered = intents;
        // The journal still has the intents; only a later run will not know of them.
        let caveat = unknown.map(|reason| Condition::CrashNotRemembered.with(reason));
        self.add(caveat)
    }

    /// Backend, box, driver and the devices by what stays the same across boots: what was tried.
    pub(super) fn pair(&self, from: usize, to: usize) -> String {
        let chosen = &self.begun.chosen;
        let soft = chosen.inventory.soft_box.iter();
        let identity = [chosen.backend.name().to_owned()].into_iter();
        let identity = identity.chain(soft.map(|name| format!("soft {name}")));
        let identity: Vec<String> = identity.chain(chosen.inventory.driver.clone()).collect();
        let name = |at: usize| {
            let device = &self.begun.devices[at];
            let address = device.address.map(|address| address.to_string());
            let name = device.uuid.clone().or(address);
            name.unwrap_or_else(|| device.label.clone())
        };
        format!("{} {}>{}", identity.join(" "), name(from), name(to))
    }

    /// Puts link readings into the record where they say something new.
    fn keep_readings(&mut self, readings: &Readings, mut running: Readings) -> Result<(), Break> {
        for (device, reading) in readings {
            let devices = &self.recorder.payload.devices;
            let before = devices.get(*device).and_then(|one| one.loaded.as_ref());
            let says = |one: &LinkReading| (one.device, one.slot, one.narrowed_to);
            let running = running.remove(device);
            let fell = link::proven(before, self.last.get(device), running.as_ref());
            self.last.extend(running.map(|running| (*device, running)));
            let mut reading = reading.clone();
            reading.narrowed_to = reading.narrowed_to.or(fell);
            let merged = link::merged(before, reading);
            if before.map(says) != Some(says(&merged)) {
                let (device, reading) = (*device, merged);
                self.recorder.add(LinksEvent::Reading { device, reading })?;
            }
        }
        Ok(())
    }
}

impl Points for Session<'_> {
    fn words(&self, point: &Planned) -> (String, String) {
        let name = |end| match end {
            Endpoint::Host => "host",
            Endpoint::All => "all",
            Endpoint::Device(position) => self.begun.label(position),
        };
        let (from, to) = (name(point.from), name(point.to));
        let what = format!("{from} to {to} {}", point.bytes);
        (point.case.key.to_owned(), what)
    }

    fn refusal(&self, point: &Planned) -> Option<Outcome> {
        verdict::refusal(point, self.args.no_peer, &self.recorder.payload)
    }

    fn measured(
        &mut self,
        point: &Planned,
        job: &Job,
        measurer: &mut Measurer<'_>,
    ) -> Result<Finding, Break> {
        // Each pair by the device that accesses the other, as it was probed.
        let accesses = point.accesses().into_iter();
        let intents: Vec<String> = accesses.map(|(a, b)| self.pair(a, b)).collect();
        let monitor = &mut self.monitor;
        let mut on_sample = || {
            // Copies within a device put no load on its link.
            if point.case.pattern != Pattern::Local {
                monitor.ask(point.devices());
            }
        };
        let run = |one: &mut Measurer<'_>| one.run(job, &mut on_sample);
        let found = self.remembered.guarded(&intents, measurer, run)?;
        let (readings, running) = self.monitor.collect();
        self.keep_readings(&readings, running)?;
        let links = BoxLinks {
            links: &self.recorder.payload,
            readings: &readings,
            nvlink_gb_per_s: fabric::nvlink_rate(self.begun),
        };
        Ok(found.judged(|quantities| links.used(point, quantities)))
    }

    fn keep(&mut self, point: &Planned, found: Finding) -> Result<(), Break> {
        let point = Box::new(Point {
            case: point.case.key.to_owned(),
            from: point.from,
            to: point.to,
            bytes: point.bytes.0,
            outcome: found.outcome,
            caveats: found.caveats,
        });
        Ok(self.recorder.add(LinksEvent::Point { point })?)
    }
}
