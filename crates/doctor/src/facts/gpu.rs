//! [`Gpu`] and [`Pair`]: what the kernel shows of the links above a GPU, and what lies between two.

use topology::{
    Fact, LargeBar, Machine, NvLinks, PathType, PciAddress, PciFunction, PciTree, PeerSurroundings,
    Repairs, SlotLink, Sysfs, peer_surroundings, vendor,
};

use super::Device;

/// One GPU that was asked for.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// As tables call it.
    pub label: String,
    /// The driver's name of it.
    pub name: Option<String>,
    /// Where it is.
    pub address: Option<PciAddress>,
    /// PCI vendor and device number, where the kernel shows the GPU.
    pub vendor: Option<u16>,
    /// See `vendor`.
    pub device_id: Option<u16>,
    /// NUMA node.
    pub node: Option<u32>,
    /// Whether it is a MIG instance; `None` where nobody was asked.
    pub mig: Option<bool>,
    /// What was repaired of its memory.
    pub repairs: Fact<Repairs>,
    /// Its NVLinks.
    pub nvlinks: Fact<NvLinks>,
    /// The narrowest link between the card and the root complex.
    pub link: Fact<SlotLink>,
    /// The card's end of the slot and the port above, each with its best.
    pub slot: Fact<[PciFunction; 2]>,
    /// How much of its memory its window shows.
    pub bar: Fact<LargeBar>,
    /// The functions from the root port down to the GPU.
    pub ports: Vec<PciFunction>,
}

/// Two GPUs that were asked for.
#[derive(Debug, Clone)]
pub struct Pair {
    /// As tables call them: `GPU0-GPU1`.
    pub label: String,
    /// Positions in `Facts::gpus`.
    pub gpus: [usize; 2],
    /// The path as `nvidia-smi topo -m` names it.
    pub path: PathType,
    /// What lies around it.
    pub around: Fact<PeerSurroundings>,
}

impl Pair {
    /// Whether the way stays below a switch.
    #[must_use]
    pub fn below_a_switch(&self) -> bool {
        matches!(self.path, PathType::Pix | PathType::Pxb)
    }

    pub(super) fn read_all(sysfs: &Sysfs, machine: &Machine, gpus: &[Gpu]) -> Vec<Self> {
        let pairs = (0..gpus.len()).flat_map(|a| (a + 1..gpus.len()).map(move |b| [a, b]));
        pairs
            .map(|places| {
                let [a, b] = places.map(|place| &gpus[place]);
                let (path, around) = match (a.address, b.address) {
                    (Some(a), Some(b)) => (
                        machine.path_type(a, b),
                        Fact::Known(peer_surroundings(machine, sysfs, a, b)),
                    ),
                    _ => (
                        PathType::Unknown,
                        Fact::Unknown("the PCI address of one of them is not known".to_owned()),
                    ),
                };
                Self {
                    label: format!("{}-{}", a.label, b.label),
                    gpus: places,
                    path,
                    around,
                }
            })
            .collect()
    }
}

impl Gpu {
    pub(super) fn read(sysfs: &Sysfs, machine: &Machine, tree: &PciTree, device: &Device) -> Self {
        let pci = device.address.and_then(|address| machine.gpu(address));
        let unknown = || match device.address {
            None => "the driver gives no PCI address".to_owned(),
            Some(address) => format!("the kernel shows no GPU at {address}"),
        };
        let around = pci.map(|pci| peer_surroundings(machine, sysfs, pci.address, pci.address));
        let path = pci.map(|pci| {
            machine
                .slot_path(pci.address)
                .map_err(|error| error.to_string())
        });
        let slot = match &path {
            None => Fact::Unknown(unknown()),
            Some(Err(why)) => Fact::Unknown(why.clone()),
            Some(Ok(path)) => {
                let at = |address| tree.at(address).cloned();
                let ends = path
                    .links
                    .last()
                    .and_then(|ends| Some([at(ends.upper?)?, at(ends.lower)?]));
                ends.map_or_else(
                    || Fact::Unknown("the port above the card is not shown".to_owned()),
                    Fact::Known,
                )
            }
        };
        let link = match path {
            None => Fact::Unknown(unknown()),
            Some(Err(why)) => Fact::Unknown(why),
            Some(Ok(path)) => match path.read(sysfs) {
                Ok(link) => Fact::Known(link),
                Err(error) => Fact::Unknown(error.to_string()),
            },
        };
        Self {
            label: device.label.clone(),
            name: device.name.clone(),
            address: device.address,
            vendor: pci.map(|pci| pci.vendor),
            device_id: pci.map(|pci| pci.device_id),
            node: pci.and_then(|pci| pci.node),
            mig: device.mig,
            nvlinks: device.nvlinks.clone(),
            // AMD's driver shows it in files, whoever was asked.
            repairs: match pci.filter(|pci| pci.vendor == vendor::AMD) {
                Some(pci) => Fact::Known(Repairs::of_files(sysfs, pci.address)),
                None => device.repairs.clone(),
            },
            link,
            slot,
            bar: match around {
                Some(around) => {
                    let [bar, _] = around.bars;
                    bar
                }
                None => Fact::Unknown(unknown()),
            },
            ports: pci.map_or_else(Vec::new, |pci| {
                let own = tree.at(pci.address);
                tree.above(pci).chain(own).cloned().collect()
            }),
        }
    }
}
