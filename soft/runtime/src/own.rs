//! The exports that no vendor has: the mark of a simulated library, the way of the simulated libraries of collectives into streams, and
//! how a program says on which nodes of the box its host memory and threads are.
#![expect(
    unsafe_code,
    reason = "exports C functions and takes over what C callers promise"
)]

use crate::abi::{CURRENT, Status, call, id};
use crate::vendor::is_null_stream;
use softbox::abi::Handle;
use softbox::{Foreign, ForeignCall, SoftDriver};
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The name of the box behind this library, empty without one; its presence says that no GPU is here.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_box() -> *const c_char {
    softbox::box_name().as_ptr()
}

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
            let stream = match is_null_stream(stream) {
                true => driver.null_stream(CURRENT.get().unwrap_or_default())?,
                false => id(stream),
            };
            driver.enqueue(work.clone(), stream)
        })
    })
}

/// The range of host memory lies on that node from now on; -1: nothing is to be known of it any more. 0, or an error number as
/// mbind(2)'s.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_place(start: Handle, bytes: usize, node: c_int) -> c_int {
    on_nodes(|driver| driver.place(start.number(), bytes, u32::try_from(node).ok()))
}

/// The node of the whole range; -1 where that was not said.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_node_of(start: Handle, bytes: usize) -> c_int {
    let mut found = -1;
    on_nodes(|driver| {
        found = (driver.node_of(start.number(), bytes)).map_or(-1, |node| node as c_int);
        Ok(())
    });
    found
}

/// The calling thread runs on that node; -1: on that of each device. 0, or an error number.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_run_on(node: c_int) -> c_int {
    on_nodes(|driver| driver.run_on(u32::try_from(node).ok()))
}

/// Calls the driver of the process's box, whoever its vendor is. 0, or an error number: `ENODEV` where there is no box.
fn on_nodes(mut ask: impl FnMut(&mut SoftDriver) -> Result<(), c_int>) -> c_int {
    /// errno(3).
    const ENODEV: c_int = 19;
    let asked = || softbox::with_driver(softbox::described()?.vendor, |driver| Ok(ask(driver)));
    match catch_unwind(AssertUnwindSafe(asked)) {
        Ok(Ok(answer)) => answer.err().unwrap_or(0),
        _ => ENODEV,
    }
}
