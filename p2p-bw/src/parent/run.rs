//! A run from the command line to the record.

use std::fmt::Write as _;

use inventory::Chosen;
use program::show::Show;
use program::{Ended, Stop, outputs, sim};
use record::unit::ByteCount;
use record::{FailureKind, Links, Payload, Record, Status, exit};
use runner::Interrupt;
use topology::{Machine, Sysfs};

use super::intent::Intents;
use super::monitor::{Monitor, Readings};
use super::plan::{Planned, plan};
use super::points;
use super::session::{self, RunArgs, Session};
use crate::begun::{Begun, PROGRAM, recorded};
use crate::cases::{self, Case, Engine};

/// Bytes of one copy on the host backend at least, and at most.
const HOST_BYTES: (u64, u64) = (64 << 20, 1 << 30);

/// The smallest power of two above the last-level cache, within bounds; copies between two such buffers outgrow it twice. The most where
/// the cache is not known.
pub(crate) fn default_host_bytes(machine: &Machine) -> u64 {
    let above = |cache: u64| (cache + 1).next_power_of_two();
    let cache = machine.cpus.last_level_cache_bytes;
    cache
        .map_or(HOST_BYTES.1, above)
        .clamp(HOST_BYTES.0, HOST_BYTES.1)
}

/// Measures what the command line asks for, or lists it, and prints; gives the exit code.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(crate) fn run(args: &RunArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let cases = cases::matching(&args.cases);
    let cases = cases.map_err(|error| Stop::Usage(format!("--cases: {error}")))?;
    if args.list {
        return list(args, interrupt);
    }
    let run = |begun: &Begun| measured(args, cases, begun, interrupt);
    let asked = (&args.on, &args.running);
    recorded::<Links>(asked, (PROGRAM, "p2p"), (interrupt, show), run)
}

/// Lists cases and devices, or writes a record of machine, driver and devices in which nothing was measured.
fn list(args: &RunArgs, interrupt: &Interrupt) -> Result<u8, Stop> {
    let outputs = &args.running.outputs;
    outputs.check().map_err(Stop::Usage)?;
    let listed = || {
        let begun = Begun::look(&args.on, "p2p", args.running.deadline, interrupt)?;
        begun.tell();
        if outputs.json.is_none() {
            return Ok(outputs::print(&listing(&begun.chosen)));
        }
        let links = session::described(&begun, &Readings::new(), &[], interrupt);
        Ok(outputs.only_json(&Record {
            header: begun.header(PROGRAM),
            status: Status::Complete,
            exit_code: exit::DONE,
            payload: Payload::Links(Box::new(links)),
        }))
    };
    let code = listed();
    // The tree of a simulated machine is read until here.
    sim::forget();
    code
}

fn measured(
    args: &RunArgs,
    mut cases: Vec<&'static Case>,
    begun: &Begun,
    interrupt: &Interrupt,
) -> Result<Ended, Stop> {
    if begun.is_host() {
        cases.retain(|case| case.engine == Engine::Copy);
    }
    if cases.is_empty() {
        return Err(Stop::Usage(
            "host memory has none of these cases: it runs no kernels; see --list".to_owned(),
        ));
    }
    let default = match begun.is_host() {
        true => default_host_bytes(&begun.machine),
        false => begun.effort().copy_bytes,
    };
    let sizes = args.sizes.as_ref().map(|sizes| sizes.0.clone());
    let sizes = sizes.unwrap_or_else(|| vec![ByteCount(default)]);
    let planned = plan(&cases, begun.devices.len(), &sizes);
    if planned.is_empty() {
        return Err(Stop::Usage(
            "the cases asked for need two devices; name a second one with --gpus".to_owned(),
        ));
    }
    check_memory(&planned, begun.is_soft() || begun.is_host(), "--sizes")?;
    let mut session = Session {
        args,
        begun,
        interrupt,
        monitor: Monitor::start(begun, args.running.deadline, interrupt)?,
        recorder: begun.record(PROGRAM)?,
        last: Readings::new(),
        remembered: Intents::default(),
    };
    let outcome = session.measure(&planned);
    session.recorder.end(outcome, points::exit_code)
}

/// Refuses points whose buffers nine tenths of the host memory do not hold: asking for more ends in the kernel's out-of-memory killer.
pub(crate) fn check_memory(
    planned: &[Planned],
    device_is_host: bool,
    flag: &str,
) -> Result<(), Stop> {
    let needed = |point: &&Planned| point.host_bytes(device_is_host);
    let largest = planned.iter().max_by_key(needed);
    let available = inventory::host_memory_available(&Sysfs::real());
    let short = largest
        .zip(available)
        .filter(|(largest, available)| needed(largest) > available / 100 * 90);
    let Some((largest, available)) = short else {
        return Ok(());
    };
    let reason = format!(
        "copies of {} need up to {} of host memory and {} are available; use a smaller {flag}",
        largest.bytes,
        ByteCount(needed(&largest)),
        ByteCount(available)
    );
    Err(Stop::Refused(FailureKind::OutOfMemory.of(reason)))
}

/// The text of `--list`.
fn listing(chosen: &Chosen) -> String {
    let mut text = format!("Cases (marked: those of the set `{}`):\n", cases::DEFAULT);
    for case in cases::ALL {
        let mark = if case.core { cases::DEFAULT } else { "" };
        let engine = match case.engine {
            Engine::Copy => "copy engine",
            Engine::Kernel => "kernel",
        };
        let about = case.description;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<22}{mark:<6}{about}, {engine}", case.key);
    }
    text + "\n" + &inventory::listing(chosen)
}
