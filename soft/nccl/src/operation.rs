//! One collective operation: how long it takes, and what it does to the bytes when its time is over.
#![expect(
    unsafe_code,
    reason = "reads and writes device memory, and is called by the soft libcuda"
)]

use crate::abi::{Outcome, Status, refuse};
use crate::communicator::{Communicator, Meeting, Progress};
use crate::driver::{Driver, INVALID_VALUE};
use crate::element::Element;
use crate::segment::SLOT;
use boxfile::{CollectiveKind, CollectiveLibrary};
use softbox::{ForeignCall, call_factor};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// An operation that was checked: it is not of 0 bytes, and the box says how long it takes.
pub(crate) struct Operation {
    communicator: Arc<Communicator>,
    kind: CollectiveKind,
    /// What is summed; a gather moves bytes.
    element: Option<Element>,
    from: usize,
    to: usize,
    /// Bytes that each rank brings.
    bytes: usize,
    /// Time on the device, and the least time when it is called by itself, in microseconds.
    us: f64,
    launch_us: f64,
}

impl Operation {
    /// Checks an operation against the box.
    pub(crate) fn new(
        communicator: Arc<Communicator>,
        kind: CollectiveKind,
        element: Option<Element>,
        (to, from): (usize, usize),
        bytes: usize,
    ) -> Outcome<Self> {
        let (described, ranks) = (communicator.described, communicator.ranks as u32);
        let table = described.collective_of(CollectiveLibrary::Nccl, kind, ranks);
        let Some((table, us)) = table.and_then(|table| Some((table, table.us(bytes as u64)?)))
        else {
            let words = format!(
                "the box {} does not say how long NCCL takes for {kind:?} of {ranks} ranks; add a [[collective]] table",
                described.name
            );
            return refuse(Status::INVALID_USAGE, words);
        };
        let launch_us = table.launch_us.as_ref().map_or(0.0, |figure| figure.value);
        Ok(Self {
            communicator,
            kind,
            element,
            from,
            to,
            bytes,
            us,
            launch_us,
        })
    }

    /// Puts it into a stream of the soft libcuda.
    ///
    /// # Safety
    /// The stream is one of libcuda's.
    pub(crate) unsafe fn enqueue(self, call: &str, stream: *mut c_void) -> Outcome<()> {
        let driver = Driver::get()?;
        let written = match self.kind {
            CollectiveKind::AllReduce => Some(self.bytes),
            CollectiveKind::AllGather => self.bytes.checked_mul(self.communicator.ranks),
        };
        let Some(written) = written else {
            return refuse(
                Status::INVALID_ARGUMENT,
                format!("{call} : more bytes than can be addressed"),
            );
        };
        let (from, to) = (self.from, self.to);
        let work = ForeignCall {
            chain: self.communicator.number,
            from: from as u64,
            from_bytes: self.bytes,
            to: to as u64,
            to_bytes: written,
            issue,
            finish,
            release,
            data: Box::into_raw(Box::new(self)).cast(),
        };
        // SAFETY: the functions take the boxed operation until it is released, and may be called by any thread.
        let code = unsafe { driver.enqueue(&work, stream) };
        if code == INVALID_VALUE {
            let words = format!(
                "{call} : {from:#x} or {to:#x} is not a valid pointer to memory of the device"
            );
            return refuse(Status::INVALID_ARGUMENT, words);
        }
        driver.check(code)
    }

    /// The virtual time of one execution in nanoseconds.
    fn ns(&self, call: u64, captured: bool) -> f64 {
        let least = if captured { 0.0 } else { self.launch_us };
        let factor = call_factor(self.communicator.described.noise.as_ref(), call);
        self.us.max(least) * 1000.0 * factor
    }

    /// Executes it as far as the other ranks have come; whether it is done.
    fn advance(&self, call: u64, wait: bool) -> bool {
        let communicator = &self.communicator;
        let mut progress = communicator.progress();
        // What all ranks must agree on, besides the number of the step.
        let what = (self.bytes as u64) << 16
            | (self.kind as u64) << 8
            | self.element.map_or(0xff, |element| element as u64);
        while progress.done < self.bytes {
            let at = progress.done;
            let bytes = (self.bytes - at).min(SLOT);
            let own = communicator.rank;
            let bring = |slot| {
                // SAFETY: the driver has checked that the source is allocated; this rank reads the slot only.
                unsafe {
                    communicator
                        .segment
                        .fill(own, slot, (self.from + at) as *const u8, bytes)
                }
            };
            match communicator.meet(&mut progress, call, what, wait, bring) {
                Meeting::All { slot } => self.take(&mut progress, slot, bytes),
                Meeting::NotYet => return false,
                Meeting::Aborted => break,
            }
            progress.done += bytes;
        }
        progress.done = 0;
        if communicator.spoils(call) {
            self.spoil();
        }
        true
    }

    /// Takes one piece of all ranks from their slots.
    fn take(&self, progress: &mut Progress, slot: usize, bytes: usize) {
        let segment = &self.communicator.segment;
        let at = self.to + progress.done;
        let Some(element) = self.element else {
            for rank in 0..self.communicator.ranks {
                let to = (at + rank * self.bytes) as *mut u8;
                // SAFETY: the driver has checked that the target has room for all ranks' bytes; all have arrived and none
                // fills this slot before this rank arrives at the next step.
                unsafe { segment.take(rank, slot, to, bytes) };
            }
            return;
        };
        let Progress { piece, sum, .. } = progress;
        piece.resize(bytes, 0);
        sum.clear();
        sum.resize(bytes / element.width(), 0.0);
        for rank in 0..self.communicator.ranks {
            // SAFETY: the piece has this many bytes; the slot as above.
            unsafe { segment.take(rank, slot, piece.as_mut_ptr(), bytes) };
            element.add(sum, piece);
        }
        element.write(sum, piece);
        // SAFETY: the driver has checked that the target is allocated; the piece is this process's own.
        unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), at as *mut u8, bytes) };
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
