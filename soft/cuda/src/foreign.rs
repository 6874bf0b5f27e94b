//! The exports by which the soft libnccl puts its work into streams of this library and asks how that went. No vendor has such
//! symbols.
#![expect(unsafe_code, reason = "takes over what a C caller promises")]

use crate::abi::{Status, call, stream_id, with, with_since};
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
        with_since(work.entered_ns, |driver| {
            let stream = stream_id(driver, stream)?;
            driver.enqueue(work.clone(), stream)
        })
    })
}

/// Works of other libraries whose bytes were there later than the box says, as [`softbox::SoftDriver::late_works`].
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_late() -> u64 {
    with(|driver| Ok(driver.late_works())).unwrap_or_default()
}

/// Nanoseconds that the box takes for the works of other libraries issued so far, as [`softbox::SoftDriver::foreign_ns`].
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_foreign_ns() -> f64 {
    with(|driver| Ok(driver.foreign_ns())).unwrap_or_default()
}
