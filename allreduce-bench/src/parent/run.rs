//! A run from the command line to the record.

use std::path::Path;

use anyhow::Context;
use doctor::known::HostHang;
use inventory::{Built, Chosen, Found, choose, played};
use program::outputs;
use program::show::Show;
use program::{Recorder, Stop, passing_folder, result_folder, say, sim};
use record::unit::ByteCount;
use record::{
    Collectives, Failure, FailureKind, Header, LinkDevice, Payload, Record, Status, exit,
};
use runner::Interrupt;
use topology::{Machine, Sysfs};
use tp_plan::{ModelFacts, Surroundings, Vendor};
use view::csv;

use super::group::{Group, Setup, Trouble};
use super::library::check_library;
use super::session::{Session, exit_code};
use super::wanted::{Steps, by_hand, check_whole, host_bytes};
use crate::cli::RunArgs;
use crate::engine_probe::Probe;
use crate::launch::{Leader, Place};
use crate::messages::Job;
use crate::rank::{LARGEST, places};

/// Measures what the command line asks for, or lists or plans it; shows what came of it, and gives the exit code.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(crate) fn run(
    args: &RunArgs,
    place: Option<Place>,
    interrupt: &Interrupt,
    show: Show,
) -> Result<u8, Stop> {
    played::refuse_host(args.sim.as_deref(), args.backend)?;
    let keeps = !args.list && !args.plan;
    let folder = match keeps {
        true => result_folder(args.outputs.out.as_deref(), "allreduce"),
        false => passing_folder("allreduce"),
    };
    let outcome = run_in(args, place.filter(|_| keeps), &folder, interrupt, show);
    sim::forget();
    outcome
}

