//! The peer probe of ordered pairs, one after another: access, enable, write, read, each checked by the owner of the
//! memory, and the time of small copies with and without access.
//!
//! A step can hang the process or, on some boxes, the host: each is announced before it begins. A process whose probe
//! failed takes no further pair; the parent starts another.

use anyhow::Result;
use device::cuda::Cuda;
use device::host::Host;
use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, Event, Latch, Stream};
use inventory::{Built, time_source};
use measure::plan::StopReason;
use measure::quantity::{Gate, Quantity, Timing, Unit};
use measure::record::StepOutcome;
use program::child::Line;

use super::bench::{Bench, End};
use crate::messages::{ProbeReply, ProbeRequest, SmallCopies};

/// Bytes of the checked copies.
const CHECKED_BYTES: usize = 1 << 20;

/// Bytes of the small copies: the size that the field's fallback detectors use.
const SMALL_BYTES: usize = 16;

/// Small copies in one sample, and samples.
const SMALL_COPIES: u32 = 100;
const SMALL_SAMPLES: usize = 10;

/// The steps of a probe are announced one by one, and its buffers are small.
fn quiet(_: &str) {}

pub(super) fn run(mut line: Line<ProbeRequest>) -> Result<()> {
    let Some(request) = line.request()? else {
        return Ok(());
    };
    match request.backend {
        Built::Cuda => serve::<Cuda>(request, line),
        Built::Host => serve::<Host>(request, line),
    }
}

fn serve<B: Backend>(first: ProbeRequest, line: Line<ProbeRequest>) -> Result<()> {
    let (from, to) = (first.from, first.to);
    let mut probe = Probe::<B> {
        line,
        bench: None,
        from,
        to,
    };
    let mut asked = Some(first);
    while let Some(request) = asked {
        (probe.from, probe.to) = (request.from, request.to);
        let reply = match probe.pair()? {
            Ok(small) => ProbeReply::End { small },
            Err(error) => ProbeReply::Failed {
                reason: error.to_string(),
            },
        };
        probe.line.send(&reply)?;
        if matches!(reply, ProbeReply::Failed { .. }) {
            return Ok(());
        }
        asked = probe.line.request()?;
    }
    Ok(())
}

/// Errors of the pipe outside, of the device inside.
type Outcome<T> = Result<device::Result<T>>;

/// Goes on with the value, or returns the device's error.
macro_rules! device_ok {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        }
    };
}

struct Probe<B: Backend> {
    line: Line<ProbeRequest>,
    /// The open driver, kept from pair to pair.
    bench: Option<Bench<B>>,
    from: usize,
    to: usize,
}

impl<B: Backend> Probe<B> {
    fn begin(&mut self, step: &str) -> Result<()> {
        self.line.send(&ProbeReply::Begin {
            step: step.to_owned(),
        })
    }

    fn end(&mut self, step: &str, outcome: StepOutcome) -> Result<()> {
        self.line.send(&ProbeReply::Step {
            step: step.to_owned(),
            outcome,
        })
    }

    fn refused(&mut self, step: &str, reason: String) -> Outcome<Option<SmallCopies>> {
        self.end(step, StepOutcome::Refused { reason })?;
        Ok(Ok(None))
    }

    /// The steps of one pair; access is off again afterwards.
    fn pair(&mut self) -> Outcome<Option<SmallCopies>> {
        self.begin("open")?;
        let mut bench = match self.bench.take() {
            Some(bench) => bench,
            None => device_ok!(Bench::<B>::open()),
        };
        bench.begin(CHECKED_BYTES, &[self.from, self.to]);
        let small = device_ok!(self.steps(&mut bench)?);
        self.begin("disable")?;
        device_ok!(bench.disable_peer(self.from, self.to));
        self.bench = Some(bench);
        Ok(Ok(small))
    }

