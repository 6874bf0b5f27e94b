//! Graphs of the driver: work that a stream captured and that is launched as a whole.

mod ffi;

pub(super) use ffi::RawGraph;
