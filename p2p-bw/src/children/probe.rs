//! The peer probe of ordered pairs, one after another: access, enable, write, read, small copies with and without access,
//! a graph's replays, and then the same by kernels where the backend runs some. These are loaded before the small copies, which
//! they hold until all of them are queued.
//!
//! A step can hang the process or, on some boxes, the host: each is announced before it begins. What moves the data is in
//! `probe/checked.rs`, what is timed in `probe/timed.rs`. A process whose probe failed is ended by the parent.

mod checked;
mod timed;

use std::rc::Rc;

use anyhow::{Result, bail};
use device::{Backend, Device, DeviceError};
use kernels::Kernels;
use record::StepOutcome;
use record::quantity::{Gate, Quantity};

use super::bench::Bench;
use super::hold::Spin;
use super::tell::Tell;
use crate::messages::{ProbeStep, WorkerReply};
use checked::{By, Checked, Way};
use timed::Path;

/// What is done within a step is told by the step.
fn quiet(_: &str) {}

/// Probes one ordered pair; an error ends it, and with it the use of this process.
pub(super) fn pair<B: Backend>(
    bench: &mut Bench<B>,
    tell: Tell<'_>,
    (from, to): (usize, usize),
) -> Result<()> {
    bench.begin(program::Effort::timed_by(bench.backend.time_source()).checked_bytes);
    let mut probe = Probe {
        tell,
        may_spin: false,
        from,
        to,
    };
    probe.steps(bench)?;
    probe.begin(ProbeStep::Disable);
    Ok(bench.disable_peer(from, to)?)
}

/// The kernels of a device, or why there are none.
type Loaded<D> = std::result::Result<Rc<Kernels<D>>, String>;

struct Probe<'a> {
    tell: Tell<'a>,
    /// Whether kernels may hold what is timed on this pair.
    may_spin: bool,
    from: usize,
    to: usize,
}

impl Probe<'_> {
    fn begin(&mut self, step: ProbeStep) {
        (self.tell)(WorkerReply::Begin { step });
    }

    fn end(&mut self, step: ProbeStep, outcome: StepOutcome) {
        (self.tell)(WorkerReply::Step { step, outcome });
    }

    fn steps<B: Backend>(&mut self, bench: &mut Bench<B>) -> Result<()> {
        let from = bench.station(self.from)?.device.clone();
        let to = bench.station(self.to)?.device.clone();

        self.begin(ProbeStep::Access);
        let reported = from.can_access_peer(&to)?;
        let reports = if reported {
            passed("the driver reports access")
        } else {
            refused("the driver reports that it cannot reach the other's memory")
        };
        self.end(ProbeStep::Access, reports);
        if !reported {
            return Ok(());
        }
        self.small_copies(bench, ProbeStep::SmallCopiesWithoutAccess)?;
        self.begin(ProbeStep::Enable);
        match from.enable_peer(&to) {
            Ok(()) => self.end(ProbeStep::Enable, passed("enabled")),
            Err(error @ DeviceError::PeerRefused { .. }) => {
                self.end(ProbeStep::Enable, refused(error));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        for (step, way) in [(ProbeStep::Write, Way::Write), (ProbeStep::Read, Way::Read)] {
            if !self.checked(bench, step, way, &By::CopyEngine)? {
                return Ok(());
            }
        }
        self.begin(ProbeStep::LoadKernels);
        let kernels = self.kernels(bench)?;
        self.may_spin = kernels.is_ok();
        if let Err(reason) = &kernels {
            let reason = reason.clone();
            self.end(ProbeStep::LoadKernels, StepOutcome::Skipped { reason });
        }
        self.small_copies(bench, ProbeStep::SmallCopies)?;
        if !self.checked(bench, ProbeStep::Graph, Way::Replay, &By::CopyEngine)? {
            return Ok(());
        }
        match kernels {
            Ok(kernels) => self.kernel_steps(bench, &kernels),
            Err(_) => Ok(()),
        }
    }

    /// What the kernels of `from` do with the memory of `to`.
    fn kernel_steps<B: Backend>(
        &mut self,
        bench: &mut Bench<B>,
        kernels: &Rc<Kernels<B::Device>>,
    ) -> Result<()> {
        let by = By::Kernel(kernels);
        for (step, way) in [
            (ProbeStep::KernelWrite, Way::Write),
            (ProbeStep::KernelRead, Way::Read),
            (ProbeStep::KernelGraph, Way::Replay),
        ] {
            if !self.checked(bench, step, way, &by)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The kernels of the accessing device, one of which ran. That reaches no other device's memory, so its failure says
    /// nothing of the pair; only a lost device ends the probe.
    fn kernels<B: Backend>(&self, bench: &mut Bench<B>) -> device::Result<Loaded<B::Device>> {
        let mut load = || -> device::Result<_> {
            let kernels = bench.kernels(self.from, &mut quiet)?;
            Spin::of(bench, &[self.from], 1, 0, &mut quiet)?;
            Ok(kernels)
        };
        match load() {
            Ok(kernels) => Ok(Ok(kernels)),
            Err(error) if error.is_lost() => Err(error),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// A step whose data is compared; false where it was wrong, after which nothing more is tried.
    fn checked<B: Backend>(
        &mut self,
        bench: &mut Bench<B>,
        step: ProbeStep,
        way: Way,
        by: &By<'_, B::Device>,
    ) -> Result<bool> {
        self.begin(step);
        let outcome = match checked::copy(bench, (self.from, self.to), way, by)? {
            Checked::Copied(outcome) => outcome,
            Checked::NotSent(words) => bail!(words),
        };
        let goes_on = !matches!(outcome, StepOutcome::WrongData { .. });
        self.end(step, outcome);
        Ok(goes_on)
    }

    fn small_copies<B: Backend>(&mut self, bench: &mut Bench<B>, step: ProbeStep) -> Result<()> {
        self.begin(step);
        let path = Path {
            issuer: self.from,
            source: self.from,
            target: self.to,
            // Without access the driver stages: it may wait for the stream that a kernel holds.
            may_spin: self.may_spin,
        };
        let time = timed::small_copies(bench, path)?;
        // A driver that waited for a held stream once would do so again.
        let gate = time.as_ref().map(|time| time.timing.gate);
        self.may_spin &= gate == Some(Gate::SpinKernel);
        self.timed(step, time);
        Ok(())
    }

    fn timed(&mut self, step: ProbeStep, quantity: Option<Quantity>) {
        let outcome = match quantity {
            Some(quantity) => StepOutcome::Timed {
                quantity: Box::new(quantity),
            },
            None => StepOutcome::Skipped {
                reason: "a time was not a number".to_owned(),
            },
        };
        self.end(step, outcome);
    }
}

fn passed(seen: &str) -> StepOutcome {
    StepOutcome::Passed {
        seen: seen.to_owned(),
    }
}

fn refused(reason: impl ToString) -> StepOutcome {
    StepOutcome::Refused {
        reason: reason.to_string(),
    }
}