    fn steps(&mut self, bench: &mut Bench<B>) -> Outcome<Option<SmallCopies>> {
        let from = device_ok!(bench.station(self.from)).device.clone();
        let to = device_ok!(bench.station(self.to)).device.clone();

        self.begin("access")?;
        if !device_ok!(from.can_access_peer(&to)) {
            return self.refused(
                "access",
                "the driver reports that it cannot reach the other's memory".to_owned(),
            );
        }
        self.end(
            "access",
            StepOutcome::Passed {
                seen: "the driver reports access".to_owned(),
            },
        )?;

        self.begin("small copies without access")?;
        let without = device_ok!(self.small_copies(bench));
        self.begin("enable")?;
        match from.enable_peer(&to) {
            Ok(()) => self.end(
                "enable",
                StepOutcome::Passed {
                    seen: "enabled".to_owned(),
                },
            )?,
            Err(error @ DeviceError::PeerRefused { .. }) => {
                return self.refused("enable", error.to_string());
            }
            Err(error) => return Ok(Err(error)),
        }
        for (step, reads) in [("write", false), ("read", true)] {
            self.begin(step)?;
            let outcome = device_ok!(self.checked_copy(bench, reads));
            let wrong = matches!(outcome, StepOutcome::WrongData { .. });
            self.end(step, outcome)?;
            if wrong {
                return Ok(Ok(None));
            }
        }
        self.begin("small copies")?;
        let with = device_ok!(self.small_copies(bench));
        let timed = |quantity: &Quantity| StepOutcome::Timed {
            quantity: Box::new(quantity.clone()),
        };
        let Some((with, without)) = with.zip(without) else {
            return Ok(Ok(None));
        };
        self.end("small_copies", timed(&with))?;
        Ok(Ok(Some(SmallCopies { with, without })))
    }

    /// A copy issued by `from`: a write goes to memory of `to`, a read comes from it. The owner of the source wrote
    /// it, the owner of the destination compares it.
    fn checked_copy(&self, bench: &mut Bench<B>, reads: bool) -> device::Result<StepOutcome> {
        let (source, target) = if reads {
            (self.to, self.from)
        } else {
            (self.from, self.to)
        };
        let pattern = Pattern::of(source as u64 + 1, target as u64 + 1, CHECKED_BYTES as u64);
        let (source, target) = (
            bench.device_end(source, 0, &mut quiet)?,
            bench.device_end(target, 1, &mut quiet)?,
        );
        bench.write(&source, &mut quiet, |bytes| pattern.fill(bytes))?;
        bench.write(&target, &mut quiet, |bytes| pattern.poison().fill(bytes))?;
        let stream = bench.station(self.from)?.device.stream()?;
        if let (End::Device(_, source), End::Device(_, target)) = (&source, &target) {
            stream.device_to_device((target, 0), (source, 0), CHECKED_BYTES)?;
        }
        stream.synchronize()?;
        Ok(match bench.check(&target, pattern, &mut quiet)? {
            None => StepOutcome::Passed {
                seen: format!("{CHECKED_BYTES} bytes arrived, compared by their owner"),
            },
            Some(difference) => StepOutcome::WrongData {
                seen: difference.to_string(),
            },
        })
    }

    /// The mean time of a 16-byte copy, back to back, over ten samples of a hundred.
    fn small_copies(&self, bench: &mut Bench<B>) -> device::Result<Option<Quantity>> {
        let (source, target) = (
            bench.device_end(self.from, 0, &mut quiet)?,
            bench.device_end(self.to, 1, &mut quiet)?,
        );
        let (End::Device(_, source), End::Device(_, target)) = (&source, &target) else {
            return Ok(None);
        };
        let device = bench.station(self.from)?.device.clone();
        let (stream, start, end) = (device.stream()?, device.event()?, device.event()?);
        let mut held = true;
        let mut samples = Vec::new();
        // The first sample warms up and is left out.
        for sample in 0..=SMALL_SAMPLES {
            let latch = Latch::default();
            held &= stream.hold(&latch)?;
            stream.record(&start)?;
            for _ in 0..SMALL_COPIES {
                stream.device_to_device((target, 0), (source, 0), SMALL_BYTES)?;
            }
            stream.record(&end)?;
            latch.open();
            stream.synchronize()?;
            if sample > 0 {
                samples.push(end.nanoseconds_since(&start)? / f64::from(SMALL_COPIES) / 1e3);
            }
        }
        let source = time_source(bench.backend.time_source());
        let gate = if held { Gate::HeldQueue } else { Gate::None };
        let timing = Timing {
            source,
            gate,
            copies_per_sample: SMALL_COPIES,
            warmup_copies: SMALL_COPIES,
        };
        Ok(Quantity::from_samples(
            samples,
            Unit::Microseconds,
            timing,
            StopReason::MaxSamples,
        ))
    }
}
