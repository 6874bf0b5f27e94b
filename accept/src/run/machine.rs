//! What a report says of the machine: its name, what must be equal for figures to be compared, its devices and settings.

use record::{Collectives, LinkDevice, Links, Record};
use sha2::{Digest, Sha256};
use topology::{Machine, PciTree, Sysfs};

use crate::report::{Fingerprint, Node, ReportDevice, hex};

/// The machine of a record, by its real name.
pub(crate) fn node(listing: &Record, links: &Links, sysfs: &Sysfs) -> Node {
    let provenance = &listing.header.provenance;
    Node {
        name: provenance
            .host
            .clone()
            .unwrap_or_else(|| "unknown".to_owned()),
        label: None,
        identified: true,
        fingerprint: fingerprint(listing, links, sysfs),
    }
}

fn fingerprint(listing: &Record, links: &Links, sysfs: &Sysfs) -> Fingerprint {
    let backend = links.backend.clone().unwrap_or_default();
    let mut names: Vec<String> = links
        .devices
        .iter()
        .map(|device| device.name.clone())
        .collect();
    names.sort();
    let payloads = links
        .devices
        .iter()
        .filter_map(|device| device.max_payload_bytes);
    let mut max_payload_bytes: Vec<u32> = payloads.collect();
    max_payload_bytes.sort_unstable();
    let machine = links.machine.as_ref();
    Fingerprint {
        backend: backend.name,
        devices: names,
        driver: backend.driver,
        interface: backend.interface,
        collectives: None,
        kernel: listing.header.provenance.kernel.clone(),
        cpu: machine.and_then(|machine| machine.cpus.model.clone()),
        topology: machine.map(|machine| hex(&topology(machine, links, sysfs).finalize())),
        max_payload_bytes,
    }
}

/// The collective library of a record with its version.
pub(crate) fn library(collectives: &Collectives) -> Option<String> {
    let library = collectives.library.as_ref()?;
    Some(match &library.version {
        Some(version) => format!("{} {version}", library.name),
        None => library.name.clone(),
    })
}

/// A hash over what is where, without addresses: of each device its node and the best that its link could be, of each pair its path.
fn topology(machine: &Machine, links: &Links, sysfs: &Sysfs) -> Sha256 {
    let tree = PciTree::read(sysfs, machine.hypervisor == Some(true));
    let mut hash = Sha256::new();
    for device in &links.devices {
        let maxima: Vec<String> = device
            .address
            .and_then(|address| tree.at(address))
            .into_iter()
            .flat_map(|function| tree.above(&function.pci).chain([function]))
            .map(|function| format!("{:?}", function.maximum))
            .collect();
        hash.update(format!("{:?} {maxima:?}\n", device.node));
    }
    for pair in &links.paths {
        hash.update(format!("{} {} {}\n", pair.a, pair.b, pair.path));
    }
    hash
}

/// Devices as a report has them.
pub(crate) fn devices(devices: &[LinkDevice]) -> Vec<ReportDevice> {
    let device = |device: &LinkDevice| ReportDevice {
        label: device.label.clone(),
        name: device.name.clone(),
        slot: device.address.map(|address| address.to_string()),
        identity: device.uuid.clone(),
        node: device.node,
        memory_bytes: device.memory_bytes,
    };
    devices.iter().map(device).collect()
}
