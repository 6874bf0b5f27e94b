//! Devices as a thread's current one.

mod ffi;

pub(crate) use ffi::Context;
