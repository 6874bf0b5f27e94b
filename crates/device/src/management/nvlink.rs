//! NVLinks of a device by NVIDIA's management library.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use topology::{FabricState, NvLink, NvLinkEnd, NvLinks, PciAddress};

use super::ffi;

/// Links at most (`NVML_NVLINK_MAX_LINKS`).
const MOST_LINKS: u32 = 18;

/// `NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON`: MB/s of each link that is up.
const SPEED_MBPS: u32 = 90;

const ERRORS: [ErrorCounter; 4] = [
    ErrorCounter::DlReplay,
    ErrorCounter::DlRecovery,
    ErrorCounter::DlCrcFlit,
    ErrorCounter::DlCrcData,
];

/// The links of a physical device; none where it has none.
pub(super) fn nvlinks(device: &Device<'_>) -> NvLinks {
    let mb_per_s = speed(device);
    let links: Vec<NvLink> = (0..MOST_LINKS)
        .map_while(|number| link(device, number, mb_per_s))
        .collect();
    let fabric = (!links.is_empty()).then(|| fabric(device)).flatten();
    NvLinks { links, fabric }
}

/// A link; `None` where the device has none of that number.
fn link(device: &Device<'_>, number: u32, mb_per_s: Option<u32>) -> Option<NvLink> {
    let link = device.link_wrapper_for(number);
    let is_active = link.is_active().ok()?;
    let gpu = || -> Option<PciAddress> { link.remote_pci_info().ok()?.bus_id.parse().ok() };
    // `NVML_NVLINK_DEVICE_TYPE_GPU` and `_SWITCH` of nvml.h.
    let remote = match ffi::remote_kind(device, number) {
        Some(0) => gpu().map(NvLinkEnd::Gpu),
        Some(2) => Some(NvLinkEnd::Switch),
        _ => None,
    };
    let errors = ERRORS
        .iter()
        .filter_map(|counter| link.error_counter(*counter).ok());
    Some(NvLink {
        is_active,
        version: link.version().ok(),
        mb_per_s: mb_per_s.filter(|_| is_active),
        remote,
        errors: errors.reduce(|sum, counted| sum + counted),
    })
}

fn speed(device: &Device<'_>) -> Option<u32> {
    let fields = device.field_values_for(&[FieldId(SPEED_MBPS)]).ok()?;
    let sample = fields.into_iter().next()?.ok()?;
    match sample.value.ok()? {
        SampleValue::U32(value) => Some(value).filter(|value| *value > 0),
        _ => None,
    }
}

/// The state of the fabric; `None` where the library has no such call or the device is of none.
fn fabric(device: &Device<'_>) -> Option<FabricState> {
    let info = ffi::fabric(device)?;
    // `NVML_GPU_FABRIC_STATE_*` of nvml.h; 0 is not supported.
    match (info.state, info.status) {
        (1, _) => Some(FabricState::NotStarted),
        (2, _) => Some(FabricState::InProgress),
        (3, 0) => Some(FabricState::Completed),
        (3, _) => Some(FabricState::Failed),
        _ => None,
    }
}
