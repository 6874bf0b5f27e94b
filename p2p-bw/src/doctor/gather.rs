//! Collects the facts: the tree, the driver's devices, versions, limits of this process.

use std::path::{Path, PathBuf};

use anyhow::Context;
use device::Built;
use doctor::{Device, Facts, Given, SharedMemory};
use inventory::{BackendArg, choose, played};
use program::kernel_log::KernelLog;
use program::{Stop, passing_folder, sim};
use runner::Interrupt;
use topology::vendor::AMD;
use topology::{Fact, Machine, Sysfs, gpu_name};

use super::args::DoctorArgs;
use super::software;

/// The facts, and what they are of.
pub(super) struct Gathered {
    pub(super) source: String,
    pub(super) facts: Facts,
    /// What to tell on standard error.
    pub(super) said: Vec<String>,
    /// What was asked for and is not there.
    pub(super) missing: Option<String>,
}

/// The files that a collective library reads for everybody and for a user: RCCL's for AMD's GPUs, NCCL's for others.
fn configuration(machine: &Machine) -> [&'static str; 2] {
    match machine.gpus.iter().any(|gpu| gpu.vendor == AMD) {
        true => ["/etc/rccl.conf", ".rccl.conf"],
        false => ["/etc/nccl.conf", ".nccl.conf"],
    }
}

/// Names the file that is read instead of the user's (NCCL's src/misc/param.cc).
const INSTEAD: &str = "NCCL_CONF_FILE";

/// Reads everything that rules may look at.
///
/// # Errors
/// A wrong command line, a tree that cannot be read, or a signal.
pub(super) fn gather(args: &DoctorArgs, interrupt: &Interrupt) -> Result<Gathered, Stop> {
    if let Some(root) = &args.root {
        return of_folder(root);
    }
    played::refuse_host(args.sim.as_deref(), args.backend)?;
    let sysfs = tree(args.sim.as_deref())?;
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let asked = asked(args, &machine, interrupt)?;
    let (source, own) = match sim::box_name() {
        Some(name) => (
            format!("simulated machine {name}"),
            Fact::Unknown("the machine is simulated; what is of this one is left out".to_owned()),
        ),
        None => ("this machine".to_owned(), Fact::Known(Sysfs::real())),
    };
    let given = Given {
        devices: asked.devices,
        undriven: asked.undriven,
        versions: asked.versions.found,
        unversioned: asked.versions.not_found,
        variables: Fact::Known(variables(own.known().map(|_| &machine))),
        shared_memory: of_own(&own, shared_memory),
        kernel_log: of_own(&own, kernel_log),
    };
    Ok(Gathered {
        source,
        facts: Facts::read(&sysfs, &own, machine, given),
        said: asked.said,
        missing: asked.missing,
    })
}

/// What is read of this machine where it is this machine that is looked at, else the reason why it is not.
fn of_own<T>(own: &Fact<Sysfs>, read: impl FnOnce() -> Fact<T>) -> Fact<T> {
    match own {
        Fact::Known(_) => read(),
        Fact::Unknown(why) => Fact::Unknown(why.clone()),
    }
}

/// The text of every record of the kernel's log that is still kept.
fn kernel_log() -> Fact<Vec<String>> {
    match KernelLog::open().and_then(|mut log| log.lines()) {
        Err(why) => Fact::Unknown(why),
        Ok(lines) if lines.is_empty() => {
            Fact::Unknown("/dev/kmsg: it is empty, as in a container".to_owned())
        }
        Ok(lines) => Fact::Known(lines),
    }
}

/// This machine's tree, or the box's, on which this program is then started again with its collective library.
fn tree(asked: Option<&str>) -> Result<Sysfs, Stop> {
    let vendor = asked.map(sim::vendor).transpose()?;
    let plays = vendor.and_then(|vendor| Built::of_box(vendor.as_str()));
    let library: Vec<&str> = plays
        .and_then(Built::soft_collectives)
        .into_iter()
        .collect();
    played::sysfs(asked, &passing_folder("doctor"), &library)
}

/// A machine by copies of its files: no driver, and no process of its own.
fn of_folder(root: &Path) -> Result<Gathered, Stop> {
    let sysfs = Sysfs::at(root);
    let machine = Machine::read(&sysfs).map_err(|error| Stop::Usage(error.to_string()))?;
    let devices = shown_by(&sysfs, &machine);
    let why = "only a folder is read (--root)".to_owned();
    let unknown = || why.clone();
    let given = Given {
        devices,
        undriven: Some(unknown()),
        versions: Vec::new(),
        unversioned: vec![unknown()],
        variables: Fact::Unknown(unknown()),
        shared_memory: Fact::Unknown(unknown()),
        kernel_log: Fact::Unknown(unknown()),
    };
    let own = Fact::Unknown(unknown());
    Ok(Gathered {
        source: format!("the files below {}", root.display()),
        facts: Facts::read(&sysfs, &own, machine, given),
        said: Vec::new(),
        missing: None,
    })
}

/// What drivers answer.
struct Asked {
    devices: Vec<Device>,
    undriven: Option<String>,
    versions: software::Versions,
    said: Vec<String>,
    missing: Option<String>,
}

