//! [`Card`]: a network card with RDMA, the link above it, and what went wrong at its ports.

use std::collections::BTreeMap;

use topology::{Fact, Nic, PciFunction, PciTree, RdmaPort, SlotLink, SlotPath, Sysfs};

/// Counters of what went wrong at a port, by their files below it; cards show them in part (InfiniBand Architecture Specification 1.4,
/// section 16.1.3.5; hw_counters of mlx5).
const ERRORS: [&str; 9] = [
    "counters/symbol_error",
    "counters/link_error_recovery",
    "counters/port_rcv_errors",
    "counters/local_link_integrity_errors",
    "counters/excessive_buffer_overrun_errors",
    "hw_counters/out_of_sequence",
    "hw_counters/packet_seq_err",
    "hw_counters/local_ack_timeout_err",
    "hw_counters/rnr_nak_retry_err",
];

/// One network card with RDMA.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its interfaces and RDMA devices.
    pub nic: Nic,
    /// The narrowest link between it and the root complex.
    pub link: Fact<SlotLink>,
    /// The bridges above it, from the root port down.
    pub bridges: Vec<PciFunction>,
    /// The largest packet of its interfaces, the smallest of several.
    pub mtu_bytes: Option<u32>,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// A port of a network card.
#[derive(Debug, Clone)]
pub struct Port {
    /// As findings call it: `mlx5_0 port 1`.
    pub label: String,
    /// Its state, rate and identifiers.
    pub rdma: RdmaPort,
    /// What went wrong since the driver was loaded, by the counter's name; empty where none is shown.
    pub errors: BTreeMap<String, u64>,
}

impl Card {
    /// Every network card with RDMA, by its address.
    #[must_use]
    pub fn read_all(sysfs: &Sysfs, is_guest: bool, tree: &PciTree) -> Vec<Self> {
        let nics = Nic::read_all(sysfs).into_iter();
        let nics = nics.filter(|nic| !nic.rdma.is_empty());
        nics.map(|nic| Self::read(sysfs, is_guest, tree, nic))
            .collect()
    }

    fn read(sysfs: &Sysfs, is_guest: bool, tree: &PciTree, nic: Nic) -> Self {
        let path = SlotPath::of(&nic.pci, is_guest);
        let folder = format!("sys/bus/pci/devices/{}/net", nic.pci.address);
        let names = nic.interfaces.iter();
        let sizes = names.filter_map(|name| sysfs.read_text(format!("{folder}/{name}/mtu")));
        let ports = nic.rdma.iter().flat_map(|device| {
            let ports = device.ports.iter();
            ports.map(|port| Port::read(sysfs, &device.name, port))
        });
        Self {
            link: path.and_then(|path| path.read(sysfs)).into(),
            bridges: tree.above(&nic.pci).cloned().collect(),
            mtu_bytes: sizes.filter_map(|text| text.parse().ok()).min(),
            ports: ports.collect(),
            nic,
        }
    }

    /// What the system calls it.
    pub(crate) fn label(&self) -> String {
        self.nic.label().unwrap_or_default()
    }
}

impl Port {
    fn read(sysfs: &Sysfs, device: &str, rdma: &RdmaPort) -> Self {
        let number = rdma.number;
        let error = |path: &str| {
            let file = format!("sys/class/infiniband/{device}/ports/{number}/{path}");
            let name = path.rsplit('/').next()?;
            Some((name.to_owned(), sysfs.read_text(file)?.parse().ok()?))
        };
        Self {
            label: format!("{device} port {number}"),
            rdma: rdma.clone(),
            errors: ERRORS.into_iter().filter_map(error).collect(),
        }
    }

    /// Its rate: of `400 Gb/sec (4X NDR)` the number.
    pub(crate) fn gbit_per_s(&self) -> Option<f64> {
        self.rdma.rate.as_deref()?.split(' ').next()?.parse().ok()
    }
}
