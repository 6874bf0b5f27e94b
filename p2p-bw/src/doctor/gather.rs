//! Collects the facts: the tree, the driver's devices, versions, limits of this process.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use doctor::{Device, Facts, Given, SharedMemory};
use inventory::{BackendArg, Built, Found};
use program::command_line::seconds;
use program::kernel_log::KernelLog;
use program::{Stop, passing_folder, say, sim};
use runner::Interrupt;
use topology::{Fact, Machine, Sysfs, gpu_name};

use super::software;
use crate::begun::{Begun, DeviceArgs};

/// What to look at and how to show it.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(super) on: DeviceArgs,

    /// Read below this folder, which holds copies of a machine's `sys` and `proc`, instead of this machine. No driver is asked.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["sim", "gpus", "backend"])]
    root: Option<PathBuf>,

    /// Print JSON instead of text.
    #[arg(long)]
    pub(super) json: bool,

    /// Seconds after which a driver or library that does not answer counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    deadline: Duration,
}

/// Reads everything that rules may look at: what it is of, the facts, and whether the backend that was asked for does not answer.
///
/// # Errors
/// A wrong command line, a tree that cannot be read, or a signal.
pub(super) fn gather(
    args: &DoctorArgs,
    interrupt: &Interrupt,
) -> Result<(String, Facts, bool), Stop> {
    if let Some(root) = &args.root {
        let why = "only a folder is read (--root)";
        let sysfs = Sysfs::at(root);
        let machine = Machine::read(&sysfs).map_err(|error| Stop::Usage(error.to_string()))?;
        let given = unasked(shown_by(&sysfs, &machine), why);
        let source = format!("the files below {}", root.display());
        let facts = Facts::read(&sysfs, &Fact::unknown(why), machine, given);
        return Ok((source, facts, false));
    }
    let on = &args.on;
    let library = collectives(on.sim.as_deref())?;
    let tree = (passing_folder("doctor"), &library[..]);
    // Only a driver numbers GPUs.
    let all = DeviceArgs {
        gpus: None,
        ..on.clone()
    };
    let (sysfs, machine, driver) = match Begun::find(&all, tree, args.deadline, interrupt)? {
        Ok(begun) if begun.is_host() => {
            let reason = match on.backend == HOST {
                true => "no driver is asked (--backend host)".to_owned(),
                false => format!("no GPU driver answers: {}", begun.chosen.absent.join("; ")),
            };
            (begun.sysfs, begun.machine, Err(reason))
        }
        Ok(begun) => (begun.sysfs.clone(), begun.machine.clone(), Ok(begun)),
        Err(none) => (none.sysfs, none.machine, Err(none.reason.detail)),
    };
    let mut given = unasked(shown_by(&sysfs, &machine), "");
    let mut is_missing = false;
    match driver {
        Ok(begun) => {
            driven(&mut given, args, &begun, interrupt)?;
            begun.tell();
        }
        Err(reason) => {
            if let Some(gpus) = on.gpus.as_deref().filter(|gpus| gpus.trim() != "all") {
                return Err(Stop::Usage(format!(
                    "--gpus {gpus}: no driver answers that could number GPUs; leave --gpus out"
                )));
            }
            // A refusal of several lines as one.
            let reason = reason.replace('\n', "; ");
            given.undriven = Some(reason.clone());
            given.unversioned = vec![reason.clone()];
            fabric(&mut given, args, interrupt)?;
            is_missing = ![BackendArg::Auto, HOST].contains(&on.backend);
            if is_missing {
                say!("the backend that was asked for does not answer: {reason}");
            }
        }
    }
    let simulated = sim::box_name();
    let of_files = simulated.is_none().then_some(&machine);
    given.variables = Fact::Known(software::variables(of_files));
    let (source, own) = match simulated {
        Some(name) => {
            let why = "the machine is simulated; what is of this one is left out";
            given.shared_memory = Fact::unknown(why);
            given.kernel_log = Fact::unknown(why);
            (format!("simulated machine {name}"), Fact::unknown(why))
        }
        None => {
            given.shared_memory = shared_memory();
            given.kernel_log = kernel_log();
            ("this machine".to_owned(), Fact::Known(Sysfs::real()))
        }
    };
    let facts = Facts::read(&sysfs, &own, machine, given);
    Ok((source, facts, is_missing))
}

