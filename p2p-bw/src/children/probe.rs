//! The peer probe of an ordered pair: access, enable, write, read, small copies with and without access, a graph's replays, and then
//! the same by kernels where the backend runs some. These are loaded before the small copies, which they hold until all of them
//! are queued.
//!
//! A step can hang the process or, on some boxes, the host: each is announced before it begins. Data is written by the owner of the
//! source, moved by the accessing device, and compared by the owner of the destination. A process whose probe failed is ended by
//! the parent.

use std::rc::Rc;

use anyhow::{Result, bail};
use device::{Backend, Device, DeviceError, Stream};
use kernels::Kernels;
use record::StepOutcome;
use record::plan::StopReason;
use record::quantity::{Gate, Quantity, Unit};
use strum::IntoEnumIterator as _;

use super::bench::{Bench, End};
use super::lanes::{Gates, Lanes, Transfer, Work};
use super::series;
use crate::cases::Measures;
use crate::messages::{ProbeStep, WorkerReply};

/// Bytes of the small copies: the size that the field's fallback detectors use. Their time tells a staged path.
const SMALL_BYTES: usize = 16;

/// Small copies in one sample, and samples.
const SMALL_COPIES: u32 = 100;
const SMALL_SAMPLES: usize = 10;

/// Times that a graph is launched: some paths are right the first time only.
const REPLAYS: u32 = 3;

/// Probes one ordered pair; an error ends it, and with it the use of this process.
pub(super) fn pair<B: Backend>(bench: &mut Bench<B>, from: usize, to: usize) -> Result<()> {
    bench.is_quiet = true;
    bench.tell(&WorkerReply::Step(ProbeStep::Access, None));
    let bytes = bench.effort().checked_bytes;
    let mut probe = Probe {
        from: bench.device(from)?,
        to: bench.device(to)?,
        own: bench.device_end(from, bytes)?,
        peer: bench.device_end(to, bytes)?,
        bench: &mut *bench,
        kernels: None,
        may_spin: false,
    };
    probe.steps()?;
    probe
        .bench
        .tell(&WorkerReply::Step(ProbeStep::Disable, None));
    probe.from.disable_peer(&probe.to)?;
    probe.to.disable_peer(&probe.from)?;
    bench.is_quiet = false;
    Ok(())
}

struct Probe<'a, B: Backend> {
    bench: &'a mut Bench<B>,
    /// The accessing device, and the owner of the memory.
    from: B::Device,
    to: B::Device,
    /// Memory of each.
    own: Rc<End<B::Device>>,
    peer: Rc<End<B::Device>>,
    /// The kernels of the accessing device, once they are loaded.
    kernels: Option<Rc<Kernels<B::Device>>>,
    /// Whether kernels may hold what is timed on this pair.
    may_spin: bool,
}

