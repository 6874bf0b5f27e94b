//! Calls on the library itself, on devices and their peers, and on primary contexts, which CUDA's driver has and runtimes hide.
#![expect(unsafe_code, reason = "exports C functions under their vendors' names")]

use crate::abi::{CURRENT, ordinal};
use crate::vendor::calls;
use boxfile::Device;
use softbox::abi::{Handle, Out, OutText};
use softbox::{Code, Failure, Outcome, SoftDriver};
use std::ffi::{c_int, c_uint};

/// Contexts are these numbers as pointers, one for each ordinal.
const CONTEXTS: usize = 0x5c00_0000_0000;

/// Architectures by PCI id: what hiprtc compiles for.
const ARCHITECTURES: &[(&str, &str)] = &[("1002:7551", "gfx1201")];

/// Where `hipDeviceProp_tR0600` has the architecture; the offset was compiled from the headers.
const ARCHITECTURE: usize = 1160;

calls! {
    [CUDA "cuInit"]
    fn init(runtime, flags: c_uint) {
        none(flags)?;
        runtime.with(SoftDriver::init)
    }

    /// The box's number, for the runtime and for the driver below it.
    [CUDA "cuDriverGetVersion", HIP "hipRuntimeGetVersion", MACA "mcRuntimeGetVersion"]
    fn version(runtime, version: Out<c_int>) {
        runtime.tell(version, |driver| Ok(driver.described().driver_api as c_int))
    }

    /// The count is written also where there is none, with the refusal.
    [CUDA "cuDeviceGetCount", HIP "hipGetDeviceCount", MACA "mcGetDeviceCount"]
    fn count(runtime, count: Out<c_int>) {
        count.put(0)?;
        runtime.tell(count, |driver| Ok(driver.devices()?.len() as c_int))
    }

    [CUDA "cuDeviceGet"]
    fn by_number(runtime, device: Out<c_int>, number: c_int) {
        runtime.tell(device, |driver| driver.device(ordinal(number)?).map(|_| number))
    }

    [CUDA "cuCtxGetDevice", HIP "hipGetDevice", MACA "mcGetDevice"]
    fn current(runtime, device: Out<c_int>) {
        runtime.tell(device, |_| Ok(runtime.current()? as c_int))
    }

    [HIP "hipSetDevice", MACA "mcSetDevice"]
    fn choose(runtime, device: c_int) {
        let ordinal = ordinal(device)?;
        runtime.with(|driver| driver.device(ordinal).map(|_| CURRENT.set(Some(ordinal))))
    }

    [CUDA "cuDeviceGetName", HIP "hipDeviceGetName", MACA "mcDeviceGetName"]
    fn name(runtime, name: OutText, room: c_int, device: c_int) {
        let text = runtime.with(|driver| Ok(driver.device(ordinal(device)?)?.name.clone()))?;
        name.put(room.try_into().unwrap_or(0), &text)
    }

    /// In HIP these are 16 letters, the ones behind `GPU-` in the tools' lists, and not the bytes of a number; zeros where the box has
    /// none of that form.
    [HIP "hipDeviceGetUuid"]
    fn uuid(runtime, uuid: Out<[u8; 16]>, device: c_int) {
        runtime.tell(uuid, |driver| {
            let letters = driver.device(ordinal(device)?)?.uuid.strip_prefix("GPU-");
            Ok(letters.and_then(|letters| letters.as_bytes().try_into().ok()).unwrap_or_default())
        })
    }

    /// In CUDA the bytes of a number: of the MIG instance where the device is one.
    [CUDA "cuDeviceGetUuid_v2"]
    fn uuid_number(runtime, uuid: Out<[u8; 16]>, device: c_int) {
        runtime.tell(uuid, |driver| Ok(driver.device(ordinal(device)?)?.uuid_bytes))
    }

    // In MetaX's runtime it was not seen, nor were the letters and the properties.
    [CUDA "cuDeviceTotalMem_v2", HIP "hipDeviceTotalMem"]
    fn total_memory(runtime, bytes: Out<usize>, device: c_int) {
        runtime.tell(bytes, |driver| Ok(driver.device(ordinal(device)?)?.memory_bytes as usize))
    }

    [CUDA "cuDeviceGetAttribute", HIP "hipDeviceGetAttribute", MACA "mcDeviceGetAttribute"]
    fn attribute(runtime, value: Out<c_int>, attribute: c_uint, device: c_int) {
        runtime.tell(value, |driver| {
            let device = described(driver, ordinal(device)?)?;
            let row = runtime.attributes.iter().find(|row| row.0 == attribute);
            let found = row.and_then(|row| row.1(device)).ok_or(Code::INVALID_VALUE)?;
            Ok(found as c_int)
        })
    }

    [CUDA "cuDeviceGetPCIBusId", HIP "hipDeviceGetPCIBusId", MACA "mcDeviceGetPCIBusId"]
    fn pci_address(runtime, text: OutText, room: c_int, device: c_int) {
        let address = runtime.with(|driver| Ok(described(driver, ordinal(device)?)?.address.clone()))?;
        let address = match runtime.contexts {
            true => address.to_uppercase(),
            false => address.to_lowercase(),
        };
        text.put(room.try_into().unwrap_or(0), &address)
    }

    /// HIP's structure in the layout of HIP 6 and 7: of it only the architecture is written.
    [HIP "hipGetDevicePropertiesR0600"]
    fn properties(runtime, into: Out<[u8; 1472]>, device: c_int) {
        runtime.tell(into, |driver| {
            let name = architecture(driver, ordinal(device)?)?.unwrap_or_default();
            let mut bytes = [0; 1472];
            bytes[ARCHITECTURE..ARCHITECTURE + name.len()].copy_from_slice(name.as_bytes());
            Ok(bytes)
        })
    }

    [CUDA "cuDeviceCanAccessPeer", HIP "hipDeviceCanAccessPeer", MACA "mcDeviceCanAccessPeer"]
    fn can_access_peer(runtime, can: Out<c_int>, device: c_int, peer: c_int) {
        runtime.tell(can, |driver| Ok(driver.can_access_peer(ordinal(device)?, ordinal(peer)?)?.into()))
    }

    [HIP "hipDeviceEnablePeerAccess", MACA "mcDeviceEnablePeerAccess"]
    fn enable_peer(runtime, peer: c_int, flags: c_uint) {
        none(flags)?;
        runtime.on_current(|driver, current| match driver.enable_peer(current, ordinal(peer)?) {
            // ROCm's clr answers as for a device that does not exist (hip_peer.cpp).
            Err(Failure::Code(Code::PEER_ACCESS_UNSUPPORTED)) => Err(Code::INVALID_DEVICE.into()),
            other => other,
        })
    }

    [HIP "hipDeviceDisablePeerAccess", MACA "mcDeviceDisablePeerAccess"]
    fn disable_peer(runtime, peer: c_int) {
        runtime.on_current(|driver, current| driver.disable_peer(current, ordinal(peer)?))
    }

    [CUDA "cuCtxEnablePeerAccess"]
    fn enable_peer_context(runtime, peer: Handle, flags: c_uint) {
        none(flags)?;
        runtime.on_current(|driver, current| driver.enable_peer(current, of_context(driver, peer)?))
    }

    [CUDA "cuCtxDisablePeerAccess"]
    fn disable_peer_context(runtime, peer: Handle) {
        runtime.on_current(|driver, current| driver.disable_peer(current, of_context(driver, peer)?))
    }

    [CUDA "cuDevicePrimaryCtxRetain"]
    fn retain(runtime, context: Out<Handle>, device: c_int) {
        runtime.tell(context, |driver| {
            let ordinal = ordinal(device)?;
            driver.retain(ordinal).map(|()| context_of(ordinal))
        })
    }

    [CUDA "cuDevicePrimaryCtxRelease_v2"]
    fn release(runtime, device: c_int) {
        runtime.with(|driver| driver.release(ordinal(device)?))
    }

    [CUDA "cuCtxSetCurrent"]
    fn choose_context(runtime, context: Handle) {
        CURRENT.set(match context.is_null() {
            true => None,
            false => Some(runtime.with(|driver| of_context(driver, context))?),
        });
        Ok(())
    }

    /// Null where the thread has none.
    [CUDA "cuCtxGetCurrent"]
    fn current_context(_runtime, context: Out<Handle>) {
        context.put(CURRENT.get().map_or(Handle::NULL, context_of))
    }
}

