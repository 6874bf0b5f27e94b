//! Calls on device memory, on pinned host memory, and on asynchronous copies. Managed memory, pools, and strided and array copies do
//! not exist here.
#![expect(unsafe_code, reason = "exports C functions under their vendors' names")]

use crate::abi::{Address, ordinal};
use crate::devices::{none, of_context};
use crate::vendor::calls;
use softbox::abi::{Handle, Out};
use softbox::{CaptureState, Code, Outcome, SoftDriver};
use std::ffi::{c_int, c_uint};

calls! {
    [CUDA "cuMemGetInfo_v2", HIP "hipMemGetInfo", MACA "mcMemGetInfo"]
    fn info(runtime, free: Out<usize>, total: Out<usize>) {
        total.present()?;
        let (left, all) = runtime.on_current(|driver, current| driver.memory_bytes(current))?;
        free.put(left as usize)?;
        total.put(all as usize)
    }

    /// To runtimes no bytes are no error: they are the null pointer.
    [CUDA "cuMemAlloc_v2", HIP "hipMalloc", MACA "mcMalloc"]
    fn allocate(runtime, pointer: Out<Address>, bytes: usize) {
        pointer.present()?;
        let address = match bytes {
            0 if !runtime.contexts => 0,
            _ => runtime.on_current(|driver, current| driver.allocate(current, bytes))?,
        };
        pointer.put(Address::at(address as usize))
    }

    /// Freeing the null pointer does nothing.
    [CUDA "cuMemFree_v2", HIP "hipFree", MACA "mcFree"]
    fn free(runtime, pointer: Address) {
        match pointer.device() {
            0 => Ok(()),
            address => runtime.with(|driver| driver.free(address)),
        }
    }

    /// Flags change nothing here: memory lies where the calling thread's policy says.
    [CUDA "cuMemHostAlloc", HIP "hipHostMalloc", MACA "mcMallocHost"]
    fn allocate_host(runtime, pointer: Out<Address>, bytes: usize, flags: c_uint) {
        pointer.present()?;
        none(flags & !runtime.host_flags)?;
        let address = runtime.on_current(|driver, current| driver.allocate_host(current, bytes))?;
        pointer.put(Address::at(address))
    }

    /// As [`free`].
    [CUDA "cuMemFreeHost", HIP "hipHostFree", MACA "mcFreeHost"]
    fn free_host(runtime, pointer: Address) {
        match pointer.number() {
            0 => Ok(()),
            address => runtime.with(|driver| driver.free_host(address)),
        }
    }

    /// Devices know host memory by the host's address. Memory that is not pinned has none.
    [CUDA "cuMemHostGetDevicePointer_v2", HIP "hipHostGetDevicePointer", MACA "mcHostGetDevicePointer"]
    fn device_pointer(runtime, pointer: Out<Address>, host: Address, flags: c_uint) {
        none(flags)?;
        runtime.tell(pointer, |driver| match driver.is_mapped_host(host.number(), 1) {
            true => Ok(host),
            false => Err(Code::INVALID_VALUE.into()),
        })
    }

    /// The kinds are `hipMemcpyKind`'s (1 to 4), which MetaX's are taken to be; by the last the addresses decide. From host to host
    /// is refused.
    [HIP "hipMemcpyAsync", MACA "mcMemcpyAsync"]
    fn copy(runtime, to: Address, from: Address, bytes: usize, kind: c_uint, stream: Handle) {
        runtime.on_stream(stream, |driver, stream| {
            let is_device = |address: Address| driver.is_device_memory(address.device());
            match (kind, is_device(to), is_device(from)) {
                (1, ..) | (4, true, false) => driver.copy_h2d(to.device(), from.host()?, bytes, stream),
                (2, ..) | (4, false, true) => driver.copy_d2h(to.host()?, from.device(), bytes, stream),
                (3, ..) | (4, true, true) => driver.copy_d2d(to.device(), from.device(), bytes, stream),
                _ => Err(Code::INVALID_VALUE.into()),
            }
        })
    }

    // What CUDA has three calls for.
    [CUDA "cuMemcpyHtoDAsync_v2"]
    fn copy_h2d(runtime, to: Address, from: Address, bytes: usize, stream: Handle) {
        copy(runtime, to, from, bytes, 1, stream)
    }

    [CUDA "cuMemcpyDtoHAsync_v2"]
    fn copy_d2h(runtime, to: Address, from: Address, bytes: usize, stream: Handle) {
        copy(runtime, to, from, bytes, 2, stream)
    }

    [CUDA "cuMemcpyDtoDAsync_v2"]
    fn copy_d2d(runtime, to: Address, from: Address, bytes: usize, stream: Handle) {
        copy(runtime, to, from, bytes, 3, stream)
    }

    /// ROCm's clr does not capture it: it copies at once and leaves the graph empty (hip_peer.cpp).
    [HIP "hipMemcpyPeerAsync", MACA "mcMemcpyPeerAsync"]
    fn copy_peer(runtime, to: Address, target: c_int, from: Address, source: c_int, bytes: usize, stream: Handle) {
        runtime.on_stream(stream, |driver, stream| {
            let devices = (ordinal(target)?, ordinal(source)?);
            let stream = match driver.capture_state(stream)? {
                CaptureState::None => stream,
                _ => driver.null_stream(driver.device_of_stream(stream)?)?,
            };
            between(driver, (to, from, bytes), devices, stream)
        })
    }

    [CUDA "cuMemcpyPeerAsync"]
    fn copy_contexts(runtime, to: Address, target: Handle, from: Address, source: Handle, bytes: usize, stream: Handle) {
        runtime.on_stream(stream, |driver, stream| {
            let devices = (of_context(driver, target)?, of_context(driver, source)?);
            between(driver, (to, from, bytes), devices, stream)
        })
    }
}

/// Copies between devices, which must be those of the memory.
fn between(
    driver: &mut SoftDriver,
    (to, from, bytes): (Address, Address, usize),
    (target, source): (usize, usize),
    stream: u64,
) -> Outcome<()> {
    let (to, from) = (to.device(), from.device());
    if driver.owner(to, bytes)? != target || driver.owner(from, bytes)? != source {
        return Err(Code::INVALID_VALUE.into());
    }
    driver.copy_d2d(to, from, bytes, stream)
}
