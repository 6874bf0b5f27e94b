//! Kernels as a device takes them: code in the vendor's forms, arguments, and the flag that a host holds a kernel with.
//!
//! Which kernels there are, and that their arguments fit, is the matter of the crate `kernels`.

mod code;
mod ffi;
mod flag;

pub use code::{Argument, KernelCode};
pub use ffi::Launch;
pub use flag::HostFlag;
pub(crate) use flag::{ANSWER_AT, FLAG_BYTES};
