//! A run of `tplens numa` from the command line to the record.

use std::collections::BTreeMap;

use inventory::Built;
use program::{Effort, Ended, Stop, result_folder};
use record::exit;
use record::unit::ByteCount;
use record::{NUMA_PROGRAM, Numa, Outcome};
use runner::Interrupt;
use topology::Machine;

use super::args::MeasureArgs;
use super::plan::{Asked, left_out, plan};
use super::session::{BUFFERS, Session};
use crate::begun::{self, Begun};
use crate::numa::free;
use crate::parent::{default_host_bytes, of_outcome};

/// Bytes of one copy where `--size` does not say, with a GPU: larger than its caches.
const MOST_BYTES: u64 = 64 << 20;

/// Measures what the command line asks for.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(super) fn run(
    args: &MeasureArgs,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Ended, Stop> {
    let folder = result_folder(args.outputs.out.as_deref(), "numa");
    let place = begun::Asked {
        on: &args.on,
        deadline: args.deadline,
        folder: &folder,
        program: NUMA_PROGRAM,
        keeps: true,
    };
    place.run(|| run_in(args, &place, interrupt, say))
}

fn run_in(
    args: &MeasureArgs,
    place: &begun::Asked<'_>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Ended, Stop> {
    let check = |machine: &Machine| check_nodes(args.nodes.as_deref(), machine);
    let begun = match Begun::find::<Numa>(place, check, interrupt)? {
        Ok(begun) => begun,
        Err(refused) => return Ok(*refused),
    };
    let (machine, chosen) = (&begun.machine, &begun.chosen);
    let soft = &chosen.inventory.soft_box;
    let found = begun.select(&args.on)?;
    let devices = begun.describe(&found);
    let bytes = match (args.size, chosen.backend) {
        (Some(size), _) => size.0,
        (None, Built::Host) => default_host_bytes(machine),
        (None, _) => Effort::of(soft.is_some()).copy_bytes.min(MOST_BYTES),
    };
    check_memory(bytes)?;
    let asked = Asked {
        kinds: &args.kinds,
        nodes: args.nodes.as_deref(),
        bytes,
    };
    let planned = plan(&asked, machine, &devices);
    let left_out = left_out(machine);
    if args.nodes.is_none() && !left_out.is_empty() {
        let nodes: Vec<String> = left_out.iter().map(u32::to_string).collect();
        say(&format!(
            "left out: nodes without CPUs ({}), a device's memory or an expansion; --nodes takes them",
            nodes.join(",")
        ));
    }
    let recorder = begun.record(place, say)?;
    // Read once, before buffers that are kept from one point to the next count as taken.
    let free = match soft {
        Some(_) => BTreeMap::new(),
        None => free::all(&begun.sysfs, machine),
    };
    let mut session = Session {
        args,
        chosen,
        machine,
        found: &found,
        interrupt,
        bytes,
        free,
        recorder,
    };
    let outcome = session.measure(devices, &planned, say);
    session.recorder.end(outcome, exit_code)
}

/// Refuses nodes that the machine does not have.
fn check_nodes(nodes: Option<&[u32]>, machine: &Machine) -> Result<(), Stop> {
    let absent = nodes
        .unwrap_or_default()
        .iter()
        .find(|node| machine.node(**node).is_none());
    let Some(absent) = absent else {
        return Ok(());
    };
    let known: Vec<String> = machine
        .nodes
        .iter()
        .map(|node| node.id.to_string())
        .collect();
    let has = match &known[..] {
        [] => "the kernel shows no NUMA nodes here; leave --nodes out".to_owned(),
        [one] => format!("this machine has node {one} alone"),
        many => format!("this machine has nodes {}", many.join(", ")),
    };
    Err(Stop::Usage(format!(
        "--nodes: there is no node {absent}; {has}"
    )))
}

/// Refuses copies whose buffers nine tenths of the free memory do not hold.
fn check_memory(bytes: u64) -> Result<(), Stop> {
    let needed = bytes.saturating_mul(BUFFERS);
    match inventory::host_memory_available(&topology::Sysfs::real()) {
        Some(available) if needed > available / 10 * 9 => Err(Stop::Usage(format!(
            "copies of {} need up to {} of host memory and {} are available; use a smaller --size",
            ByteCount(bytes),
            ByteCount(needed),
            ByteCount(available)
        ))),
        _ => Ok(()),
    }
}

/// The exit code that the findings call for.
fn exit_code(numa: &Numa) -> u8 {
    let is_proven = |point: &record::NumaPoint| {
        !matches!(point.outcome, Outcome::Measured { .. }) || point.is_proven()
    };
    let nothing = !numa.points.iter().any(|point| point.is_proven());
    let unproven = !numa.points.iter().all(is_proven);
    let points = numa.points.iter().map(|point| of_outcome(&point.outcome));
    exit::fold(points.chain((nothing || unproven).then_some(exit::INCONCLUSIVE)))
}
