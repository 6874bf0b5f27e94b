//! What is known before the first measurement: devices, their paths, and reservations about them.

use std::fmt::Write as _;

use measure::caveat::Caveat;
use measure::record::{BackendFacts, LinkDevice, LinkReading, PairPath};
use measure::unit::ByteCount;
use rustix::process::geteuid;
use topology::{Machine, PathType, PciAddress, Sysfs, max_payload_bytes};

use super::choose::Chosen;
use super::link::ASSUMED_PAYLOAD_BYTES;
use crate::cases;
use crate::messages::{Built, Found};

/// More than this in use without a process counts as somebody else's: drivers keep less for themselves.
const BUSY_BYTES: u64 = 256 << 20;

/// No last-level cache holds this much.
const SURELY_UNCACHED_BYTES: u64 = 1 << 30;

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
    if !chosen.said.is_empty() {
        let said: Vec<&str> = chosen.said.iter().map(|line| line.trim()).collect();
        caveats.push(Caveat::Note {
            text: said.join("; ").replace(":;", ":"),
        });
    }
    caveats.extend(shared_cpus(found, devices));
    if chosen.inventory.soft_box.is_none() {
        let cache_bytes = found
            .iter()
            .filter_map(|device| device.cache_bytes)
            .chain(machine.cpus.last_level_cache_bytes)
            .max();
        let is_host = chosen.backend == Built::Host;
        let unknown = is_host && machine.cpus.last_level_cache_bytes.is_none();
        caveats.extend(cache(sizes, cache_bytes, unknown));
        caveats.extend(assumed_payload(devices, geteuid().is_root()));
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

/// A reservation about sizes that a cache can hold, the largest of them named; `unknown` where nobody says how much it
/// holds.
fn cache(sizes: &[u64], cache_bytes: Option<u64>, unknown: bool) -> Option<Caveat> {
    if unknown {
        let is_small = sizes.iter().any(|size| *size < SURELY_UNCACHED_BYTES);
        return is_small.then(|| Caveat::Note {
            text: "the size of the last-level cache is unknown: numbers below --sizes 1G may be those of a cache"
                .to_owned(),
        });
    }
    let cache_bytes = cache_bytes?;
    let held = sizes.iter().copied().filter(|size| *size <= cache_bytes);
    held.max()
        .map(|bytes| Caveat::CacheResident { bytes, cache_bytes })
}

/// One reservation for all devices whose payload size is assumed.
fn assumed_payload(devices: &[LinkDevice], is_root: bool) -> Option<Caveat> {
    let has_link = |device: &LinkDevice| {
        let idle = device.idle.as_ref();
        idle.and_then(LinkReading::limiting).is_some()
    };
    let labels: Vec<&str> = devices
        .iter()
        .filter(|device| device.max_payload_bytes.is_none() && has_link(device))
        .map(|device| device.label.as_str())
        .collect();
    if labels.is_empty() {
        return None;
    }
    let device = labels.join(", ");
    let bytes = ASSUMED_PAYLOAD_BYTES;
    Some(if is_root {
        Caveat::Note {
            text: format!(
                "the maximum payload size of {device} is unreadable, {bytes} B is assumed for the ceiling: not even root \
                 can read it here"
            ),
        }
    } else {
        Caveat::PayloadSizeAssumed { device, bytes }
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use topology::PcieLink;

    #[test]
    fn the_largest_size_that_a_cache_holds_is_named() {
        let sizes = [1 << 10, 16 << 20, 64 << 20];
        // 32 MiB hold 1 KiB and 16 MiB and not 64 MiB; 512 B hold none.
        let held = Caveat::CacheResident {
            bytes: 16 << 20,
            cache_bytes: 32 << 20,
        };
        assert_eq!(cache(&sizes, Some(32 << 20), false), Some(held));
        assert_eq!(cache(&sizes, Some(512), false), None);
        assert_eq!(cache(&sizes, None, false), None);
    }

    #[test]
    fn a_cache_of_unknown_size_is_said_below_one_gibibyte() {
        let told = cache(&[64 << 20, 2 << 30], None, true).unwrap().to_string();
        assert!(told.contains("--sizes 1G"), "{told}");
        assert_eq!(cache(&[1 << 30], None, true), None);
    }

    #[test]
    fn who_is_root_is_not_told_to_be_root() {
        let device = LinkDevice {
            label: "GPU0".to_owned(),
            ordinal: 0,
            name: "a device of a test".to_owned(),
            uuid: None,
            address: None,
            node: None,
            memory_bytes: None,
            mig: None,
            idle: Some(LinkReading {
                slot: Some(PcieLink::new(4, 16).unwrap()),
                ..LinkReading::default()
            }),
            loaded: None,
            max_payload_bytes: None,
            busy: None,
        };
        let of = |is_root| assumed_payload(std::slice::from_ref(&device), is_root).unwrap();
        let user = Caveat::PayloadSizeAssumed {
            device: "GPU0".to_owned(),
            bytes: 256,
        };
        assert_eq!(of(false), user);
        let root = of(true).to_string();
        assert!(root.contains("not even root can read it here"), "{root}");
    }
}
