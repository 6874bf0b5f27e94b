//! [`Facts`]: everything that the rules look at, read once; what could not be read is there with its reason.

mod card;
mod given;
mod gpu;
mod host;
mod process;
mod reading;

pub use card::{Card, Port};
pub(crate) use given::numbers;
pub use given::{Device, Given, SharedMemory, Variable, Version};
pub use gpu::{Gpu, Pair};
pub use host::{Frequency, Host};
pub use process::Process;
pub use reading::Reading;

use topology::{Fact, Machine, PciTree, Sysfs};

/// What is known of the machine, its devices and this process.
#[derive(Debug, Clone)]
pub struct Facts {
    /// NUMA nodes, processors, GPUs.
    pub machine: Machine,
    /// The GPUs that were asked for.
    pub gpus: Vec<Gpu>,
    /// Each two of them.
    pub pairs: Vec<Pair>,
    /// Settings of the kernel and the processors.
    pub host: Host,
    /// Limits and rights of this process.
    pub process: Fact<Process>,
    /// Network cards with RDMA; others are reached by sockets and are not looked at.
    pub nics: Reading<Vec<Card>>,
    /// What the caller brought.
    pub given: Given,
}

impl Facts {
    /// Reads everything. `own` is the tree that shows this process; where it is of no account, the reason says why.
    #[must_use]
    pub fn read(sysfs: &Sysfs, own: &Fact<Sysfs>, machine: Machine, given: Given) -> Self {
        let tree = PciTree::read(sysfs, machine.hypervisor == Some(true));
        let gpus: Vec<Gpu> = given
            .devices
            .iter()
            .map(|device| Gpu::read(sysfs, &machine, &tree, device))
            .collect();
        Self {
            pairs: Pair::read_all(sysfs, &machine, &gpus),
            gpus,
            host: Host::read(sysfs),
            process: match own {
                Fact::Known(own) => Fact::Known(Process::read(own)),
                Fact::Unknown(why) => Fact::Unknown(why.clone()),
            },
            nics: cards(sysfs, machine.hypervisor == Some(true), &tree),
            machine,
            given,
        }
    }

    /// The value of a variable that this process or a configuration file sets.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        let variables = self.given.variables.known()?;
        variables.iter().find(|variable| variable.name == name)
    }

    /// The value of a variable.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.variable(name).map(|variable| variable.value.as_str())
    }

    /// The version of a component, such as `NCCL`.
    #[must_use]
    pub fn version(&self, component: &str) -> Option<&Version> {
        let versions = &self.given.versions;
        versions
            .iter()
            .find(|version| version.component == component)
    }

    /// Whether any of the GPUs is of this PCI vendor.
    #[must_use]
    pub fn has_vendor(&self, vendor: u16) -> bool {
        self.gpus.iter().any(|gpu| gpu.vendor() == Some(vendor))
    }
}

/// The network cards with RDMA.
fn cards(sysfs: &Sysfs, is_guest: bool, tree: &PciTree) -> Reading<Vec<Card>> {
    let source = "/sys/bus/pci/devices/*/infiniband";
    if tree.functions.is_empty() {
        return Reading::unknown(source, "no PCI functions are shown");
    }
    Reading::known(source, Card::read_all(sysfs, is_guest, tree))
}
