//! Exports: primary contexts, the current context of a thread, and peer access. Contexts of other kinds do not exist here.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Status, call, context_handle, context_of, current, ordinal, present, put, set_current, with,
};
use softbox::{Code, SoftDriver};
use std::ffi::{c_int, c_uint, c_void};

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> Status {
    call(|| {
        present(context)?;
        let ordinal = ordinal(device)?;
        with(|driver| driver.retain(ordinal))?;
        // SAFETY: cuda.h: the caller passes a place for one CUcontext.
        unsafe { put(context, context_handle(ordinal)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Status {
    call(|| with(|driver| driver.release(ordinal(device)?)))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> Status {
    call(|| {
        let ordinal = match context.is_null() {
            true => None,
            false => Some(with(|driver| context_of(driver, context))?),
        };
        set_current(ordinal);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> Status {
    call(|| {
        let handle = current().map_or(std::ptr::null_mut(), context_handle);
        // SAFETY: cuda.h: the caller passes a place for one CUcontext.
        unsafe { put(context, handle) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> Status {
    call(|| {
        let ordinal = current()?;
        // SAFETY: cuda.h: the caller passes a place for one CUdevice, an int.
        unsafe { put(device, ordinal as c_int) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> Status {
    call(|| with(|driver| driver.synchronize_device(current()?)))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxEnablePeerAccess(peer: *mut c_void, flags: c_uint) -> Status {
    call(|| match flags {
        0 => change_access(peer, SoftDriver::enable_peer),
        _ => Err(Code::INVALID_VALUE.into()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDisablePeerAccess(peer: *mut c_void) -> Status {
    call(|| change_access(peer, SoftDriver::disable_peer))
}

fn change_access(
    peer: *mut c_void,
    change: impl Fn(&mut SoftDriver, usize, usize) -> softbox::Outcome<()>,
) -> softbox::Outcome<()> {
    with(|driver| {
        let peer = context_of(driver, peer)?;
        change(driver, current()?, peer)
    })
}
