//! The child that asks a driver for its devices, and the management library who uses them.

use std::path::PathBuf;

use anyhow::Result;
use device::cuda::Cuda;
use device::host::Host;
use device::management::{ManagedDevice, Nvml};
use device::{Backend, DeviceDescription};
use measure::record::{Busy, Mig};
use topology::PciAddress;

use super::Line;
use crate::messages::{Built, Found, Inventory, InventoryReply, InventoryRequest};

pub(super) fn run(mut line: Line<InventoryRequest>) -> Result<()> {
    let Some(request) = line.next()? else {
        return Ok(());
    };
    let found = match request.backend {
        Built::Cuda => list::<Cuda>().map(with_management),
        Built::Host => list::<Host>(),
    };
    let reply = match found {
        Ok(inventory) => InventoryReply::Found { inventory },
        Err(error) => InventoryReply::Absent {
            reason: error.to_string(),
        },
    };
    line.send(&reply)
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
            device.busy = busy(gpu);
        }
    }
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

fn busy(gpu: &ManagedDevice) -> Option<Busy> {
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
    let others = gpu
        .processes
        .iter()
        .filter(|(pid, _)| *pid != std::process::id());
    Some(Busy {
        used_bytes: gpu.used_bytes?,
        processes: others.map(|(pid, _)| name(*pid)).collect(),
        utilisation_percent: gpu.utilisation_percent,
    })
}