/// Refuses flags where there are none to choose.
pub(crate) fn none(flags: c_uint) -> Outcome<()> {
    match flags {
        0 => Ok(()),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// The box's description of a device.
fn described(driver: &SoftDriver, ordinal: usize) -> Outcome<&Device> {
    let physical = driver.device(ordinal)?.physical;
    Ok(&driver.described().device[physical])
}

/// The architecture of a device; nothing where its PCI id is not known.
pub(crate) fn architecture(driver: &SoftDriver, ordinal: usize) -> Outcome<Option<&'static str>> {
    let pci_id = &described(driver, ordinal)?.pci_id;
    let row = ARCHITECTURES.iter().find(|row| row.0 == pci_id);
    Ok(row.map(|row| row.1))
}

fn context_of(ordinal: usize) -> Handle {
    Handle::at(CONTEXTS + (ordinal + 1) * 16)
}

/// The ordinal of a context handle that this library gave out and that is still open.
pub(crate) fn of_context(driver: &SoftDriver, context: Handle) -> Outcome<usize> {
    let mut ordinals = 0..driver.devices()?.len();
    let found = ordinals.find(|ordinal| context_of(*ordinal) == context);
    let open = found.filter(|ordinal| driver.is_retained(*ordinal));
    open.ok_or(Code::INVALID_CONTEXT.into())
}
