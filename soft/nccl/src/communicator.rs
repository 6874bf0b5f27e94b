//! One rank's end of a communicator: its handle, its count of calls, and the exchange of pieces with the other ranks.

use crate::abi::{Outcome, Status, refuse};
use crate::membership::{FIRST_FREE, join};
use crate::segment::Segment;
use boxfile::{BoxFile, Fault};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Words of a rank: the last step at which it arrived, and what it brought to it, for steps of even and of odd number.
const ARRIVED: usize = FIRST_FREE;
const BROUGHT: usize = FIRST_FREE + 1;

/// How long the driver may be kept locked for ranks that have not come; it calls again.
const PATIENCE: Duration = Duration::from_millis(4);

/// Handles are these numbers as pointers.
const HANDLES: usize = 0x6c00_0000_0000;

static COMMUNICATORS: Mutex<BTreeMap<usize, Arc<Communicator>>> = Mutex::new(BTreeMap::new());
static MADE: AtomicU64 = AtomicU64::new(1);

/// A communicator that this process joined as one rank.
pub(crate) struct Communicator {
    pub(crate) described: &'static BoxFile,
    pub(crate) segment: Segment,
    pub(crate) ranks: usize,
    pub(crate) rank: usize,
    /// The ordinal of the device.
    pub(crate) device: c_int,
    /// Its number within the process, by which the driver keeps its calls in order.
    pub(crate) number: u64,
    calls: AtomicU64,
    aborted: AtomicBool,
    /// Of the call that is being executed. Held while ranks are waited for, so that aborting does not take it.
    progress: Mutex<Progress>,
}

/// How far the call has come that is being executed.
#[derive(Default)]
pub(crate) struct Progress {
    /// Pieces of all calls that this rank brought.
    step: u64,
    /// The present piece was brought.
    brought: bool,
    /// Bytes of the present call that are done.
    pub(crate) done: usize,
    /// One piece as bytes, and its sum.
    pub(crate) piece: Vec<u8>,
    pub(crate) sum: Vec<f32>,
}

/// What meeting the other ranks came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// All ranks have brought their piece, which lies in this slot.
    All { slot: usize },
    /// Some have not, and there is no waiting for them now.
    NotYet,
    /// The communicator was aborted.
    Aborted,
}

impl Communicator {
    /// Joins, and answers the handle.
    pub(crate) fn open(
        described: &'static BoxFile,
        id: &[u8; 128],
        (ranks, rank): (c_int, c_int),
        (device, bus): (c_int, u64),
    ) -> Outcome<*mut c_void> {
        let failing = described.fault.iter().find_map(|fault| match fault {
            Fault::CollectiveInitFailure { rank: of, code } if i64::from(*of) == rank.into() => {
                Some(*code)
            }
            _ => None,
        });
        if let Some(code) = failing {
            return refuse(
                Status(code),
                "injected by the box: joining the communicator failed",
            );
        }
        let segment = join(id, ranks, rank, bus)?;
        let number = MADE.fetch_add(1, AcqRel);
        let communicator = Self {
            described,
            segment,
            ranks: ranks as usize,
            rank: rank as usize,
            device,
            number,
            calls: AtomicU64::new(0),
            aborted: AtomicBool::new(false),
            progress: Mutex::default(),
        };
        let handle = HANDLES + number as usize * 4096;
        registry().insert(handle, Arc::new(communicator));
        Ok(handle as *mut c_void)
    }

    /// The communicator of a handle.
    pub(crate) fn of(handle: *mut c_void) -> Outcome<Arc<Self>> {
        let found = registry().get(&(handle as usize)).cloned();
        found.map_or_else(|| no_communicator(handle), Ok)
    }

    /// Takes a handle back. Work that is queued keeps the communicator.
    pub(crate) fn close(handle: *mut c_void) -> Outcome<Arc<Self>> {
        let found = registry().remove(&(handle as usize));
        found.map_or_else(|| no_communicator(handle), Ok)
    }

    /// Gives up what is queued and under way.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Release);
        self.segment.ring();
    }

    /// Counts one call, and kills the process where the box says so.
    pub(crate) fn begin_call(&self) -> u64 {
        let call = self.calls.fetch_add(1, AcqRel);
        let is_last = |fault: &Fault| {
            matches!(fault, Fault::CollectiveDeath { rank, after_calls }
                if *rank as usize == self.rank && call >= *after_calls)
        };
        if self.described.fault.iter().any(is_last) {
            kill_this_process();
        }
        call
    }

    /// Whether the result of a call shall be wrong on this rank.
    pub(crate) fn spoils(&self, call: u64) -> bool {
        self.described.fault.iter().any(|fault| {
            matches!(fault, Fault::CollectiveWrong { rank, after_calls }
                if *rank as usize == self.rank && call >= *after_calls)
        })
    }

    /// Whether this rank never comes to a call.
    fn stays_away(&self, call: u64) -> bool {
        self.described.fault.iter().any(|fault| {
            matches!(fault, Fault::CollectiveHang { rank, after_calls }
                if *rank as usize == self.rank && call >= *after_calls)
        })
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a piece of a call once, and looks for those of the others or waits for them a little.
    ///
    /// `what` describes the call: a rank that brings something else to the same step is never done. Of two slots a rank fills
    /// one while others may still read the other: it fills a slot again only when all have arrived at the step between, for
    /// which they must have read it.
    pub(crate) fn meet(
        &self,
        progress: &mut Progress,
        call: u64,
        what: u64,
        wait: bool,
        bring: impl FnOnce(usize),
    ) -> Meeting {
        let aborted = || self.aborted.load(Acquire);
        if aborted() {
            return Meeting::Aborted;
        }
        let stays_away = self.stays_away(call);
        if !progress.brought && !stays_away {
            progress.step += 1;
            let slot = (progress.step & 1) as usize;
            bring(slot);
            let own = |word| self.segment.of_rank(self.rank, word);
            own(BROUGHT + slot).store(what, Release);
            own(ARRIVED).store(progress.step, Release);
            self.segment.ring();
            progress.brought = true;
        }
        let (step, slot) = (progress.step, (progress.step & 1) as usize);
        let all = || {
            let word = |rank, number| self.segment.of_rank(rank, number).load(Acquire);
            !stays_away
                && (0..self.ranks)
                    .all(|rank| word(rank, ARRIVED) >= step && word(rank, BROUGHT + slot) == what)
        };
        let met = if wait {
            let begin = Instant::now();
            self.segment
                .wait(all, || aborted() || begin.elapsed() > PATIENCE)
        } else {
            all()
        };
        match (met, aborted()) {
            (true, _) => {
                progress.brought = false;
                Meeting::All { slot }
            }
            (false, true) => Meeting::Aborted,
            (false, false) => Meeting::NotYet,
        }
    }
}

fn registry() -> MutexGuard<'static, BTreeMap<usize, Arc<Communicator>>> {
    COMMUNICATORS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_communicator<T>(handle: *mut c_void) -> Outcome<T> {
    let words = if handle.is_null() {
        "comm argument is NULL".to_owned()
    } else {
        format!("{handle:p} is no communicator of this process, or no longer")
    };
    refuse(Status::INVALID_ARGUMENT, words)
}

#[expect(unsafe_code, reason = "sends a signal to this process")]
fn kill_this_process() {
    // SAFETY: raise(3) takes a number; SIGKILL ends the process without running anything of it.
    unsafe { libc::raise(libc::SIGKILL) };
}
