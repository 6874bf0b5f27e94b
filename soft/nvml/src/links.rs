//! Exports: PCIe links, peer status, common ancestors. What a guest cannot read is not supported.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Answer, Handle, INVALID_ARGUMENT, NOT_SUPPORTED, Status, call, described, put, whole,
};
use boxfile::{Link, sysfs};
use std::ffi::{c_int, c_uint};

/// The link that the generated tree shows now, or without a tree the box's link under load.
fn current(handle: Handle) -> Answer<Link> {
    let device = whole(handle)?.device;
    let link = match softbox::sysfs_root() {
        Some(root) => sysfs::current_link(root, &device.address),
        None => device.link,
    };
    link.ok_or(NOT_SUPPORTED)
}

/// What card and slot can do together, as NVML defines its maximum: the lower of both in generation and in width.
fn maximum(handle: Handle) -> Answer<Link> {
    let device = whole(handle)?.device;
    let card = device.maximum.ok_or(NOT_SUPPORTED)?;
    let slot = described()?
        .port_at(&device.parent)
        .and_then(|port| port.maximum)
        .unwrap_or(card);
    Ok(Link {
        generation: card.generation.min(slot.generation),
        width: card.width.min(slot.width),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrPcieLinkGeneration(
    handle: Handle,
    generation: *mut c_uint,
) -> Status {
    // SAFETY: nvml.h: the caller passes a place for one unsigned int.
    call(|| unsafe { put(generation, current(handle)?.generation.into()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrPcieLinkWidth(handle: Handle, width: *mut c_uint) -> Status {
    // SAFETY: nvml.h: the caller passes a place for one unsigned int.
    call(|| unsafe { put(width, current(handle)?.width.into()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(
    handle: Handle,
    generation: *mut c_uint,
) -> Status {
    // SAFETY: nvml.h: the caller passes a place for one unsigned int.
    call(|| unsafe { put(generation, maximum(handle)?.generation.into()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(handle: Handle, width: *mut c_uint) -> Status {
    // SAFETY: nvml.h: the caller passes a place for one unsigned int.
    call(|| unsafe { put(width, maximum(handle)?.width.into()) })
}

/// OK (0) or `NVML_P2P_STATUS_NOT_SUPPORTED` (5) for reading (0), writing (1) and PCIe (4); NVLink (2) by the box's fabric;
/// atomics (3) are never supported here. Injected faults are not known to the management library.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetP2PStatus(
    a: Handle,
    b: Handle,
    capability: c_uint,
    status: *mut c_int,
) -> Status {
    call(|| {
        let (a, b) = (whole(a)?.index, whole(b)?.index);
        if a == b {
            return Err(INVALID_ARGUMENT);
        }
        let path = described()?.peer_path(a, b);
        let can = match capability {
            0 | 1 => path.access,
            2 => path.access && path.fabric,
            3 => false,
            4 => path.access && !path.fabric,
            _ => return Err(INVALID_ARGUMENT),
        };
        // SAFETY: nvml.h: the caller passes a place for one enumeration value, an int.
        unsafe { put(status, if can { 0 } else { 5 }) }
    })
}

/// Not answered here: the generated sysfs tree shows where the devices sit.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    a: Handle,
    b: Handle,
    _level: *mut c_int,
) -> Status {
    call(|| {
        whole(a)?;
        whole(b)?;
        Err(NOT_SUPPORTED)
    })
}
