//! Calls on device memory, and on pinned host memory. Managed memory and pools do not exist here.

use crate::abi::{Address, Out};
use crate::vendor::Runtime;
use softbox::{Code, Outcome};
use std::ffi::c_uint;

pub(crate) fn info(runtime: &Runtime, free: Out<usize>, total: Out<usize>) -> Outcome<()> {
    total.present()?;
    let (left, all) = runtime.on_current(|driver, current| driver.memory_bytes(current))?;
    free.put(left as usize)?;
    total.put(all as usize)
}

/// No bytes are no error: they are the null pointer.
pub(crate) fn allocate(runtime: &Runtime, pointer: Out<Address>, bytes: usize) -> Outcome<()> {
    pointer.present()?;
    let address = match bytes {
        0 if !runtime.contexts => 0,
        _ => runtime.on_current(|driver, current| driver.allocate(current, bytes))?,
    };
    pointer.put(Address::at(address as usize))
}

/// Freeing the null pointer does nothing.
pub(crate) fn free(runtime: &Runtime, pointer: Address) -> Outcome<()> {
    if pointer.is_null() {
        return Ok(());
    }
    runtime.with(|driver| driver.free(pointer.device()))
}

/// Flags change nothing here: memory lies where the calling thread's policy says.
pub(crate) fn allocate_host(
    runtime: &Runtime,
    pointer: Out<Address>,
    bytes: usize,
    flags: c_uint,
) -> Outcome<()> {
    pointer.present()?;
    if flags & !runtime.host_flags != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let address = runtime.on_current(|driver, current| driver.allocate_host(current, bytes))?;
    pointer.put(Address::at(address))
}

/// As [`free`].
pub(crate) fn free_host(runtime: &Runtime, pointer: Address) -> Outcome<()> {
    if pointer.is_null() {
        return Ok(());
    }
    runtime.with(|driver| driver.free_host(pointer.number()))
}

/// Devices know host memory by the host's address. Memory that is not pinned has none.
pub(crate) fn device_pointer(
    runtime: &Runtime,
    pointer: Out<Address>,
    host: Address,
    flags: c_uint,
) -> Outcome<()> {
    pointer.present()?;
    let mapped = runtime.with(|driver| Ok(driver.is_mapped_host(host.number(), 1)))?;
    if flags != 0 || !mapped {
        return Err(Code::INVALID_VALUE.into());
    }
    pointer.put(host)
}
