//! A vendor's library: loaded, its functions found, and its answers turned into errors.

mod ffi;

pub(super) use ffi::Library;
