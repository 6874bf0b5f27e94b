//! Exports: NVLinks, their errors, and the fabric of NVSwitches, by the box's `[nvlink]` table and its faults.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Answer, Handle, INVALID_ARGUMENT, NOT_SUPPORTED, Target, answers, described, whole,
};
use boxfile::{Fault, NvLinkTable};
use std::ffi::{c_int, c_uchar, c_uint, c_ulonglong};

/// The table and the device, where the box has links of that number.
fn linked(handle: Handle, link: c_uint) -> Answer<(Target, &'static NvLinkTable)> {
    let target = whole(handle)?;
    let table = described()?.nvlink.as_ref().ok_or(NOT_SUPPORTED)?;
    if link >= u32::from(table.links) {
        return Err(INVALID_ARGUMENT);
    }
    Ok((target, table))
}

/// MB/s of a link, for the field values.
pub(crate) fn mb_per_s() -> Answer<c_uint> {
    let table = described()?.nvlink.as_ref().ok_or(NOT_SUPPORTED)?;
    Ok(table.mb_per_s)
}

answers! {
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
        match (link, counter) {
            (0, 3) => described()?.fault.iter().map(|fault| errors(fault, target.index)).sum(),
            _ => 0,
        }
    }
    /// Completed (3); not started (1) where the driver waits for Fabric Manager.
    nvmlDeviceGetGpuFabricInfo(handle: Handle) -> FabricInfo {
        linked(handle, 0)?;
        let waits = |fault: &Fault| matches!(fault, Fault::InitFailure { code: 802 });
        FabricInfo {
            cluster: [0; 16],
            status: 0,
            clique: 0,
            state: if described()?.fault.iter().any(waits) { 1 } else { 3 },
        }
    }
}

/// The failed checks that a fault gives a device.
fn errors(fault: &Fault, index: usize) -> u64 {
    match fault {
        Fault::NvlinkErrors {
            device,
            errors,
            rising,
        } if *device == index => errors * if *rising { 1 + tenths() } else { 1 },
        _ => 0,
    }
}

/// Tenths of a second since the box's file was written: each process asks a library of its own.
fn tenths() -> u64 {
    let file = std::env::var_os("TPLENS_SOFT_BOX").and_then(|file| std::fs::metadata(file).ok());
    let written = file.and_then(|file| file.modified().ok());
    let age = written.and_then(|written| written.elapsed().ok());
    age.map_or(0, |age| {
        age.as_secs() * 10 + u64::from(age.subsec_millis() / 100)
    })
}

/// `nvmlGpuFabricInfo_t`.
#[repr(C)]
struct FabricInfo {
    cluster: [c_uchar; 16],
    status: c_uint,
    clique: c_uint,
    state: c_uchar,
}
