//! The one call of NVIDIA's management library that its binding declares and does not wrap.
#![expect(unsafe_code, reason = "a C function of NVIDIA's management library")]

use std::ffi::{c_int, c_uint};

use nvml_wrapper::Device;

/// `nvmlMarginTemperature_v1_t` (nvml.h).
#[repr(C)]
struct MarginTemperature {
    version: c_uint,
    margin: c_int,
}

/// `NVML_STRUCT_VERSION(MarginTemperature, 1)`.
const VERSION: c_uint = size_of::<MarginTemperature>() as c_uint | 1 << 24;

/// The call's result code and the margin, which holds where the code is 0; `None` where the library lacks the call.
pub(super) fn margin(device: &Device<'_>) -> Option<(c_uint, c_int)> {
    let library = device.nvml().lib();
    let call = library.nvmlDeviceGetMarginTemperature.as_ref().ok()?;
    let mut answer = MarginTemperature {
        version: VERSION,
        margin: 0,
    };
    // SAFETY: the handle is used below only, while the device, and with it the library, is borrowed.
    let handle = unsafe { device.handle() };
    // SAFETY: nvml.h: `nvmlReturn_t (nvmlDevice_t, nvmlMarginTemperature_t *)`; the structure is ours, has the layout of the version
    // that it names, and outlives the call.
    let status = unsafe { call(handle, (&raw mut answer).cast()) };
    Some((status, answer.margin))
}
