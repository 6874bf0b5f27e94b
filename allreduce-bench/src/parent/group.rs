//! The processes of all ranks as one: asked together, waited for together, ended together.
//!
//! A rank that hangs, dies or fails takes the others along, since they wait for it inside the library.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inventory::{Built, OPENING_STEPS};
use program::Stop;
use record::quantity::TimeSource;
use record::{Failure, FailureKind, LibraryFacts};
use runner::{Interrupt, Ladder, LineSink, ProgressDeadline, RESUMED, Silence, WorkerSpec};

use crate::engine_probe::Probe;
use crate::launch::{Heard, Leader, Link};
use crate::messages::{Described, Job, RankReply, RankRequest};
use crate::rank;

/// How long one rank is listened to before the next: a rank that died is noticed while another hangs.
const TURN: Duration = Duration::from_millis(20);

/// Added to the deadline while ranks connect, which takes many seconds on boxes with many GPUs. NCCL may connect them when they
/// join or when they call for the first time (NCCL_RUNTIME_CONNECT).
const CONNECT: Duration = Duration::from_secs(20);

/// The same for a serving engine, which imports thousands of files and tries out its ways between GPUs in silence: 60 s were seen.
const ENGINE_START: Duration = Duration::from_secs(180);

/// How long a process that takes no more requests has to be gone.
const ENDING: Duration = Duration::from_secs(2);

/// What every group of this run is made of.
pub(super) struct Setup<'a> {
    pub(super) backend: Built,
    /// The backend's indexes of the devices, in rank order.
    pub(super) ordinals: Vec<usize>,
    /// UUID of each rank's device, and of its parent, where that is a MIG instance.
    pub(super) instances: Vec<Option<(String, Option<String>)>>,
    pub(super) library: Option<PathBuf>,
    pub(super) deadline: Duration,
    pub(super) interrupt: &'a Interrupt,
    /// Where a launcher started the ranks: what reaches those from rank 1 on.
    pub(super) leader: Option<&'a Leader>,
}

impl Setup<'_> {
    /// What a rank's process sees besides the variables that all have, and the number that its device has there.
    ///
    /// A process sees one MIG instance before R570, so that each rank is shown its own; ranks on instances of one GPU are refused by
    /// NCCL without a variable (2.30 and newer, `init.cc`).
    fn seat(&self, rank: usize) -> (usize, Vec<(OsString, OsString)>) {
        let ordinal = self.ordinals.get(rank).copied().unwrap_or_default();
        let instance = |rank: usize| self.instances.get(rank).and_then(Option::as_ref);
        let Some((uuid, parent)) = instance(rank).filter(|_| self.leader.is_none()) else {
            return (ordinal, Vec::new());
        };
        let others = (0..self.instances.len()).filter(|other| *other != rank);
        let mut others = others.filter_map(instance);
        let mut environment = vec![("CUDA_VISIBLE_DEVICES".into(), uuid.into())];
        if parent.is_some() && others.any(|(_, other)| other == parent) {
            environment.push((MULTI_RANK.into(), "1".into()));
        }
        (0, environment)
    }
}

/// Lets several ranks of a communicator be on one GPU.
const MULTI_RANK: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// Why a group is of no more use; its processes were ended.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A rank said so, died, or made no progress, which is a failure of kind [`FailureKind::Hang`].
    Lost {
        reason: Failure,
        /// Whether a process cannot be ended.
        unkillable: bool,
    },
    /// A signal came, or a process could not be started.
    Stop(Stop),
}

/// What the ranks found when they opened device and library.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) library: LibraryFacts,
    pub(super) soft_box: Option<String>,
    pub(super) events: TimeSource,
}

