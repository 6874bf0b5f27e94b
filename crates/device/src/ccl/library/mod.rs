//! A loaded library of collectives: its functions and the calls that need no communicator.

mod ffi;

pub(crate) use ffi::{CclNames, ccl_names};
pub(super) use ffi::{Code, Comm, Id, Library, OfComm};
