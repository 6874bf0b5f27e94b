//! Times the host backend's all-reduce of f32 back to back, for `bench/openmpi.sh`: the mean of a batch, the slowest rank's, apart
//! and not in place.
//!
//! `host_all_reduce RANKS BATCHES BYTES...` starts a process for each rank, whose streams work on CPUs of their own, and prints
//! `BYTES MICROSECONDS` for each batch. It ends with an error where a sum is wrong. It compares nothing.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::error::Error;
use std::process::{Child, Command, Stdio};

use device::collectives::{Collectives, Communicator, Element, Operation, UniqueId};
use device::host::{DeviceBuffer, Host, HostCommunicator, SharedMemory, Stream};
use device::{Backend, Device, Event, HostKind, Latch, Stream as _};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// So many calls are a batch; the same formula stands in `bench/mpi_allreduce.c`.
fn calls_of(bytes: usize) -> usize {
    ((1 << 25) / (bytes + 8192)).max(4)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "rank") {
        let rank = arguments[1].parse()?;
        let id = UniqueId::try_from(arguments[2].clone())?;
        let library = SharedMemory::open(None)?;
        let asked = Asked::read(&arguments[3..])?;
        return times(&library, &id, rank, &asked).map(|lines| show(&lines));
    }
    let asked = Asked::read(&arguments)?;
    let library = SharedMemory::open(None)?;
    let id = library.unique_id()?;
    let others: Vec<Child> = (1..asked.ranks)
        .map(|rank| {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["rank", &rank.to_string(), &String::from(id.clone())]);
            command.args(&arguments).stdout(Stdio::piped()).spawn()
        })
        .collect::<std::io::Result<_>>()?;
    let mut slowest = times(&library, &id, 0, &asked)?;
    for other in others {
        let output = other.wait_with_output()?;
        if !output.status.success() {
            return Err(format!("a rank ended with {}", output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        for (ours, line) in slowest.iter_mut().zip(text.lines()) {
            let theirs: f64 = line.rsplit(' ').next().unwrap_or_default().parse()?;
            ours.1 = ours.1.max(theirs);
        }
    }
    show(&slowest);
    Ok(())
}

fn show(lines: &[(usize, f64)]) {
    for (bytes, microseconds) in lines {
        println!("{bytes} {microseconds:.4}");
    }
}

/// What the command line asks for.
struct Asked {
    ranks: u32,
    batches: usize,
    sizes: Vec<usize>,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self> {
        let [ranks, batches, sizes @ ..] = arguments else {
            return Err("usage: host_all_reduce RANKS BATCHES BYTES...".into());
        };
        let sizes: std::result::Result<_, _> = sizes.iter().map(|size| size.parse()).collect();
        Ok(Self {
            ranks: ranks.parse()?,
            batches: batches.parse()?,
            sizes: sizes?,
        })
    }
}

/// One rank's mean time of each batch in microseconds.
fn times(
    library: &SharedMemory,
    id: &UniqueId,
    rank: u32,
    asked: &Asked,
) -> Result<Vec<(usize, f64)>> {
    let device = Host::open()?.device(rank as usize)?;
    let communicator = library.join(&device, id, asked.ranks, rank)?;
    let stream = device.stream()?;
    let mut lines = Vec::new();
    for bytes in asked.sizes.iter().copied() {
        let (from, to) = (device.alloc(bytes)?, device.alloc(bytes)?);
        let values = |times: usize, more: usize| -> Vec<u8> {
            let value = |k: usize| (k % 31 * times + more) as f32;
            (0..bytes / 4)
                .flat_map(|k| value(k).to_ne_bytes())
                .collect()
        };
        let host = device.alloc_host(HostKind::Pageable, bytes, None)?;
        host.with_bytes(|to| to.copy_from_slice(&values(1, rank as usize)))?;
        stream.host_to_device((&from, 0), (&host, 0), bytes)?;
        stream.synchronize()?;
        // The first batch does not count.
        batch(&device, &communicator, &stream, (&to, &from), bytes)?;
        for _ in 0..asked.batches {
            let mean = batch(&device, &communicator, &stream, (&to, &from), bytes)?;
            lines.push((bytes, mean));
        }
        stream.device_to_host((&host, 0), (&to, 0), bytes)?;
        stream.synchronize()?;
        let ranks = asked.ranks as usize;
        // Each rank adds k mod 31 and its number: 0 + 1 + ... + (ranks - 1).
        let sums = values(ranks, ranks * (ranks - 1) / 2);
        if host.with_bytes(|seen| *seen != *sums)? {
            return Err(format!("a sum of {bytes} bytes is wrong").into());
        }
    }
    Ok(lines)
}

/// Queues a batch behind a latch, so that this thread sleeps while the stream works.
fn batch(
    device: &device::host::Device,
    communicator: &HostCommunicator,
    stream: &Stream,
    (to, from): (&DeviceBuffer, &DeviceBuffer),
    bytes: usize,
) -> Result<f64> {
    let (calls, latch) = (calls_of(bytes), Latch::default());
    let (start, end) = (device.event()?, device.event()?);
    let call = |elements| {
        let (operation, element) = (Operation::AllReduce, Element::F32);
        communicator.queue(operation, (to, 0), (from, 0), elements, element, stream)
    };
    stream.hold(&latch)?;
    // All ranks meet here.
    call(1)?;
    stream.record(&start)?;
    for _ in 0..calls {
        call(bytes / 4)?;
    }
    stream.record(&end)?;
    latch.open();
    stream.synchronize()?;
    Ok(end.nanoseconds_since(&start)? / 1e3 / calls as f64)
}
