//! [`Shown`]: all that a folder with `sys` and `proc` says of a box, in the order in which it is shown.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use inventory::Built;
use program::Stop;
use runner::Interrupt;
use serde::Serialize;
use topology::vendor::METAX;
use topology::{
    End, Fact, IommuMode, KfdNode, LargeBar, Machine, Matrix, Nic, NvLinks, PathType, PciAddress,
    PciDevice, PciTree, PcieLink, Placed, Platform, SlotLink, SlotPath, Sysfs, divided_gpus,
    gpu_name, large_bar, max_payload_bytes, nvlinks_between, xgmi,
};

use crate::parent::fabric::{self, Fabric};

/// How long NVML may take for a step of its start.
const NVML: Duration = Duration::from_secs(5);

/// A box.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shown {
    /// Counts up where a field changes its meaning.
    pub(crate) schema: u32,
    /// Where it was read: `sysfs`, `sysfs below FOLDER`, `simulated machine NAME`.
    pub(crate) source: String,
    /// The simulated machine that was read instead of a machine.
    pub(crate) simulated: Option<String>,
    /// Nodes, processors and all GPUs.
    pub(crate) machine: Machine,
    /// Guest or not, and the firmware's product.
    pub(crate) platform: Platform,
    /// Classes as `nvidia-smi topo -m` names them.
    pub(crate) matrix: Matrix,
    /// What the matrix does not tell: links beside PCI Express, and ends beyond those that it holds; a sentence each.
    pub(crate) matrix_open: Vec<String>,
    /// The ends of the matrix, GPUs and NICs with their ways into the machine.
    pub(crate) devices: Vec<Card>,
    /// Network cards with their ports.
    pub(crate) nics: Vec<Nic>,
    /// What AMD's kernel driver sees.
    pub(crate) kfd: Vec<KfdNode>,
    /// GPUs of NVIDIA that MIG divides, by the driver's minor number.
    pub(crate) mig: Vec<u32>,
    /// Every PCI function.
    pub(crate) tree: PciTree,
    /// What is not told here, a sentence each.
    pub(crate) open: Vec<String>,
}

impl Shown {
    /// Reads a box; `may_run` says whether a vendor's library or tool may be asked for links beside PCI Express.
    ///
    /// # Errors
    /// No sysfs, or one that contradicts itself.
    pub(crate) fn read(
        sysfs: &Sysfs,
        (source, simulated): (String, Option<String>),
        may_run: bool,
    ) -> Result<Self, Stop> {
        let machine = Machine::read(sysfs).map_err(|error| {
            let text = format!("reading sysfs: {error}");
            // On the machine itself nothing can be known; a folder that was named is the wrong one.
            match sysfs.root() == Path::new("/") {
                true => Stop::Refused(text.into()),
                false => Stop::Usage(text),
            }
        })?;
        let platform = Platform::read(sysfs, &machine);
        let is_guest = platform.is_guest == Some(true);
        let tree = PciTree::read(sysfs, is_guest);
        let kfd = KfdNode::read_all(sysfs);
        // Virtual functions of cards that are shown are counted.
        let (left_out, nics): (Vec<Nic>, Vec<Nic>) = Nic::read_all(sysfs)
            .into_iter()
            .partition(|nic| nic.is_virtual);
        let mut matrix_open = Vec::new();
        let (fabric, nvlinks) = beside(&machine, sysfs, may_run, &mut matrix_open);
        let beside = |a: PciAddress, b: PciAddress| {
            let metax = fabric.contains(&(a, b)).then_some(PathType::Mx);
            let of = |gpu| Some((gpu, nvlinks.get(&gpu)?));
            let nv = || nvlinks_between(of(a)?, of(b)?).map(PathType::Nv);
            xgmi(&kfd, a, b).or(metax).or_else(nv)
        };
        let names = machine.gpus.iter().map(|gpu| gpu_name(sysfs, gpu));
        let names: Vec<Option<String>> = names.collect();
        let labels: Vec<Option<String>> = nics.iter().map(Nic::label).collect();
        let gpus = machine.gpus.iter().zip(&names);
        let gpus = gpus.map(|(gpu, name)| Placed::gpu(gpu, name.as_deref()));
        let cards = nics.iter().zip(&labels);
        let cards = cards.map(|(nic, label)| Placed::nic(nic, label.as_deref()));
        let ends: Vec<Placed<'_>> = gpus.chain(cards).collect();
        let matrix = Matrix::of(sysfs, &machine, &ends, &beside);
        let card = |(end, placed): (&End, &Placed<'_>)| {
            Card::read((sysfs, &machine, &tree), is_guest, end, placed.pci)
        };
        Ok(Self {
            schema: 2,
            source,
            simulated,
            devices: matrix.ends.iter().zip(&ends).map(card).collect(),
            matrix,
            matrix_open,
            mig: divided_gpus(sysfs),
            open: (!left_out.is_empty())
                .then(|| format!("{} virtual functions of NICs are left out", left_out.len()))
                .into_iter()
                .collect(),
            platform,
            kfd,
            tree,
            nics,
            machine,
        })
    }

