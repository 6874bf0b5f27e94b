//! Exports: device memory; pinned host memory. Managed memory and pools do not exist here.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, current, present, put, with};
use softbox::Code;
use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    call(|| {
        present(total)?;
        let (left, all) = with(|driver| driver.memory_bytes(current()?))?;
        // SAFETY: cuda.h: the caller passes a place for one size_t.
        unsafe { put(free, left as usize) }?;
        // SAFETY: as above.
        unsafe { put(total, all as usize) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> Status {
    call(|| {
        present(pointer)?;
        let address = with(|driver| driver.allocate(current()?, bytes))?;
        // SAFETY: cuda.h: the caller passes a place for one CUdeviceptr, 64 bits.
        unsafe { put(pointer, address) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(pointer: u64) -> Status {
    // Freeing the null pointer does nothing, as in CUDA.
    call(|| {
        if pointer == 0 {
            Ok(())
        } else {
            with(|driver| driver.free(pointer))
        }
    })
}

/// `CU_MEMHOSTALLOC_DEVICEMAP`.
const DEVICE_MAP: c_uint = 2;

/// Memory that was allocated without an address for devices.
static UNMAPPED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn unmapped() -> MutexGuard<'static, BTreeSet<usize>> {
    UNMAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Portable and write-combined (bits 0 and 2) are taken and change nothing here; without mapped (bit 1) a device has no address of
/// the memory.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> Status {
    call(|| {
        present(pointer)?;
        if flags & !0x7 != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let address = with(|driver| driver.allocate_host(current()?, bytes))?;
        if flags & DEVICE_MAP == 0 {
            unmapped().insert(address);
        } else {
            unmapped().remove(&address);
        }
        // SAFETY: cuda.h: the caller passes a place for one pointer.
        unsafe { put(pointer, address as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Status {
    call(|| with(|driver| driver.free_host(pointer as usize)))
}

/// The address is the same for all (unified addressing).
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostGetDevicePointer_v2(
    device_pointer: *mut u64,
    pointer: *mut c_void,
    flags: c_uint,
) -> Status {
    call(|| {
        present(device_pointer)?;
        let known = with(|driver| {
            driver.null_stream(current()?)?;
            Ok(driver.is_mapped_host(pointer as usize, 1))
        })?;
        if flags != 0 || !known || unmapped().contains(&(pointer as usize)) {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: cuda.h: the caller passes a place for one CUdeviceptr, 64 bits.
        unsafe { put(device_pointer, pointer as u64) }
    })
}
