//! The export by which the soft libnccl puts its work into streams of this library. No vendor has such a symbol.
#![expect(unsafe_code, reason = "takes over what a C caller promises")]

use crate::abi::{Status, call, stream_id, with};
use softbox::{Foreign, ForeignCall};
use std::ffi::c_void;

/// Puts another library's work into a stream. The data is released when it is needed no more, also where the call fails.
///
/// # Safety
/// As [`Foreign::of`] says of `what`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tplens_soft_enqueue(what: *const ForeignCall, stream: *mut c_void) -> Status {
    call(|| {
        // SAFETY: the caller promises what it asks for.
        let work = unsafe { Foreign::of(what) }?;
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.enqueue(work.clone(), stream)
        })
    })
}
