//! [`Platform`]: whether this is a virtual machine, and whose.

use serde::{Deserialize, Serialize};

use crate::{Machine, Sysfs};

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
