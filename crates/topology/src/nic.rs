//! [`Nic`]: network cards on PCI Express, their interfaces and their RDMA ports.
//!
//! Addresses that a network gave (GIDs, MAC) are not read: what they are is nobody's business, and their type is enough.

use serde::{Deserialize, Serialize};

use crate::pci::addresses;
use crate::{PciDevice, Sysfs};

/// Base class of network controllers, and class with subclass of old InfiniBand ones.
const NETWORK: u32 = 0x02;
const INFINIBAND: u32 = 0x0c06;
/// The most GID entries that are read of a port; cards have 16 to 256.
const GIDS: u32 = 256;

/// One network card's function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// What it is and where it sits.
    pub pci: PciDevice,
    /// The kernel's driver; `None` where none is bound, as on a card that is given to a guest.
    pub driver: Option<String>,
    /// Whether it is a virtual function of another one that is shown, too.
    pub is_virtual: bool,
    /// Its network interfaces, such as `eth0`.
    pub interfaces: Vec<String>,
    /// Its RDMA devices, mostly one.
    pub rdma: Vec<RdmaDevice>,
}

/// An RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdmaDevice {
    /// Its name, such as `mlx5_0`.
    pub name: String,
    /// Its ports by number.
    pub ports: Vec<RdmaPort>,
}

/// A port of an RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdmaPort {
    /// Its number, from 1.
    pub number: u32,
    /// The kernel's word without its number, such as `ACTIVE` or `DOWN`.
    pub state: Option<String>,
    /// The state of the wire, such as `LinkUp`, `Polling` or `Disabled`.
    pub physical: Option<String>,
    /// Its rate in the kernel's words, such as `400 Gb/sec (4X NDR)`.
    pub rate: Option<String>,
    /// `InfiniBand` or `Ethernet`.
    pub link_layer: Option<String>,
    /// Its GID entries that are in use.
    pub gids: Vec<Gid>,
}

/// A GID entry in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gid {
    /// The index, as `NCCL_IB_GID_INDEX` names it.
    pub index: u32,
    /// `RoCE v2`, `IB/RoCE v1`, `IB`.
    pub kind: String,
    /// The network interface that it belongs to, where it is an Ethernet's.
    pub interface: Option<String>,
}

impl Nic {
    /// Every network card's function that has a place below a root complex, by its address.
    #[must_use]
    pub fn read_all(sysfs: &Sysfs) -> Vec<Self> {
        let placed = |address| PciDevice::read_at(sysfs, address)?.ok();
        addresses(sysfs)
            .into_iter()
            .filter_map(placed)
            .filter(is_network)
            .map(|pci| Self::read(sysfs, pci))
            .collect()
    }

    fn read(sysfs: &Sysfs, pci: PciDevice) -> Self {
        let folder = format!("sys/bus/pci/devices/{}", pci.address);
        let rdma = sysfs.names(format!("{folder}/infiniband"));
        Self {
            driver: sysfs.link_name(format!("{folder}/driver")),
            is_virtual: sysfs.link_name(format!("{folder}/physfn")).is_some(),
            interfaces: interfaces(sysfs, &folder).collect(),
            rdma: rdma
                .into_iter()
                .map(|name| RdmaDevice::read(sysfs, name))
                .collect(),
            pci,
        }
    }

    /// What the system calls it: its RDMA devices, else its interfaces.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        let rdma = self.rdma.iter().map(|device| device.name.as_str());
        let interfaces = self.interfaces.iter().map(String::as_str);
        let names: Vec<&str> = match self.rdma.is_empty() {
            true => interfaces.collect(),
            false => rdma.collect(),
        };
        (!names.is_empty()).then(|| names.join(","))
    }
}

impl RdmaDevice {
    fn read(sysfs: &Sysfs, name: String) -> Self {
        let folder = format!("sys/class/infiniband/{name}/ports");
        let names = sysfs.names(&folder);
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let ports = numbers
            .into_iter()
            .map(|number| RdmaPort::read(sysfs, &format!("{folder}/{number}"), number));
        Self {
            ports: ports.collect(),
            name,
        }
    }
}

impl RdmaPort {
    fn read(sysfs: &Sysfs, folder: &str, number: u32) -> Self {
        let text = |name: &str| {
            sysfs
                .read_text(format!("{folder}/{name}"))
                .filter(|text| !text.is_empty())
        };
        // `4: ACTIVE`, `5: LinkUp`.
        let word = |name: &str| {
            let text = text(name)?;
            let word = text.split_once(": ").map(|(_, word)| word.to_owned());
            word.or(Some(text))
        };
        let names = sysfs.names(format!("{folder}/gid_attrs/types"));
        let mut indexes: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        indexes.sort_unstable();
        // An entry that is not in use cannot be read.
        let gid = |index: u32| {
            Some(Gid {
                index,
                kind: text(&format!("gid_attrs/types/{index}"))?,
                interface: text(&format!("gid_attrs/ndevs/{index}")),
            })
        };
        Self {
            number,
            state: word("state"),
            physical: word("phys_state"),
            rate: text("rate"),
            link_layer: text("link_layer"),
            gids: indexes
                .into_iter()
                .filter(|index| *index < GIDS)
                .filter_map(gid)
                .collect(),
        }
    }

    /// Whether it carries traffic; `None` where the kernel does not say.
    #[must_use]
    pub fn is_active(&self) -> Option<bool> {
        self.state.as_deref().map(|state| state == "ACTIVE")
    }
}

/// Whether a function is a network card's.
pub(crate) fn is_network(pci: &PciDevice) -> bool {
    pci.class >> 16 == NETWORK || pci.class >> 8 == INFINIBAND
}

/// The interfaces of a function; those of a virtio card lie one folder below it.
fn interfaces(sysfs: &Sysfs, folder: &str) -> impl Iterator<Item = String> {
    let mut below = sysfs.names(folder);
    below.retain(|name| name.starts_with("virtio"));
    let own = std::iter::once(format!("{folder}/net"));
    let below = below.into_iter();
    let folders = own.chain(below.map(move |name| format!("{folder}/{name}/net")));
    folders.flat_map(move |folder| sysfs.names(folder))
}
