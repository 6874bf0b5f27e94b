//! The peer probe of ordered pairs, one after another: access, enable, write, read, small copies with and without access,
//! a graph's replays, and then the same by kernels where the backend runs some. These are loaded before the small copies, which
//! they hold until all of them are queued.
//!
//! A step can hang the process or, on some boxes, the host: each is announced before it begins. What moves the data is in
//! `probe/checked.rs`, what is timed in `probe/timed.rs`. A process whose probe failed takes no further pair; the parent
//! starts another.

mod checked;
mod timed;

use std::rc::Rc;

use anyhow::{Result, anyhow};
use device::{Backend, Device, DeviceError, Visit};
use kernels::Kernels;
use record::StepOutcome;
use record::quantity::{Gate, Quantity};
use runner::child::Line;

use super::bench::Bench;
use super::hold::Spin;
use crate::messages::{ProbeReply, ProbeRequest, ProbeStep};
use checked::{By, Checked, Way};
use timed::Path;

/// The steps of a probe are announced one by one, and its buffers are small.
fn quiet(_: &str) {}

pub(super) fn run(mut line: Line<ProbeRequest>) -> Result<()> {
    let Some(request) = line.request()? else {
        return Ok(());
    };
    request.backend.visit(Serve { request, line })
}

/// The first request, with the line that further ones come by.
struct Serve {
    request: ProbeRequest,
    line: Line<ProbeRequest>,
}

impl Visit for Serve {
    type Output = Result<()>;

    fn visit<B: Backend>(self) -> Result<()> {
        serve::<B>(self.request, self.line)
    }
}

