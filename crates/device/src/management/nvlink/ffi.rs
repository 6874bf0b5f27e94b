//! The calls for the fabric's state and for what a link leads to: the library's binding declares both, does not wrap the one, and drops the
//! answer of the other (nvml-wrapper 0.13, `remote_device_type`).
#![expect(unsafe_code, reason = "a C function of NVIDIA's management library")]

use std::ffi::{c_uchar, c_uint};

use nvml_wrapper::Device;

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
