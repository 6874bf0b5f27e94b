//! A loaded library of collectives: its functions and the calls that need no communicator.

mod ffi;

pub(super) use ffi::Library;