fn serve<B: Backend>(first: ProbeRequest, line: Line<ProbeRequest>) -> Result<()> {
    let (from, to) = (first.from, first.to);
    let mut probe = Probe::<B> {
        line,
        bench: None,
        may_spin: false,
        from,
        to,
    };
    let mut asked = Some(first);
    while let Some(request) = asked {
        (probe.from, probe.to) = (request.from, request.to);
        let reply = match probe.pair()? {
            Ok(()) => ProbeReply::End,
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

/// Errors of the pipe outside, inside those of the device and what else ends a probe.
type Outcome<T> = Result<Result<T>>;

/// Goes on with the value, or returns the error inside.
macro_rules! device_ok {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Ok(Err(error.into())),
        }
    };
}

/// The kernels of a device, or why there are none.
type Loaded<D> = std::result::Result<Rc<Kernels<D>>, String>;

struct Probe<B: Backend> {
    line: Line<ProbeRequest>,
    /// The open driver, kept from pair to pair.
    bench: Option<Bench<B>>,
    /// Whether kernels may hold what is timed on this pair.
    may_spin: bool,
    from: usize,
    to: usize,
}

impl<B: Backend> Probe<B> {
    fn begin(&mut self, step: ProbeStep) -> Result<()> {
        self.line.send(&ProbeReply::Begin { step })
    }

    fn end(&mut self, step: ProbeStep, outcome: StepOutcome) -> Result<()> {
        self.line.send(&ProbeReply::Step { step, outcome })
    }

    /// The steps of one pair; access is off again afterwards.
    fn pair(&mut self) -> Outcome<()> {
        self.begin(ProbeStep::Open)?;
        let mut bench = match self.bench.take() {
            Some(bench) => bench,
            None => device_ok!(Bench::<B>::open()),
        };
        self.may_spin = false;
        let bytes = program::Effort::timed_by(bench.backend.time_source()).checked_bytes;
        bench.begin(bytes);
        device_ok!(self.steps(&mut bench)?);
        self.begin(ProbeStep::Disable)?;
        device_ok!(bench.disable_peer(self.from, self.to));
        self.bench = Some(bench);
        Ok(Ok(()))
    }

    fn steps(&mut self, bench: &mut Bench<B>) -> Outcome<()> {
        let from = device_ok!(bench.station(self.from)).device.clone();
        let to = device_ok!(bench.station(self.to)).device.clone();

        self.begin(ProbeStep::Access)?;
        let reported = device_ok!(from.can_access_peer(&to));
        let reports = if reported {
            passed("the driver reports access")
        } else {
            refused("the driver reports that it cannot reach the other's memory")
        };
        self.end(ProbeStep::Access, reports)?;
        if !reported {
            return Ok(Ok(()));
        }
        device_ok!(self.small_copies(bench, ProbeStep::SmallCopiesWithoutAccess)?);
        self.begin(ProbeStep::Enable)?;
        match from.enable_peer(&to) {
            Ok(()) => self.end(ProbeStep::Enable, passed("enabled"))?,
            Err(error @ DeviceError::PeerRefused { .. }) => {
                self.end(ProbeStep::Enable, refused(error))?;
                return Ok(Ok(()));
            }
            Err(error) => return Ok(Err(error.into())),
        }
        for (step, way) in [(ProbeStep::Write, Way::Write), (ProbeStep::Read, Way::Read)] {
            if !device_ok!(self.checked(bench, step, way, &By::CopyEngine)?) {
                return Ok(Ok(()));
            }
        }
        self.begin(ProbeStep::LoadKernels)?;
        let kernels = device_ok!(self.kernels(bench));
        self.may_spin = kernels.is_ok();
        if let Err(reason) = &kernels {
            let reason = reason.clone();
            self.end(ProbeStep::LoadKernels, StepOutcome::Skipped { reason })?;
        }
        device_ok!(self.small_copies(bench, ProbeStep::SmallCopies)?);
        if !device_ok!(self.checked(bench, ProbeStep::Graph, Way::Replay, &By::CopyEngine)?) {
            return Ok(Ok(()));
        }
        match kernels {
            Ok(kernels) => self.kernel_steps(bench, &kernels),
            Err(_) => Ok(Ok(())),
        }
    }

    /// What the kernels of `from` do with the memory of `to`.
    fn kernel_steps(
        &mut self,
        bench: &mut Bench<B>,
        kernels: &Rc<Kernels<B::Device>>,
    ) -> Outcome<()> {
        let by = By::Kernel(kernels);
        for (step, way) in [
            (ProbeStep::KernelWrite, Way::Write),
            (ProbeStep::KernelRead, Way::Read),
            (ProbeStep::KernelGraph, Way::Replay),
        ] {
            if !device_ok!(self.checked(bench, step, way, &by)?) {
                return Ok(Ok(()));
            }
        }
        Ok(Ok(()))
    }

    /// The kernels of the accessing device, one of which ran. That reaches no other device's memory, so its failure says
    /// nothing of the pair; only a lost device ends the probe.
    fn kernels(&self, bench: &mut Bench<B>) -> device::Result<Loaded<B::Device>> {
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
    fn checked(
        &mut self,
        bench: &mut Bench<B>,
        step: ProbeStep,
        way: Way,
        by: &By<'_, B::Device>,
    ) -> Outcome<bool> {
        self.begin(step)?;
        let outcome = match device_ok!(checked::copy(bench, (self.from, self.to), way, by)) {
            Checked::Copied(outcome) => outcome,
            Checked::NotSent(words) => return Ok(Err(anyhow!(words))),
        };
        let goes_on = !matches!(outcome, StepOutcome::WrongData { .. });
        self.end(step, outcome)?;
        Ok(Ok(goes_on))
    }

    fn small_copies(&mut self, bench: &mut Bench<B>, step: ProbeStep) -> Outcome<()> {
        self.begin(step)?;
        let path = Path {
            issuer: self.from,
            source: self.from,
            target: self.to,
            // Without access the driver stages: it may wait for the stream that a kernel holds.
            may_spin: self.may_spin,
        };
        let time = device_ok!(timed::small_copies(bench, path));
        // A driver that waited for a held stream once would do so again.
        let gate = time.as_ref().map(|time| time.timing.gate);
        self.may_spin &= gate == Some(Gate::SpinKernel);
        self.timed(step, time)?;
        Ok(Ok(()))
    }

    fn timed(&mut self, step: ProbeStep, quantity: Option<Quantity>) -> Result<()> {
        let outcome = match quantity {
            Some(quantity) => StepOutcome::Timed {
                quantity: Box::new(quantity),
            },
            None => StepOutcome::Skipped {
                reason: "a time was not a number".to_owned(),
            },
        };
        self.end(step, outcome)
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
