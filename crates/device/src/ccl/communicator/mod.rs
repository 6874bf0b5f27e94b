//! Communicators of a loaded library. What they hold and for how long is decided where the library is called.

mod ffi;

pub(super) use ffi::{CclCommunicator, alone};
