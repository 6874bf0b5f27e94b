//! What is known before the first measurement: devices, their paths, and reservations about them.

use std::fmt::Write as _;

use measure::caveat::Caveat;
use measure::record::{BackendFacts, LinkDevice, PairPath};
use measure::unit::ByteCount;
use topology::{Machine, PathType, PciAddress, Sysfs, max_payload_bytes};

use super::choose::Chosen;
use crate::cases;
use crate::messages::{Built, Found};

/// More than this in use without a process counts as somebody else's: drivers keep less for themselves.
const BUSY_BYTES: u64 = 256 << 20;

/// A chosen device with what sysfs knows of it.
pub(super) fn describe(
    found: &Found,
    backend: Built,
    sysfs: &Sysfs,
    machine: &Machine,
) -> LinkDevice {
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
pub(super) fn backend(chosen: &Chosen) -> BackendFacts {
    let inventory = &chosen.inventory;
    let management = match (chosen.backend, &inventory.unmanaged) {
        (Built::Host, _) => "none".to_owned(),
        (_, None) => "nvml".to_owned(),
        (_, Some(reason)) => format!("nvml does not answer: {reason}"),
    };
    BackendFacts {
        name: chosen.backend.name().to_owned(),
        driver: inventory.driver.clone(),
        interface: inventory.interface.clone(),
        management,
    }
}

/// The path class of every pair.
pub(super) fn paths(devices: &[LinkDevice], machine: &Machine) -> Vec<PairPath> {
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

/// Reservations that hold whatever is measured; devices in use come first.
pub(super) fn caveats(
    chosen: &Chosen,
    found: &[Found],
    devices: &[LinkDevice],
    sizes: &[u64],
    machine: &Machine,
) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = devices.iter().filter_map(busy).collect();
    caveats.extend(shared_cpus(found, devices));
    let soft = chosen.inventory.soft_box.is_some();
    if let (Some(smallest), false) = (sizes.iter().min(), soft) {
        let caches = found
            .iter()
            .filter_map(|device| device.cache_bytes)
            .chain(machine.cpus.last_level_cache_bytes);
        let cache_bytes = caches.max().unwrap_or(0);
        if *smallest <= cache_bytes {
            caveats.push(Caveat::CacheResident {
                bytes: *smallest,
                cache_bytes,
            });
        }
    }
    let (listed, seen) = (chosen.inventory.mig_listed.len(), mig_seen(chosen));
    if listed > seen {
        caveats.push(Caveat::Note {
            text: format!(
                "the management library lists {listed} MIG instances and the driver shows {seen} to one process: drivers \
                 before R570 show one; set CUDA_VISIBLE_DEVICES to the UUID of the instance to measure"
            ),
        });
    }
    if let Some(reason) = &chosen.inventory.unmanaged {
        caveats.push(Caveat::Note {
            text: format!(
                "who else uses the devices is not known: {reason}; check with nvidia-smi"
            ),
        });
    }
    caveats
}

fn mig_seen(chosen: &Chosen) -> usize {
    chosen
        .inventory
        .devices
        .iter()
        .filter(|device| device.mig.is_some())
        .count()
}

fn busy(device: &LinkDevice) -> Option<Caveat> {
    let busy = device.busy.as_ref()?;
    let in_use = busy.used_bytes > BUSY_BYTES || !busy.processes.is_empty();
    in_use.then(|| Caveat::DeviceBusy {
        device: device.label.clone(),
        used_mib: busy.used_bytes >> 20,
        processes: busy.processes.clone(),
    })
}

fn shared_cpus(found: &[Found], devices: &[LinkDevice]) -> Vec<Caveat> {
    let mut cpus: Vec<usize> = found.iter().filter_map(|device| device.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let on = |cpu: usize| -> Vec<String> {
        let pairs = found
            .iter()
            .zip(devices)
            .filter(|(found, _)| found.cpu == Some(cpu));
        pairs.map(|(_, device)| device.label.clone()).collect()
    };
    let shared = cpus
        .into_iter()
        .map(|cpu| (cpu, on(cpu)))
        .filter(|(_, devices)| devices.len() > 1);
    shared
        .map(|(cpu, devices)| Caveat::SharedCpu { devices, cpu })
        .collect()
}

/// The text of `--list`.
pub(super) fn listing(chosen: &Chosen) -> String {
    let mut text = String::from("Cases:\n");
    for case in &cases::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<22}{}", case.key, case.description);
    }
    let _ = writeln!(text, "\nDevices of the {} backend:", chosen.backend.name());
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
