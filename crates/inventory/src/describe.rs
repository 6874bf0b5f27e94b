//! Chosen devices in the record's terms: labels, addresses, nodes, payload sizes, the driver, and the paths between them.

use std::fmt::Write as _;

use record::unit::ByteCount;
use record::{BackendFacts, LinkDevice, PairPath};
use topology::{Machine, PathType, PciAddress, Sysfs, max_payload_bytes};

use crate::choose::Chosen;
use crate::messages::Found;
use device::Built;

/// A chosen device with what sysfs knows of it.
#[must_use]
pub fn describe(found: &Found, backend: Built, sysfs: &Sysfs, machine: &Machine) -> LinkDevice {
    let address: Option<PciAddress> = found.pci.as_deref().and_then(|pci| pci.parse().ok());
    let pci = address.and_then(|address| machine.gpu(address));
    let kind = match (backend, &found.mig) {
        (Built::Host, _) => "HOST",
        (_, Some(_)) => "MIG",
        _ => "GPU",
    };
    LinkDevice {
        label: format!("{kind}{}", found.ordinal),
        ordinal: found.ordinal,
        name: found.name.clone(),
        uuid: found.uuid.clone(),
        address,
        node: found.node.or(pci.and_then(|pci| pci.node)),
        memory_bytes: found.memory_bytes,
        mig: found.mig.clone(),
        idle: None,
        loaded: None,
        max_payload_bytes: pci.and_then(|pci| max_payload_bytes(sysfs, pci)),
        busy: found.busy.clone(),
    }
}

/// The driver, in the record's terms.
#[must_use]
pub fn backend(chosen: &Chosen) -> BackendFacts {
    let inventory = &chosen.inventory;
    // Whether the management told of any device how it is used.
    let tells = inventory.devices.iter().any(|device| device.busy.is_some());
    let management = match (chosen.backend.managed(), &inventory.unmanaged) {
        (None, _) => "none".to_owned(),
        (Some(managed), None) => managed.name.to_owned(),
        (Some(managed), Some(reason)) if tells => {
            format!("{}, in part: {reason}", managed.name)
        }
        (Some(managed), Some(reason)) => format!("{} does not answer: {reason}", managed.name),
    };
    BackendFacts {
        name: chosen.backend.name().to_owned(),
        driver: inventory.driver.clone(),
        interface: inventory.interface.clone(),
        management,
    }
}

/// The path class of every pair.
#[must_use]
pub fn paths(devices: &[LinkDevice], machine: &Machine) -> Vec<PairPath> {
    let class = |a: &LinkDevice, b: &LinkDevice| match (a.address, b.address) {
        (Some(a), Some(b)) => machine.path_type(a, b),
        // Host devices have no address: the nodes of their workers say as much as there is to say.
        _ => match (a.node, b.node) {
            (Some(a), Some(b)) if a == b => PathType::Node,
            (Some(_), Some(_)) => PathType::Sys,
            _ => PathType::Unknown,
        },
    };
    let pairs = (0..devices.len()).flat_map(|a| (a + 1..devices.len()).map(move |b| (a, b)));
    pairs
        .map(|(a, b)| PairPath {
            a,
            b,
            path: class(&devices[a], &devices[b]),
        })
        .collect()
}

/// The devices of the backend, a line each, for `--list`.
#[must_use]
pub fn listing(chosen: &Chosen) -> String {
    // Writing to a String cannot fail.
    let mut text = format!("Devices of the {} backend:\n", chosen.backend.name());
    for device in &chosen.inventory.devices {
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "—".to_owned());
        let memory = device
            .memory_bytes
            .map_or_else(|| "—".to_owned(), |bytes| ByteCount(bytes).to_string());
        let (pci, uuid) = (or_none(&device.pci), or_none(&device.uuid));
        let _ = writeln!(
            text,
            "  {}  {}  {pci}  {memory}  {uuid}",
            device.ordinal, device.name
        );
    }
    text
}
