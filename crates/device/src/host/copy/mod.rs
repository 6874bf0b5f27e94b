//! Copies of the host backend.

mod ffi;

pub(super) use ffi::Copy;
