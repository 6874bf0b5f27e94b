//! A run from the command line to the record.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use measure::exit;
use measure::record::{
    FolderError, Header, LinkDevice, Record, ResultFolder, SCHEMA, Simulated, Status,
};
use measure::unit::ByteCount;
use supervisor::{Interrupt, Signal};
use topology::{Machine, Sysfs};

use super::choose::choose;
use super::intent::Remembered;
use super::memory::Memory;
use super::plan::plan;
use super::recorder::Recorder;
use super::session::{Break, Session};
use super::{Stop, facts, outputs, provenance, select, sim};
use crate::cases::{self, Case};
use crate::cli::{BackendArg, RunArgs};
use crate::messages::Built;

/// Bytes of one copy where `--sizes` does not say: larger than any GPU's cache; a soft box has none to outgrow.
const DEFAULT_BYTES: u64 = 256 << 20;
const DEFAULT_SOFT_BYTES: u64 = 16 << 20;

/// Bytes of one copy on the host backend at least, and at most.
const HOST_BYTES: (u64, u64) = (64 << 20, 1 << 30);

/// The smallest power of two above the last-level cache, within bounds; copies between two such buffers outgrow it twice.
fn default_host_bytes(machine: &Machine) -> u64 {
    let cache = machine.cpus.last_level_cache_bytes.unwrap_or(0);
    (cache + 1)
        .next_power_of_two()
        .clamp(HOST_BYTES.0, HOST_BYTES.1)
}

/// What to do about a result folder that cannot be made.
pub(super) const OTHER_FOLDER: &str = "choose a folder that can be written with --out";

/// A run that has a record.
pub(crate) struct Ended {
    /// Everything that was found.
    pub(crate) record: Record,
    /// The result folder.
    pub(crate) folder: PathBuf,
    /// Why there is not more of it, or the disk does not have all of it.
    pub(crate) failed: Option<anyhow::Error>,
}

/// What a run came to.
pub(crate) enum Outcome {
    /// Measured, as far as it went.
    Ended(Box<Ended>),
    /// The cases and devices, as text.
    Listed(String),
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
    if args.sim.is_some() && args.backend == BackendArg::Host {
        return Err(Stop::Usage(
            "--sim plays GPUs and --backend host measures this machine's memory: leave one of them out".to_owned(),
        ));
    }
    let folder = result_folder(args);
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
    let root = sim::sysfs_root();
    if let (Some(name), None) = (&args.sim, &root) {
        return Err(sim::restart(name, &folder));
    }
    let sysfs = root.map_or_else(Sysfs::real, Sysfs::at);
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let chosen = match choose(args.backend, &machine, args.deadline, interrupt) {
        Err(Stop::Refused(reason)) if !args.list => {
            let recorder = begin(&folder, header(&machine, sim::box_name()))?;
            let (record, durable) = recorder.end(Status::Refused { reason }, exit::INCONCLUSIVE);
            return Ok(Outcome::of(folder, record, durable.map_err(not_durable)));
        }
        chosen => chosen?,
    };
    let soft = &chosen.inventory.soft_box;
    if args.sim.is_some() && soft.is_none() {
        return Err(Stop::Internal(anyhow!(
            "--sim was asked for, but what answered is the real {} backend",
            chosen.backend.name()
        )));
    }
    let tell = || chosen.said.iter().for_each(|line| say(line));
    if args.list {
        tell();
        return Ok(Outcome::Listed(facts::listing(&chosen)));
    }
    let found = select::select(args.gpus.as_deref(), chosen.backend, &chosen.inventory)
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
    let describe = |found| facts::describe(found, chosen.backend, &sysfs, &machine);
    let devices: Vec<LinkDevice> = found.iter().map(describe).collect();
    let planned = plan(cases, devices.len(), &sizes);
    if planned.is_empty() {
        return Err(Stop::Usage(
            "the cases asked for need two devices; name a second one with --gpus".to_owned(),
        ));
    }
    tell();
    let recorder = begin(&folder, header(&machine, soft.clone()))?;
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
    let ended = session.measure(devices, &planned, say);
    let Session { recorder, .. } = session;
    let (status, code) = match &ended {
        Ok(()) => (Status::Complete, outputs::exit_code(&recorder.links)),
        Err(Break::Signal(signal)) => (
            Status::Interrupted {
                signal: name(*signal).to_owned(),
            },
            signal.exit_code(),
        ),
        Err(Break::Stop(_) | Break::NotDurable(_)) => (Status::Broken, exit::INTERNAL),
    };
    let (record, durable) = recorder.end(status, code);
    match ended {
        Err(Break::NotDurable(error)) => Ok(Outcome::of(folder, record, Err(not_durable(error)))),
        Err(Break::Stop(Stop::Internal(error))) => Ok(Outcome::of(folder, record, Err(error))),
        Err(Break::Stop(stop)) => Err(stop),
        _ => Ok(Outcome::of(folder, record, durable.map_err(not_durable))),
    }
}

impl Outcome {
    /// A run that has a record, and whether it went well to the end.
    fn of(folder: PathBuf, record: Record, durable: anyhow::Result<()>) -> Self {
        Self::Ended(Box::new(Ended {
            record,
            folder,
            failed: durable.err(),
        }))
    }
}

fn not_durable(error: FolderError) -> anyhow::Error {
    // The error's own text ends with the system's reason.
    anyhow!("the result is not on the disk in full: {error}")
}

fn header(machine: &Machine, soft_box: Option<String>) -> Header {
    Header {
        schema: SCHEMA,
        program: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        simulated: soft_box.map(|box_name| Simulated { box_name }),
        provenance: provenance::provenance(machine),
    }
}

/// Makes the result folder and begins its journal.
fn begin(folder: &Path, header: Header) -> Result<Recorder, Stop> {
    let internal = |error: FolderError| Stop::Internal(anyhow!("{error}; {OTHER_FOLDER}"));
    let results = ResultFolder::create(folder).map_err(|error| match error {
        FolderError::Taken(_) => Stop::Usage(error.to_string()),
        other => internal(other),
    })?;
    Recorder::begin(results, header).map_err(internal)
}

fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt => "SIGINT",
        Signal::Terminate => "SIGTERM",
        Signal::Hangup => "SIGHUP",
    }
}

/// `--out`, or a new folder named by time and process; a restarted program goes on in the folder it was given.
fn result_folder(args: &RunArgs) -> PathBuf {
    if let Some(folder) = sim::result_folder() {
        return folder;
    }
    let name = format!(
        "p2p-{}-{}",
        provenance::now().replace(':', ""),
        std::process::id()
    );
    match &args.out {
        _ if args.list => std::env::temp_dir().join(format!("tplens-{name}")),
        Some(out) => out.clone(),
        None => PathBuf::from("tplens-results").join(name),
    }
}
