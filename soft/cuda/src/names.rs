//! Exports: names and texts of result codes. Only codes that this library can return have a row.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, put};
use softbox::{Code, Outcome};
use std::ffi::{CStr, c_char, c_int};

/// Code, name, text.
const NAMES: &[(c_int, &CStr, &CStr)] = &[
    (0, c"CUDA_SUCCESS", c"no error"),
    (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (
        100,
        c"CUDA_ERROR_NO_DEVICE",
        c"no CUDA-capable device is detected",
    ),
    (101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (
        200,
        c"CUDA_ERROR_INVALID_IMAGE",
        c"device kernel image is invalid",
    ),
    (
        201,
        c"CUDA_ERROR_INVALID_CONTEXT",
        c"invalid device context",
    ),
    (
        217,
        c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
        c"peer access is not supported between these two devices",
    ),
    (
        218,
        c"CUDA_ERROR_INVALID_PTX",
        c"a PTX JIT compilation failed",
    ),
    (
        400,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
    ),
    (
        401,
        c"CUDA_ERROR_ILLEGAL_STATE",
        c"the operation cannot be performed in the present state",
    ),
    (500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (600, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (
        700,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
    ),
    (
        704,
        c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        c"peer access is already enabled",
    ),
    (
        705,
        c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
        c"peer access has not been enabled",
    ),
    (716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
    (
        719,
        c"CUDA_ERROR_LAUNCH_FAILED",
        c"unspecified launch failure",
    ),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (
        900,
        c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        c"operation not permitted when stream is capturing",
    ),
    (
        901,
        c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        c"operation failed due to a previous error during capture",
    ),
    (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> Status {
    // SAFETY: cuda.h: the caller passes a place for one pointer; the texts live as long as the library.
    call(|| unsafe { answer(text, code, |row| row.1) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> Status {
    // SAFETY: as above.
    call(|| unsafe { answer(text, code, |row| row.2) })
}

type Row = (c_int, &'static CStr, &'static CStr);

/// # Safety
/// As [`put`].
unsafe fn answer(
    text: *mut *const c_char,
    code: c_int,
    pick: impl Fn(&Row) -> &'static CStr,
) -> Outcome<()> {
    match NAMES.iter().find(|row| row.0 == code) {
        // SAFETY: the caller promises it.
        Some(row) => unsafe { put(text, pick(row).as_ptr()) },
        None => {
            // SAFETY: the caller promises it. A code that is not known has the null pointer as its name (cuda.h).
            unsafe { put(text, std::ptr::null()) }?;
            Err(Code::INVALID_VALUE.into())
        }
    }
}
