//! One rank as the others see it in shared memory: whether it joined, how far it is, and whether it is gone.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{fs, hint, io, thread};

use super::ffi::Mapping;
use crate::error::{DeviceError, Result};

/// Words of a row: two cache lines, so that ranks do not wait for each other's line when both write.
const ROW: usize = 16;
/// Words of a member's row; `STEP` is the last step that it arrived at.
const STATE: usize = 0;
const PID: usize = 1;
const STEP: usize = 2;

const JOINED: u64 = 1;
const LEFT: u64 = 2;

/// For how long a rank that nobody has seen is waited for.
const JOIN_LIMIT: Duration = Duration::from_secs(60);
/// Looks before the CPU is given away, where every rank can have one: some 50 to 200 us.
const SPINS: u32 = 4000;
/// From here on the wait is long, and naps cost little of it.
const SHORT: Duration = Duration::from_millis(5);
const NAP: Duration = Duration::from_micros(50);
/// How many naps pass before `/proc` is asked whether a process lives.
const NAPS: u32 = 256;

/// One rank's membership, shared by its communicator and by the work that is queued.
pub(in crate::host) struct Member {
    pub(super) mapping: Mapping,
    pub(super) ranks: u32,
    pub(super) rank: u32,
    has_own_cpu: bool,
    /// The last step that it began; locked for a whole operation.
    pub(super) step: Mutex<u64>,
    /// What broke the communicator first, and which rank did where one is gone.
    broken: OnceLock<(Option<u32>, &'static str)>,
}

impl Member {
    /// Takes the row of a rank and waits until all have theirs.
    ///
    /// `Argument` where another has it; `RankGone` where one left, ended, or did not come within 60 s.
    pub(super) fn join(mapping: Mapping, ranks: u32, rank: u32) -> Result<Self> {
        let has_own_cpu = numa::allowed_cpus()?.len() >= ranks as usize;
        let pid = u64::from(std::process::id());
        let row = word(&mapping, rank, PID);
        let taken = row.compare_exchange(0, pid, AcqRel, Acquire);
        taken.map_err(|_| DeviceError::Argument {
            what: "the rank",
            why: format!("{rank} has joined already"),
        })?;
        // From here on the row is given back when the member is dropped.
        let member = Self {
            mapping,
            ranks,
            rank,
            has_own_cpu,
            step: Mutex::new(0),
            broken: OnceLock::new(),
        };
        member.word(rank, STATE).store(JOINED, Release);
        member.wait(|rank| member.word(rank, STATE).load(Acquire) != 0)?;
        Ok(member)
    }

    fn word(&self, rank: u32, field: usize) -> &AtomicU64 {
        word(&self.mapping, rank, field)
    }

    /// Says that this rank's slot of a step is written, and waits until all are.
    pub(super) fn meet(&self, step: u64) -> Result<()> {
        self.word(self.rank, STEP).store(step, Release);
        self.wait(|rank| self.word(rank, STEP).load(Acquire) >= step)
    }

    /// Waits until all ranks are there, first without giving the CPU away, then giving it away, then with naps.
    fn wait(&self, is_there: impl Fn(u32) -> bool) -> Result<()> {
        let mut spins = if self.has_own_cpu { SPINS } else { 0 };
        let (mut began, mut naps) = (None, 0);
        while let Some(late) = (0..self.ranks).find(|rank| !is_there(*rank)) {
            self.check()?;
            if spins > 0 {
                spins -= 1;
                hint::spin_loop();
                continue;
            }
            let waited = began.get_or_insert_with(Instant::now).elapsed();
            if waited < SHORT {
                thread::yield_now();
                continue;
            }
            thread::sleep(NAP);
            naps += 1;
            let gone = self.gone(late, waited, naps % NAPS == 0);
            // It may have come just before it went.
            if let Some(reason) = gone.filter(|_| !is_there(late)) {
                self.broken.get_or_init(|| (Some(late), reason));
            }
        }
        Ok(())
    }

    /// Why a rank will come no further.
    fn gone(&self, rank: u32, waited: Duration, ask: bool) -> Option<&'static str> {
        let pid = self.word(rank, PID).load(Acquire);
        if self.word(rank, STATE).load(Acquire) == LEFT {
            Some("it left the communicator")
        } else if pid == 0 {
            (waited > JOIN_LIMIT).then_some("it did not join within 60 s")
        } else {
            (ask && has_ended(pid)).then_some("its process has ended")
        }
    }

    /// What broke the communicator, if anything did.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        match self.broken.get() {
            None => Ok(()),
            Some((Some(rank), reason)) => Err(DeviceError::RankGone {
                rank: *rank,
                reason: (*reason).to_owned(),
            }),
            Some((None, reason)) => Err(DeviceError::CommunicatorBroken {
                reason: (*reason).to_owned(),
            }),
        }
    }

    /// Gives up, also what is under way; the others find this rank gone.
    pub(super) fn abort(&self) {
        self.broken.get_or_init(|| (None, "it was aborted"));
        self.word(self.rank, STATE).store(LEFT, Release);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.word(self.rank, STATE).store(LEFT, Release);
    }
}

fn word(mapping: &Mapping, rank: u32, field: usize) -> &AtomicU64 {
    mapping.word((1 + rank as usize) * ROW + field)
}

/// Whether a process has ended, also one whose parent has not looked yet; it lives where `/proc` does not say.
fn has_ended(pid: u64) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        // The name may hold blanks and parentheses (proc_pid_stat(5)).
        Ok(stat) => stat
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
    }
}
