//! Captured work of a stream.

mod ffi;

pub(super) use ffi::RawGraph;
