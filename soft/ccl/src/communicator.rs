//! One rank's end of a communicator: its handle, its count of calls, and the exchange of pieces with the other ranks.

use crate::abi::{Outcome, Status, refuse};
use crate::choice::{Choice, Plan};
use crate::log;
use crate::membership::join;
use crate::segment::{Segment, Slot};
use crate::table::Library;
use boxfile::{BoxFile, CollectiveKind, Fault, Protocol};
use softbox::abi::Handle;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Words of a slot: the last step at which its rank filled it, and what it brought.
const ARRIVED: usize = 0;
const BROUGHT: usize = 1;

/// How long the driver may be kept locked for ranks that have not come; it calls again.
const PATIENCE: Duration = Duration::from_millis(4);

/// Handles are these numbers as pointers.
const HANDLES: usize = 0x6c00_0000_0000;

static COMMUNICATORS: Mutex<BTreeMap<usize, Arc<Communicator>>> = Mutex::new(BTreeMap::new());
static MADE: AtomicU64 = AtomicU64::new(1);

/// A communicator that this process joined as one rank.
pub(crate) struct Communicator {
    pub(crate) library: &'static Library,
    pub(crate) described: &'static BoxFile,
    pub(crate) segment: Segment,
    pub(crate) ranks: usize,
    pub(crate) rank: usize,
    /// The ordinal of the device.
    pub(crate) device: c_int,
    /// Its number within the process, by which the driver keeps its calls in order.
    pub(crate) number: u64,
    /// What limits its calls.
    choice: Choice,
    /// What was found for calls, by operation and bytes of a rank.
    plans: Mutex<BTreeMap<(u8, usize), Plan>>,
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
        library: &'static Library,
        described: &'static BoxFile,
        id: &[u8; 128],
        (ranks, rank): (c_int, c_int),
        (device, bus): (c_int, u64),
    ) -> Outcome<Handle> {
        for fault in &described.fault {
            if let Fault::CollectiveInitFailure { rank: of, code } = fault
                && i64::from(*of) == rank.into()
            {
                let words = "injected by the box: joining the communicator failed";
                return refuse(Status(*code), words);
            }
        }
        let (segment, buses) = join(library.name, id, (ranks, rank), bus)?;
        let choice = Choice::of(library, described, &buses)?;
        let number = MADE.fetch_add(1, AcqRel);
        let handle = HANDLES + number as usize * 4096;
        let communicator = Self {
            library,
            described,
            segment,
            ranks: ranks as usize,
            rank: rank as usize,
            device,
            number,
            choice,
            plans: Mutex::default(),
            calls: AtomicU64::new(0),
            aborted: AtomicBool::new(false),
            progress: Mutex::default(),
        };
        log::joined(&communicator.member(), handle, &communicator.choice);
        registry().insert(handle, Arc::new(communicator));
        Ok(Handle::at(handle))
    }

    /// The communicator of a handle.
    pub(crate) fn of(handle: Handle) -> Outcome<Arc<Self>> {
        let found = registry().get(&handle.number()).cloned();
        found.map_or_else(|| no_communicator(handle), Ok)
    }

    /// Takes a handle back. Work that is queued keeps the communicator.
    pub(crate) fn close(handle: Handle) -> Outcome<Arc<Self>> {
        let found = registry().remove(&handle.number());
        found.map_or_else(|| no_communicator(handle), Ok)
    }

    /// What the box says of a call of so many bytes of a rank. The first of its kind and size is written to the log.
    pub(crate) fn plan(&self, kind: CollectiveKind, bytes: usize) -> Outcome<Plan> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&(kind as u8, bytes)) {
            return Ok(*plan);
        }
        let plan = self
            .choice
            .plan((self.library, self.described), kind, self.ranks, bytes)?;
        if self.rank == 0 {
            log::tuned(&self.member(), kind, bytes, plan.protocol);
        }
        plans.insert((kind as u8, bytes), plan);
        Ok(plan)
    }

    /// Gives up what is queued and under way.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Release);
        self.segment.ring();
    }

    /// Counts one call, and kills the process where the box says so.
    pub(crate) fn begin_call(&self) -> u64 {
        let call = self.calls.fetch_add(1, AcqRel);
        if self.is_faulty(|fault, own| {
            matches!(fault, Fault::CollectiveDeath { rank, after_calls }
                if *rank == own && call >= *after_calls)
        }) {
            kill_this_process();
        }
        call
    }

    /// Whether the result of a call, captured in a graph or not, shall be wrong on this rank.
    pub(crate) fn spoils(&self, call: u64, is_captured: bool) -> bool {
        self.is_faulty(|fault, own| {
            matches!(fault, Fault::CollectiveWrong { rank, after_calls, captured }
                if *rank == own && call >= *after_calls && (is_captured || !captured))
        })
    }

    /// Whether this rank never comes to a call that runs in this protocol.
    pub(crate) fn stays_away(&self, call: u64, runs_in: Protocol) -> bool {
        self.is_faulty(|fault, own| {
            matches!(fault, Fault::CollectiveHang { rank, after_calls, protocol }
                if *rank == own && call >= *after_calls && protocol.is_none_or(|hangs| hangs == runs_in))
        })
    }

    fn is_faulty(&self, is_it: impl Fn(&Fault, u32) -> bool) -> bool {
        let mut faults = self.described.fault.iter();
        faults.any(|fault| is_it(fault, self.rank as u32))
    }

    fn member(&self) -> log::Member {
        log::Member {
            library: self.library,
            ranks: self.ranks,
            rank: self.rank,
            device: self.device,
            token: self.segment.token(),
        }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Acquire)
    }

    /// Waits a little until something holds; whether it does.
    pub(crate) fn wait(&self, holds: impl Fn() -> bool) -> bool {
        // The clock is read when the wait has become one.
        let begin = Cell::new(None);
        let is_over = || {
            let first = begin.get().unwrap_or_else(Instant::now);
            begin.set(Some(first));
            self.is_aborted() || first.elapsed() > PATIENCE
        };
        self.segment.wait(holds, is_over)
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
        stays_away: bool,
        what: u64,
        wait: bool,
        bring: impl FnOnce(Slot),
    ) -> Meeting {
        if self.is_aborted() {
            return Meeting::Aborted;
        }
        if !progress.brought && !stays_away {
            progress.step += 1;
            let slot = (progress.step & 1) as usize;
            bring(Slot {
                rank: self.rank,
                slot,
            });
            let own = |word| self.segment.of_slot(self.rank, slot, word);
            own(BROUGHT).store(what, Release);
            own(ARRIVED).store(progress.step, Release);
            self.segment.ring();
            progress.brought = true;
        }
        let (step, slot) = (progress.step, (progress.step & 1) as usize);
        let has_come = |rank| {
            let word = |number| self.segment.of_slot(rank, slot, number).load(Acquire);
            word(ARRIVED) >= step && word(BROUGHT) == what
        };
        let all = || !stays_away && (0..self.ranks).all(has_come);
        let met = if wait { self.wait(all) } else { all() };
        match (met, self.is_aborted()) {
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

fn no_communicator<T>(handle: Handle) -> Outcome<T> {
    let words = match handle.number() {
        0 => "comm argument is NULL".to_owned(),
        other => format!("{other:#x} is no communicator of this process, or no longer"),
    };
    refuse(Status::INVALID_ARGUMENT, words)
}

#[expect(unsafe_code, reason = "sends a signal to this process")]
fn kill_this_process() {
    // SAFETY: raise(3) takes a number; SIGKILL ends the process without running anything of it.
    unsafe { libc::raise(libc::SIGKILL) };
}
