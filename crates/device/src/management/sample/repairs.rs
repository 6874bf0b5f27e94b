//! What NVIDIA's management library says was repaired of a device's memory, and the temperatures at which the device protects itself.
//!
//! Rows are replaced from Ampere on, pages retired before it: a device gives the one or the other, and of the other says that it does
//! not have it.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::TemperatureThreshold;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_REMAPPED_COR, NVML_FI_DEV_REMAPPED_FAILURE, NVML_FI_DEV_REMAPPED_PENDING,
    NVML_FI_DEV_REMAPPED_UNC, NVML_FI_DEV_RETIRED_DBE, NVML_FI_DEV_RETIRED_PENDING,
    NVML_FI_DEV_RETIRED_SBE,
};
use topology::{RetiredPages, RowRemaps};

use super::super::Answer;
use super::values::told;

/// What is asked for, in one call: the binding has none for rows alone, and the fields say the same as `nvmlDeviceGetRemappedRows`,
/// `nvmlDeviceGetRetiredPages` and `nvmlDeviceGetRetiredPagesPendingStatus` (nvml.h).
const FIELDS: [u32; 7] = [
    NVML_FI_DEV_REMAPPED_COR,
    NVML_FI_DEV_REMAPPED_UNC,
    NVML_FI_DEV_REMAPPED_PENDING,
    NVML_FI_DEV_REMAPPED_FAILURE,
    NVML_FI_DEV_RETIRED_SBE,
    NVML_FI_DEV_RETIRED_DBE,
    NVML_FI_DEV_RETIRED_PENDING,
];

/// Rows that were replaced and pages that were retired.
pub(in crate::management) fn repairs(
    device: &Device<'_>,
) -> (Answer<RowRemaps>, Answer<RetiredPages>) {
    match device.field_values_for(&FIELDS.map(FieldId)) {
        Ok(found) => {
            let found: Vec<Answer<u64>> = found
                .into_iter()
                .map(|field| told(field.and_then(|field| field.value)).and_then(count))
                .collect();
            of_fields(&found)
        }
        Err(error) => (Err(error.to_string()), Err(error.to_string())),
    }
}

/// The same of the values of [`FIELDS`], in their order.
fn of_fields(found: &[Answer<u64>]) -> (Answer<RowRemaps>, Answer<RetiredPages>) {
    let value = |at: usize| {
        let none = || Err("the library answers fewer fields than it was asked for".to_owned());
        found.get(at).cloned().unwrap_or_else(none)
    };
    let rows = || {
        Ok(RowRemaps {
            corrected: value(0)?,
            uncorrected: value(1)?,
            pending: value(2)? != 0,
            failed: value(3)? != 0,
        })
    };
    let pages = || {
        let (single, double) = (value(4)?, value(5)?);
        Ok(RetiredPages {
            retired: single.saturating_add(double),
            after_lost_data: Some(double),
            pending: value(6)? != 0,
            by_itself: false,
            failed: None,
        })
    };
    (rows(), pages())
}

fn count(value: SampleValue) -> Answer<u64> {
    let no_count =
        |value: &dyn std::fmt::Display| format!("the library gives {value}, which is no count");
    match value {
        SampleValue::U32(count) => Ok(count.into()),
        SampleValue::U64(count) => Ok(count),
        SampleValue::I64(count) => u64::try_from(count).map_err(|_| no_count(&count)),
        SampleValue::F64(count) => Err(no_count(&count)),
    }
}

/// What a device does at which temperature, degrees Celsius.
pub(super) struct Thresholds {
    pub(super) slowdown: Answer<u32>,
    pub(super) shutdown: Answer<u32>,
    pub(super) most_operating: Answer<u32>,
}

impl Thresholds {
    pub(super) fn of(device: &Device<'_>) -> Self {
        let at = |threshold| degrees(device.temperature_threshold(threshold));
        Self {
            slowdown: at(TemperatureThreshold::Slowdown),
            shutdown: at(TemperatureThreshold::Shutdown),
            most_operating: at(TemperatureThreshold::GpuMax),
        }
    }

    /// How far a temperature lies below the one that the device slows down at, or, where that is not reported, what the library calls the
    /// margin; where neither is, both reasons.
    pub(super) fn margin(
        &self,
        now: &Answer<u32>,
        by_library: impl FnOnce() -> Answer<i32>,
    ) -> Answer<i32> {
        let of_threshold = || {
            let (slowdown, now) = (self.slowdown.clone()?, now.clone()?);
            let margin = i64::from(slowdown) - i64::from(now);
            i32::try_from(margin).map_err(|_| format!("{margin} is no temperature"))
        };
        of_threshold().or_else(|first: String| {
            by_library().map_err(|second| match first == second {
                true => first,
                false => format!("{first}; {second}"),
            })
        })
    }
}

/// A threshold of 0 is one that the device does not have: no chip slows down at the freezing point.
fn degrees(answer: Result<u32, NvmlError>) -> Answer<u32> {
    match told(answer)? {
        0 => Err("the library gives 0 degrees Celsius, which no device slows down at".to_owned()),
        degrees => Ok(degrees),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_in_their_order_and_a_missing_one_takes_its_reason_along() {
        let no = || Err("not available".to_owned());
        // An Ampere device: 3 rows after corrected errors, 1 after lost data, one waits.
        let ampere = [Ok(3), Ok(1), Ok(1), Ok(0), no(), no(), no()];
        let rows = RowRemaps {
            corrected: 3,
            uncorrected: 1,
            pending: true,
            failed: false,
        };
        assert_eq!(
            of_fields(&ampere),
            (Ok(rows), Err("not available".to_owned()))
        );
        // A Volta device: 2 + 5 pages.
        let volta = [no(), no(), no(), no(), Ok(2), Ok(5), Ok(0)];
        let pages = RetiredPages {
            retired: 7,
            after_lost_data: Some(5),
            pending: false,
            by_itself: false,
            failed: None,
        };
        let (without, seven) = of_fields(&volta);
        assert_eq!(
            (without.unwrap_err().as_str(), seven),
            ("not available", Ok(pages))
        );
        assert!(
            of_fields(&ampere[..3])
                .0
                .unwrap_err()
                .contains("fewer fields")
        );
    }

    #[test]
    fn the_margin_goes_below_zero_where_the_device_is_hotter() {
        let thresholds = |slowdown| Thresholds {
            slowdown,
            shutdown: Ok(95),
            most_operating: Ok(88),
        };
        let none = || Err("not supported".to_owned());
        // 92 - 45 and 92 - 94.
        assert_eq!(thresholds(Ok(92)).margin(&Ok(45), none), Ok(47));
        assert_eq!(thresholds(Ok(92)).margin(&Ok(94), none), Ok(-2));
        let no = || Err("no sensor".to_owned());
        let both = Err("no sensor; not supported".to_owned());
        assert_eq!(thresholds(no()).margin(&Ok(45), none), both);
        assert_eq!(
            thresholds(Err("not supported".to_owned())).margin(&Ok(45), none),
            none()
        );
        // The library's own word where it tells no threshold.
        assert_eq!(thresholds(no()).margin(&Ok(45), || Ok(38)), Ok(38));
        assert!(degrees(Ok(0)).unwrap_err().contains("0 degrees"));
    }
}
