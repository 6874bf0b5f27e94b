//! The processes of all ranks as one: asked together, waited for together, ended together.
//!
//! A rank that hangs, dies or fails takes the others along, since they wait for it inside the library.

use std::fmt::Debug;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inventory::{Built, OPENING_STEPS};
use program::Stop;
use record::quantity::TimeSource;
use record::{Failure, FailureKind, LibraryFacts, Verification};
use runner::{Interrupt, Ladder, LineSink, ProgressDeadline, RESUMED, Silence, WorkerSpec};

use crate::engine_probe::Probe;
use crate::launch::{Leader, Link, Report};
use crate::messages::{Described, Open, Opened, RankReply, RankRequest};
use crate::rank;

/// How long one rank is listened to before the next: a rank that died is noticed while another hangs.
const TURN: Duration = Duration::from_millis(20);

/// Added to the deadline while ranks connect, which takes many seconds on boxes with many GPUs. NCCL may connect them when they
/// join or when they call for the first time (NCCL_RUNTIME_CONNECT).
pub(super) const CONNECT: Duration = Duration::from_secs(20);

/// The same for a serving engine, which imports thousands of files and tries out its ways between GPUs in silence: 60 s were seen.
const ENGINE_START: Duration = Duration::from_secs(180);

/// How long after a rank failed the end of another is waited for, which may be why.
const NOTICE: Duration = Duration::from_millis(300);

/// Ends ranks in trouble: one that waits inside the library does not see that it is asked; one that does not leaves in good order.
const LADDER: Ladder = Ladder {
    abort: Duration::from_millis(500),
    term: Duration::from_secs(2),
    kill: Duration::from_secs(10),
};

/// What every group of this run is made of.
pub(super) struct Setup<'a> {
    pub(super) backend: Built,
    /// In rank order.
    pub(super) places: Vec<rank::Place>,
    pub(super) library: Option<PathBuf>,
    pub(super) deadline: Duration,
    pub(super) interrupt: &'a Interrupt,
    /// Where a launcher started the ranks: what reaches those from rank 1 on.
    pub(super) leader: Option<&'a Leader>,
}

/// Why a group does not give what was asked for.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The backend does not have the mode, or the library does not do the call; the ranks are there.
    NotThere(Failure),
    /// A rank said so, died, or made no progress, which is a failure of kind [`FailureKind::Hang`]; the processes were ended.
    Lost {
        reason: Failure,
        /// Whether a process cannot be ended.
        unkillable: bool,
    },
    /// A signal came, or a process could not be started; the processes were ended.
    Stop(Stop),
}

/// One process a rank, in rank order.
pub(super) struct Group<'a> {
    setup: &'a Setup<'a>,
    ranks: Vec<Link<'a>>,
    /// What they found, with the id that rank 0 made.
    pub(super) opened: Opened,
    /// Who did the calls that were compared last, where a serving engine did.
    pub(super) described: Option<Described>,
    /// Added to the deadline until the ranks are joined.
    start: Duration,
    /// Added to the deadline of the first call.
    connect: Duration,
}

impl<'a> Group<'a> {
    /// Starts the processes, of this program or of a serving engine; each opens its device and the library. `log` takes what ranks
    /// and libraries write.
    pub(super) fn open(
        setup: &'a Setup<'a>,
        engine: Option<&Probe>,
        log: Option<&LineSink>,
    ) -> Result<Self, Trouble> {
        let mut group = Self {
            setup,
            ranks: Vec::new(),
            opened: Opened {
                library: LibraryFacts::default(),
                soft_box: None,
                events: TimeSource::HostMonotonic,
                id: None,
            },
            described: None,
            start: match engine {
                Some(_) => ENGINE_START,
                None => CONNECT.max(setup.deadline * (OPENING_STEPS - 1)),
            },
            connect: CONNECT,
        };
        for (rank, (ordinal, environment)) in setup.places.iter().enumerate() {
            let spec = match engine {
                Some(probe) => Ok(probe.rank(rank, *ordinal)),
                None => WorkerSpec::this_program(format!("rank {rank}"), [rank::CHILD]),
            };
            let mut spec = spec.map_err(|error| Trouble::Stop(Stop::Internal(error.into())))?;
            spec.environment.extend(environment.iter().cloned());
            spec.environment.extend(rank::environment(log.is_some()));
            spec.noise = log.cloned();
            match Link::start(spec, setup.leader, rank) {
                Ok(link) => group.ranks.push(link),
                Err(reason) => return Err(group.failed(rank, reason.within("starting it"))),
            }
        }
        let request = |rank: usize| {
            RankRequest::Open(Open {
                backend: setup.backend,
                ordinal: setup.places[rank].0,
                library: setup.library.clone(),
                makes_id: rank == 0,
            })
        };
        for reply in group.all("opening device and library", group.start, request)? {
            let RankReply::Opened(opened) = reply else {
                return Err(group.out_of_turn(&reply));
            };
            if opened.soft_box.is_some() {
                // A simulated library connects where it joins.
                group.connect = Duration::ZERO;
            }
            let id = group.opened.id.take().or(opened.id);
            group.opened = Opened { id, ..opened };
        }
        if engine.is_none() {
            // The drivers are open.
            group.start = CONNECT;
        }
        Ok(group)
    }

