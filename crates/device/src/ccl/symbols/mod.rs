//! The functions of a library with NCCL's interface, and what they take.

mod ffi;

pub(crate) use ffi::{CclNames, ccl_names};
pub(super) use ffi::{Code, Comm, Functions, Id};
