//! Launching a kernel whose arguments nobody but its author can check.
#![expect(
    unsafe_code,
    reason = "a kernel reads and writes what its arguments point to"
)]

use super::code::Argument;
use crate::error::Result;

/// Streams that can launch kernels.
pub trait Launch {
    /// A loaded kernel of the stream's device.
    type Kernel;
    /// Memory of that device.
    type Memory;

    /// Queues a kernel on `blocks` blocks of `threads` threads. Memory in the arguments is held as that of copies is.
    ///
    /// # Safety
    /// The arguments are those of the kernel's parameters, in number, order and kind, and with them it writes only bytes of
    /// the buffers that they name. It may read others of the device's address space, held by nobody and perhaps not there:
    /// what it does with them decides neither where it writes nor anything that is relied on.
    ///
    /// # Errors
    /// A kernel of another device, an offset outside a buffer, a buffer that the host is using, or the driver's words. Memory
    /// of a peer whose access is not enabled is refused where the backend knows of it; else the kernel runs into it, and the
    /// device is lost, which a later call says.
    unsafe fn launch_kernel(
        &self,
        kernel: &Self::Kernel,
        blocks: u32,
        threads: u32,
        arguments: &[Argument<'_, Self::Memory>],
    ) -> Result<()>;
}
