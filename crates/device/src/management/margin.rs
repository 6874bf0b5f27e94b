//! How far a device of NVIDIA is below its nearest slowdown threshold, by what the library reports: `nvmlDeviceGetMarginTemperature`.
//!
//! From Ada on the library may stop to tell the thresholds themselves (nvml.h, at `nvmlDeviceGetTemperatureThreshold`), and drivers
//! before R570 lack this call: where the one is missing the other is asked.

mod ffi;

use nvml_wrapper::Device;
use nvml_wrapper::error::nvml_try;

use super::Answer;

/// Degrees Celsius below the nearest slowdown threshold; below 0 where the device is hotter.
pub(super) fn margin(device: &Device<'_>) -> Answer<i32> {
    let (status, margin) = ffi::margin(device)
        .ok_or("the library has no nvmlDeviceGetMarginTemperature, which newer drivers have")?;
    nvml_try(status)
        .map(|()| margin)
        .map_err(|error| error.to_string())
}
