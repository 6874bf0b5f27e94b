//! The calls that allocate, lock and free memory. Nothing is copied here.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::super::context::Context;
use crate::backend;
use crate::error::{DeviceError, Result};
use crate::memory::{Access, Held, HostMemory, check_range};

/// A buffer on a device.
pub struct DeviceBuffer(pub(crate) Arc<DeviceMemory>);

impl backend::DeviceBuffer for DeviceBuffer {
    fn len(&self) -> usize {
        self.0.len
    }
}

/// Memory on a device.
pub(crate) struct DeviceMemory {
    address: usize,
    len: usize,
    access: Access,
    context: Arc<Context>,
}

impl DeviceMemory {
    /// Allocates with the plain allocator, which is never pooled.
    pub(in crate::runtime) fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        not_empty(bytes)?;
        let (name, call) = context.ready(|all| &all.alloc)?;
        let mut pointer = ptr::null_mut();
        // SAFETY: hip_runtime_api.h: `hipMalloc(void **, size_t)` on the current device writes one address; freed in Drop.
        let code = unsafe { call(&raw mut pointer, bytes) };
        let library = context.library;
        library.check_memory(name, code, bytes, "device memory")?;
        let start = not_null(pointer, name)?;
        Ok(Self {
            address: start.as_ptr() as usize,
            len: bytes,
            access: Access::default(),
            context: Arc::clone(context),
        })
    }

    /// The device that it is on.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The address of `bytes` from `offset` on, which lie inside.
    pub(crate) fn range(&self, offset: usize, bytes: usize) -> Result<usize> {
        check_range(offset, bytes, self.len)?;
        Ok(self.address + offset)
    }
}

impl Held for DeviceMemory {
    fn access(&self) -> &Access {
        &self.access
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let free = self.context.library.functions.free.call;
        if let (Some(call), Ok(())) = (free, self.context.bind()) {
            // SAFETY: hip_runtime_api.h: `hipFree(void *)`; from hipMalloc in `allocate`, freed once. Streams hold what
            // they copy until they were waited for, so no work that is queued reaches it. What it returns changes nothing:
            // there is nothing left to do.
            let _ = unsafe { call(self.address as *mut c_void) };
        }
    }
}

/// Runtimes answer an allocation of no bytes with success and no memory.
fn not_empty(bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Err(DeviceError::Argument {
            what: "a buffer of 0 bytes",
            why: "there is nothing to allocate".to_owned(),
        });
    }
    Ok(())
}

fn not_null(pointer: *mut c_void, call: &'static str) -> Result<NonNull<u8>> {
    NonNull::new(pointer.cast()).ok_or_else(|| DeviceError::Vendor {
        call,
        code: 0,
        name: "success and no memory".to_owned(),
    })
}

/// What host memory is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum HostWish {
    /// Copies.
    Pinned,
    /// Words that host and kernels use at the same time.
    Shared,
}

/// Page-locked host memory that every device may use, all zero; where `on_node`, by the policy of the calling thread.
pub(in crate::runtime) fn host(
    context: &Arc<Context>,
    wish: HostWish,
    bytes: usize,
    on_node: bool,
) -> Result<HostMemory> {
    let library = context.library;
    not_empty(bytes)?;
    let flags = &library.table.host_flags;
    let wished = match wish {
        HostWish::Pinned => flags.pinned,
        HostWish::Shared => flags.pinned | flags.coherent,
    };
    let node = if on_node { flags.on_node } else { 0 };
    let (name, call) = context.ready(|all| &all.host_alloc)?;
    let mut pointer = ptr::null_mut();
    // SAFETY: hip_runtime_api.h: `hipHostMalloc(void **, size_t, unsigned int)`, which MACA calls mcMallocHost with the
    // same three parameters, writes one pointer; freed by `Allocated`.
    let code = unsafe { call(&raw mut pointer, bytes, wished | node) };
    library.check_memory(name, code, bytes, "pinned host memory")?;
    let start = not_null(pointer, name)?;
    let owner = Box::new(Allocated {
        address: start.as_ptr() as usize,
        context: Arc::clone(context),
    });
    // SAFETY: the runtime gave `bytes` bytes that the host may write, and nothing else has their address yet.
    unsafe { ptr::write_bytes(start.as_ptr(), 0, bytes) };
    // SAFETY: valid and initialised above, freed by `owner` alone, which frees it in Drop only.
    Ok(unsafe { HostMemory::new(start, bytes, owner) })
}

/// Frees host memory of the runtime.
struct Allocated {
    address: usize,
    context: Arc<Context>,
}

impl Drop for Allocated {
    fn drop(&mut self) {
        let free = self.context.library.functions.host_free.call;
        if let (Some(call), Ok(())) = (free, self.context.bind()) {
            // SAFETY: hip_runtime_api.h: `hipHostFree(void *)`; from hipHostMalloc in `host`, freed once. Streams hold what
            // they copy until they were waited for, and `HostMemory` keeps this value until then.
            let _ = unsafe { call(self.address as *mut c_void) };
        }
    }
}

/// The device's address of a byte of host memory that the runtime allocated or locked.
///
/// # Errors
/// The runtime does not know the memory.
pub(in crate::runtime) fn device_address(
    context: &Context,
    memory: &HostMemory,
    offset: usize,
) -> Result<usize> {
    check_range(offset, 0, memory.len())?;
    let (name, call) = context.ready(|all| &all.host_address)?;
    let mut address = ptr::null_mut();
    // SAFETY: hip_runtime_api.h: `hipHostGetDevicePointer(void **, void *, unsigned int)` writes one address; flags must be
    // 0; memory that it does not know is an error code.
    let code = unsafe { call(&raw mut address, memory.pointer().as_ptr().cast(), 0) };
    context.library.check(name, code)?;
    not_null(address, name).map(|start| start.as_ptr() as usize + offset)
}
