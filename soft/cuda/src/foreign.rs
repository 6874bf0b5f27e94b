//! The export by which the soft libnccl puts its work into streams of this library. No vendor has such a symbol.
#![expect(unsafe_code, reason = "calls the functions of another library")]

use crate::abi::{Status, call, present, stream_id, with};
use softbox::{Foreign, ForeignCall, ForeignWork, Issued};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Work of another library.
///
/// Invariant: `0.data` was not released; it is when this is dropped.
struct Caller(ForeignCall);

// SAFETY: whoever calls `tplens_soft_enqueue` promises that its functions may be called from any thread.
unsafe impl Send for Caller {}
// SAFETY: as above, and they are called with the driver locked, hence by one thread at a time.
unsafe impl Sync for Caller {}

impl ForeignWork for Caller {
    fn issue(&self, captured: bool) -> Issued {
        let mut ns = 0.0;
        // SAFETY: the promise of `tplens_soft_enqueue`'s caller; data was not released.
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

/// Puts another library's work into a stream. The data is released when it is needed no more, also where the call fails.
///
/// # Safety
/// `what` is valid for reading; its functions may be called with its data from any thread until it was released.
#[unsafe(no_mangle)]
unsafe extern "C" fn tplens_soft_enqueue(what: *const ForeignCall, stream: *mut c_void) -> Status {
    call(|| {
        present(what)?;
        // SAFETY: not null, and the caller promises that it is valid.
        let what = unsafe { what.read() };
        let work = Foreign {
            from: (what.from, what.from_bytes),
            to: (what.to, what.to_bytes),
            chain: what.chain,
            work: Arc::new(Caller(what)),
        };
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.enqueue(work.clone(), stream)
        })
    })
}
