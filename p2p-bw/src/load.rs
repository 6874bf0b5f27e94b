//! `tplens p2p load`: writes and checks memory and multiplies on several devices at once for a while, and counts what came out wrong.
//!
//! It loads devices and not their links; what it does not load, tensor cores and all of the memory, it says.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use inventory::{Built, Chosen, Found, caveats};
use program::command_line::seconds;
use program::outputs::Outputs;
use program::show::Show;
use program::{Break, Effort, Ended, Recorder, Stop, result_folder, say};
use record::caveat::{Caveat, Condition};
use record::unit::ByteCount;
use record::{
    Endpoint, LOAD_ARITHMETIC, LOAD_MEMORY, LinkDevice, LinkUse, Links, LinksEvent, NamedQuantity,
    Outcome, Point,
};
use runner::Interrupt;
use topology::Machine;
use view::csv;

use crate::begun::{Asked, Begun};
use crate::device_args::{DeviceArgs, one_size};
use crate::messages::LoadRequest;
use crate::parent::{Finding, JobEnd, Measurer, exit_code};

/// Memory that is host memory is not all loaded by default.
const HOST_BYTES: u64 = 64 << 20;

/// Bytes of a piece: of a GPU's memory, and of memory that is host memory.
const PIECE: u64 = 256 << 20;
const HOST_PIECE: u64 = 4 << 20;

/// Between two looks at the devices, and between two words of progress.
const LOOK: Duration = Duration::from_millis(50);
const PROGRESS: Duration = Duration::from_secs(10);

/// What to load and for how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    on: DeviceArgs,

    /// Seconds to load them for.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    duration: Duration,

    /// Bytes of each device's memory that are written and checked over and over, K, M and G being powers of 1024. Default: half of
    /// what is free; on the host backend 64M, on a simulated machine 16M.
    #[arg(long, value_name = "SIZE", value_parser = at_least_a_mib)]
    memory: Option<ByteCount>,

    /// Seconds without progress after which a device counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    deadline: Duration,

    #[command(flatten)]
    outputs: Outputs,
}

/// One size, for clap; less is not loaded.
fn at_least_a_mib(text: &str) -> Result<ByteCount, String> {
    let size = one_size(text)?;
    (size.0 >= 1 << 20)
        .then_some(size)
        .ok_or_else(|| format!("`{text}` is below 1M, the least that is loaded"))
}

/// Loads the devices and prints what came of it; gives the exit code.
pub(crate) fn run(args: &LoadArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    args.outputs.check().map_err(Stop::Usage)?;
    let folder = result_folder(args.outputs.out.as_deref(), "load");
    let asked = Asked {
        on: &args.on,
        deadline: args.deadline,
        folder: &folder,
        program: env!("CARGO_PKG_NAME"),
        keeps: true,
    };
    let ended = asked.run(|| load(args, &asked, interrupt))?;
    Ok(args.outputs.finish(&ended, csv::links, show))
}

fn tell(line: &str) {
    say!("{line}");
}

fn load(args: &LoadArgs, asked: &Asked<'_>, interrupt: &Interrupt) -> Result<Ended, Stop> {
    let begun = match Begun::find::<Links>(asked, |_| Ok(()), interrupt)? {
        Ok(begun) => begun,
        Err(refused) => return Ok(*refused),
    };
    let found = begun.select(&args.on)?;
    let devices = begun.describe(&found);
    let mut session = Session {
        args,
        chosen: &begun.chosen,
        found: &found,
        interrupt,
        recorder: begun.record(asked, &tell)?,
    };
    let outcome = session.load(&begun.machine, devices);
    session.recorder.end(outcome, exit_code)
}

struct Session<'a> {
    args: &'a LoadArgs,
    chosen: &'a Chosen,
    found: &'a [Found],
    interrupt: &'a Interrupt,
    recorder: Recorder<Links>,
}

