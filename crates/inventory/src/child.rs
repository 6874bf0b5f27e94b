//! The child that asks a driver for its devices, and the management library who uses them.

use std::path::PathBuf;

use device::cuda::Cuda;
use device::host::Host;
use device::management::{ManagedDevice, Nvml};
use device::{Backend, DeviceDescription, DeviceError};
use measure::record::{Busy, Mig};
use program::child::Line;
use topology::PciAddress;

use crate::backend::Built;
use crate::messages::{Absent, Found, Inventory, InventoryReply, InventoryRequest};

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
    let found = match request.backend {
        Built::Cuda => list::<Cuda>().map(with_management),
        Built::Host => list::<Host>(),
    };
    let reply = match found {
        Ok(inventory) => InventoryReply::Found { inventory },
        Err(error) => InventoryReply::Absent {
            kind: absent(&error),
            reason: error.to_string(),
        },
    };
    line.send(&reply)
}

fn absent(error: &DeviceError) -> Absent {
    match error {
        DeviceError::LibraryMissing { .. } | DeviceError::NoDevice { .. } => Absent::NotThere,
        _ => Absent::Failing,
    }
}

fn list<B: Backend>() -> device::Result<Inventory> {
    let backend = B::open()?;
    let facts = backend.driver();
    Ok(Inventory {
        interface: facts.interface.clone(),
        soft_box: facts.soft_box.clone(),
        devices: backend.devices().iter().map(found).collect(),
        ..Inventory::default()
    })
}

fn found(device: &DeviceDescription) -> Found {
    Found {
        ordinal: device.ordinal,
        name: device.name.clone(),
        uuid: device.uuid.clone(),
        pci: device.pci.clone(),
        node: device.node,
        cpu: device.cpu,
        memory_bytes: device.memory_bytes,
        cache_bytes: device.cache_bytes,
        mig: None,
        busy: None,
    }
}

fn with_management(mut inventory: Inventory) -> Inventory {
    let nvml = match Nvml::open() {
        Ok(nvml) => nvml,
        Err(error) => {
            inventory.unmanaged = Some(error.to_string());
            return inventory;
        }
    };
    inventory.driver = nvml.driver_version().ok();
    let managed = match nvml.devices() {
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
    let mut unknown: Vec<String> = inventory.unmanaged.into_iter().collect();
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
            match busy(gpu) {
                Ok(busy) => device.busy = Some(busy),
                Err(reason) => unknown.push(format!("device {}: {reason}", device.ordinal)),
            }
        }
    }
    inventory.unmanaged = (!unknown.is_empty()).then(|| unknown.join("; "));
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

/// Who uses a device, or in which part that is not known and what is known all the same.
fn busy(gpu: &ManagedDevice) -> Result<Busy, String> {
    let name = |pid: u32| {
        let path = PathBuf::from(format!("/proc/{pid}/comm"));
        let command = std::fs::read_to_string(path)
            .ok()
            .map(|name| name.trim().to_owned());
        command.map_or_else(
            || format!("process {pid}"),
            |name| format!("{name} ({pid})"),
        )
    };
    // This process has no context yet, but a driver may list it all the same.
    let others = |processes: &[(u32, Option<u64>)]| -> Vec<String> {
        let others = processes
            .iter()
            .filter(|(pid, _)| *pid != std::process::id());
        others.map(|(pid, _)| name(*pid)).collect()
    };
    match (&gpu.used_bytes, &gpu.processes) {
        (Ok(used), Ok(processes)) => Ok(Busy {
            used_bytes: *used,
            processes: others(processes),
            utilisation_percent: gpu.utilisation_percent,
        }),
        (Err(reason), Ok(processes)) => {
            let listed = others(processes);
            let listed = if listed.is_empty() {
                "no process is listed".to_owned()
            } else {
                format!("listed are {}", listed.join(", "))
            };
            Err(format!("memory in use was not told ({reason}), {listed}"))
        }
        (Ok(used), Err(reason)) => Err(format!(
            "its processes were not told ({reason}), {} MiB are in use",
            used >> 20
        )),
        (Err(memory), Err(processes)) => Err(format!(
            "neither memory in use nor processes were told ({memory}; {processes})"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(used: Result<u64, &str>, processes: Result<Vec<u32>, &str>) -> ManagedDevice {
        let processes = processes.map(|pids| pids.into_iter().map(|pid| (pid, None)).collect());
        ManagedDevice {
            uuid: None,
            pci: None,
            used_bytes: used.map_err(str::to_owned),
            processes: processes.map_err(str::to_owned),
            utilisation_percent: None,
            mig: Vec::new(),
            mig_enabled: None,
        }
    }

    #[test]
    fn what_was_not_told_is_unknown_and_not_none() {
        // A process id that no Linux gives (pid_max is 2^22 at most), and this process, which is left out.
        let listed = vec![5_000_000, std::process::id()];
        let known = busy(&gpu(Ok(3 << 20), Ok(listed.clone()))).unwrap();
        assert_eq!(known.used_bytes, 3 << 20);
        assert_eq!(known.processes, ["process 5000000"]);
        let told = |used, processes| busy(&gpu(used, processes)).unwrap_err();
        let memory = told(Err("no memory"), Ok(listed));
        assert!(memory.contains("no memory") && memory.contains("process 5000000"));
        assert!(told(Err("no memory"), Ok(Vec::new())).contains("no process is listed"));
        let processes = told(Ok(3 << 20), Err("no list"));
        assert!(processes.contains("no list") && processes.contains("3 MiB"));
        let both = told(Err("no memory"), Err("no list"));
        assert!(both.contains("no memory") && both.contains("no list"));
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
