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

use super::bench::{Bench, End};
use super::gates::Gates;
use super::lanes::{Lanes, Transfer, Work};
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
    let devices = (bench.device(from)?, bench.device(to)?);
    let mut probe = Probe {
        bytes: bench.effort().checked_bytes,
        bench: &mut *bench,
        from,
        to,
        may_spin: false,
    };
    probe.steps(&devices)?;
    probe.tell(ProbeStep::Disable, None);
    devices.0.disable_peer(&devices.1)?;
    devices.1.disable_peer(&devices.0)?;
    bench.is_quiet = false;
    Ok(())
}

struct Probe<'a, B: Backend> {
    bench: &'a mut Bench<B>,
    /// The accessing device, and the owner of the memory.
    from: usize,
    to: usize,
    /// Of a checked copy.
    bytes: usize,
    /// Whether kernels may hold what is timed on this pair.
    may_spin: bool,
}

impl<B: Backend> Probe<'_, B> {
    /// Tells what came of a step, or that it begins.
    fn tell(&mut self, step: ProbeStep, outcome: Option<StepOutcome>) {
        self.bench.tell(&WorkerReply::Step { step, outcome });
    }

    fn steps(&mut self, (from, to): &(B::Device, B::Device)) -> Result<()> {
        self.tell(ProbeStep::Access, None);
        if !from.can_access_peer(to)? {
            let reason = "the driver reports that it cannot reach the other's memory".to_owned();
            self.tell(ProbeStep::Access, Some(StepOutcome::Refused { reason }));
            return Ok(());
        }
        self.tell(ProbeStep::Access, passed("the driver reports access"));
        let bytes = self.bytes;
        let own = self.bench.device_end(self.from, bytes)?;
        let peer = self.bench.device_end(self.to, bytes)?;
        let ends = (&own, &peer);
        self.small_copies(ProbeStep::SmallCopiesWithoutAccess, ends)?;
        self.tell(ProbeStep::Enable, None);
        match from.enable_peer(to) {
            Ok(()) => self.tell(ProbeStep::Enable, passed("enabled")),
            Err(error @ DeviceError::PeerRefused { .. }) => {
                let reason = error.to_string();
                self.tell(ProbeStep::Enable, Some(StepOutcome::Refused { reason }));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        if !self.checked(&[ProbeStep::Write, ProbeStep::Read], ends, None)? {
            return Ok(());
        }
        self.tell(ProbeStep::LoadKernels, None);
        let kernels = self.kernels()?;
        self.may_spin = kernels.is_ok();
        if let Err(reason) = &kernels {
            let reason = reason.clone();
            self.tell(
                ProbeStep::LoadKernels,
                Some(StepOutcome::Skipped { reason }),
            );
        }
        self.small_copies(ProbeStep::SmallCopies, ends)?;
        if self.checked(&[ProbeStep::Graph], ends, None)?
            && let Ok(kernels) = kernels
        {
            let steps = [
                ProbeStep::KernelWrite,
                ProbeStep::KernelRead,
                ProbeStep::KernelGraph,
            ];
            self.checked(&steps, ends, Some(&kernels))?;
        }
        Ok(())
    }

    /// The kernels of the accessing device, one of which ran. That reaches no other device's memory, so its failure says
    /// nothing of the pair; only a lost device ends the probe.
    fn kernels(&mut self) -> device::Result<Result<Rc<Kernels<B::Device>>, String>> {
        let kernels = self.bench.kernels(self.from).and_then(|kernels| {
            Gates::of(self.bench, &[self.from], 1, 0)?;
            Ok(kernels)
        });
        match kernels {
            Err(error) if error.is_lost() => Err(error),
            other => Ok(other.map_err(|error| error.to_string())),
        }
    }

    /// Steps whose data is compared; false where it was wrong, after which nothing more is tried.
    fn checked(
        &mut self,
        steps: &[ProbeStep],
        ends: (&Rc<End<B::Device>>, &Rc<End<B::Device>>),
        kernels: Option<&Rc<Kernels<B::Device>>>,
    ) -> Result<bool> {
        for step in steps {
            self.tell(*step, None);
            let (from, to) = match step {
                ProbeStep::Read | ProbeStep::KernelRead => (ends.1, ends.0),
                _ => ends,
            };
            let transfer = Transfer {
                issuer: self.from,
                from: Rc::clone(from),
                to: Rc::clone(to),
                work: kernels.map_or(Work::Copies, |all| Work::KernelCopies(Rc::clone(all))),
            };
            let is_graph = matches!(step, ProbeStep::Graph | ProbeStep::KernelGraph);
            let outcome = self.copied(&transfer, is_graph)?;
            let is_wrong = matches!(outcome, StepOutcome::WrongData { .. });
            self.tell(*step, Some(outcome));
            if is_wrong {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A checked copy; as a graph it is captured once and launched several times.
    fn copied(&mut self, transfer: &Transfer<B::Device>, is_graph: bool) -> Result<StepOutcome> {
        let (bytes, pattern) = (self.bytes, transfer.pattern());
        self.bench
            .write(&transfer.from, |bytes| pattern.fill(bytes))?;
        // Not the peer's fault.
        if let Some(difference) = self.bench.check(&transfer.from, pattern)? {
            let owner = transfer.from.code() - 1;
            bail!(
                "the copy from the host to device {owner} and back is wrong, with no peer in it: {difference}"
            );
        }
        let stream = self.bench.device(self.from)?.stream()?;
        let queue = || transfer.issue(&stream, bytes, 1, 1);
        let skipped = |reason: String| Ok(StepOutcome::Skipped { reason });
        let mut graph = None;
        if is_graph {
            graph = match stream.capture(&mut || queue()) {
                Ok(Some(graph)) => Some(graph),
                Ok(None) => return skipped("the backend has no graphs".to_owned()),
                Err(error) if error.is_lost() => return Err(error.into()),
                // Nothing was done yet, so this says nothing of the path.
                Err(error) => return skipped(format!("not captured: {error}")),
            };
        }
        for _ in 0..if is_graph { REPLAYS } else { 1 } {
            let poison = pattern.poison();
            self.bench.write(&transfer.to, |bytes| poison.fill(bytes))?;
            match &graph {
                Some(graph) => stream.launch(graph)?,
                None => queue()?,
            }
            stream.synchronize()?;
            if let Some(difference) = self.bench.check(&transfer.to, pattern)? {
                let seen = difference.to_string();
                return Ok(StepOutcome::WrongData { seen });
            }
        }
        let times = if is_graph { " each time" } else { "" };
        let seen = format!("{bytes} bytes arrived, compared by their owner{times}");
        Ok(StepOutcome::Passed { seen })
    }

    /// The mean time of a 16-byte copy, back to back, over ten samples of a hundred. Without access the driver stages: it may wait for
    /// the stream that a kernel holds.
    fn small_copies(
        &mut self,
        step: ProbeStep,
        (own, peer): (&Rc<End<B::Device>>, &Rc<End<B::Device>>),
    ) -> Result<()> {
        self.tell(step, None);
        let transfer = Transfer {
            issuer: self.from,
            from: Rc::clone(own),
            to: Rc::clone(peer),
            work: Work::Copies,
        };
        let mut lanes = Lanes::new(self.bench, vec![transfer], SMALL_BYTES, self.may_spin)?;
        lanes.warm_up(SMALL_COPIES)?;
        let stop = |series: &[&[f64]]| {
            let is_over = series.iter().all(|one| one.len() == SMALL_SAMPLES);
            is_over.then_some(StopReason::MaxSamples)
        };
        let measures = (Measures::SmallCopies, Vec::new());
        let copies = (SMALL_BYTES as u64, SMALL_COPIES, SMALL_COPIES);
        let mut sampled = series::sampled(self.bench, &mut lanes, measures, copies, stop)?;
        // A driver that waited for a held stream once would do so again.
        self.may_spin &= sampled.timing.gate == Gate::SpinKernel;
        let pace = sampled
            .series
            .pop()
            .map_or_else(Vec::new, |pace| pace.samples);
        let (timing, stopped) = (sampled.timing, sampled.stopped);
        let quantity = Quantity::from_samples(pace, Unit::Microseconds, timing, stopped);
        let outcome = match quantity.map(Box::new) {
            Some(quantity) => StepOutcome::Timed { quantity },
            None => StepOutcome::Skipped {
                reason: "a time was not a number".to_owned(),
            },
        };
        self.tell(step, Some(outcome));
        Ok(())
    }
}

fn passed(seen: &str) -> Option<StepOutcome> {
    let seen = seen.to_owned();
    Some(StepOutcome::Passed { seen })
}