fn run_in(
    args: &RunArgs,
    place: Option<Place>,
    folder: &Path,
    interrupt: &Interrupt,
    show: Show,
) -> Result<u8, Stop> {
    // Whatever is wrong with the model is said before any driver is asked.
    let model = args.model.as_deref().map(ModelFacts::resolve).transpose();
    let model = model.map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    let sysfs = sysfs(args, folder)?;
    let leader = place.map(|place| Leader::open(place, &args.launch));
    let mut leader = leader.transpose()?;
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let refused = |reason: Failure, soft_box: Option<String>| {
        let recorder = Recorder::<Collectives>::begin(folder, header(&machine, soft_box))?;
        let ended = recorder.refuse(reason);
        Ok(args.outputs.finish(&ended, csv::record, show))
    };
    let chosen = match choose(args.backend, &machine, args.deadline, interrupt) {
        Err(Stop::Refused(reason)) if !args.list && !args.plan => {
            return refused(reason, sim::box_name());
        }
        chosen => chosen?,
    };
    let soft = &chosen.inventory.soft_box;
    played::expect_soft(args.sim.as_deref(), &chosen)?;
    if args.list {
        chosen.said.iter().for_each(|line| say!("{line}"));
        return Ok(outputs::print(&inventory::listing(&chosen)));
    }
    let found = match &mut leader {
        Some(leader) => match leader.gather(args, &chosen, &sysfs, &machine, interrupt) {
            Err(Stop::Refused(reason)) => return refused(reason, soft.clone()),
            found => found?,
        },
        None => devices(args, &chosen).map_err(Stop::Usage)?,
    };
    let leader = leader.as_ref();
    let ranks = u32::try_from(found.len()).unwrap_or(u32::MAX);
    let around = surroundings(&chosen, &found, leader.and_then(Leader::not_one_driver));
    let steps = model.map(|model| Steps::of(args, &model, ranks, &around));
    let steps = steps.transpose()?;
    if let (true, Some(steps)) = (args.plan, &steps) {
        return Ok(planned(args, steps, &chosen, &machine));
    }
    check(args, &chosen, ranks)?;
    let hang = HostHang::of(&machine).filter(|hang| {
        let mut addresses = found.iter().map(|device| device.pci.as_deref());
        !args.risk && addresses.any(|at| hang.has(&machine, at.and_then(|at| at.parse().ok())))
    });
    // The library may have been told to leave direct copies alone.
    let is_off = std::env::var("NCCL_P2P_DISABLE").is_ok_and(|value| value == "1");
    if let Some(hang) = hang.filter(|_| !is_off) {
        let why = format!(
            "{}; NCCL_P2P_DISABLE=1 goes through host memory, --risk tries it",
            hang.why
        );
        return refused(why.into(), soft.clone());
    }
    let probe = match (&args.engine_python, leader) {
        (None, _) => None,
        (Some(_), Some(_)) => {
            return Err(Stop::Usage(
                "--engine-python starts its ranks itself, on this host: run it without a launcher"
                    .to_owned(),
            ));
        }
        (Some(path), None) => Some(Probe::of(path, args.engine).map_err(Stop::Usage)?),
    };
    let wanted = match &steps {
        Some(steps) => steps.wanted(args),
        None => by_hand(args),
    };
    check_whole(&wanted)?;
    let device_is_host = soft.is_some() || chosen.backend == Built::Host;
    if let Err(reason) = check_memory(&wanted, ranks, device_is_host) {
        return refused(reason, soft.clone());
    }
    chosen.said.iter().for_each(|line| say!("{line}"));
    let setup = Setup {
        backend: chosen.backend,
        places: places(&found, leader.is_some()),
        library: args.ccl.clone(),
        deadline: args.deadline,
        interrupt,
        leader,
    };
    let group = match Group::open(&setup, None, None) {
        Ok(group) => group,
        Err(Trouble::Stop(stop)) => return Err(stop),
        Err(Trouble::Lost { reason, .. } | Trouble::NotThere(reason)) => {
            return refused(reason, soft.clone());
        }
    };
    let of_library = &group.opened.soft_box;
    if chosen.backend != Built::Host && of_library != soft {
        let of = |soft: &Option<String>| match soft {
            None => "a real one".to_owned(),
            Some(name) => format!("that of simulated machine {name}"),
        };
        let (driver, library) = (of(soft), of(of_library));
        let why = format!(
            "the driver is {driver} and the collective library {library}: both must be real, or of one simulated machine; see --ccl"
        );
        return Err(Stop::Refused(why.into()));
    }
    let describe = |found| inventory::describe(found, chosen.backend, &sysfs, &machine);
    let devices: Vec<LinkDevice> = match leader {
        Some(leader) => leader.devices(),
        None => found.iter().map(describe).collect(),
    };
    let mut session = Session {
        args,
        chosen: &chosen,
        machine: &machine,
        found: &found,
        devices,
        peer_access: around.peer_access,
        steps: &steps.unwrap_or_default(),
        wanted: &wanted,
        setup: &setup,
        probe: probe.as_ref(),
        recorder: Recorder::begin(folder, header(&machine, soft.clone()))?,
    };
    let outcome = session.measure(group, &|line| say!("{line}"));
    let ended = session.recorder.end(outcome, exit_code)?;
    Ok(args.outputs.finish(&ended, csv::record, show))
}

/// Shows the steps of a model, as a record in which nothing was measured or as a table, and gives the exit code.
fn planned(args: &RunArgs, steps: &Steps, chosen: &Chosen, machine: &Machine) -> u8 {
    let soft = &chosen.inventory.soft_box;
    if args.outputs.json.is_some() {
        return args.outputs.only_json(&Record {
            header: header(machine, soft.clone()),
            status: Status::Complete,
            exit_code: exit::DONE,
            payload: Payload::Collectives(Box::new(Collectives {
                steps: steps.steps.clone(),
                ..Collectives::default()
            })),
        });
    }
    let assumed = steps.assumed.iter();
    assumed.for_each(|text| say!("assumed: {text}"));
    let planned = match (soft, chosen.backend) {
        (Some(name), _) => format!("planned for simulated machine {name}\n"),
        (None, Built::Host) => "planned for this machine's CPUs (no graphs, no kernel of the engine's own); --sim NAME plans for \
                                a described machine\n"
            .to_owned(),
        (None, _) => String::new(),
    };
    outputs::print(&(planned + &tp_plan::table(&steps.steps)))
}

