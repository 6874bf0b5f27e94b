//! Exports: PCIe links, NVLinks, their errors, and the fabric of NVSwitches. What a guest cannot read is not supported.
#![expect(unsafe_code, reason = "exports C functions")]

use crate::abi::{Answer, INVALID_ARGUMENT, NOT_SUPPORTED, Target, answers, described, whole};
use boxfile::{Fault, Link, NvLinkTable, sysfs};
use softbox::abi::Handle;
use std::ffi::{c_int, c_uchar, c_uint, c_ulonglong};

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
    let slot = described()?.port_at(&device.parent);
    let slot = slot.and_then(|port| port.maximum).unwrap_or(card);
    Ok(Link {
        generation: card.generation.min(slot.generation),
        width: card.width.min(slot.width),
    })
}

/// The device and the box's `[nvlink]` table, where it has links of that number.
fn linked(handle: Handle, link: c_uint) -> Answer<(Target, &'static NvLinkTable)> {
    let target = whole(handle)?;
    let table = described()?.nvlink.as_ref().ok_or(NOT_SUPPORTED)?;
    match link < u32::from(table.links) {
        true => Ok((target, table)),
        false => Err(INVALID_ARGUMENT),
    }
}

/// `nvmlGpuFabricInfo_t`.
#[repr(C)]
struct FabricInfo {
    cluster: [c_uchar; 16],
    status: c_uint,
    clique: c_uint,
    state: c_uchar,
}

answers! {
    nvmlDeviceGetCurrPcieLinkGeneration(handle: Handle) -> c_uint { current(handle)?.generation.into() }
    nvmlDeviceGetCurrPcieLinkWidth(handle: Handle) -> c_uint { current(handle)?.width.into() }
    nvmlDeviceGetMaxPcieLinkGeneration(handle: Handle) -> c_uint { maximum(handle)?.generation.into() }
    nvmlDeviceGetMaxPcieLinkWidth(handle: Handle) -> c_uint { maximum(handle)?.width.into() }
    nvmlDeviceGetNvLinkState(handle: Handle, link: c_uint) -> c_int {
        let (target, _) = linked(handle, link)?;
        let mut down = described()?.nvlinks_down(target.index);
        c_int::from(!down.any(|down| u32::from(down) == link))
    }
    nvmlDeviceGetNvLinkVersion(handle: Handle, link: c_uint) -> c_uint { linked(handle, link)?.1.version.into() }
    /// All links lead to NVSwitches (2).
    nvmlDeviceGetNvLinkRemoteDeviceType(handle: Handle, link: c_uint) -> c_int { linked(handle, link).map(|_| 2)? }
    /// Failed checks of data (`NVML_NVLINK_ERROR_DL_CRC_DATA`, 3) of link 0 by the box's faults; nothing else is counted.
    nvmlDeviceGetNvLinkErrorCounter(handle: Handle, link: c_uint, counter: c_uint) -> c_ulonglong {
        let (target, _) = linked(handle, link)?;
        let of_fault = |fault: &Fault| match fault {
            Fault::NvlinkErrors { device, errors, rising } if *device == target.index => {
                errors * if *rising { 1 + tenths() } else { 1 }
            }
            _ => 0,
        };
        match (link, counter) {
            (0, 3) => described()?.fault.iter().map(of_fault).sum(),
            _ => 0,
        }
    }
    /// Completed (3); not started (1) where the driver waits for Fabric Manager.
    nvmlDeviceGetGpuFabricInfo(handle: Handle) -> FabricInfo {
        linked(handle, 0)?;
        let waits = described()?.fault.contains(&Fault::InitFailure { code: 802 });
        FabricInfo { cluster: [0; 16], status: 0, clique: 0, state: if waits { 1 } else { 3 } }
    }
}

/// Tenths of a second since the box's file was written: each process asks a library of its own.
fn tenths() -> u64 {
    let file = std::env::var_os("TPLENS_SOFT_BOX").and_then(|file| std::fs::metadata(file).ok());
    let written = file.and_then(|file| file.modified().ok());
    let age = written.and_then(|written| written.elapsed().ok());
    age.map_or(0, |age| age.as_millis() as u64 / 100)
}
