//! Exports: initialisation, versions, texts of result codes.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, close, described, open, put_text};
use std::ffi::{CStr, c_char, c_uint};

/// Code and text, as `nvmlErrorString` has them.
const TEXTS: &[(Status, &CStr)] = &[
    (0, c"Success"),
    (1, c"Uninitialized"),
    (2, c"Invalid Argument"),
    (3, c"Not Supported"),
    (6, c"Not Found"),
    (7, c"Insufficient Size"),
    (9, c"Driver Not Loaded"),
    (25, c"Argument version mismatch"),
];

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Status {
    call(open)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Status {
    call(close)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: Status) -> *const c_char {
    TEXTS
        .iter()
        .find(|row| row.0 == code)
        .map_or(c"Unknown Error", |row| row.1)
        .as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(text: *mut c_char, room: c_uint) -> Status {
    // SAFETY: nvml.h: the caller passes a place for `room` bytes.
    call(|| unsafe { put_text(text, room, &described()?.driver) })
}
