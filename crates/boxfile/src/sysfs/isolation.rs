//! What decides how a peer request goes: Access Control Services in the config space of ports, and the IOMMU's groups.

use super::{at, below, link, make_folder, put};
use crate::{BoxError, BoxFile, Iommu, Port};
use std::fs;
use std::path::Path;

/// Where extended capabilities begin in config space, and its size (PCI Express base specification 6.0, 7.6).
const EXTENDED: usize = 0x100;
const CONFIG_BYTES: usize = 4096;
/// The extended capability "Access Control Services" in its version 1, as the last one of the list (7.7.11).
const ACS: u32 = 0x0001_000d;
/// What a port can do there: source validation, translation blocking, request redirect, completion redirect, upstream
/// forwarding, direct translated.
const ACS_CAN: u16 = 0x5f;
/// What Linux switches on of that (pci_std_enable_acs of drivers/pci/pci.c): source validation, request redirect, completion
/// redirect, upstream forwarding.
const ACS_ON: u16 = 0x1d;

pub(super) fn write(described: &BoxFile, root: &Path) -> Result<(), BoxError> {
    for port in &described.port {
        if let Some(redirect) = port.acs_redirect {
            let folder = root
                .join("sys/devices")
                .join(below(described, &port.address)?);
            let path = folder.join("config");
            fs::write(&path, config(port, redirect)).map_err(at(&path))?;
        }
    }
    let Some(iommu) = described.iommu else {
        return Ok(());
    };
    // Both folders are there on a kernel that can do it, also where it is off.
    let (units, groups) = (
        root.join("sys/class/iommu"),
        root.join("sys/kernel/iommu_groups"),
    );
    make_folder(&units)?;
    make_folder(&groups)?;
    let kind = match iommu {
        Iommu::Off => return Ok(()),
        Iommu::Identity => "identity",
        Iommu::Translated => "DMA",
    };
    make_folder(&units.join("iommu0"))?;
    // Every function has a group of its own.
    for (number, function) in described.functions().enumerate() {
        let address = function.address;
        let below = below(described, address)?;
        let group = groups.join(number.to_string());
        put(&group.join("type"), kind)?;
        link(
            &Path::new("../../../../devices").join(&below),
            &group.join("devices").join(address),
        )?;
        let up = "../".repeat(below.components().count() + 1);
        link(
            &Path::new(&up).join(format!("kernel/iommu_groups/{number}")),
            &root.join("sys/devices").join(&below).join("iommu_group"),
        )?;
    }
    Ok(())
}

/// The config space of a bridge, of which only ids, class, header type and ACS are shown.
fn config(port: &Port, redirect: bool) -> Vec<u8> {
    let mut bytes = vec![0; CONFIG_BYTES];
    let ids = port.pci_id.split(':').take(2);
    for (offset, id) in [0, 2].into_iter().zip(ids) {
        let id = u16::from_str_radix(id, 16).unwrap_or(0);
        bytes[offset..offset + 2].copy_from_slice(&id.to_le_bytes());
    }
    // Class 06 04 00, from the last byte on; a header of type 1.
    bytes[0x0a] = 0x04;
    bytes[0x0b] = 0x06;
    bytes[0x0e] = 1;
    let control = if redirect { ACS_ON } else { 0 };
    bytes[EXTENDED..EXTENDED + 4].copy_from_slice(&ACS.to_le_bytes());
    bytes[EXTENDED + 4..EXTENDED + 6].copy_from_slice(&ACS_CAN.to_le_bytes());
    bytes[EXTENDED + 6..EXTENDED + 8].copy_from_slice(&control.to_le_bytes());
    bytes
}
