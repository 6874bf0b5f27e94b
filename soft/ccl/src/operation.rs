//! One collective operation: how long it takes, and what it does to the bytes when its time is over.
#![expect(
    unsafe_code,
    reason = "reads and writes device memory, and is called by the simulated driver"
)]

use crate::abi::{Outcome, Status, refuse};
use crate::choice::Plan;
use crate::communicator::{Communicator, Meeting, Progress};
use crate::driver::{Driver, INVALID_VALUE};
use crate::segment::{SLOT, Slot};
use crate::sum::{Element, add_up};
use boxfile::CollectiveKind;
use softbox::abi::Handle;
use softbox::{ForeignCall, call_factor};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// An operation that was checked: it is not of 0 bytes, and the box says how long it takes.
pub(crate) struct Operation {
    pub(crate) communicator: Arc<Communicator>,
    kind: CollectiveKind,
    /// What is summed; all else moves bytes.
    element: Option<Element>,
    from: usize,
    to: usize,
    /// Bytes of a rank: what it brings to a gather, what it gets of a scattered sum, else all.
    bytes: usize,
    pub(crate) plan: Plan,
    /// Whether its present execution is one of a graph.
    captured: AtomicBool,
}

/// An address and the bytes there.
type Region = (usize, usize);

impl Operation {
    /// Checks an operation against the box.
    pub(crate) fn new(
        communicator: Arc<Communicator>,
        (kind, element): (CollectiveKind, Option<Element>),
        (to, from): (usize, usize),
        bytes: usize,
    ) -> Outcome<Self> {
        Ok(Self {
            plan: communicator.plan(kind, bytes)?,
            communicator,
            kind,
            element,
            from,
            to,
            bytes,
            captured: AtomicBool::new(false),
        })
    }

    /// Puts it into a stream of the simulated driver.
    pub(crate) fn enqueue(self, stream: Handle) -> Outcome<()> {
        let kind = self.kind;
        let driver = Driver::get(self.communicator.library)?;
        let Some((from, to)) = self.regions() else {
            return refuse(
                Status::INVALID_ARGUMENT,
                format!("{kind:?} : more bytes than can be addressed"),
            );
        };
        let chain = self.communicator.number;
        let work = ForeignCall {
            chain,
            from: from.0 as u64,
            from_bytes: from.1,
            to: to.0 as u64,
            to_bytes: to.1,
            issue,
            finish,
            release,
            data: Box::into_raw(Box::new(self)).cast(),
        };
        // SAFETY: the functions take the boxed operation until it is released, and may be called by any thread; the stream is the
        // driver's to refuse.
        let code = unsafe { driver.enqueue(&work, stream) };
        if code == INVALID_VALUE {
            let words = format!(
                "{kind:?} : {:#x} or {:#x} is not a valid pointer to memory of the device",
                work.from, work.to
            );
            return refuse(Status::INVALID_ARGUMENT, words);
        }
        driver.check(code)
    }

    /// What this rank reads and what it writes; `None` where that cannot be addressed.
    fn regions(&self) -> Option<(Region, Region)> {
        let of_all = self.bytes.checked_mul(self.communicator.ranks)?;
        let (read, write) = match self.kind {
            CollectiveKind::AllReduce => (self.bytes, self.bytes),
            CollectiveKind::AllGather => (self.bytes, of_all),
            CollectiveKind::ReduceScatter => (of_all, self.bytes),
        };
        Some(((self.from, read), (self.to, write)))
    }

    /// The virtual time of one execution in nanoseconds.
    fn ns(&self, call: u64, captured: bool) -> f64 {
        let least = if captured { 0.0 } else { self.plan.launch_us };
        let factor = call_factor(self.communicator.described.noise.as_ref(), call);
        self.plan.us.max(least) * 1000.0 * factor
    }

    /// Executes it as far as the other ranks have come; whether it is done.
    fn advance(&self, call: u64, wait: bool) -> bool {
        let communicator = &self.communicator;
        let mut progress = communicator.progress();
        let stays_away = communicator.stays_away(call, self.plan.protocol);
        let is_done = self.share(&mut progress, stays_away, wait);
        if is_done && communicator.spoils(call, self.captured.load(Relaxed)) {
            self.spoil();
        }
        is_done
    }

