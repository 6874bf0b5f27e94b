//! Calls on the runtime itself and on devices: initialisation, versions, names, attributes and peer access.

use crate::abi::{Out, OutText, ordinal, set_current};
use crate::vendor::{Attribute, Runtime};
use boxfile::Device;
use softbox::{Code, Failure, Outcome, SoftDriver};
use std::ffi::{c_int, c_uint};

/// Attributes by their numbers in hip_runtime_api.h of HIP 6 and 7, enum `hipDeviceAttribute_t`: copy engines, multiprocessors.
pub(crate) const HIP_ATTRIBUTES: &[(c_uint, Attribute)] =
    &[(2, copy_engines), (63, multiprocessors)];

/// The same of cuda.h, enum `CUdevice_attribute`; what the box does not say is refused, never made up.
pub(crate) const CUDA_ATTRIBUTES: &[(c_uint, Attribute)] =
    &[(40, copy_engines), (16, multiprocessors)];

fn copy_engines(device: &Device) -> Option<c_int> {
    c_int::try_from(device.copy_engines).ok()
}

fn multiprocessors(device: &Device) -> Option<c_int> {
    device.multiprocessors?.try_into().ok()
}

/// The box's description of a device.
pub(crate) fn described(driver: &SoftDriver, ordinal: usize) -> Outcome<&Device> {
    let physical = driver.device(ordinal)?.physical;
    Ok(&driver.described().device[physical])
}

pub(crate) fn init(runtime: &Runtime, flags: c_uint) -> Outcome<()> {
    match flags {
        0 => runtime.with(SoftDriver::init),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// The box's number, for the runtime and for the driver below it.
pub(crate) fn version(runtime: &Runtime, version: Out<c_int>) -> Outcome<()> {
    let api = runtime.with(|driver| Ok(driver.described().driver_api))?;
    version.put(c_int::try_from(api).map_err(|_| Code::UNKNOWN)?)
}

/// The count is written also where there is none, with the refusal.
pub(crate) fn count(runtime: &Runtime, count: Out<c_int>) -> Outcome<()> {
    count.put(0)?;
    let found = runtime.with(|driver| Ok(driver.devices()?.len()))?;
    count.put(found as c_int)
}

pub(crate) fn by_number(runtime: &Runtime, device: Out<c_int>, number: c_int) -> Outcome<()> {
    runtime.with(|driver| driver.device(ordinal(number)?).map(|_| ()))?;
    device.put(number)
}

pub(crate) fn get_current(runtime: &Runtime, device: Out<c_int>) -> Outcome<()> {
    runtime.with(|_| Ok(()))?;
    device.put(runtime.current()? as c_int)
}

pub(crate) fn choose(runtime: &Runtime, device: c_int) -> Outcome<()> {
    let ordinal = runtime.with(|driver| {
        let ordinal = ordinal(device)?;
        driver.device(ordinal).map(|_| ordinal)
    })?;
    set_current(Some(ordinal));
    Ok(())
}

pub(crate) fn name(runtime: &Runtime, name: OutText, room: c_int, device: c_int) -> Outcome<()> {
    let text = runtime.with(|driver| Ok(driver.device(ordinal(device)?)?.name.clone()))?;
    name.put(room, &text)
}

/// In HIP these are 16 letters, the ones behind `GPU-` in the tools' lists, and not the bytes of a number.
pub(crate) fn uuid(runtime: &Runtime, uuid: Out<[u8; 16]>, device: c_int) -> Outcome<()> {
    let letters = runtime.with(|driver| letters_of(driver, ordinal(device)?))?;
    uuid.put(letters)
}

/// In CUDA the bytes of a number: of the MIG instance where the device is one.
pub(crate) fn uuid_number(runtime: &Runtime, uuid: Out<[u8; 16]>, device: c_int) -> Outcome<()> {
    uuid.put(runtime.with(|driver| Ok(driver.device(ordinal(device)?)?.uuid_bytes))?)
}

/// The 16 letters of a device's id; zeros where the box has none of that form.
pub(crate) fn letters_of(driver: &SoftDriver, ordinal: usize) -> Outcome<[u8; 16]> {
    let id = &driver.device(ordinal)?.uuid;
    let letters = id.strip_prefix("GPU-").map(str::as_bytes);
    Ok(letters
        .and_then(|letters| letters.try_into().ok())
        .unwrap_or_default())
}

pub(crate) fn total_memory(runtime: &Runtime, bytes: Out<usize>, device: c_int) -> Outcome<()> {
    let total = runtime.with(|driver| Ok(driver.device(ordinal(device)?)?.memory_bytes))?;
    bytes.put(total as usize)
}

pub(crate) fn attribute(
    runtime: &Runtime,
    value: Out<c_int>,
    attribute: c_uint,
    device: c_int,
) -> Outcome<()> {
    let found = runtime.with(|driver| {
        let device = described(driver, ordinal(device)?)?;
        let row = runtime.attributes.iter().find(|row| row.0 == attribute);
        row.and_then(|row| row.1(device))
            .ok_or(Code::INVALID_VALUE.into())
    })?;
    value.put(found)
}

pub(crate) fn pci_address(
    runtime: &Runtime,
    text: OutText,
    room: c_int,
    device: c_int,
) -> Outcome<()> {
    let address =
        runtime.with(|driver| Ok(described(driver, ordinal(device)?)?.address.clone()))?;
    match runtime.contexts {
        true => text.put(room, &address.to_uppercase()),
        false => text.put(room, &address.to_lowercase()),
    }
}

pub(crate) fn can_access_peer(
    runtime: &Runtime,
    can: Out<c_int>,
    device: c_int,
    peer: c_int,
) -> Outcome<()> {
    let found = runtime.with(|driver| driver.can_access_peer(ordinal(device)?, ordinal(peer)?))?;
    can.put(c_int::from(found))
}

pub(crate) fn enable_peer(runtime: &Runtime, peer: c_int, flags: c_uint) -> Outcome<()> {
    if flags != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    runtime.on_current(|driver, current| {
        let enabled = driver.enable_peer(current, ordinal(peer)?);
        match enabled {
            // ROCm's clr answers as for a device that does not exist (hip_peer.cpp).
            Err(Failure::Code(Code::PEER_ACCESS_UNSUPPORTED)) => Err(Code::INVALID_DEVICE.into()),
            other => other,
        }
    })
}

pub(crate) fn disable_peer(runtime: &Runtime, peer: c_int) -> Outcome<()> {
    runtime.on_current(|driver, current| driver.disable_peer(current, ordinal(peer)?))
}
