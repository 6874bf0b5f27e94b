//! The export by which a simulated library of collectives puts its work into streams of this library. No vendor has such a symbol.
//!
//! It is the same for all vendors: the box says whose streams these are.
#![expect(unsafe_code, reason = "takes over what a C caller promises")]

use crate::abi::{Handle, Status, call, chosen};
use softbox::{Foreign, ForeignCall};

/// Puts another library's work into a stream. The data is released when it is needed no more, also where the call fails.
///
/// # Safety
/// As [`Foreign::of`] says of `what`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tplens_soft_enqueue(what: *const ForeignCall, stream: Handle) -> Status {
    call(|| {
        // SAFETY: the caller promises what it asks for.
        let work = unsafe { Foreign::of(what) }?;
        // The work's memory is a device's, so that some call has begun the driver before; else the driver says so.
        softbox::with_driver(softbox::described()?.vendor, |driver| {
            let stream = match stream.is_null_stream() {
                true => driver.null_stream(chosen().unwrap_or_default())?,
                false => stream.id(),
            };
            driver.enqueue(work.clone(), stream)
        })
    })
}
