//! What a probe times: small copies, whose time tells a staged path. They are held and timed as those of the cases are.

use device::pattern::Pattern;
use device::{Backend, Result};
use record::plan::StopReason;
use record::quantity::{Gate, Quantity, Timing, Unit};

use super::super::bench::Bench;
use super::super::lanes::Lanes;
use super::super::transfers::{Transfer, Work};
use super::quiet;

/// Bytes of the small copies: the size that the field's fallback detectors use.
const SMALL_BYTES: usize = 16;

/// Small copies in one sample, and samples.
const SMALL_COPIES: u32 = 100;
const SMALL_SAMPLES: usize = 10;

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
    let lanes = lanes(bench, path)?;
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

/// One lane for copies of so many bytes on a path.
fn lanes<B: Backend>(bench: &mut Bench<B>, path: Path) -> Result<Lanes<B>> {
    let transfer = Transfer {
        name: String::new(),
        from: bench.device_end(path.source, 0, &mut quiet)?,
        to: bench.device_end(path.target, 1, &mut quiet)?,
        issuer: path.issuer,
        work: Work::Copies,
        pattern: Pattern::of(path.source as u64, path.target as u64, SMALL_BYTES as u64),
        node: None,
    };
    Lanes::new(
        bench,
        vec![transfer],
        SMALL_BYTES,
        path.may_spin,
        &mut quiet,
    )
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
