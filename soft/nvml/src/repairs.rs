//! Exports: what was repaired of a device's memory, as field values, and the margin of temperature.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Answer, Handle, INVALID_ARGUMENT, NOT_SUPPORTED, Refused, Status, Target, VERSION_MISMATCH,
    call, described, present, put, whole,
};
use crate::sensors::sensor;
use boxfile::Fault;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_longlong, c_uint};
use std::sync::{Mutex, PoisonError};

/// `nvmlFieldValue_t`; of the union of values the `unsigned int` alone is used, in its first four bytes.
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

/// `NVML_FI_DEV_REMAPPED_COR`, `_UNC`, `_PENDING`, `_FAILURE`.
const ROWS: [c_uint; 4] = [142, 143, 144, 145];
/// `NVML_FI_DEV_RETIRED_SBE`, `_DBE`, `_PENDING`.
const PAGES: [c_uint; 3] = [29, 30, 31];

/// `NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON`.
const SPEED_MBPS: c_uint = 90;

/// Readings of each device's rows by this process.
static READINGS: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

/// What a field holds: nothing was repaired but what the box's faults say, once their readings are over. A device that the box gives no
/// sensors has nothing to tell of, but for a fault; pages are told of where a fault has some, as on cards from before Ampere.
fn field(target: &Target, id: c_uint) -> Answer<c_uint> {
    let mut readings = READINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = readings.entry(target.index).or_default();
    // Both kinds are asked for in each reading, the rows first.
    *reading += u64::from(id == ROWS[0]);
    let due = |after: u64| *reading > after;
    let (mut rows, mut pages) = (None, None);
    if target.device.sensors.is_some() {
        rows = Some([0_u64; 4]);
    }
    for fault in &described()?.fault {
        match fault {
            Fault::RowRemaps {
                device,
                corrected,
                uncorrected,
                pending,
                failed,
                after_readings,
            } if *device == target.index => {
                let more = [
                    *corrected,
                    *uncorrected,
                    u64::from(*pending),
                    u64::from(*failed),
                ];
                add(rows.get_or_insert_default(), more, due(*after_readings));
            }
            Fault::RetiredPages {
                device,
                retired,
                after_lost_data,
                pending,
                after_readings,
            } if *device == target.index => {
                let more = [
                    retired.saturating_sub(*after_lost_data),
                    *after_lost_data,
                    u64::from(*pending),
                ];
                add(pages.get_or_insert_default(), more, due(*after_readings));
            }
            _ => {}
        }
    }
    let place = |ids: &[c_uint]| ids.iter().position(|known| *known == id);
    let found = match (place(&ROWS), place(&PAGES)) {
        (Some(at), _) => rows.map(|rows| if at < 2 { rows[at] } else { rows[at].min(1) }),
        (_, Some(at)) => {
            pages.map(|pages: [u64; 3]| if at < 2 { pages[at] } else { pages[at].min(1) })
        }
        _ => None,
    };
    let found = found.ok_or(NOT_SUPPORTED)?;
    Ok(c_uint::try_from(found).unwrap_or(c_uint::MAX))
}

fn add<const N: usize>(sum: &mut [u64; N], more: [u64; N], is_due: bool) {
    for (sum, more) in sum.iter_mut().zip(more).filter(|_| is_due) {
        *sum = sum.saturating_add(more);
    }
}

/// Each field has a result of its own; fields of other matters are not supported here.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(
    handle: Handle,
    count: c_int,
    values: *mut FieldValue,
) -> Status {
    call(|| {
        present(values)?;
        let count = usize::try_from(count).ok().filter(|count| *count > 0);
        let target = whole(handle)?;
        let is_guest = described()?.guest;
        for at in 0..count.ok_or(INVALID_ARGUMENT)? {
            // SAFETY: nvml.h: `values` has room for `count` of them, and `at` is below that.
            let place = unsafe { values.add(at) };
            // SAFETY: the caller set `fieldId` of each, and `scopeId` where it matters; all are plain numbers.
            let asked = unsafe { place.read() };
            let found = match is_guest {
                true => Err(NOT_SUPPORTED),
                false if asked.field == SPEED_MBPS => crate::nvlinks::mb_per_s(),
                false => field(&target, asked.field),
            };
            let (result, value) = match found {
                Ok(value) => (0, value),
                Err(Refused(code)) => (code, 0),
            };
            let answer = FieldValue {
                kind: UNSIGNED_INT,
                result,
                value: [value, 0],
                ..asked
            };
            // SAFETY: as above.
            unsafe { put(place, answer) }?;
        }
        Ok(())
    })
}

/// `nvmlMarginTemperature_v1_t`.
#[repr(C)]
struct MarginTemperature {
    version: c_uint,
    margin: c_int,
}

/// `NVML_STRUCT_VERSION(MarginTemperature, 1)`.
const MARGIN_TEMPERATURE: c_uint = size_of::<MarginTemperature>() as c_uint | 1 << 24;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMarginTemperature(
    handle: Handle,
    margin: *mut MarginTemperature,
) -> Status {
    call(|| {
        present(margin)?;
        let found = sensor(handle, |sensors| sensors.margin_c)?;
        // SAFETY: nvml.h: the caller passes a structure whose version is set; any version begins with that field.
        let version = unsafe { margin.cast::<c_uint>().read() };
        if version != MARGIN_TEMPERATURE {
            return Err(VERSION_MISMATCH);
        }
        let answer = MarginTemperature {
            version,
            margin: found,
        };
        // SAFETY: the version says that the whole structure is there.
        unsafe { put(margin, answer) }
    })
}
