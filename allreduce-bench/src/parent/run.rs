//! A run from the command line to the record.

use std::path::Path;

use anyhow::Context;
use doctor::known::HostHang;
use inventory::{Built, Chosen, Found, choose, played};
use program::{Ended, Recorder, Stop, passing_folder, result_folder, sim};
use record::unit::ByteCount;
use record::{Collectives, Failure, Header, LinkDevice, Payload, Record, Status, exit};
use runner::Interrupt;
use topology::{Machine, Sysfs};
use tp_plan::{ModelFacts, Surroundings, Vendor};

use super::group::{Group, Setup, Trouble};
use super::judge::exit_code;
use super::library::check_library;
use super::session::Session;
use super::wanted::{Steps, Wanted, by_hand, check_whole};
use crate::cli::RunArgs;
use crate::engine_probe::Probe;
use crate::launch::{Leader, Place};
use crate::peers::surroundings;
use crate::rank::LARGEST;

/// What a run came to.
pub(crate) enum Outcome {
    /// Measured, as far as it went.
    Ended(Box<Ended>),
    /// Devices or a plan, as text.
    Listed(String),
    /// A plan as a record in which nothing was measured.
    Planned(Box<Record>),
}

/// Measures what the command line asks for.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(crate) fn run(
    args: &RunArgs,
    place: Option<Place>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Outcome, Stop> {
    played::refuse_host(args.sim.as_deref(), args.backend)?;
    let folder = if args.list || args.plan {
        passing_folder("allreduce")
    } else {
        result_folder(args.outputs.out.as_deref(), "allreduce")
    };
    let place = place.filter(|_| !args.list && !args.plan);
    let outcome = run_in(args, place, &folder, interrupt, say);
    sim::forget();
    outcome
}

