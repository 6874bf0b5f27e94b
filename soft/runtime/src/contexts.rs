//! Calls on primary contexts, which CUDA's driver has and runtimes hide: the current one of a thread, and peers by their contexts.

use crate::abi::{Address, Handle, Out, ordinal, set_current};
use crate::copies;
use crate::vendor::Runtime;
use softbox::{Code, Outcome, SoftDriver};
use std::ffi::{c_int, c_uint};

/// Contexts are these numbers as pointers, one for each ordinal.
const CONTEXTS: usize = 0x5c00_0000_0000;

/// The ordinal of a context handle that this library gave out and that is still open.
fn ordinal_of(driver: &SoftDriver, context: Handle) -> Outcome<usize> {
    let offset = context.number().checked_sub(CONTEXTS + 16);
    let ordinal = offset
        .filter(|offset| offset % 16 == 0)
        .map(|offset| offset / 16);
    ordinal
        .filter(|ordinal| driver.is_retained(*ordinal))
        .ok_or(Code::INVALID_CONTEXT.into())
}

fn of_ordinal(ordinal: usize) -> Handle {
    Handle::at(CONTEXTS + (ordinal + 1) * 16)
}

pub(crate) fn retain(runtime: &Runtime, context: Out<Handle>, device: c_int) -> Outcome<()> {
    context.present()?;
    let ordinal = ordinal(device)?;
    runtime.with(|driver| driver.retain(ordinal))?;
    context.put(of_ordinal(ordinal))
}

pub(crate) fn release(runtime: &Runtime, device: c_int) -> Outcome<()> {
    runtime.with(|driver| driver.release(ordinal(device)?))
}

pub(crate) fn choose(runtime: &Runtime, context: Handle) -> Outcome<()> {
    set_current(match context.is_null() {
        true => None,
        false => Some(runtime.with(|driver| ordinal_of(driver, context))?),
    });
    Ok(())
}

/// Null where the thread has none.
pub(crate) fn chosen(_runtime: &Runtime, context: Out<Handle>) -> Outcome<()> {
    context.put(crate::abi::chosen().map_or(Handle::NULL, of_ordinal))
}

pub(crate) fn enable_peer(runtime: &Runtime, peer: Handle, flags: c_uint) -> Outcome<()> {
    if flags != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    runtime.on_current(|driver, current| driver.enable_peer(current, ordinal_of(driver, peer)?))
}

pub(crate) fn disable_peer(runtime: &Runtime, peer: Handle) -> Outcome<()> {
    runtime.on_current(|driver, current| driver.disable_peer(current, ordinal_of(driver, peer)?))
}

/// The contexts must be those of the memory.
pub(crate) fn copy_peer(
    runtime: &Runtime,
    to: Address,
    to_context: Handle,
    from: Address,
    from_context: Handle,
    bytes: usize,
    stream: Handle,
) -> Outcome<()> {
    let number = |context| runtime.with(|driver| Ok(ordinal_of(driver, context)? as c_int));
    let (target, source) = (number(to_context)?, number(from_context)?);
    runtime.on_stream(stream, |driver, stream| {
        copies::between(driver, (to, target), (from, source), bytes, stream)
    })
}
