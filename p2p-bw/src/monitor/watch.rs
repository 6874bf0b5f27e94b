//! The parent's side of the process that reads devices: asks each device again only once it answered, and never waits for one.

use std::time::{Duration, Instant};

use program::Stop;
use runner::child::{SHORT_LADDER, last_line};
use runner::{Event, Interrupt, Signal, Worker};

use crate::begun::Begun;
use crate::children::Child;
use crate::messages::{MonitorRequest, SamplerReply, What};

/// The process that reads devices, and what it was asked.
pub(crate) struct Watch<'a> {
    worker: Worker,
    interrupt: &'a Interrupt,
    /// Since when each device has been asked; `None` once it has answered.
    asked: Vec<Option<Instant>>,
}

/// What came.
pub(crate) enum Came {
    /// An answer, with the instant at which it was asked for.
    Answer(SamplerReply, Instant),
    /// Nothing within the limit.
    Nothing,
    Signal(Signal),
    /// The process ended, or what it says is not understood.
    Ended(String),
}

impl<'a> Watch<'a> {
    /// Starts the process on devices.
    pub(crate) fn start(begun: &Begun, interrupt: &'a Interrupt) -> Result<Self, Stop> {
        let found = &begun.found;
        let mut watch = Self {
            worker: Child::Sampler.start()?,
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

    /// Waits for what comes next, at most so long.
    pub(crate) fn next(&mut self, limit: Duration) -> Came {
        let reply = match self.worker.next::<SamplerReply>(limit, self.interrupt) {
            Event::Message(reply) => reply,
            Event::Silent { .. } => return Came::Nothing,
            Event::Interrupted(signal) => return Came::Signal(signal),
            Event::Exited(status) => {
                let said = last_line(&self.worker.tail());
                return Came::Ended(format!(
                    "the process that reads devices ended ({status}): {said}"
                ));
            }
            Event::Garbled { error, .. } => return Came::Ended(error),
        };
        match self.asked.get_mut(reply.device).and_then(Option::take) {
            Some(asked) => Came::Answer(reply, asked),
            // Nobody asked; there is nothing to tell of it.
            None => Came::Nothing,
        }
    }

    /// Ends the process.
    pub(crate) fn end(mut self) {
        self.worker.end(SHORT_LADDER);
    }
}