    /// Whether there is anything to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.machine.nodes.is_empty()
            && self.matrix.ends.is_empty()
            && self.tree.functions.is_empty()
    }
}

/// The links beside PCI Express of which a vendor's tool and NVML tell; what they do not tell is said.
fn beside(
    machine: &Machine,
    sysfs: &Sysfs,
    may_run: bool,
    open: &mut Vec<String>,
) -> (Fabric, BTreeMap<PciAddress, NvLinks>) {
    let several = |is: fn(&&PciDevice) -> bool| machine.gpus.iter().filter(is).count() > 1;
    let not_run = "no tool of a copy is run";
    let mut untold = |link: &str, tool: &str, why: String| {
        open.push(format!(
            "{link} is in no file of sysfs, and {why}: give the output of `{tool} topo -m` to --from"
        ));
    };
    let (mut fabric, mut nvlinks) = (Fabric::default(), BTreeMap::new());
    if several(|gpu| gpu.vendor == METAX) {
        let gpus: Vec<&PciDevice> = machine.gpus.iter().collect();
        let of = || fabric::of(&gpus, machine, sysfs, &Interrupt::none());
        match may_run
            .then(of)
            .flatten()
            .unwrap_or_else(|| Err(not_run.to_owned()))
        {
            Ok(found) => fabric = found,
            Err(why) => untold("MetaXLink", "mx-smi", why),
        }
    }
    if several(|gpu| gpu.may_have_nvlink()) {
        let asked = || match inventory::nvlinks(Built::Cuda, NVML, &Interrupt::none()) {
            Err(Stop::Internal(error)) => Err(format!("NVML could not be asked: {error:#}")),
            Ok(told) if !told.is_empty() => Ok(told),
            _ => Err("NVML does not tell".to_owned()),
        };
        match may_run
            .then(asked)
            .unwrap_or_else(|| Err(not_run.to_owned()))
        {
            Ok(told) => nvlinks = told.into_iter().collect(),
            Err(why) => untold("NVLink", "nvidia-smi", why),
        }
    }
    (fabric, nvlinks)
}

/// A GPU or a NIC.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Card {
    /// As the matrix names it, with address, node and label.
    pub(crate) end: End,
    /// The function itself.
    pub(crate) pci: PciDevice,
    /// The kernel's driver.
    pub(crate) driver: Option<String>,
    /// The narrowest link between it and the root complex.
    pub(crate) slot_link: Fact<SlotLink>,
    /// The slot's own link now; copies to a neighbour below the same switch cross nothing else.
    pub(crate) card_link: Option<PcieLink>,
    /// The smallest payload limit on the way, in bytes.
    pub(crate) max_payload_bytes: Option<u32>,
    /// What the IOMMU does with its requests.
    pub(crate) iommu: Fact<IommuMode>,
    /// How much of its memory its window shows; `None` of a NIC.
    pub(crate) bar: Option<Fact<LargeBar>>,
}

impl Card {
    /// Reads what stands beside an end of the matrix.
    pub(crate) fn read(
        (sysfs, machine, tree): (&Sysfs, &Machine, &PciTree),
        is_guest: bool,
        end: &End,
        pci: &PciDevice,
    ) -> Self {
        let path = SlotPath::of(pci, is_guest);
        let function = tree.at(pci.address);
        Self {
            end: end.clone(),
            driver: function.and_then(|function| function.driver.clone()),
            card_link: path.as_ref().ok().and_then(|path| path.card_link(sysfs)),
            slot_link: path.and_then(|path| path.read(sysfs)).into(),
            max_payload_bytes: max_payload_bytes(sysfs, pci),
            iommu: machine.iommu(sysfs, pci.address),
            bar: pci.is_gpu().then(|| large_bar(sysfs, pci)),
            pci: pci.clone(),
        }
    }
}
