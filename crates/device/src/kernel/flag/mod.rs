//! The flag that a host holds a kernel with.

mod ffi;

pub use ffi::HostFlag;
pub(crate) use ffi::{ANSWER_AT, FLAG_BYTES};
