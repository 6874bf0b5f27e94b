//! The processes of all ranks as one: asked together, waited for together, ended together.
//!
//! A rank that hangs, dies or fails takes the others along, since they wait for it inside the library.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use device::collectives::UniqueId;
use inventory::Built;
use measure::quantity::TimeSource;
use measure::record::LibraryFacts;
use program::Stop;
use program::child::last_line;
use supervisor::{Ending, Event, Interrupt, Ladder, Signal, Worker, WorkerSpec};

use super::transport::{self, Transports};
use crate::messages::{RankReply, RankRequest};
use crate::rank;

/// How long one rank is listened to before the next: a rank that died is noticed while another hangs.
const TURN: Duration = Duration::from_millis(20);

/// Added to the deadline while drivers are opened and ranks connect, which takes many seconds on boxes with many GPUs.
const START: Duration = Duration::from_secs(20);

/// What every group of this run is made of.
pub(super) struct Setup<'a> {
    pub(super) backend: Built,
    /// The backend's indexes of the devices, in rank order.
    pub(super) ordinals: Vec<usize>,
    pub(super) library: Option<PathBuf>,
    pub(super) deadline: Duration,
    pub(super) interrupt: &'a Interrupt,
}

/// Why a group is of no more use; its processes were ended.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A rank said so, or died.
    Failed { reason: String },
    /// A rank made no progress.
    Hang { doing: String, unkillable: bool },
    /// A signal came.
    Interrupted(Signal),
    /// A process could not be started.
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
    workers: Vec<Worker>,
    transports: Transports,
}

impl<'a> Group<'a> {
    /// Starts the processes; each opens its device and the library.
    pub(super) fn open(setup: &'a Setup<'a>) -> Result<(Self, Opened), Trouble> {
        let mut group = Self {
            setup,
            workers: Vec::new(),
            transports: Transports::default(),
        };
        for rank in 0..setup.ordinals.len() {
            let spec = WorkerSpec::this_program(format!("rank {rank}"), [rank::CHILD]);
            let mut spec = spec.map_err(|error| Trouble::Stop(Stop::Internal(error.into())))?;
            spec.environment = transport::environment();
            spec.noise = Some(group.transports.sink());
            let worker =
                Worker::spawn(spec).map_err(|error| Trouble::Stop(Stop::Internal(error.into())))?;
            group.workers.push(worker);
        }
        let request = |rank: usize| RankRequest::Open {
            backend: setup.backend,
            ordinal: setup.ordinals[rank],
            library: setup.library.clone(),
        };
        let replies = group.all("opening device and library", START, request)?;
        let mut opened = None;
        for reply in replies {
            let RankReply::Opened {
                library,
                soft_box,
                events,
            } = reply
            else {
                return Err(group.out_of_turn(&reply));
            };
            opened = Some(Opened {
                library,
                soft_box,
                events,
            });
        }
        opened
            .map(|opened| (group, opened))
            .ok_or_else(|| Trouble::Failed {
                reason: "there are no ranks".to_owned(),
            })
    }

    /// Makes the ranks one communicator; gives the transport where the library said which.
    pub(super) fn join(&mut self) -> Result<Option<String>, Trouble> {
        let id = self.make_id()?;
        let ranks = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        let request = |rank: usize| RankRequest::Join {
            id: id.clone(),
            ranks,
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
        };
        for reply in self.all("joining the communicator", START, request)? {
            let RankReply::Joined = reply else {
                return Err(self.out_of_turn(&reply));
            };
        }
        Ok(self.transports.seen())
    }

    fn make_id(&mut self) -> Result<UniqueId, Trouble> {
        let replies = self.some(1, "making the id of the communicator", START, |_| {
            RankRequest::MakeId
        })?;
        match replies.into_iter().next() {
            Some(RankReply::Id { id }) => Ok(id),
            Some(other) => Err(self.out_of_turn(&other)),
            None => Err(self.failed(0, "it gave no id".to_owned())),
        }
    }

