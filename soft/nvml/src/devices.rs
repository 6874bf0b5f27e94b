//! Exports: finding devices and MIG instances, names, ids and PCI addresses.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Answer, GPU_IS_LOST, Handle, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, Status, answers, call,
    described, device_handle, fixed, mig_handle, present, put, put_text, target, whole,
};
use boxfile::{Device, sysfs};
use std::ffi::{CStr, c_char, c_uint};

/// `nvmlPciInfo_t` (`nvml.h`, since 11).
#[repr(C)]
struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    /// Device id in the upper half, vendor id in the lower.
    pci_device_id: c_uint,
    pci_subsystem_id: c_uint,
    bus_id: [c_char; 32],
}

answers! {
    nvmlDeviceGetCount_v2() -> c_uint { described()?.device.len() as c_uint }
    nvmlDeviceGetHandleByIndex_v2(index: c_uint) -> Handle {
        let devices = &described()?.device;
        devices.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        device_handle(index as usize)
    }
    /// Takes addresses with a domain of four or eight digits, in either case.
    nvmlDeviceGetHandleByPciBusId_v2(bus_id: *const c_char) -> Handle {
        // SAFETY: nvml.h: the text ends in NUL.
        let wanted = unsafe { text(bus_id) }?;
        let wanted = address_numbers(&wanted).ok_or(INVALID_ARGUMENT)?;
        let devices = &described()?.device;
        let is_it = |device: &Device| address_numbers(&device.address) == Some(wanted);
        let found = devices.iter().position(is_it).ok_or(NOT_FOUND)?;
        let address = &devices[found].address;
        if softbox::sysfs_root().is_some_and(|root| sysfs::is_off_the_bus(root, address)) {
            return Err(GPU_IS_LOST);
        }
        device_handle(found)
    }
    /// A MIG instance has the address of its GPU.
    nvmlDeviceGetPciInfo_v3(handle: Handle) -> PciInfo {
        let device = target(handle)?.device;
        let [domain, bus, slot, _] = address_numbers(&device.address).ok_or(NOT_SUPPORTED)?;
        let id = device.pci_id.split(':');
        let id: Vec<c_uint> = id.filter_map(|part| c_uint::from_str_radix(part, 16).ok()).collect();
        PciInfo {
            bus_id_legacy: fixed(&format!("{domain:04X}:{bus:02X}:{slot:02X}.0")),
            domain,
            bus,
            device: slot,
            pci_device_id: id.get(1).unwrap_or(&0) << 16 | id.first().unwrap_or(&0),
            pci_subsystem_id: 0,
            bus_id: fixed(&format!("{domain:08X}:{bus:02X}:{slot:02X}.0")),
        }
    }
    nvmlDeviceGetMaxMigDeviceCount(handle: Handle) -> c_uint { whole(handle)?.device.mig.len() as c_uint }
    nvmlDeviceGetMigDeviceHandleByIndex(handle: Handle, index: c_uint) -> Handle {
        let target = whole(handle)?;
        if target.device.mig.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        target.device.mig.get(index as usize).ok_or(NOT_FOUND)?;
        mig_handle(target.index, index as usize)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUUID(handle: Handle, uuid: *mut c_char, room: c_uint) -> Status {
    call(|| {
        let target = target(handle)?;
        let found = target.mig.map_or(&target.device.uuid, |mig| &mig.uuid);
        // SAFETY: nvml.h: the caller passes a place for `room` bytes.
        unsafe { put_text(uuid, room, found) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetName(handle: Handle, name: *mut c_char, room: c_uint) -> Status {
    call(|| {
        let target = target(handle)?;
        let found = match target.mig {
            Some(mig) => format!("{} MIG {}", target.device.name, mig.profile),
            None => target.device.name.clone(),
        };
        // SAFETY: nvml.h: the caller passes a place for `room` bytes.
        unsafe { put_text(name, room, &found) }
    })
}

/// 1 and 1 where the box gives the GPU MIG instances; elsewhere the GPU cannot do it.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigMode(
    handle: Handle,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> Status {
    call(|| {
        present(pending)?;
        if whole(handle)?.device.mig.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        // SAFETY: nvml.h: the caller passes a place for one unsigned int.
        unsafe { put(current, 1) }?;
        // SAFETY: as above.
        unsafe { put(pending, 1) }
    })
}

/// # Safety
/// A pointer that is not null leads to text that ends in NUL.
unsafe fn text(pointer: *const c_char) -> Answer<String> {
    present(pointer)?;
    // SAFETY: not null, and the caller promises the rest.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map(str::to_owned)
        .map_err(|_| INVALID_ARGUMENT)
}

/// Domain, bus, device and function of an address; a missing function is 0.
fn address_numbers(text: &str) -> Option<[c_uint; 4]> {
    let mut numbers = [0; 4];
    let parts: Vec<&str> = text.split([':', '.']).collect();
    if !(3..=4).contains(&parts.len()) {
        return None;
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = c_uint::from_str_radix(part, 16).ok()?;
    }
    Some(numbers)
}
