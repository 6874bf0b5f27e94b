//! Work that another simulated library puts into a stream: how long it takes and what it then does are that library's matter.
//!
//! Two simulated libraries are two objects with memory of their own, as the vendor's are. [`ForeignCall`] is what goes from one to
//! the other: the library of collectives fills it in, the driver's library makes a [`Foreign`] of it.
#![expect(unsafe_code, reason = "calls the functions of another library")]

use crate::work::{Foreign, ForeignWork, Issued, Node, Transfer};
use crate::{Code, Flow, Outcome, SoftDriver};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The argument of `tplens_soft_enqueue`, which every simulated driver library exports, as C has it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ForeignCall {
    /// The first argument of the three functions.
    pub data: *mut c_void,
    /// [`ForeignWork::issue`]: answers the ticket and writes the nanoseconds.
    pub issue: unsafe extern "C" fn(*mut c_void, c_int, *mut f64) -> u64,
    /// [`ForeignWork::finish`]: not 0 where it is done.
    pub finish: unsafe extern "C" fn(*mut c_void, u64, c_int) -> c_int,
    /// Called once, when the driver needs `data` no more: also where it refused the work.
    pub release: unsafe extern "C" fn(*mut c_void),
    /// Address of what it reads.
    pub from: u64,
    /// Bytes of what it reads.
    pub from_bytes: usize,
    /// Address of what it writes.
    pub to: u64,
    /// Bytes of what it writes.
    pub to_bytes: usize,
    /// As [`Foreign::chain`].
    pub chain: u64,
}

impl Foreign {
    /// The work behind a call's argument. Its data is released when the last clone of the answer is dropped.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] for null.
    ///
    /// # Safety
    /// `what` is null or valid for reading; its functions may be called with its data from any thread until it was released,
    /// and nobody else releases it.
    pub unsafe fn of(what: *const ForeignCall) -> Outcome<Self> {
        if what.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: not null, and the caller promises that it is valid.
        let what = unsafe { what.read() };
        Ok(Self {
            from: (what.from, what.from_bytes),
            to: (what.to, what.to_bytes),
            chain: what.chain,
            work: Arc::new(Caller(what)),
        })
    }
}

/// Work of another library.
///
/// Invariant: `0.data` was not released; it is when this is dropped.
struct Caller(ForeignCall);

// SAFETY: the caller of `Foreign::of` promises that the functions may be called from any thread.
unsafe impl Send for Caller {}
// SAFETY: as above, and they are called with the driver locked, hence by one thread at a time.
unsafe impl Sync for Caller {}

impl ForeignWork for Caller {
    fn issue(&self, captured: bool) -> Issued {
        let mut ns = 0.0;
        // SAFETY: the promise of the caller of `Foreign::of`; data was not released.
        let ticket = unsafe { (self.0.issue)(self.0.data, c_int::from(captured), &raw mut ns) };
        Issued { ticket, ns }
    }

    fn finish(&self, ticket: u64, wait: bool) -> bool {
        // SAFETY: as above. The driver has checked that what the call names is memory of a device, and does not free it before
        // the work is done.
        unsafe { (self.0.finish)(self.0.data, ticket, c_int::from(wait)) != 0 }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: as above; this is the one place that releases it.
        unsafe { (self.0.release)(self.0.data) };
    }
}

impl SoftDriver {
    /// Puts another library's work into a stream, or into the graph that the stream captures.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where what it reads or writes is not memory of the stream's device, [`Code::INVALID_HANDLE`].
    pub fn enqueue(&mut self, foreign: Foreign, stream: u64) -> Outcome<()> {
        self.check_foreign(&foreign, stream)?;
        if !self.capture(stream, || Node::Foreign(foreign.clone()))? {
            self.issue_foreign(foreign, stream, false);
        }
        Ok(())
    }

    pub(crate) fn check_foreign(&self, foreign: &Foreign, stream: u64) -> Outcome<()> {
        let ordinal = self.stream(stream)?;
        for (address, bytes) in [foreign.from, foreign.to] {
            if self.owner(address, bytes)? != ordinal {
                return Err(Code::INVALID_VALUE.into());
            }
        }
        Ok(())
    }

    pub(crate) fn issue_foreign(&mut self, foreign: Foreign, stream: u64, captured: bool) {
        let issued = foreign.work.issue(captured);
        if let Some(last) = self.chains.get(&foreign.chain) {
            self.sim.wait_for(stream, *last);
        }
        let operation = self.sim.run(stream, Flow::idle(issued.ns));
        // Kept as long as the process: a communicator is seldom made.
        self.chains.insert(foreign.chain, (stream, operation));
        self.pending
            .insert(operation, Transfer::Foreign(foreign, issued.ticket));
    }
}
