//! The driver's functions and types as cuda.h declares them.

mod ffi;

pub(super) use ffi::*;