impl<B: Backend> Probe<'_, B> {
    /// Announces each step, does it, and tells what came of it; nothing more is tried after a refusal or wrong data.
    fn steps(&mut self) -> Result<()> {
        use ProbeStep::{Access, Disable, Enable, KernelWrite, LoadKernels, Open};
        use ProbeStep::{SmallCopies, SmallCopiesWithoutAccess};
        for step in ProbeStep::iter().filter(|step| ![Open, Disable].contains(step)) {
            if step == KernelWrite && self.kernels.is_none() {
                break;
            }
            self.bench.tell(&WorkerReply::Step(step, None));
            // Nothing is told of a step that only makes ready.
            let outcome = match step {
                Access => self.access()?,
                Enable => self.enable()?,
                LoadKernels => self.load()?,
                SmallCopies | SmallCopiesWithoutAccess => self.small_copies(step)?,
                _ => self.copied(step)?,
            };
            let is_over = matches!(
                outcome,
                Some(StepOutcome::Refused { .. } | StepOutcome::WrongData { .. })
            );
            if outcome.is_some() {
                self.bench.tell(&WorkerReply::Step(step, outcome));
            }
            if is_over {
                break;
            }
        }
        Ok(())
    }

    fn access(&mut self) -> Result<Option<StepOutcome>> {
        Ok(match self.from.can_access_peer(&self.to)? {
            true => passed("the driver reports access"),
            false => refused("the driver reports that it cannot reach the other's memory"),
        })
    }

    fn enable(&mut self) -> Result<Option<StepOutcome>> {
        match self.from.enable_peer(&self.to) {
            Ok(()) => Ok(passed("enabled")),
            Err(error @ DeviceError::PeerRefused { .. }) => Ok(refused(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Loads the kernels of the accessing device and runs one. That reaches no other device's memory, so its failure says
    /// nothing of the pair; only a lost device ends the probe.
    fn load(&mut self) -> Result<Option<StepOutcome>> {
        let ordinal = self.from.ordinal();
        let kernels = self.bench.kernels(ordinal).and_then(|kernels| {
            Gates::of(self.bench, &[ordinal], 1, 0)?;
            Ok(kernels)
        });
        match kernels {
            Ok(kernels) => {
                self.kernels = Some(kernels);
                self.may_spin = true;
                Ok(None)
            }
            Err(error) if error.is_lost() => Err(error.into()),
            Err(error) => Ok(skipped(error)),
        }
    }

    /// What moves data by the copy engine or a kernel of the accessing device.
    fn transfer(&self, step: ProbeStep) -> Transfer<B::Device> {
        let (from, to) = match step {
            ProbeStep::Read | ProbeStep::KernelRead => (&self.peer, &self.own),
            _ => (&self.own, &self.peer),
        };
        let kernels = self.kernels.clone().filter(|_| step.is_of_kernels());
        Transfer {
            issuer: self.from.ordinal(),
            from: Rc::clone(from),
            to: Rc::clone(to),
            work: kernels.map_or(Work::Copies, Work::KernelCopies),
        }
    }

    /// A checked copy; as a graph it is captured once and launched several times.
    fn copied(&mut self, step: ProbeStep) -> Result<Option<StepOutcome>> {
        let transfer = self.transfer(step);
        let (bytes, pattern) = (transfer.from.bytes(), transfer.pattern());
        self.bench
            .write(&transfer.from, |bytes| pattern.fill(bytes))?;
        // Not the peer's fault.
        if let Some(difference) = self.bench.check(&transfer.from, pattern)? {
            let owner = transfer.from.code() - 1;
            bail!(
                "the copy from the host to device {owner} and back is wrong, with no peer in it: {difference}"
            );
        }
        let stream = self.from.stream()?;
        let queue = || transfer.issue(&stream, bytes, 1, 1);
        let mut graph = None;
        if matches!(step, ProbeStep::Graph | ProbeStep::KernelGraph) {
            graph = match stream.capture(&mut || queue()) {
                Ok(Some(graph)) => Some(graph),
                Ok(None) => return Ok(skipped("the backend has no graphs")),
                Err(error) if error.is_lost() => return Err(error.into()),
                // Nothing was done yet, so this says nothing of the path.
                Err(error) => return Ok(skipped(format!("not captured: {error}"))),
            };
        }
        for _ in 0..graph.as_ref().map_or(1, |_| REPLAYS) {
            let poison = pattern.poison();
            self.bench.write(&transfer.to, |bytes| poison.fill(bytes))?;
            match &graph {
                Some(graph) => stream.launch(graph)?,
                None => queue()?,
            }
            stream.synchronize()?;
            if let Some(difference) = self.bench.check(&transfer.to, pattern)? {
                let seen = difference.to_string();
                return Ok(Some(StepOutcome::WrongData { seen }));
            }
        }
        let times = graph.map_or("", |_| " each time");
        Ok(passed(format!(
            "{bytes} bytes arrived, compared by their owner{times}"
        )))
    }

    /// The mean time of a 16-byte copy, back to back, over ten samples of a hundred. Without access the driver stages: it may wait for
    /// the stream that a kernel holds.
    fn small_copies(&mut self, step: ProbeStep) -> Result<Option<StepOutcome>> {
        let transfers = vec![self.transfer(step)];
        let mut lanes = Lanes::new(self.bench, transfers, SMALL_BYTES, self.may_spin)?;
        lanes.warm_up(SMALL_COPIES)?;
        let stop = |series: &[&[f64]]| {
            let is_over = series.iter().all(|one| one.len() == SMALL_SAMPLES);
            is_over.then_some(StopReason::MaxSamples)
        };
        let measures = (Measures::SmallCopies, Vec::new());
        let copies = (SMALL_BYTES as u64, SMALL_COPIES, SMALL_COPIES);
        let mut sampled = series::sampled(self.bench, &mut lanes, measures, copies, stop)?;
        let (timing, stopped) = (sampled.timing, sampled.stopped);
        // A driver that waited for a held stream once would do so again.
        self.may_spin &= timing.gate == Gate::SpinKernel;
        let pace = sampled
            .series
            .pop()
            .map_or_else(Vec::new, |pace| pace.samples);
        let quantity = Quantity::from_samples(pace, Unit::Microseconds, timing, stopped);
        Ok(match quantity.map(Box::new) {
            Some(quantity) => Some(StepOutcome::Timed { quantity }),
            None => skipped("a time was not a number"),
        })
    }
}

fn passed(seen: impl ToString) -> Option<StepOutcome> {
    let seen = seen.to_string();
    Some(StepOutcome::Passed { seen })
}

fn refused(reason: impl ToString) -> Option<StepOutcome> {
    let reason = reason.to_string();
    Some(StepOutcome::Refused { reason })
}

fn skipped(reason: impl ToString) -> Option<StepOutcome> {
    let reason = reason.to_string();
    Some(StepOutcome::Skipped { reason })
}
