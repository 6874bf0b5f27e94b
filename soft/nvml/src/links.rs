//! Exports: PCIe links. What a guest cannot read is not supported.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Answer, Handle, NOT_SUPPORTED, answers, described, whole};
use boxfile::{Link, sysfs};
use std::ffi::c_uint;

/// The link that the generated tree shows now, or without a tree the box's link under load.
fn current(handle: Handle) -> Answer<Link> {
    let device = whole(handle)?.device;
    let link = match softbox::sysfs_root() {
        Some(root) => sysfs::current_link(root, &device.address),
        None => device.link,
    };
    link.ok_or(NOT_SUPPORTED)
}

/// What card and slot can do together, as NVML defines its maximum: the lower of both in generation and in width.
fn maximum(handle: Handle) -> Answer<Link> {
    let device = whole(handle)?.device;
    let card = device.maximum.ok_or(NOT_SUPPORTED)?;
    let slot = described()?
        .port_at(&device.parent)
        .and_then(|port| port.maximum)
        .unwrap_or(card);
    Ok(Link {
        generation: card.generation.min(slot.generation),
        width: card.width.min(slot.width),
    })
}

answers! {
    nvmlDeviceGetCurrPcieLinkGeneration(handle: Handle) -> c_uint { current(handle)?.generation.into() }
    nvmlDeviceGetCurrPcieLinkWidth(handle: Handle) -> c_uint { current(handle)?.width.into() }
    nvmlDeviceGetMaxPcieLinkGeneration(handle: Handle) -> c_uint { maximum(handle)?.generation.into() }
    nvmlDeviceGetMaxPcieLinkWidth(handle: Handle) -> c_uint { maximum(handle)?.width.into() }
}
