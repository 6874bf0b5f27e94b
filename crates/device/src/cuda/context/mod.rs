//! Devices of the driver and their primary contexts.

mod ffi;

pub(super) use ffi::{Context, Handle};
