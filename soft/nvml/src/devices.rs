//! Exports: the library itself, finding devices and MIG instances, names, ids and PCI addresses, memory and processes.
#![expect(unsafe_code, reason = "exports C functions")]

use crate::abi::{
    GPU_IS_LOST, INITIALIZED, INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED,
    Status, UNINITIALIZED, VERSION_MISMATCH, answers, calls, described, fixed, handle, nvidia_box,
    put_text, target, version_of, whole,
};
use boxfile::{Device, sysfs};
use softbox::abi::{Handle, InOut, Out, OutText, Text};
use std::ffi::{CStr, c_char, c_uint, c_ulonglong};
use std::sync::atomic::Ordering::Relaxed;

/// Code and text, as `nvmlErrorString` has them.
const TEXTS: &[(Status, &CStr)] = &[
    (0, c"Success"),
    (1, c"Uninitialized"),
    (2, c"Invalid Argument"),
    (3, c"Not Supported"),
    (6, c"Not Found"),
    (7, c"Insufficient Size"),
    (9, c"Driver Not Loaded"),
    (25, c"Argument version mismatch"),
];

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

/// `nvmlMemory_v2_t`, bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct MemoryV2 {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// What the driver keeps for itself, about as on an H200 (nvml.h).
const RESERVED: u64 = 600 << 20;

/// `nvmlProcessInfo_v2_t`, which the third version of the process calls uses too.
#[derive(Clone, Copy)]
#[repr(C)]
struct ProcessInfo {
    pid: c_uint,
    used_gpu_memory: c_ulonglong,
    gpu_instance_id: c_uint,
    compute_instance_id: c_uint,
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: Status) -> *const c_char {
    let row = TEXTS.iter().find(|row| row.0 == code);
    row.map_or(c"Unknown Error", |row| row.1).as_ptr()
}

calls! {
    nvmlInit_v2() {
        nvidia_box()?;
        INITIALIZED.fetch_add(1, Relaxed);
        Ok(())
    }
    nvmlShutdown() {
        let less = INITIALIZED.fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
        less.map(drop).map_err(|_| UNINITIALIZED)
    }
    nvmlSystemGetDriverVersion(text: OutText, room: c_uint) { put_text(text, room, &described()?.driver) }
    nvmlDeviceGetUUID(handle: Handle, uuid: OutText, room: c_uint) {
        let target = target(handle)?;
        put_text(uuid, room, target.mig.map_or(&target.device.uuid, |mig| &mig.uuid))
    }
    nvmlDeviceGetName(handle: Handle, name: OutText, room: c_uint) {
        let target = target(handle)?;
        let own = &target.device.name;
        put_text(name, room, &target.mig.map_or(own.clone(), |mig| format!("{own} MIG {}", mig.profile)))
    }
    /// 1 and 1 where the box gives the GPU MIG instances; elsewhere the GPU cannot do it.
    nvmlDeviceGetMigMode(handle: Handle, current: Out<c_uint>, pending: Out<c_uint>) {
        if whole(handle)?.device.mig.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        current.put(1)?;
        Ok(pending.put(1)?)
    }
    /// What the box says somebody holds. Allocations of soft CUDA processes are not seen.
    nvmlDeviceGetMemoryInfo_v2(handle: Handle, memory: InOut<MemoryV2>) {
        let target = target(handle)?;
        let busy = target.device.busy.as_ref().map_or(0, |busy| busy.memory_mib);
        let (total, used) = match target.mig {
            Some(mig) => (mig.memory_mib << 20, 0),
            None => (target.device.memory_mib << 20, busy << 20),
        };
        let version = memory.get()?.version;
        if version != version_of::<MemoryV2>(2) {
            return Err(VERSION_MISMATCH);
        }
        Ok(memory.put(MemoryV2 { version, total, reserved: RESERVED, free: total - used - RESERVED, used })?)
    }
    /// The box's processes; how much each holds is not available, as on drivers that do not attribute memory. With too little room the
    /// count is written and the call refused.
    nvmlDeviceGetComputeRunningProcesses_v3(handle: Handle, count: InOut<c_uint>, processes: InOut<ProcessInfo>) {
        let target = target(handle)?;
        let busy = target.device.busy.as_ref().filter(|_| target.mig.is_none());
        let found = busy.map_or(&[][..], |busy| &busy.processes);
        let room = count.get()? as usize;
        count.put(found.len() as c_uint)?;
        if found.len() > room {
            return Err(INSUFFICIENT_SIZE);
        }
        for (at, process) in found.iter().enumerate() {
            processes.at(at).put(ProcessInfo {
                pid: process.pid,
                // Neither it nor an instance: `NVML_VALUE_NOT_AVAILABLE`.
                used_gpu_memory: c_ulonglong::MAX,
                gpu_instance_id: c_uint::MAX,
                compute_instance_id: c_uint::MAX,
            })?;
        }
        Ok(())
    }
}

answers! {
    nvmlDeviceGetCount_v2() -> c_uint { described()?.device.len() as c_uint }
    nvmlDeviceGetHandleByIndex_v2(index: c_uint) -> Handle {
        described()?.device.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        handle(index as usize, 0)
    }
    /// Takes addresses with a domain of four or eight digits, in either case.
    nvmlDeviceGetHandleByPciBusId_v2(bus_id: Text) -> Handle {
        let wanted = address_numbers(&bus_id.read()?).ok_or(INVALID_ARGUMENT)?;
        let devices = &described()?.device;
        let is_it = |device: &Device| address_numbers(&device.address) == Some(wanted);
        let found = devices.iter().position(is_it).ok_or(NOT_FOUND)?;
        let address = &devices[found].address;
        if softbox::sysfs_root().is_some_and(|root| sysfs::is_off_the_bus(root, address)) {
            return Err(GPU_IS_LOST);
        }
        handle(found, 0)
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
    nvmlDeviceGetMigDeviceHandleByIndex(parent: Handle, index: c_uint) -> Handle {
        let target = whole(parent)?;
        let instances = &target.device.mig;
        instances.first().ok_or(NOT_SUPPORTED)?;
        instances.get(index as usize).ok_or(NOT_FOUND)?;
        handle(target.index, index as usize + 1)
    }
}

/// Domain, bus, device and function of an address; a missing function is 0.
fn address_numbers(text: &str) -> Option<[c_uint; 4]> {
    let numbers = text
        .split([':', '.'])
        .map(|part| c_uint::from_str_radix(part, 16).ok());
    match numbers.collect::<Option<Vec<c_uint>>>()?[..] {
        [domain, bus, device] => Some([domain, bus, device, 0]),
        [domain, bus, device, function] => Some([domain, bus, device, function]),
        _ => None,
    }
}
