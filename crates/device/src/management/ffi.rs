//! Calls of NVIDIA's management library that its binding declares and does not wrap: the fabric's state and the margin of
//! temperature; and what a link leads to, of which the binding drops the answer (nvml-wrapper 0.13, `remote_device_type`).
#![expect(unsafe_code, reason = "a C function of NVIDIA's management library")]

use std::ffi::{c_int, c_uchar, c_uint};

use nvml_wrapper::Device;
use nvml_wrapper::error::nvml_try;

use super::Answer;

/// `nvmlGpuFabricInfo_t` (nvml.h).
#[repr(C)]
pub(super) struct FabricInfo {
    cluster: [c_uchar; 16],
    pub(super) status: c_uint,
    clique: c_uint,
    pub(super) state: c_uchar,
}

/// What the library says of the fabric; `None` where it lacks the call or refuses it.
pub(super) fn fabric(device: &Device<'_>) -> Option<FabricInfo> {
    let library = device.nvml().lib();
    let call = library.nvmlDeviceGetGpuFabricInfo.as_ref().ok()?;
    let mut answer = FabricInfo {
        cluster: [0; 16],
        status: 0,
        clique: 0,
        state: 0,
    };
    // SAFETY: the handle is used below only, while the device, and with it the library, is borrowed.
    let handle = unsafe { device.handle() };
    // SAFETY: nvml.h: `nvmlReturn_t (nvmlDevice_t, nvmlGpuFabricInfo_t *)`; the structure is ours, has that layout, and outlives
    // the call.
    let status = unsafe { call(handle, (&raw mut answer).cast()) };
    (status == 0).then_some(answer)
}

/// The kind of device at a link's other end (`nvmlIntNvLinkDeviceType_t`); `None` where the library lacks the call or refuses it.
pub(super) fn remote_kind(device: &Device<'_>, link: u32) -> Option<u32> {
    let library = device.nvml().lib();
    let call = library.nvmlDeviceGetNvLinkRemoteDeviceType.as_ref().ok()?;
    let mut kind = 0;
    // SAFETY: as in `fabric`.
    let handle = unsafe { device.handle() };
    // SAFETY: nvml.h: `nvmlReturn_t (nvmlDevice_t, unsigned int, nvmlIntNvLinkDeviceType_t *)` writes one enumeration value.
    let status = unsafe { call(handle, link, &raw mut kind) };
    (status == 0).then_some(kind)
}

/// `nvmlMarginTemperature_v1_t` (nvml.h).
#[repr(C)]
struct MarginTemperature {
    version: c_uint,
    margin: c_int,
}

/// `NVML_STRUCT_VERSION(MarginTemperature, 1)`.
const VERSION: c_uint = size_of::<MarginTemperature>() as c_uint | 1 << 24;

/// Degrees Celsius below the nearest slowdown threshold; below 0 where the device is hotter.
///
/// From Ada on the library may stop to tell the thresholds themselves (nvml.h, at `nvmlDeviceGetTemperatureThreshold`), and drivers
/// before R570 lack this call: where the one is missing the other is asked.
pub(super) fn margin(device: &Device<'_>) -> Answer<i32> {
    let library = device.nvml().lib();
    let call = library.nvmlDeviceGetMarginTemperature.as_ref();
    let call = call.map_err(
        |_| "the library has no nvmlDeviceGetMarginTemperature, which newer drivers have",
    )?;
    let mut answer = MarginTemperature {
        version: VERSION,
        margin: 0,
    };
    // SAFETY: the handle is used below only, while the device, and with it the library, is borrowed.
    let handle = unsafe { device.handle() };
    // SAFETY: nvml.h: `nvmlReturn_t (nvmlDevice_t, nvmlMarginTemperature_t *)`; the structure is ours, has the layout of the version
    // that it names, and outlives the call.
    let status = unsafe { call(handle, (&raw mut answer).cast()) };
    let done = nvml_try(status).map(|()| answer.margin);
    done.map_err(|error| error.to_string())
}