    /// Asks all ranks and waits for all answers; `longer` is added to the deadline. `doing` says what for.
    pub(super) fn all(
        &mut self,
        doing: &str,
        longer: Duration,
        request: impl Fn(usize) -> RankRequest,
    ) -> Result<Vec<RankReply>, Trouble> {
        self.some(self.workers.len(), doing, longer, request)
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
            if let Err(error) = self.workers[rank].send(&request(rank)) {
                let reason = format!(
                    "{doing}: {error}: {}",
                    last_line(&self.workers[rank].tail())
                );
                return Err(self.failed(rank, reason));
            }
        }
        let deadline = self.setup.deadline.saturating_add(longer);
        let mut replies: Vec<Option<RankReply>> = vec![None; count];
        let mut steps: Vec<String> = vec![doing.to_owned(); count];
        let mut heard = Instant::now();
        while replies.iter().any(Option::is_none) {
            for rank in 0..count {
                if replies[rank].is_some() {
                    continue;
                }
                match self.workers[rank].next::<RankReply>(TURN, self.setup.interrupt) {
                    Event::Message(RankReply::Doing { doing }) => {
                        steps[rank] = doing;
                        heard = Instant::now();
                    }
                    Event::Message(RankReply::Failed { reason }) => {
                        return Err(self.failed(rank, format!("{}: {reason}", steps[rank])));
                    }
                    Event::Message(reply) => {
                        replies[rank] = Some(reply);
                        heard = Instant::now();
                    }
                    Event::Silent { .. } => {}
                    Event::Interrupted(signal) => {
                        self.end();
                        return Err(Trouble::Interrupted(signal));
                    }
                    Event::Exited(status) => {
                        let said = last_line(&self.workers[rank].tail());
                        let reason = format!("{}: it ended with {status}: {said}", steps[rank]);
                        return Err(self.failed(rank, reason));
                    }
                    Event::Garbled { error, .. } => {
                        let reason = format!("its answer was not understood: {error}");
                        return Err(self.failed(rank, reason));
                    }
                }
            }
            if heard.elapsed() >= deadline {
                return Err(self.hung(&replies, &steps, heard.elapsed()));
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// Says which ranks do not answer, and in which step.
    fn hung(
        &mut self,
        replies: &[Option<RankReply>],
        steps: &[String],
        waited: Duration,
    ) -> Trouble {
        let silent: Vec<String> = (0..replies.len())
            .filter(|rank| replies[*rank].is_none())
            .map(|rank| format!("rank {rank} in `{}`", steps[rank]))
            .collect();
        let mut doing = format!(
            "no progress for {:.0} s: {}",
            waited.as_secs_f64(),
            silent.join(", ")
        );
        let unkillable = self.end();
        if unkillable {
            doing.push_str("; a process cannot be ended");
        }
        Trouble::Hang { doing, unkillable }
    }

    fn failed(&mut self, rank: usize, reason: String) -> Trouble {
        self.end();
        Trouble::Failed {
            reason: format!("rank {rank}: {reason}"),
        }
    }

    /// A rank answered something else than was asked.
    pub(super) fn out_of_turn(&mut self, reply: &RankReply) -> Trouble {
        self.end();
        Trouble::Failed {
            reason: format!("a rank answered out of turn: {reply:?}"),
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
        self.workers.iter_mut().for_each(Worker::abort);
        let endings: Vec<Ending> = self
            .workers
            .iter_mut()
            .map(|worker| worker.end(LADDER))
            .collect();
        endings.contains(&Ending::HangUnkillable)
    }

    /// Lets the ranks leave in good order.
    pub(super) fn finish(mut self) {
        self.workers.iter_mut().for_each(Worker::abort);
        for worker in &mut self.workers {
            worker.end(Ladder::default());
        }
    }
}
