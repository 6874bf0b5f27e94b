//! The child that asks a driver for its devices, and the management library who uses them.

use std::path::PathBuf;

use device::management::{Managed, ManagedDevice};
use device::{Backend, DeviceError, Visit};
use record::{Busy, Mig};
use runner::child::Line;
use topology::{PciAddress, Sysfs};

use crate::messages::{Absent, Answer, Found, Inventory, InventoryRequest, Links};

/// The hidden subcommand that a program which uses [`crate::choose()`] runs [`run`] for.
pub const CHILD: &str = "__inventory";

/// Asks the driver and answers the parent, once.
///
/// # Errors
/// The pipes broke, or the request was not understood; findings are answers, not errors.
pub fn run() -> anyhow::Result<()> {
    let mut line: Line<InventoryRequest> = Line::open()?;
    let Some(request) = line.request()? else {
        return Ok(());
    };
    if request.only_nvlinks {
        let managed = request.backend.managed();
        let links = managed.map(nvlinks).unwrap_or_default();
        return line.send(&links);
    }
    let found = request.backend.visit(List).map(|mut inventory| {
        let sysfs = program::sim::sysfs_root().map_or_else(Sysfs::real, Sysfs::at);
        if let Some(managed) = request.backend.managed() {
            return with_management(inventory, managed, &sysfs);
        }
        let vendor = request.backend.pci_vendor();
        inventory.unmanaged = vendor.map(|vendor| format!("nothing of {} is asked", vendor.name));
        inventory
    });
    let reply: Answer = found.map_err(|error| (absent(&error), error.failure()));
    line.send(&reply)
}

/// The NVLinks of all devices of which the management library tells.
fn nvlinks(managed: &Managed) -> Links {
    let sysfs = program::sim::sysfs_root().map_or_else(Sysfs::real, Sysfs::at);
    let devices = (managed.open)(&sysfs).and_then(|management| management.devices());
    let devices = devices.unwrap_or_default().into_iter().flatten();
    devices
        .filter_map(|device| device.pci.zip(device.nvlinks))
        .collect()
}

fn absent(error: &DeviceError) -> Absent {
    match error {
        DeviceError::LibraryMissing { .. } | DeviceError::NoDevice { .. } => Absent::NotThere,
        _ => Absent::Failing,
    }
}

/// Opens a backend and lists its devices.
struct List;

impl Visit for List {
    type Output = device::Result<Inventory>;