/// Refuses what cannot be measured on these devices.
fn check(args: &RunArgs, chosen: &Chosen, ranks: u32) -> Result<(), Stop> {
    if let Some(path) = &args.ccl {
        if chosen.backend == Built::Host {
            return Err(Stop::Usage(
                "--ccl: the host backend has collectives of its own and loads no library"
                    .to_owned(),
            ));
        }
        check_library(path)?;
    }
    if ranks < 2 {
        return Err(Stop::Usage(
            "a collective needs 2 ranks or more; name as many devices with --gpus".to_owned(),
        ));
    }
    if ranks > LARGEST && !args.no_verify {
        return Err(Stop::Usage(format!(
            "the sums of more than {LARGEST} ranks are not exact in bf16: {ranks} ranks need --no-verify"
        )));
    }
    Ok(())
}

/// What decides the paths between these devices, as the driver says. `apart` says why no one process sees all of them.
fn surroundings(chosen: &Chosen, found: &[Found], apart: Option<&str>) -> Surroundings {
    let mig = found.iter().any(|device| device.mig.is_some());
    let names: Vec<&str> = found.iter().map(|device| device.name.as_str()).collect();
    let memory = found.iter().filter_map(|device| device.memory_bytes).min();
    let vendor = Vendor::of(chosen.backend.name());
    let told = match apart {
        _ if chosen.backend == Built::Host => Err("host memory has no peers".to_owned()),
        Some(reason) => Err(format!("the driver was asked in vain: {reason}")),
        None => chosen.inventory.all_reach(found),
    };
    let access = told.as_ref().ok().copied();
    let around = Surroundings::of_gpus(vendor, &names, memory, mig, access);
    match told {
        Err(no_peer_reason) if !mig => Surroundings {
            no_peer_reason,
            ..around
        },
        _ => around,
    }
}

/// The tree to read, after a restart on a simulated machine where one is asked for.
///
/// # Errors
/// There is no such box, or it cannot be played.
pub(crate) fn sysfs(args: &RunArgs, folder: &Path) -> Result<Sysfs, Stop> {
    let vendor = args.sim.as_deref().map(sim::vendor).transpose()?;
    let plays = vendor.and_then(|vendor| Built::of_box(vendor.as_str()));
    let library = plays.and_then(Built::soft_collectives);
    let libraries: Vec<&str> = library.into_iter().collect();
    played::sysfs(args.sim.as_deref(), folder, &libraries)
}

/// One device a rank: those named, or the first as many as there are ranks. A plan alone may be asked for of more than there are.
fn devices(args: &RunArgs, chosen: &Chosen) -> Result<Vec<Found>, String> {
    let all = args.tp.map(|_| "all");
    let list = args.gpus.as_deref();
    let mut found = inventory::select(list.or(all), chosen.backend, &chosen.inventory)?;
    let Some(tp) = args.tp else {
        return Ok(found);
    };
    let (ranks, there) = (tp as usize, found.len());
    if list.is_none() {
        found.truncate(ranks);
    }
    if found.len() == ranks || (list.is_none() && args.plan) {
        return Ok(found);
    }
    let whose = match list {
        Some(_) => "--gpus".to_owned(),
        None => format!("the {} backend", chosen.backend.name()),
    };
    Err(format!(
        "--tp {tp} and {whose} with {there} device(s) contradict each other: there is one rank a device; see --list"
    ))
}

/// Refuses sizes whose buffers nine tenths of the host memory do not hold, where the kernel says how much there is.
fn check_memory(wanted: &[Job], ranks: u32, device_is_host: bool) -> Result<(), Failure> {
    let needs = |call: &&Job| host_bytes(call, ranks, device_is_host);
    let largest = wanted.iter().max_by_key(needs);
    let available = inventory::host_memory_available(&Sysfs::real());
    match largest.zip(available) {
        Some((call, available)) if needs(&call) > available / 10 * 9 => {
            Err(FailureKind::OutOfMemory.of(format!(
                "{} of {} needs up to {} of host memory over all ranks and {} are available; use smaller --sizes",
                call.kind,
                ByteCount(call.bytes_per_rank),
                ByteCount(needs(&call)),
                ByteCount(available)
            )))
        }
        _ => Ok(()),
    }
}

fn header(machine: &Machine, soft_box: Option<String>) -> Header {
    program::header(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        machine,
        soft_box,
    )
}
