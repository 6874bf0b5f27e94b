//! A run from the command line to the record.

use std::fmt::Write as _;

use inventory::{Built, Chosen};
use program::show::Show;
use program::{Effort, Stop, outputs, passing_folder, result_folder, say};
use record::unit::ByteCount;
use record::{FailureKind, Links, Payload, Record, Status, exit};
use runner::Interrupt;
use topology::{Machine, Sysfs};
use view::csv;

use super::finding;
use super::intent::Intents;
use super::plan::{Planned, plan};
use super::session::{self, Session};
use crate::begun::{Asked, Begun};
use crate::cases::{self, Case, Engine, Pattern};
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

/// Measures what the command line asks for, or lists it, and prints; gives the exit code.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(crate) fn run(args: &RunArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    args.outputs.check().map_err(Stop::Usage)?;
    let cases = cases::matching(&args.cases);
    let cases = cases.map_err(|error| Stop::Usage(format!("--cases: {error}")))?;
    let folder = match args.list {
        true => passing_folder("p2p"),
        false => result_folder(args.outputs.out.as_deref(), "p2p"),
    };
    let asked = Asked {
        on: &args.on,
        deadline: args.deadline,
        folder: &folder,
        program: env!("CARGO_PKG_NAME"),
        keeps: !args.list,
    };
    asked.run(|| run_in(args, cases, &asked, interrupt, show))
}

fn run_in(
    args: &RunArgs,
    mut cases: Vec<&'static Case>,
    asked: &Asked<'_>,
    interrupt: &Interrupt,
    show: Show,
) -> Result<u8, Stop> {
    let say = &|line: &str| say!("{line}");
    let begun = match Begun::find::<Links>(asked, |_| Ok(()), interrupt)? {
        Ok(begun) => begun,
        Err(refused) => return Ok(args.outputs.finish(&refused, csv::links, show)),
    };
    if args.list {
        begun.tell(say);
        return Ok(match args.outputs.json {
            None => outputs::print(&listing(&begun.chosen)),
            Some(_) => {
                let record = listed(args, &begun, asked.program, interrupt)?;
                args.outputs.only_json(&record)
            }
        });
    }
    let found = begun.select(&args.on)?;
    let is_host = begun.chosen.backend == Built::Host;
    if is_host {
        cases.retain(|case| case.engine == Engine::Copy && case.pattern != Pattern::DriverStaged);
    }
    if cases.is_empty() {
        return Err(Stop::Usage(
            "host memory has none of these cases: it runs no kernels, and no driver stages its copies; see --list"
                .to_owned(),
        ));
    }
    let is_soft = begun.chosen.inventory.soft_box.is_some();
    let default = match is_host {
        true => default_host_bytes(&begun.machine),
        false => Effort::of(is_soft).copy_bytes,
    };
    let sizes = args.sizes.as_ref().map(|sizes| sizes.0.clone());
    let sizes = sizes.unwrap_or_else(|| vec![ByteCount(default)]);
    let planned = plan(&cases, found.len(), &sizes);
    if planned.is_empty() {
        return Err(Stop::Usage(
            "the cases asked for need two devices; name a second one with --gpus".to_owned(),
        ));
    }
    check_memory(&planned, is_soft || is_host)?;
    let devices = begun.describe(&found);
    let mut session = Session {
        args,
        begun: &begun,
        found: &found,
        interrupt,
        recorder: begun.record(asked, say)?,
        remembered: Intents::default(),
    };
    let outcome = session.measure(devices, &planned, say);
    let ended = session.recorder.end(outcome, finding::exit_code)?;
    Ok(args.outputs.finish(&ended, csv::links, show))
}

/// Refuses points whose buffers nine tenths of the host memory do not hold: asking for more ends in the kernel's out-of-memory killer.
fn check_memory(planned: &[Planned], device_is_host: bool) -> Result<(), Stop> {
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
        "copies of {} need up to {} of host memory and {} are available; use smaller --sizes",
        largest.bytes,
        ByteCount(needed(&largest)),
        ByteCount(available)
    );
    Err(Stop::Refused(FailureKind::OutOfMemory.of(reason)))
}

/// A record of machine, driver and the devices that were asked for, in which nothing was measured.
fn listed(
    args: &RunArgs,
    begun: &Begun,
    program: &str,
    interrupt: &Interrupt,
) -> Result<Record, Stop> {
    let found = begun.select(&args.on)?;
    let devices = begun.describe(&found);
    let links = session::described(begun, &found, devices, &[], interrupt);
    Ok(Record {
        header: begun.header(program),
        status: Status::Complete,
        exit_code: exit::DONE,
        payload: Payload::Links(Box::new(links)),
    })
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
