//! `tplens numa`: bandwidth and latency of every GPU, node, kind of memory and direction, one point after another, each kept before the
//! next begins.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use inventory::caveats;
use program::show::Show;
use program::{Break, Ended, Recorder, Stop, say};
use record::caveat::Caveat;
use record::exit;
use record::unit::ByteCount;
use record::{LinkUse, NUMA_PROGRAM, Numa, NumaEvent, NumaPoint, Outcome};
use runner::Interrupt;

use super::nodes::{binding, check, free, joined, too_little};
use super::plan::{left_out, plan};
use crate::begun::{Begun, DeviceArgs, RunningArgs, SamplingArgs, one_size, recorded};
use crate::cases::Memory;
use crate::messages::{Finding, Job};
use crate::parent::{
    self, Measurer, Planned, Points, check_memory, default_host_bytes, of_outcome,
};

/// Bytes of one copy where `--size` does not say, with a GPU: larger than its caches.
const MOST_BYTES: u64 = 64 << 20;

/// Seconds that samples take where the command line does not say.
const BUDGET: Duration = Duration::from_secs(60);

/// What to measure and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    on: DeviceArgs,

    /// Kinds of host memory.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", default_values_t = [Memory::Pageable, Memory::Pinned])]
    kinds: Vec<Memory>,

    /// NUMA nodes of the memory, by number, separated by commas. Default: every node that has memory.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    nodes: Option<Vec<u32>>,

    /// Bytes of one copy, K, M and G being powers of 1024. Default: 64M; on the host backend the power of two above the
    /// last-level cache, 64M to 1G; on a simulated machine 16M.
    #[arg(long, value_name = "SIZE", value_parser = one_size)]
    size: Option<ByteCount>,

    #[command(flatten)]
    sampling: SamplingArgs,

    #[command(flatten)]
    running: RunningArgs,
}

/// Measures and prints; gives the exit code.
pub(crate) fn run(args: &MeasureArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let run = |begun: &Begun| measured(args, begun, interrupt);
    let asked = (&args.on, &args.running);
    recorded::<Numa>(asked, (NUMA_PROGRAM, "numa"), (interrupt, show), run)
}

fn measured(args: &MeasureArgs, begun: &Begun, interrupt: &Interrupt) -> Result<Ended, Stop> {
    let (machine, nodes) = (&begun.machine, args.nodes.as_deref());
    check("--nodes", nodes.unwrap_or_default(), machine)?;
    let bytes = match args.size {
        Some(size) => size.0,
        None if begun.is_host() => default_host_bytes(machine),
        None => begun.effort().copy_bytes.min(MOST_BYTES),
    };
    let planned = plan((&args.kinds, nodes, bytes), machine, &begun.devices);
    check_memory(&planned, true, "--size")?;
    let left_out = left_out(machine);
    if nodes.is_none() && !left_out.is_empty() {
        say!(
            "left out: nodes without CPUs ({}), a device's memory or an expansion; --nodes takes them",
            joined(&left_out, ",")
        );
    }
    let mut session = Session {
        begun,
        recorder: begun.record(NUMA_PROGRAM)?,
        // Read once, before buffers that are kept from one point to the next count as taken.
        free: match begun.is_soft() {
            true => BTreeMap::new(),
            false => free(&begun.sysfs, machine),
        },
    };
    let time = (args.running.deadline, interrupt);
    let outcome = session.begin(bytes).and_then(|()| {
        let how = (begun, &args.sampling, BUDGET);
        parent::announce(&planned, how, 0);
        parent::measure(&mut session, &planned, how, time)
    });
    session.recorder.end(outcome, exit_code)
}

/// The exit code that the findings call for.
fn exit_code(numa: &Numa) -> u8 {
    let is_proven =
        |point: &NumaPoint| !matches!(point.outcome, Outcome::Measured { .. }) || point.is_proven();
    let nothing = !numa.points.iter().any(NumaPoint::is_proven);
    let unproven = !numa.points.iter().all(is_proven);
    let points = numa.points.iter().map(|point| of_outcome(&point.outcome));
    exit::fold(points.chain((nothing || unproven).then_some(exit::INCONCLUSIVE)))
}

/// One run under way.
struct Session<'a> {
    begun: &'a Begun,
    /// What each node had free before anything was measured; empty on a simulated machine, whose nodes hold nothing.
    free: BTreeMap<u32, u64>,
    recorder: Recorder<Numa>,
}

impl Session<'_> {
    /// Keeps what is known before anything is measured.
    fn begin(&mut self, copy_bytes: u64) -> Result<(), Break> {
        let begun = self.begun;
        let busy: Vec<Caveat> = caveats::busy(&begun.devices).collect();
        for caveat in &busy {
            say!("{}", view::caveat(caveat).text);
        }
        let nodes: Vec<Option<u32>> = begun.devices.iter().map(|device| device.node).collect();
        self.recorder.add(NumaEvent::Found {
            machine: Box::new(begun.machine.clone()),
            backend: inventory::backend(&begun.chosen),
            devices: begun.devices.clone(),
            copy_bytes,
            binding: binding(&nodes, &begun.machine),
        })?;
        for caveat in busy.into_iter().chain(caveats::said(&begun.chosen)) {
            self.recorder.add(NumaEvent::Caveat { caveat })?;
        }
        Ok(())
    }
}

impl Points for Session<'_> {
    fn words(&self, point: &Planned) -> (String, String) {
        let node = |node: Option<u32>| node.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let label = self.begun.label(point.devices()[0]);
        let (memory, thread) = (node(point.memory()), node(point.thread()));
        let group = format!("{label} memory {memory} thread {thread} {}", point.bytes);
        (group, point.case.key.to_owned())
    }

    /// Its node has too little memory free.
    fn refusal(&self, point: &Planned) -> Option<Outcome> {
        let node = point.memory()?;
        let reason = too_little(node, *self.free.get(&node)?, point.host_bytes(true))?;
        Some(Outcome::Skipped { reason })
    }

    fn measured(
        &mut self,
        _: &Planned,
        job: &Job,
        measurer: &mut Measurer<'_>,
    ) -> Result<Finding, Break> {
        let found = measurer.run(job, &mut || {})?;
        Ok(found.judged(|_| LinkUse::default()))
    }

    fn keep(&mut self, point: &Planned, found: Finding) -> Result<(), Break> {
        let point = Box::new(NumaPoint {
            case: point.case.key.to_owned(),
            device: point.devices()[0],
            memory_node: point.memory(),
            thread_node: point.thread(),
            bytes: point.bytes.0,
            outcome: found.outcome,
            thread: found.thread,
            caveats: found.caveats,
        });
        Ok(self.recorder.add(NumaEvent::Point { point })?)
    }
}