    fn visit<B: Backend>(self) -> device::Result<Inventory> {
        let backend = B::open()?;
        let facts = backend.driver();
        let (apart, peers_unknown) = match apart(&backend) {
            Ok(apart) => (apart, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok(Inventory {
            interface: facts.interface.clone(),
            soft_box: facts.soft_box.clone(),
            devices: backend.devices().to_vec(),
            apart,
            peers_unknown,
            ..Inventory::default()
        })
    }
}

fn apart<B: Backend>(backend: &B) -> device::Result<Vec<(usize, usize)>> {
    let ordinals = || backend.devices().iter().map(|device| device.ordinal);
    let pairs = ordinals().flat_map(|a| ordinals().map(move |b| (a, b)));
    let mut apart = Vec::new();
    for (a, b) in pairs.filter(|(a, b)| a != b) {
        if !backend.can_access_peer(a, b)? {
            apart.push((a, b));
        }
    }
    Ok(apart)
}

fn with_management(mut inventory: Inventory, managed: &Managed, sysfs: &Sysfs) -> Inventory {
    let management = match (managed.open)(sysfs) {
        Ok(management) => management,
        Err(reason) => {
            inventory.unmanaged = Some(reason);
            return inventory;
        }
    };
    inventory.driver = management.driver_version().ok();
    let managed = match management.devices() {
        Ok(devices) => devices,
        Err(reason) => {
            inventory.unmanaged = Some(reason);
            return inventory;
        }
    };
    let (managed, unanswered): (Vec<_>, Vec<_>) = managed.into_iter().partition(Result::is_ok);
    inventory.unmanaged = unanswered.into_iter().find_map(Result::err);
    let managed: Vec<ManagedDevice> = managed.into_iter().flatten().collect();
    inventory.mig_listed = managed
        .iter()
        .flat_map(|gpu| &gpu.mig)
        .map(|instance| instance.uuid.clone())
        .collect();
    let mut unknown: Vec<(Vec<usize>, String)> = Vec::new();
    unknown.extend(inventory.unmanaged.map(|reason| (Vec::new(), reason)));
    let soft = inventory.soft_box.clone();
    for device in &mut inventory.devices {
        if let Some(gpu) = managed.iter().find(|gpu| is_parent(gpu, device)) {
            let instance = gpu
                .mig
                .iter()
                .find(|instance| Some(&instance.uuid) == device.uuid.as_ref());
            device.mig = instance.map(|instance| Mig {
                profile: instance.profile.clone(),
                parent_uuid: gpu.uuid.clone(),
            });
            let (busy, untold) = busy(gpu, soft.as_deref());
            device.busy = busy;
            device.repairs = Some(gpu.repairs.clone());
            device.nvlinks.clone_from(&gpu.nvlinks);
            unknown.extend(untold.map(|reason| (vec![device.ordinal], reason)));
        }
    }
    inventory.unmanaged = in_words(unknown);
    inventory
}

/// A MIG instance has its parent's PCI address, so the address decides; the UUID where there is none.
fn is_parent(gpu: &ManagedDevice, device: &Found) -> bool {
    let address = |text: &Option<String>| {
        text.as_deref()
            .and_then(|text| text.parse::<PciAddress>().ok())
    };
    match (address(&gpu.pci), address(&device.pci)) {
        (Some(a), Some(b)) => a == b,
        _ => gpu.uuid.is_some() && gpu.uuid == device.uuid,
    }
}

/// What is not known, each reason once with the devices that it is said of.
fn in_words(unknown: Vec<(Vec<usize>, String)>) -> Option<String> {
    let mut reasons: Vec<(Vec<usize>, String)> = Vec::new();
    for (devices, reason) in unknown {
        match reasons.iter_mut().find(|(_, known)| *known == reason) {
            Some((known, _)) => known.extend(devices),
            None => reasons.push((devices, reason)),
        }
    }
    let words = reasons.iter().map(|(devices, reason)| {
        let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
        match devices.len() {
            0 => reason.clone(),
            1 => format!("device {}: {reason}", devices[0]),
            _ => format!("devices {}: {reason}", devices.join(", ")),
        }
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Who uses a device, as far as that is known, and in which part it is not.
///
/// A process of a simulated machine is one of its file only: this machine's process of the same number is another one.
fn busy(gpu: &ManagedDevice, soft_box: Option<&str>) -> (Option<Busy>, Option<String>) {
    let name = |pid: u32| {
        let path = PathBuf::from(format!("/proc/{pid}/comm"));
        let command = std::fs::read_to_string(path)
            .ok()
            .filter(|_| soft_box.is_none())
            .map(|name| name.trim().to_owned());
        command.map_or_else(
            || format!("process {pid}"),
            |name| format!("{name} ({pid})"),
        )
    };
    // This process has no context yet, but a driver may list it all the same.
    let others = |processes: &[u32]| -> Vec<String> {
        let others = processes.iter().filter(|pid| **pid != std::process::id());
        others.map(|pid| name(*pid)).collect()
    };
    let busy = |used_bytes, processes| Busy {
        used_bytes,
        processes,
        utilisation_percent: gpu.utilisation_percent,
    };
    match (&gpu.used_bytes, &gpu.processes) {
        (Ok(used), Ok(processes)) => (Some(busy(*used, others(processes))), None),
        // The memory counts all the same: more in use than a driver keeps for itself is somebody's.
        (Ok(used), Err(reason)) => {
            let untold = format!("processes are not told ({reason})");
            (Some(busy(*used, Vec::new())), Some(untold))
        }
        (Err(reason), _) => (None, Some(format!("memory in use is not told ({reason})"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(used: Result<u64, &str>, processes: Result<Vec<u32>, &str>) -> ManagedDevice {
        ManagedDevice {
            uuid: None,
            pci: None,
            used_bytes: used.map_err(str::to_owned),
            processes: processes.map_err(str::to_owned),
            repairs: topology::Repairs::told(Err(String::new()), Err(String::new())),
            nvlinks: None,
            utilisation_percent: None,
            mig: Vec::new(),
        }
    }

    #[test]
    fn what_was_not_told_is_unknown_and_not_none() {
        // A process id that no Linux gives (pid_max is 2^22 at most), and this process, which is left out.
        let listed = vec![5_000_000, std::process::id()];
        let (known, untold) = busy(&gpu(Ok(3 << 20), Ok(listed.clone())), None);
        let known = known.unwrap();
        assert_eq!(known.used_bytes, 3 << 20);
        assert_eq!(known.processes, ["process 5000000"]);
        assert_eq!(untold, None);
        let told = |used, processes| busy(&gpu(used, processes), None).1.unwrap();
        assert!(told(Err("no memory"), Ok(listed)).contains("no memory"));
        let (memory, processes) = busy(&gpu(Ok(3 << 20), Err("no list")), None);
        assert_eq!(memory.unwrap().used_bytes, 3 << 20);
        assert!(processes.unwrap().contains("no list"));
    }

    #[test]
    fn only_a_missing_library_and_a_missing_device_are_no_driver() {
        let vendor = DeviceError::Vendor {
            call: "cuInit",
            code: 999,
            name: "CUDA_ERROR_UNKNOWN".to_owned(),
        };
        let symbol = DeviceError::SymbolMissing {
            library: "libcuda.so.1",
            symbol: "cuInit",
        };
        let missing = DeviceError::LibraryMissing {
            library: "libcuda.so.1",
            looked: String::new(),
            next: "",
        };
        let no_device = DeviceError::NoDevice {
            backend: "cuda",
            reason: String::new(),
        };
        assert_eq!(
            [&vendor, &symbol, &missing, &no_device].map(absent),
            [
                Absent::Failing,
                Absent::Failing,
                Absent::NotThere,
                Absent::NotThere
            ]
        );
    }
}
