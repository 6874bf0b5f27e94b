//! The process of a rank, wherever it is: this process's own child, or a follower's.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use record::Failure;
use runner::child::last_line;
use runner::{Ending, Event, Interrupt, Ladder, LineSink, Signal, Worker, WorkerSpec};

use super::leader::Leader;
use super::words::{Order, Report};
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
            Self::Far(far) => far.put(Order::Ask {
                group: far.group,
                request: request.clone(),
            }),
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

    /// Asks it to leave, and waits for nothing; a follower ends what does not.
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Near(worker) => worker.abort(),
            // Where nobody is there to be asked, there is nothing to leave.
            Self::Far(far) => drop(far.put(Order::End { group: far.group })),
        }
    }

    /// Ends one that was asked to leave; whether it cannot be ended.
    pub(crate) fn end(&mut self, ladder: Ladder) -> bool {
        match self {
            Self::Near(worker) => worker.end(ladder) == Ending::HangUnkillable,
            Self::Far(far) => far.ended(),
        }
    }
}

/// The process of one rank of one group on another copy of this program.
pub(crate) struct Far<'a> {
    leader: &'a Leader,
    rank: u32,
    group: u64,
    log: Option<LineSink>,
}

impl<'a> Far<'a> {
    /// Has the follower start the process.
    fn start(
        leader: &'a Leader,
        rank: u32,
        environment: &[(OsString, OsString)],
        log: Option<LineSink>,
    ) -> Result<Self, String> {
        let text = |text: &OsString| {
            let text = text.clone().into_string();
            text.map_err(|text| format!("{} is no text", text.display()))
        };
        let environment = environment.iter();
        let environment = environment.map(|(name, value)| Ok((text(name)?, text(value)?)));
        let far = Self {
            leader,
            rank,
            group: leader.next_group(),
            log,
        };
        far.put(Order::Start {
            group: far.group,
            environment: environment.collect::<Result<_, String>>()?,
            log: far.log.is_some(),
        })?;
        Ok(far)
    }

    fn put(&self, order: Order) -> Result<(), String> {
        self.leader.put(self.rank, &order)
    }

    /// What comes next, within `limit`.
    fn next(&self, limit: Duration, interrupt: &Interrupt) -> Heard {
        let began = Instant::now();
        loop {
            if let Some(signal) = interrupt.signal() {
                return Heard::Interrupted(signal);
            }
            let left = limit.saturating_sub(began.elapsed());
            match self.leader.take(self.rank, left) {
                Ok(Some(report)) => {
                    if let Some(heard) = self.heard(report) {
                        return heard;
                    }
                }
                Ok(None) => return Heard::Silent,
                Err(reason) => return Heard::Lost(reason.into()),
            }
        }
    }

    /// Waits until its follower has ended it; whether it cannot be ended. Of a follower that does not answer nothing is known.
    fn ended(&self) -> bool {
        let began = Instant::now();
        loop {
            let left = ENDS_WITHIN.saturating_sub(began.elapsed());
            match self.leader.take(self.rank, left) {
                Ok(Some(Report::Ended { group, is_hung })) if group == self.group => {
                    return is_hung;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return false,
            }
        }
    }

    /// What a report says of this group; `None` where it is of another one, or a line of the log.
    fn heard(&self, report: Report) -> Option<Heard> {
        match report {
            Report::Reply { group, reply } if group == self.group => Some(Heard::Reply(reply)),
            Report::Lost { group, reason } if group == self.group => {
                Some(Heard::Lost(reason.into()))
            }
            Report::Line { group, line } if group == self.group => {
                self.log.iter().for_each(|log| log(&line));
                None
            }
            Report::Signalled { code } => {
                let mut signals = SIGNALS.into_iter();
                let signal = signals.find(|signal| signal.exit_code() == code);
                Some(Heard::Interrupted(signal.unwrap_or(Signal::Terminate)))
            }
            _ => None,
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