    /// Starts them as [`Group::open`] does, and makes them one communicator.
    pub(super) fn joined(
        setup: &'a Setup<'a>,
        engine: Option<&Probe>,
        log: Option<&LineSink>,
    ) -> Result<Self, Trouble> {
        Self::open(setup, engine, log)?.join()
    }

    /// Makes the ranks one communicator.
    pub(super) fn join(mut self) -> Result<Self, Trouble> {
        let Some(id) = self.opened.id.take() else {
            return Err(self.failed(0, "it made no id of the communicator".into()));
        };
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let ranks = number(self.ranks.len());
        let request = |rank: usize| RankRequest::Join {
            id: id.clone(),
            ranks,
            rank: number(rank),
        };
        for reply in self.all("joining the communicator", self.start, request)? {
            let RankReply::Joined = reply else {
                return Err(self.out_of_turn(&reply));
            };
        }
        Ok(self)
    }

    /// Has all ranks do a call and compare its result; the worst of what they say. The first time they may connect.
    pub(super) fn compared(
        &mut self,
        doing: &str,
        longer: Duration,
        request: &RankRequest,
    ) -> Result<Verification, Trouble> {
        let longer = longer.saturating_add(std::mem::take(&mut self.connect));
        let mut worst = Verification::Passed;
        self.described = None;
        for reply in self.all(doing, longer, |_| request.clone())? {
            let RankReply::Compared { verification, by } = reply else {
                return Err(self.out_of_turn(&reply));
            };
            worst = worse(worst, verification);
            match (&mut self.described, by) {
                // What rank 0 says, with the notes of all.
                (Some(whole), Some(one)) => whole.notes.extend(one.notes),
                (whole, one) => *whole = one.or(whole.take()),
            }
        }
        Ok(worst)
    }

    /// Asks all ranks and waits for all answers; `longer` is added to the deadline. `doing` says what for.
    pub(super) fn all(
        &mut self,
        doing: &str,
        longer: Duration,
        request: impl Fn(usize) -> RankRequest,
    ) -> Result<Vec<RankReply>, Trouble> {
        let count = self.ranks.len();
        for rank in 0..count {
            if let Err(reason) = self.ranks[rank].send(request(rank)) {
                return Err(self.failed(rank, reason.within(doing)));
            }
        }
        let deadline = self.setup.deadline.saturating_add(longer);
        let mut replies: Vec<Option<RankReply>> = vec![None; count];
        let mut steps: Vec<String> = vec![doing.to_owned(); count];
        let near = self.ranks.iter_mut().filter_map(Link::near);
        let processes: Vec<u32> = near.map(|worker| worker.id()).collect();
        let mut patience = ProgressDeadline::new(deadline, processes);
        // A stop before this request is none of it.
        self.stopped_meanwhile();
        while replies.iter().any(Option::is_none) {
            for rank in 0..count {
                if replies[rank].is_some() {
                    continue;
                }
                match self.ranks[rank].next(TURN, self.setup.interrupt) {
                    Some(Report::Reply(RankReply::Doing { doing })) => {
                        steps[rank] = doing;
                        patience.restart();
                    }
                    Some(Report::Reply(RankReply::Failed { reason })) => {
                        let (rank, reason) = self.first_of(rank, reason);
                        return Err(self.failed(rank, reason.within(&steps[rank])));
                    }
                    Some(Report::Lost(reason)) => {
                        return Err(self.failed(rank, reason.within(&steps[rank])));
                    }
                    Some(Report::Reply(reply)) => {
                        replies[rank] = Some(reply);
                        patience.restart();
                    }
                    Some(Report::Signalled(signal)) => {
                        self.climb(LADDER);
                        return Err(Trouble::Stop(Stop::Interrupted(signal)));
                    }
                    _ => {}
                }
            }
            if let Some(silence) = patience.over() {
                let silence = silence.or_stopped(self.stopped_meanwhile().is_some());
                return Err(self.hung(&replies, &steps, silence));
            }
        }
        let replies: Vec<RankReply> = replies.into_iter().flatten().collect();
        for reply in &replies {
            if let RankReply::NotThere { reason } = reply {
                return Err(Trouble::NotThere(reason.clone()));
            }
        }
        if let [RankReply::Timed { .. }, ..] = replies[..]
            && let Some(rank) = self.stopped_meanwhile()
        {
            return Err(self.failed(rank, FailureKind::Stopped.of(RESUMED).within(doing)));
        }
        Ok(replies)
    }