    /// Meets all ranks for one piece after the other.
    fn share(&self, progress: &mut Progress, stays_away: bool, wait: bool) -> bool {
        let communicator = &self.communicator;
        // What all ranks must agree on, besides the number of the step.
        let what = (self.bytes as u64) << 20
            | (self.kind as u64) << 8
            | self.element.map_or(0xff, |element| element as u64);
        let total = match self.kind {
            CollectiveKind::ReduceScatter => self.bytes * communicator.ranks,
            _ => self.bytes,
        };
        while progress.done < total {
            let at = progress.done;
            let bytes = (total - at).min(SLOT);
            let bring = |place| {
                let from = (self.from + at) as *const u8;
                let to = communicator.segment.place(place);
                // SAFETY: the driver has checked that the source is allocated; a slot has room for the piece, none reads it meanwhile,
                // and a mapping of ours does not overlap the caller's memory.
                unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
            };
            match communicator.meet(progress, stays_away, what, wait, bring) {
                Meeting::All { slot } => self.take(progress, slot, bytes),
                Meeting::NotYet => return false,
                Meeting::Aborted => break,
            }
            progress.done += bytes;
        }
        progress.done = 0;
        true
    }

    /// Takes from one piece of all ranks, in their slots, what this rank gets.
    fn take(&self, progress: &Progress, slot: usize, bytes: usize) {
        let (own, ranks) = (self.communicator.rank, self.communicator.ranks);
        let at = progress.done;
        match self.kind {
            CollectiveKind::AllGather => {
                for rank in 0..ranks {
                    let from = self.communicator.segment.place(Slot { rank, slot });
                    let to = (self.to + at + rank * self.bytes) as *mut u8;
                    // SAFETY: the driver has checked that the target has room for what the operation writes; of the slot as in `sum`.
                    unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
                }
            }
            CollectiveKind::AllReduce => self.sum(slot, (0, bytes), self.to + at),
            CollectiveKind::ReduceScatter => {
                // Of the piece the part that is this rank's, which may be nothing.
                let first = (own * self.bytes).clamp(at, at + bytes);
                let last = ((own + 1) * self.bytes).clamp(at, at + bytes);
                let to = self.to + first.saturating_sub(own * self.bytes);
                self.sum(slot, (first - at, last - first), to);
            }
        }
    }

    /// Sums a part of the pieces of all ranks, in the order of the ranks.
    fn sum(&self, slot: usize, (skip, bytes): (usize, usize), to: usize) {
        let Some(element) = self.element else {
            return;
        };
        let segment = &self.communicator.segment;
        let source = |rank| segment.place(Slot { rank, slot }).wrapping_add(skip);
        let ranks = 0..self.communicator.ranks;
        let sources: Vec<*const u8> = ranks.map(|rank| source(rank).cast_const()).collect();
        // SAFETY: the slots, which begin at pages, hold these whole elements, and the target has room and is no slot; all ranks have
        // arrived, and none fills these slots before this rank arrives at the next step.
        unsafe { add_up(element, &sources, to as *mut u8, bytes) };
    }

    /// Makes the first element of the result wrong: it changes a bit of its exponent, or of its last byte.
    fn spoil(&self) {
        let width = self.element.map_or(1, Element::width);
        let byte = (self.to + width - 1) as *mut u8;
        // SAFETY: the target has at least one element (0 bytes are never enqueued) and is allocated.
        let old = unsafe { byte.read() };
        // SAFETY: as above.
        unsafe { byte.write(old ^ 0x20) };
    }
}

/// The operation behind the data of a call.
///
/// # Safety
/// `data` is what `enqueue` gave the driver, and was not released.
unsafe fn operation<'a>(data: *mut c_void) -> &'a Operation {
    // SAFETY: the caller promises it; nothing borrows an operation mutably.
    unsafe { &*data.cast::<Operation>() }
}

unsafe extern "C" fn issue(data: *mut c_void, captured: c_int, ns: *mut f64) -> u64 {
    // SAFETY: the driver calls this before it releases the data.
    let operation = unsafe { operation(data) };
    let call = operation.communicator.begin_call();
    operation.captured.store(captured != 0, Relaxed);
    let time = operation.ns(call, captured != 0);
    // SAFETY: the driver passes a place for one double.
    unsafe { ns.write(time) };
    call
}

unsafe extern "C" fn finish(data: *mut c_void, call: u64, wait: c_int) -> c_int {
    // SAFETY: the driver calls this before it releases the data.
    let operation = unsafe { operation(data) };
    c_int::from(operation.advance(call, wait != 0))
}

unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: from Box::into_raw in `enqueue`; the driver releases it once.
    drop(unsafe { Box::from_raw(data.cast::<Operation>()) });
}
