//! `tplens numa`: bandwidth and latency of every GPU, node, kind of memory and direction, one point after another, each kept before the
//! next begins.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use inventory::{Built, Chosen, Found, caveats};
use program::command_line::seconds;
use program::outputs::Outputs;
use program::show::Show;
use program::{Break, Budget, Effort, Ended, Progress, Recorder, Stop, result_folder, say};
use record::caveat::Caveat;
use record::exit;
use record::plan::Plan;
use record::unit::ByteCount;
use record::{Failure, LinkDevice, LinkUse, NUMA_PROGRAM, Numa, NumaEvent, NumaPoint, Outcome};
use runner::Interrupt;
use topology::Machine;
use view::csv;

use super::nodes::{binding, check, free, joined, too_little};
use super::plan::{Asked, Kind, Planned, left_out, plan};
use crate::begun::{self, Begun};
use crate::device_args::{DeviceArgs, one_size};
use crate::messages::{Job, Member};
use crate::parent::{Finding, Health, Measurer, Suspect, default_host_bytes, of_outcome};

/// Buffers of the full size at once: of the host, of a device that is host memory, and one to compare in.
const BUFFERS: u64 = 3;

/// Bytes of one copy where `--size` does not say, with a GPU: larger than its caches.
const MOST_BYTES: u64 = 64 << 20;

/// What to measure and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    on: DeviceArgs,

    /// Kinds of host memory.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS", default_values_t = [Kind::Pageable, Kind::Pinned])]
    kinds: Vec<Kind>,

    /// NUMA nodes of the memory, by number, separated by commas. Default: every node that has memory.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    nodes: Option<Vec<u32>>,

    /// Bytes of one copy, K, M and G being powers of 1024. Default: 64M; on the host backend the power of two above the
    /// last-level cache, 64M to 1G; on a simulated machine 16M.
    #[arg(long, value_name = "SIZE", value_parser = one_size)]
    size: Option<ByteCount>,

    /// Timed samples of each number at most; at least 6 are taken where this allows, so that there is an interval.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,

    /// Seconds to aim at for all samples together; 6 samples of each number are taken even when that takes longer.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    budget: Duration,

    /// Seconds without progress after which a measurement counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    deadline: Duration,

    #[command(flatten)]
    outputs: Outputs,
}

/// Measures and prints; gives the exit code.
pub(crate) fn run(args: &MeasureArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    args.outputs.check().map_err(Stop::Usage)?;
    let folder = result_folder(args.outputs.out.as_deref(), "numa");
    let place = begun::Asked {
        on: &args.on,
        deadline: args.deadline,
        folder: &folder,
        program: NUMA_PROGRAM,
        keeps: true,
    };
    let ended = place.run(|| measure(args, &place, interrupt))?;
    Ok(args.outputs.finish(&ended, csv::links, show))
}

fn tell(line: &str) {
    say!("{line}");
}

fn measure(
    args: &MeasureArgs,
    place: &begun::Asked<'_>,
    interrupt: &Interrupt,
) -> Result<Ended, Stop> {
    let nodes = args.nodes.as_deref();
    let check = |machine: &Machine| check("--nodes", nodes.unwrap_or_default(), machine);
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
        nodes,
        bytes,
    };
    let planned = plan(&asked, machine, &devices);
    let left_out = left_out(machine);
    if nodes.is_none() && !left_out.is_empty() {
        say!(
            "left out: nodes without CPUs ({}), a device's memory or an expansion; --nodes takes them",
            joined(&left_out, ",")
        );
    }
    let mut session = Session {
        args,
        chosen,
        machine,
        found: &found,
        interrupt,
        recorder: begun.record(place, &tell)?,
        // Read once, before buffers that are kept from one point to the next count as taken.
        free: match soft {
            Some(_) => BTreeMap::new(),
            None => free(&begun.sysfs, machine),
        },
    };
    let outcome = session.measure(devices, bytes, &planned);
    session.recorder.end(outcome, exit_code)
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

/// One run under way.
struct Session<'a> {
    args: &'a MeasureArgs,
    chosen: &'a Chosen,
    machine: &'a Machine,
    found: &'a [Found],
    interrupt: &'a Interrupt,
    /// What each node had free before anything was measured; empty on a simulated machine, whose nodes hold nothing.
    free: BTreeMap<u32, u64>,
    recorder: Recorder<Numa>,
}

