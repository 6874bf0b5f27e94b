//! A run from the command line to the record.

use inventory::Built;
use program::{Effort, Ended, Stop, passing_folder, result_folder};
use record::exit;
use record::unit::ByteCount;
use record::{Links, Payload, Record, Status};
use runner::Interrupt;
use topology::Machine;

use super::intent::Remembered;
use super::memory::Memory;
use super::plan::plan;
use super::session::Session;
use super::{fabric, facts, nvlink, outputs};
use crate::begun::{Asked, Begun};
use crate::cases::{self, Case};
use crate::cli::RunArgs;

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
    let folder = if args.list {
        passing_folder("p2p")
    } else {
        result_folder(args.outputs.out.as_deref(), "p2p")
    };
    let asked = Asked {
        on: &args.on,
        deadline: args.deadline,
        folder: &folder,
        program: env!("CARGO_PKG_NAME"),
        keeps: !args.list,
    };
    asked.run(|| run_in(args, &cases, &asked, interrupt, say))
}

fn run_in(
    args: &RunArgs,
    cases: &[&'static Case],
    asked: &Asked<'_>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Outcome, Stop> {
    let begun = match Begun::find::<Links>(asked, |_| Ok(()), interrupt)? {
        Ok(begun) => begun,
        Err(refused) => return Ok(Outcome::Ended(refused)),
    };
    if args.list {
        begun.tell(say);
        return match args.outputs.json {
            None => Ok(Outcome::Listed(facts::listing(&begun.chosen))),
            Some(_) => listed(args, &begun, asked.program, interrupt)
                .map(Box::new)
                .map(Outcome::ListedAsJson),
        };
    }
    let (machine, chosen) = (&begun.machine, &begun.chosen);
    let soft = &chosen.inventory.soft_box;
    let found = begun.select(&args.on)?;
    let cases = &cases::of_backend(cases, chosen.backend)[..];
    if cases.is_empty() {
        return Err(Stop::Usage(
            "host memory has none of these cases: it runs no kernels, and no driver stages its copies; see --list"
                .to_owned(),
        ));
    }
    let default = match chosen.backend {
        Built::Host => default_host_bytes(machine),
        _ => Effort::of(soft.is_some()).copy_bytes,
    };
    let device_is_host = soft.is_some() || chosen.backend == Built::Host;
    let memory = Memory::new(cases, found.len(), device_is_host);
    let sizes = match &args.sizes {
        Some(sizes) => sizes.0.clone(),
        None => vec![ByteCount(default)],
    };
    if let Some(reason) = sizes.iter().max().and_then(|size| memory.refusal(*size)) {
        return Err(match &args.sizes {
            Some(_) => Stop::Usage(reason.detail),
            None => Stop::Refused(reason),
        });
    }
    let devices = begun.describe(&found);
    let planned = plan(cases, devices.len(), &sizes);
    if planned.is_empty() {
        return Err(Stop::Usage(
            "the cases asked for need two devices; name a second one with --gpus".to_owned(),
        ));
    }
    let mut session = Session {
        args,
        chosen,
        sysfs: &begun.sysfs,
        machine,
        found: &found,
        interrupt,
        recorder: begun.record(asked, say)?,
        remembered: Remembered::NotNeeded,
    };
    let outcome = session.measure(devices, &planned, say);
    let ended = session.recorder.end(outcome, outputs::exit_code)?;
    Ok(Outcome::Ended(Box::new(ended)))
}

/// A record of machine, driver and the devices that were asked for, in which nothing was measured.
fn listed(
    args: &RunArgs,
    begun: &Begun,
    program: &str,
    interrupt: &Interrupt,
) -> Result<Record, Stop> {
    let (machine, chosen) = (&begun.machine, &begun.chosen);
    let found = begun.select(&args.on)?;
    let devices = begun.describe(&found);
    let (paths, unknown) = fabric::paths((&devices, &found), machine, &begun.sysfs, interrupt);
    let mut caveats = facts::caveats(chosen, &found, &devices, &[], machine);
    caveats.extend(unknown);
    let links = Links {
        machine: Some(machine.clone()),
        backend: Some(inventory::backend(chosen)),
        nvlinks: nvlink::readings(&found, &devices),
        devices,
        paths,
        caveats,
        ..Links::default()
    };
    Ok(Record {
        header: begun.header(program),
        status: Status::Complete,
        exit_code: exit::DONE,
        payload: Payload::Links(Box::new(links)),
    })
}
