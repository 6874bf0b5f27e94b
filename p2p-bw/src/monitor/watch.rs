//! The parent's side of the process that reads devices: asks each device again only once it answered, and never waits for one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use device::Built;
use program::Stop;
use runner::child::{SHORT_LADDER, last_line};
use runner::{Event, Interrupt, Signal, Worker};

use crate::children::Child;
use crate::messages::{MonitorRequest, SamplerReply};

/// What to watch.
pub(super) struct Watched {
    pub(super) backend: Built,
    pub(super) sysfs: PathBuf,
    /// Devices by PCI address.
    pub(super) devices: Vec<Option<String>>,
}

/// The process that reads devices, and what it was asked.
pub(super) struct Watch<'a> {
    watched: Watched,
    worker: Worker,
    interrupt: &'a Interrupt,
    /// Since when each device has been asked; `None` once it has answered.
    asked: Vec<Option<Instant>>,
    has_restarted: bool,
}

/// What came.
pub(super) enum Came {
    /// An answer, with the instant at which it was asked for.
    Answer(SamplerReply, Instant),
    /// Nothing within the limit.
    Nothing,
    Signal(Signal),
    /// The process ended and was started again.
    Lost(String),
    /// It ended and was not: it did so before, or cannot be started.
    Ended(String),
}

impl<'a> Watch<'a> {
    /// Starts the process.
    pub(super) fn start(watched: Watched, interrupt: &'a Interrupt) -> Result<Self, Stop> {
        let mut watch = Self {
            worker: Child::Sampler.start()?,
            asked: vec![None; watched.devices.len()],
            watched,
            interrupt,
            has_restarted: false,
        };
        watch.tell();
        Ok(watch)
    }

    /// How many devices there are.
    pub(super) fn devices(&self) -> usize {
        self.asked.len()
    }

    /// Since when a device has been asked, where its answer is outstanding.
    pub(super) fn outstanding(&self, device: usize) -> Option<Instant> {
        self.asked.get(device).copied().flatten()
    }

    /// Whether any answer is outstanding.
    pub(super) fn is_waiting(&self) -> bool {
        self.asked.iter().any(Option::is_some)
    }

    /// Asks a device, whose last answer must have come.
    pub(super) fn ask(&mut self, device: usize) {
        if let Some(asked) = self.asked.get_mut(device) {
            *asked = Some(Instant::now());
            // A process that is gone is seen at the next look.
            let _ = self.worker.send(&MonitorRequest::Values { device });
        }
    }

    /// Waits for what comes next, at most so long.
    pub(super) fn next(&mut self, limit: Duration) -> Came {
        let reply = match self.worker.next::<SamplerReply>(limit, self.interrupt) {
            Event::Message(reply) => reply,
            Event::Silent { .. } => return Came::Nothing,
            Event::Interrupted(signal) => return Came::Signal(signal),
            Event::Exited(status) => {
                let said = last_line(&self.worker.tail());
                return self.again(format!(
                    "the process that reads devices ended ({status}): {said}"
                ));
            }
            Event::Garbled { error, .. } => return self.again(error),
        };
        match self.asked.get_mut(reply.device).and_then(Option::take) {
            Some(asked) => Came::Answer(reply, asked),
            // Nobody asked; there is nothing to tell of it.
            None => Came::Nothing,
        }
    }

    /// Ends the process.
    pub(super) fn end(mut self) {
        self.worker.end(SHORT_LADDER);
    }

    /// Starts another process, once.
    fn again(&mut self, what: String) -> Came {
        if self.has_restarted {
            return Came::Ended(what);
        }
        self.has_restarted = true;
        self.asked.fill(None);
        match Child::Sampler.start() {
            Ok(worker) => {
                // Dropping the old one kills what is left of it and does not wait.
                self.worker = worker;
                self.tell();
                Came::Lost(format!("{what}; it was started again"))
            }
            Err(_) => Came::Ended(format!("{what}; it could not be started again")),
        }
    }

    fn tell(&mut self) {
        // As in `ask`.
        let _ = self.worker.send(&MonitorRequest::Watch {
            backend: self.watched.backend,
            sysfs: self.watched.sysfs.clone(),
            devices: self.watched.devices.clone(),
        });
    }
}
