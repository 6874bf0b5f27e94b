//! Calls on asynchronous copies and fills. Strided and array copies do not exist here.

use crate::abi::{Address, Handle, ordinal};
use crate::vendor::Runtime;
use softbox::{CaptureState, Code, Outcome, SoftDriver};
use std::ffi::{c_int, c_uint};

/// The kinds are `hipMemcpyKind`'s (1 to 4), which MetaX's are taken to be; by the last the addresses decide. From host to host
/// is refused.
pub(crate) fn copy(
    runtime: &Runtime,
    to: Address,
    from: Address,
    bytes: usize,
    kind: c_uint,
    stream: Handle,
) -> Outcome<()> {
    runtime.on_stream(stream, |driver, stream| {
        let kind = match kind {
            4 => match (
                driver.is_device_memory(to.device()),
                driver.is_device_memory(from.device()),
            ) {
                (true, false) => 1,
                (false, true) => 2,
                (true, true) => 3,
                (false, false) => 0,
            },
            said => said,
        };
        match kind {
            1 => driver.copy_h2d(to.device(), from.host()?, bytes, stream),
            2 => driver.copy_d2h(to.host()?, from.device(), bytes, stream),
            3 => driver.copy_d2d(to.device(), from.device(), bytes, stream),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    })
}

/// What CUDA has three calls for, by the kind of [`copy`].
pub(crate) fn of_kind<const KIND: c_uint>(
    runtime: &Runtime,
    to: Address,
    from: Address,
    bytes: usize,
    stream: Handle,
) -> Outcome<()> {
    copy(runtime, to, from, bytes, KIND, stream)
}

/// A runtime's call for peers. ROCm's clr does not capture it: it copies at once and leaves the graph empty (hip_peer.cpp).
pub(crate) fn copy_peer(
    runtime: &Runtime,
    to: Address,
    to_device: c_int,
    from: Address,
    from_device: c_int,
    bytes: usize,
    stream: Handle,
) -> Outcome<()> {
    runtime.on_stream(stream, |driver, stream| {
        let at = match driver.capture_state(stream)? {
            CaptureState::None => stream,
            _ => 0,
        };
        let (to, from) = ((to, to_device), (from, from_device));
        between(driver, to, from, bytes, at)
    })
}

/// The devices must be those of the memory.
pub(crate) fn between(
    driver: &mut SoftDriver,
    (to, to_device): (Address, c_int),
    (from, from_device): (Address, c_int),
    bytes: usize,
    stream: u64,
) -> Outcome<()> {
    let (target, source) = (ordinal(to_device)?, ordinal(from_device)?);
    if driver.owner(to.device(), bytes)? != target || driver.owner(from.device(), bytes)? != source
    {
        return Err(Code::INVALID_VALUE.into());
    }
    driver.copy_d2d(to.device(), from.device(), bytes, stream)
}
