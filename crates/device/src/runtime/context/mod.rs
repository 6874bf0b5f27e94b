//! Devices as a thread's current one.

mod ffi;

pub(super) use ffi::Context;
