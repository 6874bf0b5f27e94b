//! Captured work of a stream.

mod ffi;

pub use ffi::Graph;