fn asked(args: &DoctorArgs, machine: &Machine, interrupt: &Interrupt) -> Result<Asked, Stop> {
    let sysfs = sim::sysfs_root().map_or_else(Sysfs::real, Sysfs::at);
    let in_vain = |reason: String| {
        Ok(Asked {
            devices: without_driver(&args.gpus, &sysfs, machine)?,
            versions: software::Versions {
                not_found: vec![reason.clone()],
                ..software::Versions::default()
            },
            undriven: Some(reason),
            said: Vec::new(),
            missing: None,
        })
    };
    if args.backend == BackendArg::Named(Built::Host) {
        return in_vain("no driver is asked (--backend host)".to_owned());
    }
    let chosen = match choose(args.backend, machine, args.deadline, interrupt) {
        Ok(chosen) => chosen,
        Err(Stop::Refused(reason)) => {
            let reason = one_line(&reason);
            let is_named = matches!(args.backend, BackendArg::Named(_));
            let mut asked = in_vain(reason.clone())?;
            // A driver that waits for the fabric of NVSwitches does not start, and the management library says why.
            let links = inventory::nvlinks(Built::Cuda, args.deadline, interrupt)?;
            for device in &mut asked.devices {
                let found = links.iter().find(|(at, _)| Some(*at) == device.address);
                if let Some((_, links)) = found {
                    device.nvlinks = Fact::Known(links.clone());
                }
            }
            asked.missing = is_named
                .then(|| format!("the backend that was asked for does not answer: {reason}"));
            return Ok(asked);
        }
        Err(stop) => return Err(stop),
    };
    played::expect_soft(args.sim.as_deref(), &chosen)?;
    if chosen.backend == Built::Host {
        return in_vain(one_line(&format!(
            "no GPU driver answers: {}",
            chosen.absent.join("; ")
        )));
    }
    let found = inventory::select(Some(&args.gpus), chosen.backend, &chosen.inventory)
        .map_err(Stop::Usage)?;
    let all_managed = chosen.inventory.unmanaged.is_none();
    let devices = found.iter().map(|found| {
        let described = inventory::describe(found, chosen.backend, &sysfs, machine);
        // One of which the management library tells how it is used was found in its list, with its instances.
        let is_managed = all_managed || found.busy.is_some();
        Device {
            label: described.label,
            name: Some(record::control::replaced(&described.name)),
            address: described.address,
            mig: (found.mig.is_some() || is_managed).then_some(found.mig.is_some()),
            nvlinks: match &found.nvlinks {
                Some(links) => Fact::Known(links.clone()),
                None => Fact::Unknown("no management library tells of NVLinks".to_owned()),
            },
            repairs: match &found.repairs {
                Some(repairs) => Fact::Known(repairs.clone()),
                None => Fact::Unknown(chosen.inventory.unmanaged.clone().unwrap_or_else(|| {
                    "the management library does not tell of this device".to_owned()
                })),
            },
        }
    });
    Ok(Asked {
        devices: devices.collect(),
        undriven: None,
        versions: software::versions(&chosen, args.deadline, interrupt)?,
        said: chosen.said.clone(),
        missing: None,
    })
}

/// The GPUs that `--gpus` names among those that the kernel shows.
fn without_driver(list: &str, sysfs: &Sysfs, machine: &Machine) -> Result<Vec<Device>, Stop> {
    let devices = shown_by(sysfs, machine);
    if list.trim() == "all" {
        return Ok(devices);
    }
    Err(Stop::Usage(format!(
        "--gpus {list}: no driver answers that could number GPUs; leave --gpus out"
    )))
}

/// The GPUs that the kernel shows, where no driver counts them.
fn shown_by(sysfs: &Sysfs, machine: &Machine) -> Vec<Device> {
    let gpus = machine.gpus.iter().enumerate();
    gpus.map(|(place, gpu)| Device {
        label: format!("GPU{place}"),
        name: gpu_name(sysfs, gpu).map(|name| record::control::replaced(&name)),
        address: Some(gpu.address),
        mig: None,
        repairs: Fact::Unknown("no driver was asked".to_owned()),
        nvlinks: Fact::Unknown("no driver was asked".to_owned()),
    })
    .collect()
}

/// The variables of this process, and where it is this machine that is looked at those of its collective library's files.
fn variables(of_files: Option<&Machine>) -> Vec<doctor::Variable> {
    let Some(machine) = of_files else {
        return software::variables(&[]);
    };
    let [everybodys, name] = configuration(machine);
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = match set(INSTEAD) {
        Some(file) => Some((PathBuf::from(file), format!("the file of {INSTEAD}"))),
        None => set("HOME").map(|home| (PathBuf::from(home).join(name), format!("~/{name}"))),
    };
    let own = own
        .as_ref()
        .map(|(path, shown)| (path.as_path(), shown.as_str()));
    let files: Vec<(&Path, &str)> = [(Path::new(everybodys), everybodys)]
        .into_iter()
        .chain(own)
        .collect();
    software::variables(&files)
}

fn shared_memory() -> Fact<SharedMemory> {
    match rustix::fs::statvfs("/dev/shm") {
        Ok(found) => Fact::Known(SharedMemory {
            bytes: found.f_blocks.saturating_mul(found.f_frsize),
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        }),
        Err(errno) => Fact::Unknown(format!("/dev/shm: {}", std::io::Error::from(errno))),
    }
}

/// A refusal of several lines as one.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join("; ")
}
