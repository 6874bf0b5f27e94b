//! The exports by which a soft library of collectives puts its work into streams of this library and asks how that went. No vendor
//! has such symbols.
//!
//! They are the same for all vendors: the box says whose streams these are.
#![expect(unsafe_code, reason = "takes over what a C caller promises")]

use crate::abi::{Handle, Status, call, current};
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
        softbox::with_driver_since(softbox::described()?.vendor, work.entered_ns, |driver| {
            let stream = match stream.is_null() {
                true => driver.null_stream(current())?,
                false => stream.id(),
            };
            driver.enqueue(work.clone(), stream)
        })
    })
}

/// Works of other libraries whose bytes were there later than the box says, as [`softbox::SoftDriver::late_works`].
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_late() -> u64 {
    asked(softbox::SoftDriver::late_works)
}

/// Nanoseconds that the box takes for the works of other libraries issued so far, as [`softbox::SoftDriver::foreign_ns`].
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_foreign_ns() -> f64 {
    asked(softbox::SoftDriver::foreign_ns)
}

/// A figure of the driver; its default where there is none.
fn asked<T: Default>(figure: fn(&softbox::SoftDriver) -> T) -> T {
    let vendor = softbox::described().map(|described| described.vendor);
    vendor
        .and_then(|vendor| softbox::with_driver(vendor, |driver| Ok(figure(driver))))
        .unwrap_or_default()
}
