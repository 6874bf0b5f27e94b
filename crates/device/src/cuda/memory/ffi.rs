//! The calls that allocate and free memory. Nothing is copied here.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::cuda::raw as sys;

use crate::cuda::context::Context;
use crate::cuda::library::{check, check_memory};
use crate::error::{DeviceError, Result};
use crate::memory::{Access, Held, HostMemory, check_range};

/// Memory on a device.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    pointer: sys::CUdeviceptr,
    len: usize,
    access: Access,
    context: Arc<Context>,
}

impl DeviceMemory {
    /// Allocates with cuMemAlloc, which is never pooled.
    pub(in crate::cuda) fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        context.bind()?;
        let mut pointer = 0;
        // SAFETY: cuda.h: `cuMemAlloc(CUdeviceptr *, size_t)` writes one address; freed in Drop.
        let code = unsafe { sys::cuMemAlloc_v2(&raw mut pointer, bytes) };
        check_memory("cuMemAlloc_v2", code, bytes, "device memory")?;
        Ok(Self {
            pointer,
            len: bytes,
            access: Access::default(),
            context: Arc::clone(context),
        })
    }

    /// Its length in bytes.
    pub(in crate::cuda) fn len(&self) -> usize {
        self.len
    }

    /// The context that it was allocated in.
    pub(in crate::cuda) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The address of `bytes` from `offset` on, which lie inside.
    pub(in crate::cuda) fn range(&self, offset: usize, bytes: usize) -> Result<sys::CUdeviceptr> {
        check_range(offset, bytes, self.len)?;
        Ok(self.pointer + offset as u64)
    }
}

impl Held for DeviceMemory {
    fn access(&self) -> &Access {
        &self.access
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuMemFree(CUdeviceptr)`; from cuMemAlloc in `allocate`, freed once. Streams hold what they
            // copy until they were waited for, so no work that is queued reaches it.
            let _ = unsafe { sys::cuMemFree_v2(self.pointer) };
        }
    }
}

/// Page-locked host memory that every context may use, all zero.
pub(in crate::cuda) fn pinned(context: &Arc<Context>, bytes: usize) -> Result<HostMemory> {
    const MAPPED: u32 = 1 | 2; // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
    context.bind()?;
    let mut pointer: *mut c_void = ptr::null_mut();
    // SAFETY: cuda.h: `cuMemHostAlloc(void **, size_t, unsigned int)` writes one pointer; freed by `Pinned`.
    let code = unsafe { sys::cuMemHostAlloc(&raw mut pointer, bytes, MAPPED) };
    check_memory("cuMemHostAlloc", code, bytes, "pinned host memory")?;
    let Some(start) = NonNull::new(pointer.cast::<u8>()) else {
        return Err(DeviceError::Vendor {
            call: "cuMemHostAlloc",
            code: 0,
            name: "success and no memory".to_owned(),
        });
    };
    let owner = Box::new(Pinned {
        address: start.as_ptr() as usize,
        context: Arc::clone(context),
    });
    // SAFETY: cuMemHostAlloc gave `bytes` bytes that the host may write, and nothing else has their address yet.
    unsafe { ptr::write_bytes(start.as_ptr(), 0, bytes) };
    // SAFETY: valid and initialised above, freed by `owner` alone, which frees it in Drop only.
    Ok(unsafe { HostMemory::new(start, bytes, owner) })
}

/// Frees pinned host memory.
struct Pinned {
    address: usize,
    context: Arc<Context>,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuMemFreeHost(void *)`; from cuMemHostAlloc in `pinned`, freed once. Streams hold what they
            // copy until they were waited for, and `HostMemory` keeps this value until then.
            let _ = unsafe { sys::cuMemFreeHost(self.address as *mut c_void) };
        }
    }
}

/// The address at which kernels reach pinned host memory from an offset on.
///
/// It is the host's own for pinned memory only (CUDA driver API, unified addressing), so the driver is asked.
pub(in crate::cuda) fn address_on_device(
    context: &Context,
    memory: &HostMemory,
    offset: usize,
) -> Result<sys::CUdeviceptr> {
    check_range(offset, 0, memory.len())?;
    context.bind()?;
    let mut address = 0;
    let start = memory.pointer().as_ptr().cast();
    // SAFETY: cuda.h: `cuMemHostGetDevicePointer(CUdeviceptr *, void *, unsigned int)` writes one address; the memory is
    // alive, and what the driver did not map is an error code. Flags must be 0.
    let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, start, 0) };
    check("cuMemHostGetDevicePointer_v2", code)?;
    Ok(address + offset as u64)
}
