//! Code in the forms that vendors take, and arguments.

use std::ffi::CStr;

use super::flag::HostFlag;
use crate::memory::HostBuffer;

/// One kernel in each form that a vendor takes; a backend picks its own, and refuses where there is none.
#[derive(Debug, Clone, Copy)]
pub struct KernelCode {
    /// Its name in all forms.
    pub name: &'static CStr,
    /// PTX text, for NVIDIA's driver.
    pub ptx: Option<&'static CStr>,
    /// HIP C++ with its prelude, which AMD's runtime compiles on the user's machine.
    pub hip: Option<&'static CStr>,
}

/// An argument of a kernel, in the order of its parameters.
#[derive(Debug)]
pub enum Argument<'a, M> {
    /// The address of device memory at an offset, of the stream's device or of a peer whose access was enabled.
    Device(&'a M, usize),
    /// The device's address of pinned host memory at an offset.
    Host(&'a HostBuffer, usize),
    /// The device's address of a flag's word that the host writes.
    Flag(&'a HostFlag),
    /// The device's address of a flag's word that the kernel writes.
    FlagAnswer(&'a HostFlag),
    /// A number.
    Long(u64),
}