impl Session<'_> {
    /// Measures all points, or as many as it can.
    fn measure(
        &mut self,
        devices: Vec<LinkDevice>,
        copy_bytes: u64,
        planned: &[Planned],
    ) -> Result<(), Break> {
        let busy: Vec<Caveat> = caveats::busy(&devices).collect();
        for caveat in &busy {
            tell(&view::caveat(caveat).text);
        }
        let nodes: Vec<Option<u32>> = devices.iter().map(|device| device.node).collect();
        self.recorder.add(NumaEvent::Found {
            machine: Box::new(self.machine.clone()),
            backend: inventory::backend(self.chosen),
            devices,
            copy_bytes,
            binding: binding(&nodes, self.machine),
        })?;
        for caveat in busy.into_iter().chain(caveats::said(self.chosen)) {
            self.recorder.add(NumaEvent::Caveat { caveat })?;
        }
        let mut measurer = Measurer::new(self.chosen.backend, self.args.deadline, self.interrupt);
        let mut progress = Progress::new(planned.len(), &tell);
        let mut budget = Budget::new(self.args.budget, planned.len());
        let mut health = Health::default();
        say!("{} points to measure", planned.len());
        for point in planned {
            if let Some(signal) = self.interrupt.signal() {
                return Err(Break::Signal(signal));
            }
            let (words, began) = (self.words(point), Instant::now());
            progress.begin(&words, point.case.key);
            let found = match self.refusal(point, &health) {
                Some(reason) => Finding::without_numbers(Outcome::Skipped { reason }),
                None => {
                    let end = measurer.run(&self.job(point, &budget), &mut || {})?;
                    Finding::of(end, |_| LinkUse::default()).map_err(Break::Signal)?
                }
            };
            if let Some(blame) = &found.blame {
                health.failed(&[Suspect::Device(point.device)], blame);
            }
            if let Outcome::Failed { reason } = &found.outcome {
                progress.note(&format!("{} {words}: {reason}", point.case.key));
            }
            let point = Box::new(NumaPoint {
                case: point.case.key.to_owned(),
                device: point.device,
                memory_node: point.place.memory,
                thread_node: point.place.thread,
                bytes: point.bytes,
                outcome: found.outcome,
                thread: found.thread,
                caveats: found.caveats,
            });
            self.recorder.add(NumaEvent::Point { point })?;
            budget.spend(began.elapsed());
            progress.end();
        }
        measurer.finish();
        Ok(())
    }

    /// Where a point's memory and thread are wanted, and its size, in words.
    fn words(&self, point: &Planned) -> String {
        let device = self.recorder.payload.devices.get(point.device);
        let label = device.map_or("", |device| device.label.as_str());
        let node = |node: Option<u32>| node.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let (memory, thread) = (node(point.place.memory), node(point.place.thread));
        let size = ByteCount(point.bytes);
        format!("{label} memory {memory} thread {thread} {size}")
    }

    /// Why a point is not measured: its device failed too often, or its node has too little memory free.
    fn refusal(&self, point: &Planned, health: &Health) -> Option<Failure> {
        if let Some((_, why)) = health.left_alone(&[Suspect::Device(point.device)]) {
            return Some(Health::refusal("the device", why));
        }
        let node = point.place.memory?;
        let free = self.free.get(&node)?;
        too_little(node, *free, point.bytes.saturating_mul(BUFFERS))
    }

    fn job(&self, point: &Planned, budget: &Budget) -> Job {
        let ordinal = self.found[point.device].ordinal;
        let (from, to) = point.ends(ordinal);
        let node = point.place.thread.and_then(|node| self.machine.node(node));
        // A simulated machine's CPUs are not this machine's.
        let node = node.filter(|_| self.chosen.inventory.soft_box.is_none());
        Job {
            case: point.case.key.to_owned(),
            from,
            to,
            all: vec![Member {
                ordinal,
                node: point.place.memory,
            }],
            bytes: point.bytes,
            plan: Plan::new(self.args.samples as usize, budget.share()),
            cpus: node.map_or_else(Vec::new, |node| node.cpus.iter().collect()),
            thread_node: point.place.thread,
        }
    }
}
