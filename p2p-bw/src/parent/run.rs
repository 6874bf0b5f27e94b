//! A run from the command line to the record.

use std::path::PathBuf;

use anyhow::Context;
use inventory::{Built, Chosen, choose, played};
use measure::exit;
use measure::record::{Header, LinkDevice, Links, Payload, Record, Status};
use measure::unit::ByteCount;
use program::{Ended, Recorder, Stop, passing_folder, result_folder, sim};
use supervisor::Interrupt;
use topology::{Machine, Sysfs};

use super::intent::Remembered;
use super::memory::Memory;
use super::plan::plan;
use super::session::Session;
use super::{fabric, facts, outputs};
use crate::cases::{self, Case};
use crate::cli::RunArgs;

/// Bytes of one copy where `--sizes` does not say: larger than any GPU's cache; a soft box has none to outgrow.
const DEFAULT_BYTES: u64 = 256 << 20;
pub(crate) const DEFAULT_SOFT_BYTES: u64 = 16 << 20;

/// Bytes of one copy on the host backend at least, and at most.
const HOST_BYTES: (u64, u64) = (64 << 20, 1 << 30);

/// The smallest power of two above the last-level cache, within bounds; copies between two such buffers outgrow it twice.
pub(crate) fn default_host_bytes(machine: &Machine) -> u64 {
    let cache = machine.cpus.last_level_cache_bytes.unwrap_or(0);
    (cache + 1)
        .next_power_of_two()
        .clamp(HOST_BYTES.0, HOST_BYTES.1)
}

/// What a run came to.
pub(crate) enum Outcome {
    /// Measured, as far as it went.
    Ended(Box<Ended>),
    /// The cases and devices, as text.
    Listed(String),
    /// The devices that were asked for, as a record without a number.
    ListedAsJson(Box<Record>),
}

/// Measures what the command line asks for.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(crate) fn run(
    args: &RunArgs,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Outcome, Stop> {
    let cases =
        cases::matching(&args.cases).map_err(|error| Stop::Usage(format!("--cases: {error}")))?;
    played::refuse_host(args.sim.as_deref(), args.backend)?;
    let folder = if args.list {
        passing_folder("p2p")
    } else {
        result_folder(args.outputs.out.as_deref(), "p2p")
    };
    let outcome = run_in(args, &cases, folder.clone(), interrupt, say);
    sim::forget();
    outcome
}

fn run_in(
    args: &RunArgs,
    cases: &[&'static Case],
    folder: PathBuf,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Outcome, Stop> {
    let sysfs = played::sysfs(args.sim.as_deref(), &folder, &[])?;
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let chosen = match choose(args.backend, &machine, args.deadline, interrupt) {
        Err(Stop::Refused(reason)) if !args.list => {
            let recorder = Recorder::<Links>::begin(&folder, header(&machine, sim::box_name()))?;
            return Ok(Outcome::Ended(Box::new(recorder.refuse(reason))));
        }
        chosen => chosen?,
    };
    let soft = &chosen.inventory.soft_box;
    played::expect_soft(args.sim.as_deref(), &chosen)?;
    let tell = || chosen.said.iter().for_each(|line| say(line));
    if args.list {
        tell();
        return match args.outputs.json {
            None => Ok(Outcome::Listed(facts::listing(&chosen))),
            Some(_) => listed(args, &chosen, &sysfs, &machine, interrupt)
                .map(Box::new)
                .map(Outcome::ListedAsJson),
        };
    }
    let found = inventory::select(args.gpus.as_deref(), chosen.backend, &chosen.inventory)
        .map_err(Stop::Usage)?;
    let default = match (soft, chosen.backend) {
        (Some(_), _) => DEFAULT_SOFT_BYTES,
        (None, Built::Host) => default_host_bytes(&machine),
        (None, _) => DEFAULT_BYTES,
    };
    let device_is_host = soft.is_some() || chosen.backend == Built::Host;
    let memory = Memory::new(cases, found.len(), device_is_host);
    let sizes = match &args.sizes {
        Some(sizes) => sizes.0.clone(),
        None => vec![ByteCount(memory.default_size(default))],
    };
    if let Some(reason) = sizes.iter().max().and_then(|size| memory.refusal(*size)) {
        return Err(match &args.sizes {
            Some(_) => Stop::Usage(reason),
            None => Stop::Refused(reason),
        });
    }
    let describe = |found| inventory::describe(found, chosen.backend, &sysfs, &machine);
    let devices: Vec<LinkDevice> = found.iter().map(describe).collect();
    let planned = plan(cases, devices.len(), &sizes);
    if planned.is_empty() {
        return Err(Stop::Usage(
            "the cases asked for need two devices; name a second one with --gpus".to_owned(),
        ));
    }
    tell();
    let recorder = Recorder::begin(&folder, header(&machine, soft.clone()))?;
    let mut session = Session {
        args,
        chosen: &chosen,
        sysfs: &sysfs,
        machine: &machine,
        found: &found,
        interrupt,
        recorder,
        remembered: Remembered::NotNeeded,
    };
    let outcome = session.measure(devices, &planned, say);
    let ended = session.recorder.end(outcome, outputs::exit_code)?;
    Ok(Outcome::Ended(Box::new(ended)))
}

/// A record of machine, driver and the devices that were asked for, in which nothing was measured.
fn listed(
    args: &RunArgs,
    chosen: &Chosen,
    sysfs: &Sysfs,
    machine: &Machine,
    interrupt: &Interrupt,
) -> Result<Record, Stop> {
    let found = inventory::select(args.gpus.as_deref(), chosen.backend, &chosen.inventory)
        .map_err(Stop::Usage)?;
    let describe = |found| inventory::describe(found, chosen.backend, sysfs, machine);
    let devices: Vec<LinkDevice> = found.iter().map(describe).collect();
    let (paths, unknown) = fabric::paths(&devices, machine, sysfs, interrupt);
    let mut caveats = facts::caveats(chosen, &found, &devices, &[], machine);
    caveats.extend(unknown);
    let links = Links {
        machine: Some(machine.clone()),
        backend: Some(inventory::backend(chosen)),
        devices,
        paths,
        caveats,
        ..Links::default()
    };
    Ok(Record {
        header: header(machine, chosen.inventory.soft_box.clone()),
        status: Status::Complete,
        exit_code: exit::DONE,
        payload: Payload::Links(Box::new(links)),
    })
}

fn header(machine: &Machine, soft_box: Option<String>) -> Header {
    program::header(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        machine,
        soft_box,
    )
}
