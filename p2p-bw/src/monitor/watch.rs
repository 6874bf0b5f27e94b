//! The parent's side of the process that reads devices: asks each device again only once it answered, and never waits for one.

use std::time::Instant;

use program::Stop;
use runner::child::{SHORT_LADDER, last_line};
use runner::{Event, Interrupt, Signal, Worker};

use crate::begun::Begun;
use crate::children;
use crate::messages::{MonitorRequest, SamplerReply, What};

/// The process that reads devices, and what it was asked.
pub(crate) struct Watch<'a> {
    worker: Worker,
    interrupt: &'a Interrupt,
    /// Since when each device has been asked; `None` once it has answered.
    asked: Vec<Option<Instant>>,
}

/// Why nothing more comes.
pub(crate) enum Over {
    Signal(Signal),
    /// The process ended, or what it says is not understood.
    Ended(String),
}

impl<'a> Watch<'a> {
    /// Starts the process on devices.
    pub(crate) fn start(begun: &Begun, interrupt: &'a Interrupt) -> Result<Self, Stop> {
        let found = &begun.found;
        let mut watch = Self {
            worker: children::start(children::SAMPLER)?,
            asked: vec![None; found.len()],
            interrupt,
        };
        // As in `ask`.
        let _ = watch.worker.send(&MonitorRequest::Watch {
            backend: begun.chosen.backend,
            sysfs: begun.sysfs.root().to_owned(),
            devices: found.iter().map(|found| found.pci.clone()).collect(),
        });
        Ok(watch)
    }

    /// How many devices there are.
    pub(crate) fn devices(&self) -> usize {
        self.asked.len()
    }

    /// Since when a device has been asked, where its answer is outstanding.
    pub(crate) fn outstanding(&self, device: usize) -> Option<Instant> {
        self.asked.get(device).copied().flatten()
    }

    /// Whether any answer is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.asked.iter().any(Option::is_some)
    }

    /// Asks a device, whose last answer must have come.
    pub(crate) fn ask(&mut self, device: usize, what: What) {
        if let Some(asked) = self.asked.get_mut(device) {
            *asked = Some(Instant::now());
            // A process that is gone is seen at the next look.
            let _ = self.worker.send(&MonitorRequest::Read { device, what });
        }
    }

    /// The next answer, with the instant at which it was asked for; `None` where none comes until then.
    pub(crate) fn next(&mut self, until: Instant) -> Option<Result<(SamplerReply, Instant), Over>> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let over = match self.worker.next::<SamplerReply>(left, self.interrupt) {
                Event::Message(reply) => {
                    // Of what nobody asked for there is nothing to tell.
                    match self.asked.get_mut(reply.device).and_then(Option::take) {
                        Some(asked) => return Some(Ok((reply, asked))),
                        None => continue,
                    }
                }
                Event::Silent { .. } if left.is_zero() => return None,
                Event::Silent { .. } => continue,
                Event::Interrupted(signal) => Over::Signal(signal),
                Event::Exited(status) => {
                    let said = last_line(&self.worker.tail());
                    let what = "the process that reads devices ended";
                    Over::Ended(format!("{what} ({status}): {said}"))
                }
                Event::Garbled { error, .. } => Over::Ended(error),
            };
            return Some(Err(over));
        }
    }

    /// Ends the process.
    pub(crate) fn end(mut self) {
        self.worker.end(SHORT_LADDER);
    }
}