fn run_in(
    args: &RunArgs,
    place: Option<Place>,
    folder: &Path,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Outcome, Stop> {
    // Whatever is wrong with the model is said before any driver is asked.
    let model = args.model.as_deref().map(ModelFacts::resolve).transpose();
    let model = model.map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    let sysfs = sysfs(args, folder)?;
    let leader = place.map(|place| Leader::open(place, &args.launch));
    let mut leader = leader.transpose()?;
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let keeps = !args.list && !args.plan;
    let refused = |reason: Failure, soft_box: Option<String>| -> Result<Outcome, Stop> {
        let recorder = Recorder::<Collectives>::begin(folder, header(&machine, soft_box))?;
        Ok(Outcome::Ended(Box::new(recorder.refuse(reason))))
    };
    let chosen = match choose(args.backend, &machine, args.deadline, interrupt) {
        Err(Stop::Refused(reason)) if keeps => return refused(reason, sim::box_name()),
        chosen => chosen?,
    };
    let soft = &chosen.inventory.soft_box;
    played::expect_soft(args.sim.as_deref(), &chosen)?;
    if args.list {
        chosen.said.iter().for_each(|line| say(line));
        return Ok(Outcome::Listed(inventory::listing(&chosen)));
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
    let apart = leader.and_then(Leader::not_one_driver);
    let around = surroundings(chosen.backend, &found, apart, args.deadline, interrupt)?;
    let steps = match &model {
        Some(model) => planned(args, model, &found, &around)?,
        None => Steps::default(),
    };
    if args.plan && args.outputs.json.is_some() {
        let payload = Payload::Collectives(Box::new(Collectives {
            steps: steps.steps,
            ..Collectives::default()
        }));
        return Ok(Outcome::Planned(Box::new(Record {
            header: header(&machine, soft.clone()),
            status: Status::Complete,
            exit_code: exit::DONE,
            payload,
        })));
    }
    if args.plan {
        let assumed = steps.assumed.iter();
        assumed.for_each(|text| say(&format!("assumed: {text}")));
        let planned = match (soft, chosen.backend) {
            (Some(name), _) => format!("planned for simulated machine {name}\n"),
            (None, Built::Host) => "planned for this machine's CPUs (no graphs, no kernel of the engine's own); --sim NAME plans for \
                                    a described machine\n"
                .to_owned(),
            (None, _) => String::new(),
        };
        return Ok(Outcome::Listed(planned + &tp_plan::table(&steps.steps)));
    }
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
    let hang = HostHang::of(&machine).filter(|hang| {
        let mut addresses = found.iter().map(|device| device.pci.as_deref());
        !args.risk && addresses.any(|at| hang.has(&machine, at.and_then(|at| at.parse().ok())))
    });
    if let Some(hang) = hang.filter(|_| !is_p2p_off()) {
        let why = format!(
            "{}; NCCL_P2P_DISABLE=1 goes through host memory, --risk tries it",
            hang.why
        );
        return refused(why.into(), soft.clone());
    }
    if ranks > LARGEST && !args.no_verify {
        return Err(Stop::Usage(format!(
            "the sums of more than {LARGEST} ranks are not exact in bf16: {ranks} ranks need --no-verify"
        )));
    }
    let probe = match (&args.engine_python, leader) {
        (None, _) => None,
        (Some(_), Some(_)) => {
            return Err(Stop::Usage(
                "--engine-python starts its ranks itself, on this host: run it without a launcher"
                    .to_owned(),
            ));
        }
        (Some(path), None) => Some(Probe::of(path, args.engine, &found).map_err(Stop::Usage)?),
    };
    let wanted = match &model {
        Some(_) => steps.wanted(args),
        None => by_hand(args)?,
    };
    check_whole(&wanted)?;
    check_memory(
        &wanted,
        ranks,
        soft.is_some() || chosen.backend == Built::Host,
    )?;
    chosen.said.iter().for_each(|line| say(line));
    let setup = Setup {
        backend: chosen.backend,
        ordinals: found.iter().map(|device| device.ordinal).collect(),
        instances: found
            .iter()
            .map(|device| {
                let mig = device.mig.as_ref()?;
                Some((device.uuid.clone()?, mig.parent_uuid.clone()))
            })
            .collect(),
        library: args.ccl.clone(),
        deadline: args.deadline,
        interrupt,
        leader,
    };
    let group = match Group::open(&setup, None, None) {
        Ok(group) => group,
        Err(Trouble::Lost { reason, .. }) => return refused(reason, soft.clone()),
        Err(Trouble::Stop(stop)) => return Err(stop),
    };
    let opened = group.opened.clone();
    if chosen.backend != Built::Host && opened.soft_box != *soft {
        let of = |soft: &Option<String>| match soft {
            None => "a real one".to_owned(),
            Some(name) => format!("that of simulated machine {name}"),
        };
        let (driver, library) = (of(soft), of(&opened.soft_box));
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
    let recorder = Recorder::begin(folder, header(&machine, soft.clone()))?;
    let mut session = Session {
        args,
        chosen: &chosen,
        machine: &machine,
        sysfs: &sysfs,
        found: &found,
        devices,
        peer_access: around.peer_access,
        steps: &steps,
        wanted: &wanted,
        setup: &setup,
        opened,
        recorder,
        probe,
        engine: None,
    };
    let outcome = session.measure(group, say);
    let ended = session.recorder.end(outcome, exit_code)?;
    Ok(Outcome::Ended(Box::new(ended)))
}

/// Whether the library was told to leave direct copies between devices alone.
fn is_p2p_off() -> bool {
    std::env::var("NCCL_P2P_DISABLE").is_ok_and(|value| value == "1")
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

/// One device a rank: those named, or the first as many as there are ranks.
fn devices(args: &RunArgs, chosen: &Chosen) -> Result<Vec<Found>, String> {
    let (inventory, backend) = (&chosen.inventory, chosen.backend);
    let Some(tp) = args.tp else {
        return inventory::select(args.gpus.as_deref(), backend, inventory);
    };
    let wanted = tp as usize;
    if args.gpus.is_some() {
        let found = inventory::select(args.gpus.as_deref(), backend, inventory)?;
        if found.len() != wanted {
            return Err(format!(
                "--tp {tp} and --gpus with {} device(s) contradict each other: there is one rank a device; name {tp} devices",
                found.len()
            ));
        }
        return Ok(found);
    }
    let devices = &inventory.devices;
    if devices.len() < wanted && !args.plan {
        return Err(format!(
            "--tp {tp}: the {} backend has {} device(s), and there is one rank a device; see --list",
            backend.name(),
            devices.len()
        ));
    }
    Ok(devices.iter().take(wanted).cloned().collect())
}

/// The steps of a model on these devices.
fn planned(
    args: &RunArgs,
    model: &ModelFacts,
    found: &[Found],
    around: &Surroundings,
) -> Result<Steps, Stop> {
    // A plan alone may be asked for of more ranks than there are devices.
    let tp = args
        .tp
        .unwrap_or_else(|| u32::try_from(found.len()).unwrap_or(u32::MAX));
    model
        .check_tp(tp)
        .map_err(|error| Stop::Usage(error.to_string()))?;
    let mut steps = Steps::of(args, model, tp, around);
    let may_lack_links = around.vendor == Vendor::Nvidia && tp > 2;
    steps
        .assumed
        .extend(may_lack_links.then(|| "no NVLink between all pairs".to_owned()));
    Ok(steps)
}

/// Refuses sizes that do not fit into host memory, where the kernel says how much there is.
fn check_memory(wanted: &[Wanted], ranks: u32, device_is_host: bool) -> Result<(), Stop> {
    let needs = |wanted: &Wanted| wanted.host_bytes(ranks, device_is_host);
    let largest = wanted.iter().max_by_key(|wanted| needs(wanted));
    let available = inventory::host_memory_available(&Sysfs::real());
    match largest.zip(available) {
        Some((largest, available)) if needs(largest) > available / 10 * 9 => {
            Err(Stop::Usage(format!(
                "{} of {} needs up to {} of host memory over all ranks and {} are available; use smaller --sizes",
                largest.kind,
                ByteCount(largest.bytes_per_rank),
                ByteCount(needs(largest)),
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
