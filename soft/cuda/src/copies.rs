//! Exports: asynchronous copies and fills. Strided and array copies do not exist here.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, context_of, present, stream_id, with};
use softbox::{Code, HostAddress};
use std::ffi::{c_uchar, c_uint, c_void};

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    call(|| {
        present(from)?;
        // SAFETY: cuda.h: the source is valid for reading until the copy has ended.
        let from = unsafe { HostAddress::new(from as usize) };
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.copy_h2d(to, from, bytes, stream)
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    call(|| {
        present(to)?;
        // SAFETY: cuda.h: the destination is valid for writing until the copy has ended.
        let to = unsafe { HostAddress::new(to as usize) };
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.copy_d2h(to, from, bytes, stream)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    call(|| {
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.copy_d2d(to, from, bytes, stream)
        })
    })
}

/// The contexts must be those of the memory.
#[unsafe(no_mangle)]
extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: *mut c_void,
    from: u64,
    from_context: *mut c_void,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    call(|| {
        with(|driver| {
            let (target, source) = (
                context_of(driver, to_context)?,
                context_of(driver, from_context)?,
            );
            if driver.owner(to, bytes)? != target || driver.owner(from, bytes)? != source {
                return Err(Code::INVALID_VALUE.into());
            }
            let stream = stream_id(driver, stream)?;
            driver.copy_d2d(to, from, bytes, stream)
        })
    })
}

/// Which side is device memory is found by the address; from host to host is refused.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyAsync(
    to: u64,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    call(|| {
        // SAFETY: cuda.h: both sides are valid until the copy has ended; only the one that is host memory is used as such.
        let (host_to, host_from) = unsafe { host_addresses(to, from) };
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            match (driver.is_device_memory(to), driver.is_device_memory(from)) {
                (true, true) => driver.copy_d2d(to, from, bytes, stream),
                (true, false) if from != 0 => driver.copy_h2d(to, host_from, bytes, stream),
                (false, true) if to != 0 => driver.copy_d2h(host_to, from, bytes, stream),
                _ => Err(Code::INVALID_VALUE.into()),
            }
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(
    to: u64,
    value: c_uchar,
    count: usize,
    stream: *mut c_void,
) -> Status {
    fill(to, count, [value; 4], 1, stream)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32Async(
    to: u64,
    value: c_uint,
    count: usize,
    stream: *mut c_void,
) -> Status {
    fill(to, count, value.to_ne_bytes(), 4, stream)
}

fn fill(to: u64, count: usize, pattern: [u8; 4], width: usize, stream: *mut c_void) -> Status {
    call(|| {
        let bytes = count.checked_mul(width).ok_or(Code::INVALID_VALUE)?;
        if !to.is_multiple_of(width as u64) {
            return Err(Code::INVALID_VALUE.into());
        }
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            driver.fill(to, bytes, pattern, width, stream)
        })
    })
}

/// # Safety
/// As [`HostAddress::new`], for whichever of the two is host memory.
unsafe fn host_addresses(to: u64, from: u64) -> (HostAddress, HostAddress) {
    // SAFETY: the caller promises it.
    let to = unsafe { HostAddress::new(to as usize) };
    // SAFETY: the caller promises it.
    let from = unsafe { HostAddress::new(from as usize) };
    (to, from)
}
