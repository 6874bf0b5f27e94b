//! The launch that every backend has: the host has no kernels.
#![expect(unsafe_code, reason = "a launch of any backend")]

use super::super::{DeviceBuffer, NoKernel, Stream};
use crate::error::Result;
use crate::kernel::{Argument, Launch};

impl Launch for Stream {
    type Kernel = NoKernel;
    type Memory = DeviceBuffer;

    unsafe fn launch_kernel(
        &self,
        kernel: &NoKernel,
        _blocks: u32,
        _threads: u32,
        _arguments: &[Argument<'_, DeviceBuffer>],
    ) -> Result<()> {
        match *kernel {}
    }
}
