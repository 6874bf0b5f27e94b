//! Streams of a runtime. What they hold and for how long is decided where the library is called.

mod ffi;
mod stream;

pub(super) use ffi::{RawEvent, RawStream};
pub use stream::{Graph, Stream};
