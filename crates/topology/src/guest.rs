//! [`Platform`]: whether this is a virtual machine and whose, and [`MigGpu`]: GPUs that are divided, as NVIDIA's driver shows them.

use serde::{Deserialize, Serialize};

use crate::nvidia::{divisible, information, instances, minors};
use crate::vendor::NVIDIA;
use crate::{Machine, PciAddress, PciDevice, Sysfs};

/// What the machine says it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Whether it is a guest; `None` where neither processor nor firmware tells.
    pub is_guest: Option<bool>,
    /// The maker in the firmware's tables (DMI), of a guest mostly its hypervisor's.
    pub vendor: Option<String>,
    /// The product in the firmware's tables (DMI).
    pub product: Option<String>,
}

/// Products that are no hardware, by how they begin; a processor that does not tell (Arm) is known by them.
const VIRTUAL: [&str; 9] = [
    "HVM domU",
    "KVM",
    "QEMU",
    "Standard PC",
    "VMware",
    "VirtualBox",
    "Virtual Machine",
    "Google Compute Engine",
    "OpenStack",
];

/// A GPU of NVIDIA that is divided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigGpu {
    /// The driver's minor number of the GPU.
    pub minor: u32,
    /// Its address; `None` where the driver does not say.
    pub address: Option<PciAddress>,
    /// Its GPU instances.
    pub instances: Vec<GpuInstance>,
}

/// A part of a divided GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInstance {
    /// The driver's number of it.
    pub id: u32,
    /// How many compute instances it has.
    pub compute_instances: usize,
}

impl Platform {
    /// Reads it.
    #[must_use]
    pub fn read(sysfs: &Sysfs, machine: &Machine) -> Self {
        let dmi = |name: &str| {
            sysfs
                .read_text(format!("sys/class/dmi/id/{name}"))
                .filter(|text| !text.is_empty())
        };
        let product = dmi("product_name");
        let is_virtual = product
            .as_deref()
            .is_some_and(|product| VIRTUAL.iter().any(|known| product.starts_with(known)));
        Self {
            is_guest: machine.hypervisor.or(is_virtual.then_some(true)),
            vendor: dmi("sys_vendor"),
            product,
        }
    }
}

impl MigGpu {
    /// Every GPU with GPU instances, by its number.
    #[must_use]
    pub fn read_all(sysfs: &Sysfs) -> Vec<Self> {
        let addresses = minors(sysfs);
        let of = |minor: u32| {
            let instances: Vec<GpuInstance> = instances(sysfs, minor)
                .iter()
                .map(|instance| GpuInstance {
                    id: instance.id,
                    compute_instances: instance.compute.len(),
                })
                .collect();
            (!instances.is_empty()).then(|| Self {
                minor,
                address: addresses.get(&minor).copied(),
                instances,
            })
        };
        divisible(sysfs).into_iter().filter_map(of).collect()
    }
}

/// What the GPU is called: by NVIDIA's driver, or by AMD's where the card has a name.
#[must_use]
pub fn gpu_name(sysfs: &Sysfs, gpu: &PciDevice) -> Option<String> {
    let name = if gpu.vendor == NVIDIA {
        information(sysfs, &gpu.address.to_string(), "Model")
    } else {
        sysfs.read_text(format!("sys/bus/pci/devices/{}/product_name", gpu.address))
    };
    name.filter(|name| !name.is_empty())
}