    /// A rank that was stopped and went on since this was asked last; all are asked.
    fn stopped_meanwhile(&mut self) -> Option<usize> {
        let went_on = |rank: &mut Link<'_>| rank.near().is_some_and(|it| it.was_resumed());
        let asked: Vec<bool> = self.ranks.iter_mut().map(went_on).collect();
        asked.iter().position(|went_on| *went_on)
    }

    /// Where another rank is gone without a word, that rank and how it ended: what its peers say then tells nothing of why.
    fn first_of(&mut self, failed: usize, reason: Failure) -> (usize, Failure) {
        let mut others: Vec<usize> = (0..self.ranks.len()).collect();
        others.retain(|other| *other != failed);
        let (began, interrupt) = (Instant::now(), self.setup.interrupt);
        while !others.is_empty() && began.elapsed() < NOTICE && interrupt.signal().is_none() {
            for rank in others.clone() {
                match self.ranks[rank].next(TURN, interrupt) {
                    Some(Report::Lost(ended)) => return (rank, ended),
                    // One that said why it fails ends, too.
                    Some(Report::Reply(RankReply::Failed { .. })) => {
                        others.retain(|other| *other != rank);
                    }
                    _ => {}
                }
            }
        }
        (failed, reason)
    }

    /// Says which ranks do not answer, and in which step. Ranks that had no CPU do not hang, as far as is known.
    fn hung(
        &mut self,
        replies: &[Option<RankReply>],
        steps: &[String],
        silence: Silence,
    ) -> Trouble {
        let silent: Vec<String> = (0..replies.len())
            .filter(|rank| replies[*rank].is_none())
            .map(|rank| format!("rank {rank} in `{}`", steps[rank]))
            .collect();
        let mut doing = format!("{silence}: {}", silent.join(", "));
        let unkillable = self.climb(LADDER);
        if unkillable {
            doing.push_str("; a process cannot be ended");
        }
        let kind = match silence.is_hang() || unkillable {
            true => FailureKind::Hang,
            false => silence.kind(),
        };
        Trouble::Lost {
            reason: kind.of(doing),
            unkillable,
        }
    }

    fn failed(&mut self, rank: usize, reason: Failure) -> Trouble {
        let number = u32::try_from(rank).unwrap_or(u32::MAX);
        self.lost(reason.within(format_args!("rank {rank}")).of_rank(number))
    }

    /// A rank answered something else than was asked.
    pub(super) fn out_of_turn(&mut self, reply: &impl Debug) -> Trouble {
        self.lost(format!("a rank answered out of turn: {reply:?}").into())
    }

    fn lost(&mut self, reason: Failure) -> Trouble {
        self.climb(LADDER);
        Trouble::Lost {
            reason,
            unkillable: false,
        }
    }

    /// Lets the ranks leave in good order.
    pub(super) fn finish(mut self) {
        self.climb(Ladder::default());
    }

    /// Ends all processes; whether one of them cannot be ended.
    fn climb(&mut self, ladder: Ladder) -> bool {
        self.ranks.iter_mut().for_each(Link::abort);
        let endings: Vec<bool> = self.ranks.iter_mut().map(|rank| rank.end(ladder)).collect();
        endings.contains(&true)
    }
}

/// Wrong data outranks all, and what was not asked for is not a pass.
pub(super) fn worse(so_far: Verification, seen: Verification) -> Verification {
    match (&so_far, &seen) {
        (Verification::WrongData { .. }, _) | (_, Verification::Passed) => so_far,
        _ => seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_data_is_not_forgotten() {
        let wrong = Verification::WrongData {
            seen: "element 0".to_owned(),
        };
        assert_eq!(worse(wrong.clone(), Verification::Passed), wrong);
        assert_eq!(worse(Verification::Passed, wrong.clone()), wrong);
        let not_asked = worse(Verification::Passed, Verification::NotAsked);
        assert_eq!(not_asked, Verification::NotAsked);
    }
}
