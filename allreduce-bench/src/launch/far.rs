//! The process of one rank that a follower has started, as the leader sees it.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use supervisor::{Interrupt, Ladder, LineSink, Signal};

use super::leader::Leader;
use super::link::Heard;
use super::post::Pace;
use super::words::{Order, Report};
use crate::messages::RankRequest;

/// Signals by the exit code that stands for them.
const SIGNALS: [Signal; 3] = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];

/// What a follower's answer takes besides what it waits for, at most.
const ON_THE_WAY: Duration = Duration::from_secs(2);

/// One rank in one group; its process is killed when this is dropped, without waiting for it.
pub(crate) struct Far<'a> {
    leader: &'a Leader,
    rank: u32,
    group: u64,
    log: Option<LineSink>,
    has_ended: bool,
}

impl<'a> Far<'a> {
    /// Asks the follower to start the process.
    pub(super) fn start(
        leader: &'a Leader,
        rank: u32,
        environment: &[(OsString, OsString)],
        log: Option<LineSink>,
    ) -> Result<Self, String> {
        let text = |text: &OsString| {
            text.clone()
                .into_string()
                .map_err(|text| format!("{} is no text", text.display()))
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

    /// Waits for what comes next, at most so long.
    pub(super) fn next(&self, limit: Duration, interrupt: &Interrupt) -> Heard {
        let (began, mut pace) = (Instant::now(), Pace::new());
        loop {
            if let Some(signal) = interrupt.signal() {
                return Heard::Interrupted(signal);
            }
            match self.leader.take(self.rank) {
                Ok(Some(report)) => {
                    pace.hurry();
                    if let Some(heard) = self.heard(report) {
                        return heard;
                    }
                }
                Ok(None) if began.elapsed() >= limit => return Heard::Silent,
                Ok(None) => std::thread::sleep(pace.pause()),
                Err(reason) => return Heard::Lost(reason),
            }
        }
    }

    /// What a report says of this group; what is left of an earlier one says nothing.
    fn heard(&self, report: Report) -> Option<Heard> {
        match report {
            Report::Reply { group, reply } if group == self.group => Some(Heard::Reply(reply)),
            Report::Lost { group, reason } if group == self.group => Some(Heard::Lost(reason)),
            Report::Lines { group, lines } if group == self.group => {
                if let Some(log) = &self.log {
                    lines.iter().for_each(|line| log(line));
                }
                None
            }
            Report::Signalled { code } => {
                let signal = SIGNALS
                    .into_iter()
                    .find(|signal| signal.exit_code() == code);
                Some(signal.map_or_else(
                    || Heard::Lost(format!("a signal ended it with code {code}")),
                    Heard::Interrupted,
                ))
            }
            Report::Refused { reason, .. } => Some(Heard::Lost(reason)),
            _ => None,
        }
    }

    /// Asks it to leave, and waits for nothing.
    pub(super) fn abort(&self) {
        let group = self.group;
        // Where nobody is there to be asked, there is nothing to leave.
        drop(self.leader.put(self.rank, &Order::Abort { group }));
    }

    /// Ends it; whether it cannot be ended.
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
        let (began, mut pace) = (Instant::now(), Pace::new());
        while began.elapsed() < limit {
            match self.leader.take(self.rank) {
                Ok(Some(Report::Ended { group, unkillable })) if group == self.group => {
                    return unkillable;
                }
                // Its follower has gone, and it with its follower.
                Err(_) => return false,
                Ok(Some(report)) => drop(self.heard(report)),
                Ok(None) => std::thread::sleep(pace.pause()),
            }
        }
        true
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
