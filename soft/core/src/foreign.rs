//! Work that another simulated library puts into a stream: how long it takes and what it then does are that library's matter.
//!
//! Two simulated libraries are two objects with memory of their own, as the vendor's are. [`ForeignCall`] is what goes from one to
//! the other: the library of collectives fills it in, the driver's library makes a [`Foreign`] of it. Its functions are called with
//! the driver locked: they must not call the driver.
#![expect(unsafe_code, reason = "calls the functions of another library")]

use crate::{Code, Outcome};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The argument of `tplens_soft_enqueue`, which every simulated driver library exports, as C has it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ForeignCall {
    /// The first argument of the three functions.
    pub data: *mut c_void,
    /// Begins one execution, captured or not, when it is issued or a graph that holds it is launched: answers its ticket and writes its
    /// virtual nanoseconds.
    pub issue: unsafe extern "C" fn(*mut c_void, c_int, *mut f64) -> u64,
    /// Moves the bytes of the execution of this ticket, whose time is over: 0 where another process is not that far yet, for which it may
    /// wait some milliseconds if the last argument is not 0. Executions of one chain come here in the order in which they were issued.
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
    /// Works of one chain run one after another, also in different streams.
    pub chain: u64,
}

/// Work of another library. Its data is released when the last clone of it is dropped.
#[derive(Clone)]
pub struct Foreign(Arc<Caller>);

impl Foreign {
    /// The work behind a call's argument.
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
        Ok(Self(Arc::new(Caller(unsafe { what.read() }))))
    }

    pub(crate) fn call(&self) -> &ForeignCall {
        &self.0.0
    }

    pub(crate) fn issue(&self, captured: bool) -> (u64, f64) {
        let (call, mut ns) = (self.call(), 0.0);
        // SAFETY: the promise of the caller of `Foreign::of`; data was not released.
        let ticket = unsafe { (call.issue)(call.data, c_int::from(captured), &raw mut ns) };
        (ticket, ns)
    }

    pub(crate) fn finish(&self, ticket: u64, wait: bool) -> bool {
        let call = self.call();
        // SAFETY: as above. The driver has checked that what the call names is memory of a device, and does not free it before
        // the work is done.
        unsafe { (call.finish)(call.data, ticket, c_int::from(wait)) != 0 }
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

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: as above; this is the one place that releases it.
        unsafe { (self.0.release)(self.0.data) };
    }
}
