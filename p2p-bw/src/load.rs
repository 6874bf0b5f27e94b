//! `tplens p2p load`: writes and checks memory and multiplies on several devices at once for a while, and counts what came out wrong.
//!
//! It loads devices and not their links; what it does not load, tensor cores and all of the memory, it says.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use inventory::{Found, caveats};
use program::command_line::seconds;
use program::show::Show;
use program::{Break, Recorder, Stop, say};
use record::caveat::Condition;
use record::unit::ByteCount;
use record::{Endpoint, LOAD_ARITHMETIC, LOAD_MEMORY, Links, LinksEvent, Outcome, Point};
use runner::Interrupt;

use crate::begun::{Begun, DeviceArgs, PROGRAM, RunningArgs, one_size, recorded};
use crate::messages::{Finding, LOAD_PIECE, LoadRequest};
use crate::parent::{Measurer, exit_code};

/// Memory that is host memory is not all loaded by default.
const HOST_BYTES: u64 = 64 << 20;

/// Between two looks at the devices, and between two words of progress: a soak of hours is seen to be alive.
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

    #[command(flatten)]
    running: RunningArgs,
}

/// One size, for clap; less is not loaded.
fn at_least_a_mib(text: &str) -> Result<ByteCount, String> {
    let size = one_size(text)?;
    (size.0 >= LOAD_PIECE)
        .then_some(size)
        .ok_or_else(|| format!("`{text}` is below 1M, the least that is loaded"))
}

/// Loads the devices and prints what came of it; gives the exit code.
pub(crate) fn run(args: &LoadArgs, interrupt: &Interrupt, show: Show) -> Result<u8, Stop> {
    let (args_of_run, names) = ((&args.on, &args.running), (PROGRAM, "load"));
    recorded::<Links>(args_of_run, names, (interrupt, show), |begun| {
        let mut recorder = begun.record(PROGRAM)?;
        let outcome = load(args, begun, &mut recorder, interrupt);
        recorder.end(outcome, exit_code)
    })
}

fn load(
    args: &LoadArgs,
    begun: &Begun,
    recorder: &mut Recorder<Links>,
    interrupt: &Interrupt,
) -> Result<(), Break> {
    let devices = &begun.devices;
    recorder.add(LinksEvent::Found {
        machine: Box::new(begun.machine.clone()),
        backend: inventory::backend(&begun.chosen),
        devices: devices.clone(),
        paths: Vec::new(),
    })?;
    let known = caveats::busy(devices).chain(caveats::said(&begun.chosen));
    for caveat in known.chain([Condition::LoadCoverage.with("")]) {
        recorder.add(LinksEvent::Caveat { caveat })?;
    }
    let labels: Vec<&str> = devices.iter().map(|device| device.label.as_str()).collect();
    say!(
        "loading {} for {:.0} s",
        labels.join(", "),
        args.duration.as_secs_f64()
    );
    for (position, end) in loaded(args, begun, interrupt).into_iter().enumerate() {
        let request = request(args, begun, &begun.found[position]);
        for point in points(position, &request, end?) {
            if let Outcome::Failed { reason } = &point.outcome {
                say!("{}: {reason}", labels[position]);
            }
            let point = Box::new(point);
            recorder.add(LinksEvent::Point { point })?;
        }
    }
    let signal = interrupt.signal();
    signal.map_or(Ok(()), |signal| Err(Break::Signal(signal)))
}

/// Loads all devices at once, each by a worker of its own; how each ended.
fn loaded(
    args: &LoadArgs,
    begun: &Begun,
    interrupt: &Interrupt,
) -> Vec<Result<Vec<Finding>, Break>> {
    let (backend, deadline) = (begun.chosen.backend, args.running.deadline);
    thread::scope(|scope| {
        let start = |found| {
            let request = request(args, begun, found);
            scope.spawn(move || Measurer::new(backend, deadline, interrupt).load(request))
        };
        let all: Vec<_> = begun.found.iter().map(start).collect();
        let (begun, mut told) = (Instant::now(), Duration::ZERO);
        while !all.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(LOOK);
            if begun.elapsed() >= told + PROGRESS {
                told = begun.elapsed();
                say!("{} of {} s", told.as_secs(), args.duration.as_secs());
            }
        }
        let gone = |_| Err(Stop::Internal(anyhow!("a thread of the load failed")).into());
        all.into_iter()
            .map(|thread| thread.join().unwrap_or_else(gone))
            .collect()
    })
}

fn request(args: &LoadArgs, begun: &Begun, found: &Found) -> LoadRequest {
    let of_host = begun.is_host().then_some(HOST_BYTES);
    let by_default = of_host.or(begun.effort().load_bytes);
    LoadRequest {
        ordinal: found.ordinal,
        bytes: args.memory.map(|size| size.0).or(by_default),
        seconds: args.duration.as_secs_f64(),
    }
}

/// What memory and arithmetic of a device did.
fn points(position: usize, request: &LoadRequest, mut found: Vec<Finding>) -> Vec<Point> {
    if let [one] = &found[..] {
        found.push(Finding::without_numbers(one.outcome.clone()));
    }
    let device = Endpoint::Device(position);
    let point = |(case, mut finding): (&str, Finding)| {
        let mut bytes = match case {
            LOAD_MEMORY => request.bytes.unwrap_or_default(),
            _ => 0,
        };
        if let Outcome::Measured {
            quantities, link, ..
        } = &mut finding.outcome
        {
            "within the device, over no link".clone_into(&mut link.basis);
            if let (LOAD_MEMORY, Some(first)) = (case, quantities.first()) {
                bytes = u64::from(first.quantity.timing.copies_per_sample) * LOAD_PIECE;
            }
        }
        Point {
            case: case.to_owned(),
            from: device,
            to: device,
            bytes,
            outcome: finding.outcome,
            caveats: finding.caveats,
        }
    };
    let cases = [LOAD_MEMORY, LOAD_ARITHMETIC].into_iter();
    cases.zip(found).map(point).collect()
}
