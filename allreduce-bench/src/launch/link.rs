//! The process of a rank, wherever it is: this process's own child, or a follower's.

use std::time::{Duration, Instant};

use record::Failure;
use runner::child::last_line;
use runner::{Ending, Event, Interrupt, Ladder, LineSink, Signal, Worker, WorkerSpec};

use super::leader::Leader;
use super::wire::{Order, Report};
use crate::messages::{RankReply, RankRequest};

/// A follower's ladder takes at most 14 s.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// Signals that may have come to a follower.
const SIGNALS: [Signal; 3] = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];

/// What came from a rank.
pub(crate) enum Heard {
    /// It answered.
    Reply(RankReply),
    /// It ended, or cannot be understood any more.
    Lost(Failure),
    /// Nothing came in time.
    Silent,
    /// A signal came, here or to the process that started the rank.
    Interrupted(Signal),
}

/// The process of one rank.
pub(crate) enum Link<'a> {
    /// A child of this process.
    Near(Worker),
    /// A child of another copy of this program, and what takes the lines of its log.
    Far(&'a Leader, usize, Option<LineSink>),
}

impl<'a> Link<'a> {
    /// Starts the process of a rank: here for a run without launcher and for rank 0, at the follower's else.
    ///
    /// # Errors
    /// It cannot be started, in words.
    pub(crate) fn start(
        spec: WorkerSpec,
        leader: Option<&'a Leader>,
        rank: usize,
    ) -> Result<Self, String> {
        let Some(leader) = leader.filter(|_| rank > 0) else {
            let worker = Worker::spawn(spec).map_err(|error| error.to_string())?;
            return Ok(Self::Near(worker));
        };
        let log = spec.noise.is_some();
        leader.put(rank, &Order::Start { log })?;
        Ok(Self::Far(leader, rank, spec.noise))
    }

    /// Asks the rank something.
    ///
    /// # Errors
    /// It cannot be asked, in words.
    pub(crate) fn send(&mut self, request: RankRequest) -> Result<(), String> {
        match self {
            Self::Near(worker) => {
                let sent = worker.send(&request);
                sent.map_err(|error| format!("{error}: {}", last_line(&worker.tail())))
            }
            Self::Far(leader, rank, _) => leader.put(*rank, &Order::Ask(request)),
        }
    }

    /// Waits for what comes next, at most so long.
    pub(crate) fn next(&mut self, limit: Duration, interrupt: &Interrupt) -> Heard {
        let (leader, rank, log) = match self {
            Self::Near(worker) => return heard(worker, limit, interrupt),
            Self::Far(leader, rank, log) => (leader, *rank, log),
        };
        let began = Instant::now();
        loop {
            if let Some(signal) = interrupt.signal() {
                return Heard::Interrupted(signal);
            }
            return match leader.take(rank, limit.saturating_sub(began.elapsed())) {
                Ok(Some(Report::Line(line))) => {
                    log.iter().for_each(|log| log(&line));
                    continue;
                }
                Ok(Some(Report::Reply(reply))) => Heard::Reply(reply),
                Ok(Some(Report::Lost(reason))) | Err(reason) => Heard::Lost(reason.into()),
                Ok(Some(Report::Signalled { code })) => {
                    let mut signals = SIGNALS.into_iter();
                    let signal = signals.find(|signal| signal.exit_code() == code);
                    Heard::Interrupted(signal.unwrap_or(Signal::Terminate))
                }
                Ok(Some(Report::Here { .. } | Report::Ended { .. })) => continue,
                Ok(None) => Heard::Silent,
            };
        }
    }

    /// Its process id; `None` on another machine.
    pub(crate) fn process(&self) -> Option<u32> {
        match self {
            Self::Near(worker) => Some(worker.id()),
            Self::Far(..) => None,
        }
    }

    /// Whether it was stopped and went on, since this was asked last; not known of one on another machine.
    pub(crate) fn was_resumed(&mut self) -> bool {
        match self {
            Self::Near(worker) => worker.was_resumed(),
            Self::Far(..) => false,
        }
    }

    /// Asks it to leave, and waits for nothing; a follower ends what does not.
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Near(worker) => worker.abort(),
            // Where nobody is there to be asked, there is nothing to leave.
            Self::Far(leader, rank, _) => drop(leader.put(*rank, &Order::End)),
        }
    }

    /// Ends one that was asked to leave; whether it cannot be ended. Of a follower that does not answer nothing is known.
    pub(crate) fn end(&mut self, ladder: Ladder) -> bool {
        let (leader, rank) = match self {
            Self::Near(worker) => return worker.end(ladder) == Ending::HangUnkillable,
            Self::Far(leader, rank, _) => (leader, *rank),
        };
        let began = Instant::now();
        loop {
            match leader.take(rank, ENDS_WITHIN.saturating_sub(began.elapsed())) {
                Ok(Some(Report::Ended { is_hung })) => return is_hung,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return false,
            }
        }
    }
}

/// What comes next from a child of this process.
pub(super) fn heard(worker: &mut Worker, limit: Duration, interrupt: &Interrupt) -> Heard {
    match worker.next::<RankReply>(limit, interrupt) {
        Event::Message(reply) => Heard::Reply(reply),
        Event::Silent { .. } => Heard::Silent,
        Event::Interrupted(signal) => Heard::Interrupted(signal),
        Event::Exited(status) => {
            let said = last_line(&worker.tail());
            Heard::Lost(format!("it ended with {status}: {said}").into())
        }
        Event::Garbled { error, .. } => {
            Heard::Lost(format!("its answer was not understood: {error}").into())
        }
    }
}
