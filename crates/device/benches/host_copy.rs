//! How near the host backend comes to a plain memcpy: 1 GiB from one device buffer to another, timed by events, against
//! `copy_from_slice` of as much memory on the same CPU and node, in turn.
//!
//! Run it with `cargo bench -p device --bench host_copy` on a machine that is otherwise quiet and has 5 GiB free. It ends
//! with 1 where the interval of the ratio lies wholly below 0.95, or where bytes were wrong. It times no GPU.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use device::host::{DeviceBuffer, Host, Stream};
use device::pattern::Pattern;
use device::{Backend, Device as _, Event as _, HostBuffer, HostKind, Stream as _};
use stats::{median, median_interval, ratio_of_medians};

const BYTES: usize = 1 << 30;
/// Bytes of the buffer through which device memory is written and read.
const CHUNK: usize = 64 << 20;
/// Copies of each kind that count, after one that does not.
const SAMPLES: usize = 40;
/// The least part of a plain memcpy's rate that the backend must reach.
const REQUIRED: f64 = 0.95;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<ExitCode> {
    let host = Host::open()?;
    let described = host.devices().first().ok_or("no device")?;
    let cpu = described.cpu.ok_or("a device without a CPU")?;
    // The thread that copies plainly runs where the device's worker runs; the two never run at the same time.
    numa::pin_thread_to_cpus(&[cpu])?;
    let through_device = DeviceCopy::new(&host)?;
    let mut plain = PlainCopy::new(described.node)?;

    let (mut device_rates, mut plain_rates) = (Vec::new(), Vec::new());
    through_device.gbps()?;
    plain.gbps();
    for _ in 0..SAMPLES {
        device_rates.push(through_device.gbps()?);
        plain_rates.push(plain.gbps());
    }
    through_device.verify()?;
    plain.verify()?;

    println!(
        "1 GiB on CPU {cpu}, node {:?}, n = {SAMPLES} each",
        described.node
    );
    show("host backend, device to device", &device_rates)?;
    show("plain copy_from_slice", &plain_rates)?;
    let ratio = ratio_of_medians(&device_rates, &plain_rates).ok_or("no ratio")?;
    let (low, high) = (ratio.interval.low, ratio.interval.high);
    println!(
        "ratio {:.3} [{low:.3}, {high:.3}], at least {REQUIRED} is required",
        ratio.value
    );
    Ok(ExitCode::from(u8::from(high < REQUIRED)))
}

/// Prints a median with its 95% interval, decimal GB/s of bytes that arrived.
fn show(what: &str, rates: &[f64]) -> Result<()> {
    let middle = median(rates).ok_or("no samples")?;
    let interval = median_interval(rates).ok_or("too few samples")?;
    println!(
        "{what:32} {middle:7.3} GB/s [{:.3}, {:.3}]",
        interval.low, interval.high
    );
    Ok(())
}

/// A copy between two buffers of device 0, and what it takes to time and check it.
struct DeviceCopy {
    stream: Stream,
    marks: [device::host::Event; 2],
    from: DeviceBuffer,
    to: DeviceBuffer,
    chunk: HostBuffer,
}

impl DeviceCopy {
    fn new(host: &Host) -> Result<Self> {
        let device = host.device(0)?;
        let node = host.devices().first().and_then(|described| described.node);
        let copy = Self {
            stream: device.stream()?,
            marks: [device.event()?, device.event()?],
            from: device.alloc(BYTES)?,
            to: device.alloc(BYTES)?,
            chunk: device.alloc_host(HostKind::Pageable, CHUNK, node)?,
        };
        for (number, offset) in (0..).zip((0..BYTES).step_by(CHUNK)) {
            let pattern = Pattern::of(0, 0, number);
            copy.chunk.with_bytes(|bytes| pattern.fill(bytes))?;
            copy.stream
                .host_to_device((&copy.from, offset), (&copy.chunk, 0), CHUNK)?;
            copy.stream.synchronize()?;
            copy.chunk
                .with_bytes(|bytes| pattern.poison().fill(bytes))?;
            copy.stream
                .host_to_device((&copy.to, offset), (&copy.chunk, 0), CHUNK)?;
            copy.stream.synchronize()?;
        }
        Ok(copy)
    }

    fn gbps(&self) -> Result<f64> {
        let [start, end] = &self.marks;
        self.stream.record(start)?;
        self.stream
            .device_to_device((&self.to, 0), (&self.from, 0), BYTES)?;
        self.stream.record(end)?;
        self.stream.synchronize()?;
        Ok(BYTES as f64 / end.nanoseconds_since(start)?)
    }

    fn verify(&self) -> Result<()> {
        for (number, offset) in (0..).zip((0..BYTES).step_by(CHUNK)) {
            self.stream
                .device_to_host((&self.chunk, 0), (&self.to, offset), CHUNK)?;
            self.stream.synchronize()?;
            let pattern = Pattern::of(0, 0, number);
            let wrong = self
                .chunk
                .with_bytes(|bytes| pattern.first_difference(bytes))?;
            if let Some(wrong) = wrong {
                return Err(format!("the copy is wrong from byte {offset} on: {wrong}").into());
            }
        }
        Ok(())
    }
}

/// A copy between two vectors that this thread touched first.
struct PlainCopy {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl PlainCopy {
    fn new(node: Option<u32>) -> Result<Self> {
        // Not zero, so that the allocator cannot hand out pages that were never touched.
        let copy = Self {
            from: vec![0x5a; BYTES],
            to: vec![0xa5; BYTES],
        };
        for memory in [&copy.from, &copy.to] {
            let found = numa::placement(memory.as_ptr() as usize, memory.len());
            // Where the kernel does not say, first touch on the device's CPU has to do.
            if let Ok(found) = found
                && node.is_some()
                && found.single_node() != node
            {
                return Err(format!("the plain memory is not on node {node:?}: {found:?}").into());
            }
        }
        Ok(copy)
    }

    fn gbps(&mut self) -> f64 {
        let start = Instant::now();
        black_box(&mut self.to).copy_from_slice(black_box(&self.from));
        BYTES as f64 / (start.elapsed().as_secs_f64() * 1e9)
    }

    fn verify(&self) -> Result<()> {
        if self.to == self.from {
            Ok(())
        } else {
            Err("the plain copy is wrong".into())
        }
    }
}
