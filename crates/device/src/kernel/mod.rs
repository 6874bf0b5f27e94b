//! Kernels as a device takes them: code in the vendor's forms, arguments, and the flag that a host holds a kernel with.
//!
//! Which kernels there are, and that their arguments fit, is the matter of the crate `kernels`.

mod ffi;

pub(crate) use ffi::{ANSWER_AT, FLAG_BYTES};
pub use ffi::{Argument, HostFlag, KernelCode, Launch};
