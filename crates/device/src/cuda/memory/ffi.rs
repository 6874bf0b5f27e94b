//! The calls that allocate and free memory. Nothing is copied here.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::cuda::raw as sys;

use crate::cuda::context::Context;
use crate::cuda::library::{check, check_memory, require};
use crate::error::{DeviceError, Result};
use crate::memory::HostKind;
use crate::memory::{Access, Held, HostBuffer, HostMemory, check_range};
use crate::nodes::Nodes;

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

/// Page-locked host memory that every context may use, all zero; not cached by the host where it is write-combined.
pub(in crate::cuda) fn pinned(
    context: &Arc<Context>,
    bytes: usize,
    write_combined: bool,
) -> Result<HostMemory> {
    const MAPPED: u32 = 1 | 2; // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
    const WRITE_COMBINED: u32 = 4; // CU_MEMHOSTALLOC_WRITECOMBINED
    let flags = MAPPED | if write_combined { WRITE_COMBINED } else { 0 };
    context.bind()?;
    let mut pointer: *mut c_void = ptr::null_mut();
    // SAFETY: cuda.h: `cuMemHostAlloc(void **, size_t, unsigned int)` writes one pointer; freed by `Pinned`.
    let code = unsafe { sys::cuMemHostAlloc(&raw mut pointer, bytes, flags) };
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

/// Pages of a registered kind that the driver locked and mapped for every context.
pub(in crate::cuda) fn registered(
    context: &Arc<Context>,
    what: (Nodes, HostKind),
    bytes: usize,
    node: Option<u32>,
) -> Result<HostBuffer> {
    const FLAGS: u32 = 1 | 2; // CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP
    require(&["cuMemHostRegister_v2", "cuMemHostUnregister"])?;
    HostBuffer::registered(what, bytes, node, |start, bytes| {
        context.bind()?;
        // SAFETY: cuda.h: `cuMemHostRegister(void *, size_t, unsigned int)`; the pages are there until `Registration`, which
        // unregisters them, was dropped.
        let code = unsafe { sys::cuMemHostRegister_v2(start.as_ptr().cast(), bytes, FLAGS) };
        check_memory(
            "cuMemHostRegister_v2",
            code,
            bytes,
            "registered host memory",
        )?;
        Ok(Registration {
            address: start.as_ptr() as usize,
            context: Arc::clone(context),
        })
    })
}

/// Takes registered pages back from the driver.
struct Registration {
    address: usize,
    context: Arc<Context>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuMemHostUnregister(void *)`; registered by cuMemHostRegister in `registered`, taken back
            // once. Streams hold what they use until they were waited for, and `HostMemory` keeps this value until then.
            let _ = unsafe { sys::cuMemHostUnregister(self.address as *mut c_void) };
        }
    }
}

/// The address at which kernels reach pinned, write-combined or registered host memory from an offset on.
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