impl Session<'_> {
    fn load(&mut self, machine: &Machine, devices: Vec<LinkDevice>) -> Result<(), Break> {
        let labels: Vec<String> = devices.iter().map(|device| device.label.clone()).collect();
        let notes = caveats::busy(&devices)
            .chain(caveats::said(self.chosen))
            .chain([Condition::LoadCoverage.with("")]);
        let notes: Vec<Caveat> = notes.collect();
        self.recorder.add(LinksEvent::Found {
            machine: Box::new(machine.clone()),
            backend: inventory::backend(self.chosen),
            devices,
            paths: Vec::new(),
        })?;
        for caveat in notes {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        let seconds = self.args.duration.as_secs_f64();
        say!("loading {} for {seconds:.0} s", labels.join(", "));
        for (position, end) in self.loaded().into_iter().enumerate() {
            for point in self.points(position, end?)? {
                if let Outcome::Failed { reason } = &point.outcome {
                    say!("{}: {reason}", labels[position]);
                }
                let point = Box::new(point);
                self.recorder.add(LinksEvent::Point { point })?;
            }
        }
        let signal = self.interrupt.signal();
        signal.map_or(Ok(()), |signal| Err(Break::Signal(signal)))
    }

    /// Loads all devices at once, each by a worker of its own; how each ended.
    fn loaded(&self) -> Vec<Result<JobEnd, Stop>> {
        let (backend, deadline, interrupt) =
            (self.chosen.backend, self.args.deadline, self.interrupt);
        thread::scope(|scope| {
            let start = |found| {
                let request = self.request(found);
                scope.spawn(move || Measurer::new(backend, deadline, interrupt).load(request))
            };
            let all: Vec<_> = self.found.iter().map(start).collect();
            let (begun, mut told) = (Instant::now(), Instant::now());
            while !all.iter().all(thread::ScopedJoinHandle::is_finished) {
                thread::sleep(LOOK);
                if told.elapsed() >= PROGRESS {
                    told = Instant::now();
                    let (so_far, of) = (begun.elapsed().as_secs(), self.args.duration.as_secs());
                    say!("{so_far} of {of} s");
                }
            }
            let gone = |_| Err(Stop::Internal(anyhow!("a thread of the load failed")));
            all.into_iter()
                .map(|thread| thread.join().unwrap_or_else(gone))
                .collect()
        })
    }

    /// What memory and arithmetic of a device did.
    fn points(&self, position: usize, end: JobEnd) -> Result<Vec<Point>, Break> {
        let request = self.request(&self.found[position]);
        let basis = "within the device, over no link";
        let link = |_: &[NamedQuantity]| LinkUse {
            basis: basis.to_owned(),
            ..LinkUse::default()
        };
        let mut found = Finding::all(end, link).map_err(Break::Signal)?;
        if let [one] = &found[..] {
            found.push(Finding::without_numbers(one.outcome.clone()));
        }
        // A load needs no gate, and may vary.
        let is_said = |caveat: &Caveat| matches!(caveat, Caveat::Condition { .. });
        let point = |(case, finding): (&str, Finding)| {
            let device = Endpoint::Device(position);
            let pieces = match &finding.outcome {
                Outcome::Measured { quantities, .. } => quantities.first(),
                _ => None,
            };
            let pieces = pieces.map(|named| named.quantity.timing.copies_per_sample);
            let bytes = match case {
                LOAD_MEMORY => pieces.map(|pieces| u64::from(pieces) * request.piece_bytes),
                _ => Some(0),
            };
            Point {
                case: case.to_owned(),
                from: device,
                to: device,
                bytes: bytes.or(request.bytes).unwrap_or_default(),
                outcome: finding.outcome,
                caveats: finding.caveats.into_iter().filter(is_said).collect(),
            }
        };
        let cases = [LOAD_MEMORY, LOAD_ARITHMETIC].into_iter();
        Ok(cases.zip(found).map(point).collect())
    }

    fn request(&self, found: &Found) -> LoadRequest {
        let by_default = match self.chosen.backend {
            Built::Host => Some(HOST_BYTES),
            _ => Effort::of(self.chosen.inventory.soft_box.is_some()).load_bytes,
        };
        let bytes = self.args.memory.map(|size| size.0).or(by_default);
        let piece = by_default.map_or(PIECE, |_| HOST_PIECE);
        LoadRequest {
            ordinal: found.ordinal,
            bytes,
            piece_bytes: piece.min(bytes.unwrap_or(piece)) & !15,
            seconds: self.args.duration.as_secs_f64(),
        }
    }
}
