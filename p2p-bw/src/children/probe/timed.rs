//! What a probe times: small copies, whose time tells a staged path, and the rates of copy engine and kernels, which differ
//! where a driver lets kernels reach a peer through host memory.
//!
//! These are signatures, not measurements of a link: few samples of one size, which the cases take properly. They are held
//! and timed as those are.

use std::rc::Rc;

use device::pattern::Pattern;
use device::{Backend, Result};
use record::plan::StopReason;
use record::quantity::{Gate, Quantity, Timing, Unit};
use record::unit::gb_per_s;

use super::super::bench::Bench;
use super::super::lanes::Lanes;
use super::super::transfers::{Transfer, Work};
use super::checked::By;
use super::quiet;

/// Bytes of the small copies: the size that the field's fallback detectors use.
const SMALL_BYTES: usize = 16;

/// Small copies in one sample, and samples.
const SMALL_COPIES: u32 = 100;
const SMALL_SAMPLES: usize = 10;

/// Copies whose rate is taken, each a sample.
const RATE_SAMPLES: usize = 6;

/// One direction of a pair, or a device and itself.
#[derive(Clone, Copy)]
pub(super) struct Path {
    /// The device whose stream issues the copies.
    pub(super) issuer: usize,
    pub(super) source: usize,
    pub(super) target: usize,
    /// Whether a kernel may hold the stream.
    pub(super) may_spin: bool,
}

/// The mean time of a 16-byte copy, back to back, over ten samples of a hundred.
pub(super) fn small_copies<B: Backend>(
    bench: &mut Bench<B>,
    path: Path,
) -> Result<Option<Quantity>> {
    let lanes = lanes(bench, path, Work::Copies, SMALL_BYTES)?;
    let (samples, timing) = samples(bench, &lanes, SMALL_COPIES, SMALL_SAMPLES)?;
    let each = |nanoseconds| nanoseconds / f64::from(SMALL_COPIES) / 1e3;
    let samples = samples.into_iter().map(each).collect();
    let stopped = StopReason::MaxSamples;
    Ok(Quantity::from_samples(
        samples,
        Unit::Microseconds,
        timing,
        stopped,
    ))
}

/// The rate of copies from memory of one device to memory of another, or within one.
pub(super) fn rate<B: Backend>(
    bench: &mut Bench<B>,
    path: Path,
    by: &By<'_, B::Device>,
    bytes: usize,
) -> Result<Option<Quantity>> {
    let work = match by {
        By::CopyEngine => Work::Copies,
        By::Kernel(kernels) => Work::KernelCopies(Rc::clone(kernels)),
    };
    let lanes = lanes(bench, path, work, bytes)?;
    let (samples, timing) = samples(bench, &lanes, 1, RATE_SAMPLES)?;
    let rate = |nanoseconds| gb_per_s(bytes as u64, nanoseconds);
    let samples = samples.into_iter().map(rate).collect();
    let stopped = StopReason::MaxSamples;
    Ok(Quantity::from_samples(
        samples,
        Unit::GbPerS,
        timing,
        stopped,
    ))
}

/// One lane for copies of so many bytes on a path.
fn lanes<B: Backend>(
    bench: &mut Bench<B>,
    path: Path,
    work: Work<B::Device>,
    bytes: usize,
) -> Result<Lanes<B>> {
    let transfer = Transfer {
        name: String::new(),
        from: bench.device_end(path.source, 0, &mut quiet)?,
        to: bench.device_end(path.target, 1, &mut quiet)?,
        issuer: path.issuer,
        work,
        pattern: Pattern::of(path.source as u64, path.target as u64, bytes as u64),
        node: None,
    };
    Lanes::new(bench, vec![transfer], bytes, path.may_spin, &mut quiet)
}

/// So many samples of so many copies in nanoseconds, after one to warm up.
fn samples<B: Backend>(
    bench: &Bench<B>,
    lanes: &Lanes<B>,
    copies: u32,
    count: usize,
) -> Result<(Vec<f64>, Timing)> {
    lanes.warm_up(copies)?;
    let (mut samples, mut gate) = (Vec::new(), Gate::None);
    while samples.len() < count {
        let sample = lanes.run(copies)?;
        // Where a gate gave up, what it held before is not mixed with what nothing holds.
        if gate != sample.gate {
            samples.clear();
        }
        gate = sample.gate;
        samples.push(sample.lanes.iter().copied().fold(0.0, f64::max));
    }
    let timing = Timing {
        source: bench.backend.time_source(),
        gate,
        copies_per_sample: copies,
        warmup_copies: copies,
    };
    Ok((samples, timing))
}
