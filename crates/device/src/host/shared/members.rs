//! The rows of a communicator's members in shared memory: who has joined, how far each is, and who is gone.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use super::ffi::Mapping;
use super::process;
use crate::error::{DeviceError, Result};

/// Words of a row: two cache lines, so that ranks do not wait for each other's line when both write.
const ROW: usize = 16;
/// Words of the first row: what the file is, and how many ranks there are.
const RANKS: usize = 1;
/// Words of a member's row.
const STATE: usize = 0;
const PID: usize = 1;
const START: usize = 2;
/// The last step that it arrived at, and what it called at the last even and odd one.
const STEP: usize = 3;
const CALLS: [usize; 2] = [4, 5];

/// States of a member: one that prepares, one that works, one that left after it had joined, one that gave up before.
const JOINING: u64 = 1;
const JOINED: u64 = 2;
const LEFT: u64 = 3;
const GAVE_UP: u64 = 4;

/// For how long a rank that nobody has seen is waited for.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

/// Why a communicator is of no more use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Broken {
    /// A rank is gone.
    Gone {
        /// The rank.
        rank: u32,
        /// How that is known.
        reason: String,
    },
    /// Anything else.
    Other(String),
}

impl From<Broken> for DeviceError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Gone { rank, reason } => Self::RankGone { rank, reason },
            Broken::Other(reason) => Self::CommunicatorBroken { reason },
        }
    }
}

/// The rows, as one rank sees them.
pub(super) struct Members<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) ranks: u32,
}

impl Members<'_> {
    fn word(&self, rank: u32, field: usize) -> &AtomicU64 {
        self.mapping.word((1 + rank as usize) * ROW + field)
    }

    /// What the file says that it is.
    pub(super) fn magic(&self) -> u64 {
        self.mapping.word(0).load(Acquire)
    }

    /// Takes the row of a rank, under the number of ranks that the first one gave.
    pub(super) fn enter(&self, rank: u32) -> Result<()> {
        let argument = |what, why| DeviceError::Argument { what, why };
        let agreed = self.mapping.word(RANKS);
        let ranks = u64::from(self.ranks);
        if let Err(others) = agreed.compare_exchange(0, ranks, AcqRel, Acquire)
            && others != ranks
        {
            let why = format!("it is {ranks}, and another rank was told {others}");
            return Err(argument("the number of ranks", why));
        }
        let taken = self
            .word(rank, STATE)
            .compare_exchange(0, JOINING, AcqRel, Acquire);
        taken.map_err(|_| argument("the rank", format!("{rank} has joined already")))?;
        let own = std::process::id();
        let start = process::start_time(own).unwrap_or(0);
        self.word(rank, START).store(start, Release);
        self.word(rank, PID).store(u64::from(own), Release);
        Ok(())
    }

    /// Says that a rank is ready to work.
    pub(super) fn joined(&self, rank: u32) {
        self.word(rank, STATE).store(JOINED, Release);
    }

    /// Says that a rank works no more, or never did.
    pub(super) fn leave(&self, rank: u32) {
        let state = self.word(rank, STATE);
        match state.load(Relaxed) {
            JOINING => state.store(GAVE_UP, Release),
            _ => state.store(LEFT, Release),
        }
    }

    /// Whether a rank has joined, also where it left since.
    pub(super) fn has_joined(&self, rank: u32) -> bool {
        matches!(self.word(rank, STATE).load(Acquire), JOINED | LEFT)
    }

    /// Why a rank that was waited for so long will not join.
    pub(super) fn will_not_join(&self, rank: u32, waited: Duration) -> Option<String> {
        if self.word(rank, STATE).load(Acquire) == 0 {
            let seconds = JOIN_LIMIT.as_secs();
            return (waited > JOIN_LIMIT).then(|| format!("it did not join within {seconds} s"));
        }
        self.gone(rank)
    }

    /// Why a rank will come no further.
    fn gone(&self, rank: u32) -> Option<String> {
        match self.word(rank, STATE).load(Acquire) {
            LEFT => Some("it left the communicator".to_owned()),
            GAVE_UP => Some("it gave up joining".to_owned()),
            _ => self
                .dead(rank)
                .map(|pid| format!("its process {pid} has ended")),
        }
    }

    /// The process of a rank that has ended.
    fn dead(&self, rank: u32) -> Option<u32> {
        let pid = u32::try_from(self.word(rank, PID).load(Acquire)).ok()?;
        // It has just taken the row where there is none.
        let is_dead = pid != 0 && process::has_ended(pid, self.word(rank, START).load(Acquire));
        is_dead.then_some(pid)
    }

    /// Says that a rank's slot of a step is written, and for what call.
    pub(super) fn arrive(&self, rank: u32, step: u64, call: u64) {
        self.call(rank, step).store(call, Relaxed);
        self.word(rank, STEP).store(step, Release);
    }

    fn has_arrived(&self, rank: u32, step: u64) -> bool {
        self.word(rank, STEP).load(Acquire) >= step
    }

    /// Whether all ranks have arrived at a step.
    pub(super) fn all_arrived(&self, step: u64) -> bool {
        (0..self.ranks).all(|rank| self.has_arrived(rank, step))
    }

    /// The first rank that called something else at the last step, at which all have arrived.
    pub(super) fn calls_else(&self, step: u64, call: u64) -> Option<u32> {
        (0..self.ranks).find(|rank| self.call(*rank, step).load(Relaxed) != call)
    }

    fn call(&self, rank: u32, step: u64) -> &AtomicU64 {
        self.word(rank, CALLS[usize::from(step % 2 == 1)])
    }

    /// A rank that will never arrive at a step: one whose process ended before one that left because of it.
    pub(super) fn gone_before(&self, step: u64) -> Option<Broken> {
        let late = || (0..self.ranks).filter(|rank| !self.has_arrived(*rank, step));
        let rank = late()
            .find(|rank| self.dead(*rank).is_some())
            .or_else(|| late().find(|rank| self.gone(*rank).is_some()))?;
        let reason = self.gone(rank)?;
        // It may have arrived just before it went.
        (!self.has_arrived(rank, step)).then_some(Broken::Gone { rank, reason })
    }
}