/// One process a rank, in rank order.
pub(super) struct Group<'a> {
    setup: &'a Setup<'a>,
    ranks: Vec<Link<'a>>,
    pub(super) opened: Opened,
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
            },
            start: match engine {
                Some(_) => ENGINE_START,
                None => CONNECT.max(setup.deadline * (OPENING_STEPS - 1)),
            },
            connect: CONNECT,
        };
        for (rank, ordinal) in setup.ordinals.iter().enumerate() {
            let spec = match engine {
                Some(probe) => Ok(probe.rank(rank, *ordinal)),
                None => WorkerSpec::this_program(format!("rank {rank}"), [rank::CHILD]),
            };
            let mut spec = spec.map_err(|error| Trouble::Stop(Stop::Internal(error.into())))?;
            spec.environment.extend(setup.seat(rank).1);
            spec.environment.extend(rank::environment(log.is_some()));
            spec.noise = log.cloned();
            match Link::start(spec, setup.leader, rank) {
                Ok(link) => group.ranks.push(link),
                Err(reason) => {
                    return Err(group.failed(rank, format!("starting it: {reason}").into()));
                }
            }
        }
        let request = |rank: usize| RankRequest::Open {
            backend: setup.backend,
            ordinal: setup.seat(rank).0,
            library: setup.library.clone(),
        };
        for reply in group.all("opening device and library", group.start, request)? {
            let RankReply::Opened {
                library,
                soft_box,
                events,
            } = reply
            else {
                return Err(group.out_of_turn(&reply));
            };
            if soft_box.is_some() {
                // A simulated library connects where it joins.
                group.connect = Duration::ZERO;
            }
            group.opened = Opened {
                library,
                soft_box,
                events,
            };
        }
        Ok(group)
    }

    /// Starts them as [`Group::open`] does, and makes them one communicator.
    pub(super) fn joined(
        setup: &'a Setup<'a>,
        engine: Option<&Probe>,
        log: Option<&LineSink>,
    ) -> Result<Self, Trouble> {
        let mut group = Self::open(setup, engine, log)?;
        group.join().map(|()| group)
    }

    /// Makes the ranks one communicator.
    pub(super) fn join(&mut self) -> Result<(), Trouble> {
        let make_id = |_| RankRequest::MakeId;
        let made = self.some(1, "making the id of the communicator", self.start, make_id)?;
        let id = match &made[..] {
            [RankReply::Id { id }] => id.clone(),
            other => return Err(self.out_of_turn(other)),
        };
        let ranks = u32::try_from(self.ranks.len()).unwrap_or(u32::MAX);
        let request = |rank: usize| RankRequest::Join {
            id: id.clone(),
            ranks,
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
        };
        for reply in self.all("joining the communicator", self.start, request)? {
            let RankReply::Joined = reply else {
                return Err(self.out_of_turn(&reply));
            };
        }
        Ok(())
    }

    /// Has the ranks prepare a call; the first time they may connect.
    pub(super) fn prepare(
        &mut self,
        doing: &str,
        longer: Duration,
        job: Job,
    ) -> Result<Vec<RankReply>, Trouble> {
        let connect = std::mem::take(&mut self.connect);
        let longer = longer.saturating_add(connect);
        self.all(doing, longer, |_| RankRequest::Prepare { job })
    }

    /// Asks a serving engine's ranks who did the calls that were timed last; what rank 0 says, with the notes of all.
    pub(super) fn describe(&mut self) -> Result<Described, Trouble> {
        let mut whole: Option<Described> = None;
        let replies = self.all("asking who did it", Duration::ZERO, |_| {
            RankRequest::Describe
        })?;
        for reply in replies {
            let RankReply::Described(one) = reply else {
                return Err(self.out_of_turn(&reply));
            };
            match &mut whole {
                Some(whole) => whole.notes.extend(one.notes),
                None => whole = Some(one),
            }
        }
        whole.ok_or_else(|| self.failed(0, "it did not say who did it".into()))
    }

    /// Asks all ranks and waits for all answers; `longer` is added to the deadline. `doing` says what for.
    pub(super) fn all(
        &mut self,
        doing: &str,
        longer: Duration,
        request: impl Fn(usize) -> RankRequest,
    ) -> Result<Vec<RankReply>, Trouble> {
        self.some(self.ranks.len(), doing, longer, request)
    }

    /// Asks the first ranks.
    fn some(
        &mut self,
        count: usize,
        doing: &str,
        longer: Duration,
        request: impl Fn(usize) -> RankRequest,
    ) -> Result<Vec<RankReply>, Trouble> {
        for rank in 0..count {
            if let Err(reason) = self.ranks[rank].send(request(rank)) {
                let why = self.ending(rank).unwrap_or_else(|| reason.into());
                return Err(self.failed(rank, why.within(doing)));
            }
        }
        let deadline = self.setup.deadline.saturating_add(longer);
        let mut replies: Vec<Option<RankReply>> = vec![None; count];
        let mut steps: Vec<String> = vec![doing.to_owned(); count];
        let processes = self.ranks.iter().take(count).filter_map(Link::process);
        let mut patience = ProgressDeadline::new(deadline, processes);
        // A stop before this request is none of it.
        self.stopped_meanwhile();
        while replies.iter().any(Option::is_none) {
            for rank in 0..count {
                if replies[rank].is_some() {
                    continue;
                }
                match self.ranks[rank].next(TURN, self.setup.interrupt) {
                    Heard::Reply(RankReply::Doing { doing }) => {
                        steps[rank] = doing;
                        patience.restart();
                    }
                    Heard::Reply(RankReply::Failed { reason }) | Heard::Lost(reason) => {
                        return Err(self.failed(rank, reason.within(&steps[rank])));
                    }
                    Heard::Reply(reply) => {
                        replies[rank] = Some(reply);
                        patience.restart();
                    }
                    Heard::Silent => {}
                    Heard::Interrupted(signal) => {
                        self.end();
                        return Err(Trouble::Stop(Stop::Interrupted(signal)));
                    }
                }
            }
            if let Some(silence) = patience.over() {
                let silence = silence.or_stopped(self.stopped_meanwhile().is_some());
                return Err(self.hung(&replies, &steps, silence));
            }
        }
        let is_timed = |reply: &RankReply| matches!(reply, RankReply::Timed { .. });
        if replies.iter().flatten().any(is_timed)
            && let Some(rank) = self.stopped_meanwhile()
        {
            return Err(self.failed(rank, FailureKind::Stopped.of(RESUMED).within(doing)));
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// A rank that was stopped and went on since this was asked last; all are asked.
    fn stopped_meanwhile(&mut self) -> Option<usize> {
        let asked: Vec<bool> = self.ranks.iter_mut().map(Link::was_resumed).collect();
        asked.iter().position(|went_on| *went_on)
    }

    /// How a rank ended that takes no more requests, where it tells in time.
    fn ending(&mut self, rank: usize) -> Option<Failure> {
        let asked = Instant::now();
        while asked.elapsed() < ENDING {
            match self.ranks[rank].next(TURN, self.setup.interrupt) {
                Heard::Lost(reason) => return Some(reason),
                Heard::Interrupted(_) => return None,
                Heard::Reply(_) | Heard::Silent => {}
            }
        }
        None
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
        let unkillable = self.end();
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
    pub(super) fn out_of_turn(&mut self, reply: &(impl Debug + ?Sized)) -> Trouble {
        self.lost(format!("a rank answered out of turn: {reply:?}").into())
    }

    fn lost(&mut self, reason: Failure) -> Trouble {
        self.end();
        Trouble::Lost {
            reason,
            unkillable: false,
        }
    }

    /// Ends all processes; whether one of them cannot be ended.
    fn end(&mut self) -> bool {
        const LADDER: Ladder = Ladder {
            abort: Duration::from_millis(500),
            term: Duration::from_secs(2),
            kill: Duration::from_secs(10),
        };
        // A rank that waits inside the library does not see that it is asked; one that does not leaves in good order.
        self.ranks.iter_mut().for_each(Link::abort);
        let endings: Vec<bool> = self.ranks.iter_mut().map(|rank| rank.end(LADDER)).collect();
        endings.contains(&true)
    }

    /// Lets the ranks leave in good order.
    pub(super) fn finish(mut self) {
        self.ranks.iter_mut().for_each(Link::abort);
        for rank in &mut self.ranks {
            rank.end(Ladder::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_on_instances_see_their_own_and_may_share_a_gpu() {
        let interrupt = Interrupt::none();
        let instance = |uuid: &str, parent: &str| Some((uuid.to_owned(), Some(parent.to_owned())));
        let mut setup = Setup {
            backend: Built::Cuda,
            ordinals: vec![4, 5, 6],
            instances: vec![
                instance("MIG-a", "GPU-0"),
                instance("MIG-b", "GPU-0"),
                instance("MIG-c", "GPU-1"),
            ],
            library: None,
            deadline: Duration::ZERO,
            interrupt: &interrupt,
            leader: None,
        };
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let own = |uuid| pair("CUDA_VISIBLE_DEVICES", uuid);
        let shared = pair("NCCL_MULTI_RANK_GPU_ENABLE", "1");
        assert_eq!(setup.seat(0), (0, vec![own("MIG-a"), shared.clone()]));
        assert_eq!(setup.seat(1), (0, vec![own("MIG-b"), shared]));
        assert_eq!(setup.seat(2), (0, vec![own("MIG-c")]));
        setup.instances = vec![None; 3];
        assert_eq!(setup.seat(1), (5, Vec::new()));
    }
}
