//! The compiler that a vendor's installation brings, loaded when the first kernel is.

mod ffi;

pub(in crate::runtime) use ffi::compile;
