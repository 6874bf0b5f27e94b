//! The process of a rank, wherever it is: this process's own child, or a follower's.

use std::time::Duration;

use runner::child::last_line;
use runner::{Ending, Interrupt, Ladder, Worker, WorkerSpec};

use super::far::Far;
use super::heard::{Heard, heard};
use super::leader::Leader;
use crate::messages::RankRequest;

/// One rank in one group.
pub(crate) enum Link<'a> {
    /// A child of this process.
    Near(Worker),
    /// A child of another copy of this program.
    Far(Far<'a>),
}

impl<'a> Link<'a> {
    /// Starts the process of a rank: here for a run without launcher and for rank 0, at the follower's else.
    ///
    /// # Errors
    /// It cannot be started, in words.
    pub(crate) fn start(
        spec: WorkerSpec,
        leader: Option<&'a Leader>,
        rank: u32,
    ) -> Result<Self, String> {
        match leader.filter(|_| rank > 0) {
            Some(leader) => Far::start(leader, rank, &spec.environment, spec.noise).map(Self::Far),
            None => Worker::spawn(spec)
                .map(Self::Near)
                .map_err(|error| error.to_string()),
        }
    }

    /// Asks the rank something.
    ///
    /// # Errors
    /// It cannot be asked, in words.
    pub(crate) fn send(&mut self, request: &RankRequest) -> Result<(), String> {
        match self {
            Self::Near(worker) => {
                let sent = worker.send(request);
                sent.map_err(|error| format!("{error}: {}", last_line(&worker.tail())))
            }
            Self::Far(far) => far.send(request),
        }
    }

    /// Waits for what comes next, at most so long.
    pub(crate) fn next(&mut self, limit: Duration, interrupt: &Interrupt) -> Heard {
        match self {
            Self::Near(worker) => heard(worker, limit, interrupt),
            Self::Far(far) => far.next(limit, interrupt),
        }
    }

    /// Its process id; `None` on another machine.
    pub(crate) fn process(&self) -> Option<u32> {
        match self {
            Self::Near(worker) => Some(worker.id()),
            Self::Far(_) => None,
        }
    }

    /// Whether it was stopped and went on, since this was asked last; not known of one on another machine.
    pub(crate) fn was_resumed(&mut self) -> bool {
        match self {
            Self::Near(worker) => worker.was_resumed(),
            Self::Far(_) => false,
        }
    }

    /// Asks it to leave, and waits for nothing.
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Near(worker) => worker.abort(),
            Self::Far(far) => far.abort(),
        }
    }

    /// Ends it; whether it cannot be ended.
    pub(crate) fn end(&mut self, ladder: Ladder) -> bool {
        match self {
            Self::Near(worker) => worker.end(ladder) == Ending::HangUnkillable,
            Self::Far(far) => far.end(ladder),
        }
    }
}
