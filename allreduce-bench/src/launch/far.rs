//! A rank on another copy of this program, as the leader sees it.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use runner::{Interrupt, Ladder, LineSink, Signal};

use super::heard::Heard;
use super::leader::Leader;
use super::words::{Order, Report};
use crate::messages::RankRequest;

/// Signals that may have come to a follower.
const SIGNALS: [Signal; 3] = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];

/// Added to the waits of an end, for the way there and back.
const ON_THE_WAY: Duration = Duration::from_secs(2);

/// The process of one rank of one group.
pub(crate) struct Far<'a> {
    leader: &'a Leader,
    rank: u32,
    group: u64,
    log: Option<LineSink>,
    has_ended: bool,
}

impl<'a> Far<'a> {
    /// Has the follower start the process.
    ///
    /// # Errors
    /// The follower is gone, or a variable is no text.
    pub(super) fn start(
        leader: &'a Leader,
        rank: u32,
        environment: &[(OsString, OsString)],
        log: Option<LineSink>,
    ) -> Result<Self, String> {
        let text = |text: &OsString| {
            let text = text.clone().into_string();
            text.map_err(|text| format!("{} is no text", text.display()))
        };
        let environment = environment
            .iter()
            .map(|(name, value)| Ok((text(name)?, text(value)?)))
            .collect::<Result<_, String>>()?;
        let group = leader.next_group();
        let order = Order::Start {
            group,
            environment,
            log: log.is_some(),
        };
        leader.put(rank, &order)?;
        Ok(Self {
            leader,
            rank,
            group,
            log,
            has_ended: false,
        })
    }

    pub(super) fn send(&self, request: &RankRequest) -> Result<(), String> {
        let (group, request) = (self.group, request.clone());
        self.leader.put(self.rank, &Order::Ask { group, request })
    }

    /// What comes next, within `limit`.
    pub(super) fn next(&self, limit: Duration, interrupt: &Interrupt) -> Heard {
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
                Some(signal.map_or_else(
                    || Heard::Lost(format!("a signal ended it with code {code}").into()),
                    Heard::Interrupted,
                ))
            }
            _ => None,
        }
    }

    pub(super) fn abort(&self) {
        let group = self.group;
        // Where nobody is there to be asked, there is nothing to leave.
        drop(self.leader.put(self.rank, &Order::Abort { group }));
    }

    /// Ends the process; whether it cannot be ended.
    pub(super) fn end(&mut self, ladder: Ladder) -> bool {
        self.has_ended = true;
        let waits = [ladder.abort, ladder.term, ladder.kill];
        let order = Order::End {
            group: self.group,
            ladder: waits.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        };
        if self.leader.put(self.rank, &order).is_err() {
            return false;
        }
        let limit = waits.iter().sum::<Duration>() + ON_THE_WAY;
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            match self.leader.take(self.rank, left) {
                Ok(Some(Report::Ended { group, unkillable })) if group == self.group => {
                    return unkillable;
                }
                Ok(Some(report)) => drop(self.heard(report)),
                Ok(None) => return true,
                // Its follower has gone, and it with its follower.
                Err(_) => return false,
            }
        }
    }
}

impl Drop for Far<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let order = Order::End {
                group: self.group,
                ladder: [0, 0, 1000],
            };
            drop(self.leader.put(self.rank, &order));
        }
    }
}
