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
/// What a rank that broke blames: one more than another rank, or 0.
const BLAMED: usize = 3;

/// States of a member. Nobody; one that prepares; one that works; one that left after it had joined; one that gave up before;
/// one that joined and found the communicator broken.
const JOINING: u64 = 1;
const JOINED: u64 = 2;
const LEFT: u64 = 3;
const GAVE_UP: u64 = 4;
const BROKE: u64 = 5;

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
            // The others still need to know whom it blames.
            BROKE => {}
            _ => state.store(LEFT, Release),
        }
    }

    /// Whether a rank has joined, also where it left since.
    pub(super) fn has_joined(&self, rank: u32) -> bool {
        matches!(self.word(rank, STATE).load(Acquire), JOINED | LEFT | BROKE)
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
    pub(super) fn gone(&self, rank: u32) -> Option<String> {
        match self.word(rank, STATE).load(Acquire) {
            LEFT => Some("it left the communicator".to_owned()),
            GAVE_UP => Some("it gave up joining".to_owned()),
            _ => {
                let pid = u32::try_from(self.word(rank, PID).load(Acquire)).ok()?;
                // It has just taken the row.
                if pid == 0 {
                    return None;
                }
                process::obituary(pid, self.word(rank, START).load(Acquire))
            }
        }
    }

    /// Says that a rank works no more because of what it found.
    pub(super) fn broke(&self, rank: u32, broken: &Broken) {
        let blamed = match broken {
            Broken::Gone { rank, .. } => u64::from(*rank) + 1,
            Broken::Other(_) => 0,
        };
        self.word(rank, BLAMED).store(blamed, Release);
        // One that has left since says no more.
        let _ = self
            .word(rank, STATE)
            .compare_exchange(JOINED, BROKE, AcqRel, Relaxed);
    }

    /// Why a rank that is waited for will come no further, by its row and by those of the ranks that it blames.
    pub(super) fn obstacle(&self, rank: u32) -> Option<Broken> {
        if self.word(rank, STATE).load(Acquire) != BROKE {
            return self.gone(rank).map(|reason| Broken::Gone { rank, reason });
        }
        let blamed = u32::try_from(self.word(rank, BLAMED).load(Acquire)).ok();
        match blamed.and_then(|blamed| blamed.checked_sub(1)) {
            Some(gone) => Some(Broken::Gone {
                rank: gone,
                reason: self
                    .gone(gone)
                    .unwrap_or_else(|| format!("rank {rank} found it gone")),
            }),
            None => Some(Broken::Other(format!("rank {rank} gave up"))),
        }
    }
}
