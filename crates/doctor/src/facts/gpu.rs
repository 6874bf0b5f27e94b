//! [`Gpu`] and [`Pair`]: what the kernel shows of the links above a GPU, and what lies between two.

use topology::{
    Fact, LargeBar, Machine, PathType, PciDevice, PciFunction, PciTree, PeerSurroundings, Repairs,
    SlotLink, SlotPath, Sysfs, large_bar, peer_surroundings,
};

use super::Device;

/// One GPU that was asked for.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// What the caller brought of it; the repairs of an AMD GPU are those of its driver's files, whoever was asked.
    pub device: Device,
    /// What the kernel shows of it.
    pub pci: Option<PciDevice>,
    /// The narrowest link between the card and the root complex.
    pub link: Fact<SlotLink>,
    /// The port above the card and the card's end of the slot, each with its best.
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
    pub(super) fn read_all(sysfs: &Sysfs, machine: &Machine, gpus: &[Gpu]) -> Vec<Self> {
        let pair = |places: [usize; 2]| {
            let [a, b] = places.map(|place| &gpus[place].device);
            let addresses = a.address.zip(b.address);
            let around = addresses.map(|(a, b)| peer_surroundings(machine, sysfs, a, b));
            Self {
                label: format!("{}-{}", a.label, b.label),
                gpus: places,
                path: addresses.map_or(PathType::Unknown, |(a, b)| machine.path_type(a, b)),
                around: around
                    .ok_or("the PCI address of one of them is not known")
                    .into(),
            }
        };
        let pairs = (0..gpus.len()).flat_map(|a| (a + 1..gpus.len()).map(move |b| [a, b]));
        pairs.map(pair).collect()
    }
}

impl Gpu {
    pub(super) fn read(sysfs: &Sysfs, machine: &Machine, tree: &PciTree, device: &Device) -> Self {
        let pci = match device.address {
            None => Err("the driver gives no PCI address".to_owned()),
            Some(address) => machine
                .gpu(address)
                .ok_or_else(|| format!("the kernel shows no GPU at {address}")),
        };
        let path = pci.clone();
        let path = path.and_then(|pci| SlotPath::of(pci, machine.hypervisor == Some(true)));
        let slot = path.clone().and_then(|path| {
            let at = |address| tree.at(address).cloned();
            let ends = path.links.last();
            let ends = ends.and_then(|ends| Some([at(ends.upper?)?, at(ends.lower)?]));
            ends.ok_or_else(|| "the port above the card is not shown".to_owned())
        });
        let mut device = device.clone();
        if let Ok(pci) = pci
            && pci.is_amd()
        {
            device.repairs = Fact::Known(Repairs::of_files(sysfs, pci.address));
        }
        let ports = |pci: &PciDevice| {
            let own = tree.at(pci.address);
            tree.above(pci).chain(own).cloned().collect()
        };
        Self {
            device,
            link: path.and_then(|path| path.read(sysfs)).into(),
            slot: slot.into(),
            bar: pci
                .as_ref()
                .map_or_else(Fact::unknown, |pci| large_bar(sysfs, pci)),
            ports: pci.as_ref().map_or_else(|_| Vec::new(), |pci| ports(pci)),
            pci: pci.ok().cloned(),
        }
    }

    /// The PCI vendor number, where the kernel shows the GPU.
    #[must_use]
    pub fn vendor(&self) -> Option<u16> {
        self.pci.as_ref().map(|pci| pci.vendor)
    }

    /// The PCI device number, where the kernel shows the GPU.
    #[must_use]
    pub fn device_id(&self) -> Option<u16> {
        self.pci.as_ref().map(|pci| pci.device_id)
    }
}
