//! Exports: utilisation, power, temperature, clocks, PCIe counters, states, and what was repaired of a device's memory. Every value
//! stands in the box or is not supported.
#![expect(unsafe_code, reason = "exports C functions")]

use crate::abi::{
    Answer, INVALID_ARGUMENT, NOT_SUPPORTED, Status, Target, VERSION_MISMATCH, answers, calls,
    described, version_of, whole,
};
use boxfile::{Fault, Sensors};
use softbox::abi::{Handle, InOut};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_longlong, c_uint, c_ulonglong};
use std::sync::{Mutex, PoisonError};

/// `nvmlUtilization_t`, percent.
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

/// `nvmlMarginTemperature_v1_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct MarginTemperature {
    version: c_uint,
    margin: c_int,
}

/// `nvmlFieldValue_t`; of the union of values the `unsigned int` alone is used, in its first four bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: c_longlong,
    latency: c_longlong,
    kind: c_uint,
    result: Status,
    value: [c_uint; 2],
}

/// `NVML_VALUE_TYPE_UNSIGNED_INT`.
const UNSIGNED_INT: c_uint = 1;
/// `NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON`.
const SPEED_MBPS: c_uint = 90;
/// `NVML_FI_DEV_REMAPPED_COR`, `_UNC`, `_PENDING`, `_FAILURE`.
const ROWS: [c_uint; 4] = [142, 143, 144, 145];
/// `NVML_FI_DEV_RETIRED_SBE`, `_DBE`, `_PENDING`.
const PAGES: [c_uint; 3] = [29, 30, 31];

answers! {
    nvmlDeviceGetUtilizationRates(handle: Handle) -> Utilization {
        let gpu = sensor(handle, |sensors| sensors.utilization_percent)?;
        let memory = sensor(handle, |sensors| sensors.memory_utilization_percent)?;
        Utilization { gpu, memory }
    }
    /// Milliwatts.
    nvmlDeviceGetPowerUsage(handle: Handle) -> c_uint {
        (sensor(handle, |sensors| sensors.power_w)? * 1000.0).round() as c_uint
    }
    /// Degrees Celsius of the GPU, sensor 0, the only one there is.
    nvmlDeviceGetTemperature(handle: Handle, _sensor: c_uint) -> c_uint {
        sensor(handle, |sensors| sensors.temperature_c)?
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
    /// What the box says, else "GPU is idle" (1) in performance state 8 and beyond; not supported in a guest, as on virtual GPUs.
    nvmlDeviceGetCurrentClocksThrottleReasons(handle: Handle) -> c_ulonglong {
        host_sensor(handle, |sensors| {
            sensors.throttle_bits.or_else(|| Some(u64::from(sensors.performance_state? >= 8)))
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
        host_sensor(handle, |sensors| match counter {
            0 => sensors.pcie_tx_kb_per_s,
            1 => sensors.pcie_rx_kb_per_s,
            _ => None,
        })?
    }
    nvmlDeviceGetPcieReplayCounter(handle: Handle) -> c_uint { sensor(handle, |sensors| sensors.pcie_replays)? }
    /// None, where the device has sensors.
    nvmlDeviceGetTotalEccErrors(handle: Handle, _kind: c_uint, _counter: c_uint) -> c_ulonglong {
        host_sensor(handle, |_| Some(0))?
    }
}

calls! {
    nvmlDeviceGetMarginTemperature(handle: Handle, place: InOut<MarginTemperature>) {
        let margin = sensor(handle, |sensors| sensors.margin_c)?;
        let version = place.get()?.version;
        match version == version_of::<MarginTemperature>(1) {
            true => Ok(place.put(MarginTemperature { version, margin })?),
            false => Err(VERSION_MISMATCH),
        }
    }
    /// Each field has a result of its own; fields of other matters are not supported here.
    nvmlDeviceGetFieldValues(handle: Handle, count: c_int, values: InOut<FieldValue>) {
        let target = whole(handle)?;
        let count = usize::try_from(count).ok().filter(|count| *count > 0);
        for at in 0..count.ok_or(INVALID_ARGUMENT)? {
            let asked = values.at(at).get()?;
            let found = field(&target, asked.field);
            let result = found.err().map_or(0, |refused| refused.0);
            let value = [found.unwrap_or(0), 0];
            values.at(at).put(FieldValue { kind: UNSIGNED_INT, result, value, ..asked })?;
        }
        Ok(())
    }
}

fn sensor<T>(handle: Handle, pick: impl FnOnce(&Sensors) -> Option<T>) -> Answer<T> {
    let sensors = whole(handle)?.device.sensors.as_ref();
    sensors.and_then(pick).ok_or(NOT_SUPPORTED)
}

/// As [`sensor`], of what a guest is not told.
fn host_sensor<T>(handle: Handle, pick: impl FnOnce(&Sensors) -> Option<T>) -> Answer<T> {
    match described()?.guest {
        true => Err(NOT_SUPPORTED),
        false => sensor(handle, pick),
    }
}

/// Readings of each device's rows by this process.
static READINGS: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

/// What a field holds: nothing was repaired but what the box's faults say, once their readings are over. A device that the box gives no
/// sensors has nothing to tell of, but for a fault; pages are told of where a fault has some, as on cards from before Ampere.
fn field(target: &Target, id: c_uint) -> Answer<c_uint> {
    let described = described()?;
    if described.guest {
        return Err(NOT_SUPPORTED);
    }
    if id == SPEED_MBPS {
        let table = described.nvlink.as_ref();
        return table.map(|table| table.mb_per_s).ok_or(NOT_SUPPORTED);
    }
    let mut readings = READINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = readings.entry(target.index).or_default();
    // Both kinds are asked for in each reading, the rows first.
    *reading += u64::from(id == ROWS[0]);
    let mut counts: BTreeMap<c_uint, u64> = BTreeMap::new();
    let mut add = |ids: &[c_uint], more: &[u64], after: u64| {
        for (id, more) in ids.iter().zip(more) {
            let count = counts.entry(*id).or_default();
            *count += if *reading > after { *more } else { 0 };
        }
    };
    if target.device.sensors.is_some() {
        add(&ROWS, &[0; 4], 0);
    }
    for fault in &described.fault {
        match fault {
            Fault::RowRemaps {
                device,
                corrected,
                uncorrected,
                pending,
                failed,
                after_readings,
            } if *device == target.index => {
                let flags = [*pending, *failed].map(u64::from);
                let more = [*corrected, *uncorrected, flags[0], flags[1]];
                add(&ROWS, &more, *after_readings);
            }
            Fault::RetiredPages {
                device,
                retired,
                after_lost_data,
                pending,
                after_readings,
            } if *device == target.index => {
                let others = retired.saturating_sub(*after_lost_data);
                let more = [others, *after_lost_data, u64::from(*pending)];
                add(&PAGES, &more, *after_readings);
            }
            _ => {}
        }
    }
    let count = *counts.get(&id).ok_or(NOT_SUPPORTED)?;
    // What waits or failed is a flag, the others are counts.
    let is_flag = ROWS[2..].contains(&id) || PAGES[2] == id;
    Ok(if is_flag { count.min(1) } else { count } as c_uint)
}
