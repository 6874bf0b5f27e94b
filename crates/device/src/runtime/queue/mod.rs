//! Streams and events of a runtime. What they hold and for how long is decided where the library is called.

mod ffi;

pub(super) use ffi::Kind;
pub use ffi::{Event, Stream};
