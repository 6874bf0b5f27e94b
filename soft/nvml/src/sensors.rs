//! Exports: memory, processes, utilisation, power, temperature, clocks, PCIe counters, states. Every value stands in the box or is not supported.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Answer, Handle, INSUFFICIENT_SIZE, NOT_SUPPORTED, Status, Target, VERSION_MISMATCH, answers,
    call, described, present, put, target, whole,
};
use boxfile::{Fault, Sensors};
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulonglong};
use std::sync::{Mutex, PoisonError};

/// `nvmlMemory_v2_t`, bytes.
#[repr(C)]
struct MemoryV2 {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlProcessInfo_v2_t`, which the third version of the process calls uses too.
#[repr(C)]
struct ProcessInfo {
    pid: c_uint,
    used_gpu_memory: c_ulonglong,
    gpu_instance_id: c_uint,
    compute_instance_id: c_uint,
}

/// `nvmlUtilization_t`, percent.
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

/// `NVML_STRUCT_VERSION(Memory, 2)`.
const MEMORY_V2: c_uint = size_of::<MemoryV2>() as c_uint | 2 << 24;
/// `NVML_VALUE_NOT_AVAILABLE`.
const NOT_AVAILABLE: c_ulonglong = c_ulonglong::MAX;
/// "No GPU instance" in a process entry.
const NO_INSTANCE: c_uint = c_uint::MAX;

/// Total and used bytes: what the box says somebody holds. Allocations of soft CUDA processes are not seen.
fn memory_bytes(target: &Target) -> (c_ulonglong, c_ulonglong) {
    match target.mig {
        Some(mig) => (mig.memory_mib << 20, 0),
        None => {
            let busy = target
                .device
                .busy
                .as_ref()
                .map_or(0, |busy| busy.memory_mib);
            (target.device.memory_mib << 20, busy << 20)
        }
    }
}

/// What the driver keeps for itself, about as on an H200 (nvml.h).
const RESERVED: u64 = 600 << 20;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(handle: Handle, memory: *mut MemoryV2) -> Status {
    call(|| {
        present(memory)?;
        let (total, used) = memory_bytes(&target(handle)?);
        // SAFETY: nvml.h: the caller passes an nvmlMemory_v2_t whose version is set; any version begins with that field.
        let version = unsafe { memory.cast::<c_uint>().read() };
        if version != MEMORY_V2 {
            return Err(VERSION_MISMATCH);
        }
        // SAFETY: the version says that the whole structure is there.
        unsafe {
            put(
                memory,
                MemoryV2 {
                    version,
                    total,
                    reserved: RESERVED,
                    free: total - used - RESERVED,
                    used,
                },
            )
        }
    })
}

/// The box's processes; how much each holds is not available, as on drivers that do not attribute memory.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    handle: Handle,
    count: *mut c_uint,
    processes: *mut ProcessInfo,
) -> Status {
    call(|| {
        let target = target(handle)?;
        let found = target
            .device
            .busy
            .as_ref()
            .filter(|_| target.mig.is_none())
            .map_or(&[][..], |busy| &busy.processes);
        // SAFETY: nvml.h: `count` holds the room in `processes`.
        unsafe { list(found.iter().map(|process| process.pid), count, processes) }
    })
}

answers! {
    nvmlDeviceGetUtilizationRates(handle: Handle) -> Utilization {
        let gpu = sensor(handle, |sensors| sensors.utilization_percent)?;
        let memory = sensor(handle, |sensors| sensors.memory_utilization_percent)?;
        Utilization { gpu, memory }
    }
    /// Milliwatts.
    nvmlDeviceGetPowerUsage(handle: Handle) -> c_uint {
        let watts = sensor(handle, |sensors| sensors.power_w)?;
        (watts * 1000.0).round() as c_uint
    }
    /// Degrees Celsius of the GPU, sensor 0, the only one there is.
    nvmlDeviceGetTemperature(handle: Handle, _sensor: c_uint) -> c_uint {
        sensor(handle, |sensors| sensors.temperature_c)?
    }
    /// What the box says, else "GPU is idle" (1) in performance state 8 and beyond; not supported in a guest, as on virtual GPUs.
    nvmlDeviceGetCurrentClocksThrottleReasons(handle: Handle) -> c_ulonglong {
        if described()?.guest {
            return Err(NOT_SUPPORTED);
        }
        let told = sensor(handle, |sensors| sensors.throttle_bits);
        told.or_else(|_| {
            let state = sensor(handle, |sensors| sensors.performance_state)?;
            Ok(u64::from(state >= 8))
        })?
    }
    /// MHz of the multiprocessors (1, SM) and of the memory (2); the box has no other clocks.
    nvmlDeviceGetClockInfo(handle: Handle, clock: c_uint) -> c_uint {
        sensor(handle, |sensors| match clock {
            1 => sensors.sm_clock_mhz,
            2 => sensors.memory_clock_mhz,
            _ => None,
        })?
    }
    /// KB/s that the device sends (0) or receives (1); answers at once, where the real call counts for 20 ms.
    nvmlDeviceGetPcieThroughput(handle: Handle, counter: c_uint) -> c_uint {
        if described()?.guest {
            return Err(NOT_SUPPORTED);
        }
        sensor(handle, |sensors| match counter {
            0 => sensors.pcie_tx_kb_per_s,
            1 => sensors.pcie_rx_kb_per_s,
            _ => None,
        })?
    }
    nvmlDeviceGetPcieReplayCounter(handle: Handle) -> c_uint { sensor(handle, |sensors| sensors.pcie_replays)? }
    nvmlDeviceGetTotalEccErrors(handle: Handle, kind: c_uint, _counter: c_uint) -> c_ulonglong {
        if described()?.guest {
            return Err(NOT_SUPPORTED);
        }
        memory_errors(&whole(handle)?, kind)?
    }
    /// Degrees Celsius of shutdown (0), slowdown (1) and the most to work at (3); others are not supported here.
    nvmlDeviceGetTemperatureThreshold(handle: Handle, threshold: c_uint) -> c_uint {
        sensor(handle, |sensors| match threshold {
            0 => sensors.shutdown_c,
            1 => sensors.slowdown_c,
            3 => sensors.most_operating_c,
            _ => None,
        })?
    }
}

/// Readings of each device's memory errors by this process.
static READINGS: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

/// Volatile counts: none, and those of the box's faults once their readings are over. A device that the box gives no sensors has none
/// to tell of either, but for a fault.
fn memory_errors(target: &Target, kind: c_uint) -> Answer<c_ulonglong> {
    let mut readings = READINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = readings.entry(target.index).or_default();
    // Both kinds are asked for in each reading, the mended ones first.
    *reading += u64::from(kind == CORRECTED);
    let faults = described()?.fault.iter().filter_map(|fault| match fault {
        Fault::MemoryErrors {
            device,
            corrected,
            uncorrected,
            after_readings,
        } if *device == target.index => {
            let count = if kind == CORRECTED {
                *corrected
            } else {
                *uncorrected
            };
            Some(if *reading > *after_readings { count } else { 0 })
        }
        _ => None,
    });
    let counts: Vec<u64> = faults.collect();
    match (&target.device.sensors, &counts[..]) {
        (None, []) => Err(NOT_SUPPORTED),
        (_, counts) => Ok(counts.iter().sum()),
    }
}

/// `nvmlMemoryErrorType_t`: mended; 1 is not mended.
const CORRECTED: c_uint = 0;

pub(crate) fn sensor<T>(handle: Handle, pick: impl FnOnce(&Sensors) -> Option<T>) -> Answer<T> {
    whole(handle)?
        .device
        .sensors
        .as_ref()
        .and_then(pick)
        .ok_or(NOT_SUPPORTED)
}

/// Answers a list the way NVML does: with too little room the count is written and the call refused.
///
/// # Safety
/// `count` may be read and written, and `processes` has room for as many entries as it says.
unsafe fn list(
    pids: impl ExactSizeIterator<Item = u32>,
    count: *mut c_uint,
    processes: *mut ProcessInfo,
) -> Answer<()> {
    present(count)?;
    // SAFETY: not null, and the caller promises the rest.
    let room = unsafe { count.read() } as usize;
    let found = pids.len();
    // SAFETY: as above.
    unsafe { put(count, found as c_uint) }?;
    if found > room || (found > 0 && processes.is_null()) {
        return Err(INSUFFICIENT_SIZE);
    }
    for (at, pid) in pids.enumerate() {
        let entry = ProcessInfo {
            pid,
            used_gpu_memory: NOT_AVAILABLE,
            gpu_instance_id: NO_INSTANCE,
            compute_instance_id: NO_INSTANCE,
        };
        // SAFETY: `at` is below the room that the caller states.
        let place = unsafe { processes.add(at) };
        // SAFETY: as above.
        unsafe { put(place, entry) }?;
    }
    Ok(())
}