/// The backend that asks no driver.
const HOST: BackendArg = BackendArg::Named(Built::Host);

/// What a driver and its management library tell of the devices, and versions.
fn driven(
    given: &mut Given,
    args: &DoctorArgs,
    begun: &Begun,
    interrupt: &Interrupt,
) -> Result<(), Stop> {
    let (backend, inventory) = (begun.chosen.backend, &begun.chosen.inventory);
    let found =
        inventory::select(args.on.gpus.as_deref(), backend, inventory).map_err(Stop::Usage)?;
    let unmanaged = inventory.unmanaged.as_deref();
    let untold = unmanaged.unwrap_or("the management library does not tell of this device");
    let device = |found: &Found| {
        let described = inventory::describe(found, backend, &begun.sysfs, &begun.machine);
        // One of which the management library tells how it is used was found in its list, with its instances.
        let is_managed = unmanaged.is_none() || found.busy.is_some();
        let nvlinks = found.nvlinks.clone();
        Device {
            label: described.label,
            name: Some(record::control::replaced(&described.name)),
            address: described.address,
            mig: (found.mig.is_some() || is_managed).then_some(found.mig.is_some()),
            nvlinks: nvlinks
                .ok_or("no management library tells of NVLinks")
                .into(),
            repairs: found.repairs.clone().ok_or(untold).into(),
        }
    };
    given.devices = found.iter().map(device).collect();
    given.undriven = None;
    given.unversioned = Vec::new();
    software::versions(given, &begun.chosen, args.deadline, interrupt)
}

/// A driver that waits for the fabric of NVSwitches does not start, and the management library says why.
fn fabric(given: &mut Given, args: &DoctorArgs, interrupt: &Interrupt) -> Result<(), Stop> {
    if args.on.backend == HOST || given.devices.is_empty() {
        return Ok(());
    }
    let all = inventory::nvlinks(Built::Cuda, args.deadline, interrupt)?;
    for device in &mut given.devices {
        let found = all.iter().find(|(at, _)| Some(*at) == device.address);
        if let Some((_, links)) = found {
            device.nvlinks = Fact::Known(links.clone());
        }
    }
    Ok(())
}

/// Devices of which nobody was asked anything, for this reason.
fn unasked(devices: Vec<Device>, why: &str) -> Given {
    Given {
        devices,
        undriven: Some(why.to_owned()),
        versions: Vec::new(),
        unversioned: vec![why.to_owned()],
        variables: Fact::unknown(why),
        shared_memory: Fact::unknown(why),
        kernel_log: Fact::unknown(why),
    }
}

/// The GPUs that the kernel shows, where no driver counts them.
fn shown_by(sysfs: &Sysfs, machine: &Machine) -> Vec<Device> {
    let gpus = machine.gpus.iter().enumerate();
    gpus.map(|(place, gpu)| Device {
        label: format!("GPU{place}"),
        name: gpu_name(sysfs, gpu).map(|name| record::control::replaced(&name)),
        address: Some(gpu.address),
        mig: None,
        repairs: Fact::unknown("no driver was asked"),
        nvlinks: Fact::unknown("no driver was asked"),
    })
    .collect()
}

/// The text of every record of the kernel's log that is still kept.
fn kernel_log() -> Fact<Vec<String>> {
    let lines = KernelLog::open().and_then(|mut log| log.lines());
    let is_empty = || "/dev/kmsg: it is empty, as in a container".to_owned();
    lines
        .and_then(|lines| (!lines.is_empty()).then_some(lines).ok_or_else(is_empty))
        .into()
}

fn shared_memory() -> Fact<SharedMemory> {
    let found = rustix::fs::statvfs("/dev/shm").map(|found| SharedMemory {
        bytes: found.f_blocks.saturating_mul(found.f_frsize),
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
    });
    found
        .map_err(|errno| format!("/dev/shm: {}", std::io::Error::from(errno)))
        .into()
}

/// The collective library of a simulated machine.
fn collectives(asked: Option<&str>) -> Result<Vec<&'static str>, Stop> {
    let vendor = asked.map(sim::vendor).transpose()?;
    let plays = vendor.and_then(|vendor| Built::of_box(vendor.as_str()));
    let library = plays.and_then(Built::soft_collectives);
    Ok(library.into_iter().collect())
}
