//! [`Shown`]: all that a folder with `sys` and `proc` says of a box, in the order in which it is shown.

use std::path::Path;

use anyhow::Context;
use program::Stop;
use runner::Interrupt;
use serde::Serialize;
use topology::vendor::METAX;
use topology::{
    End, EndKind, KfdNode, Machine, Matrix, MigGpu, Nic, PathType, PciAddress, PciDevice, PciTree,
    Placed, Platform, Sysfs, gpu_name, xgmi,
};

use super::card::Card;
use crate::parent::fabric::{self, Fabric};

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
    /// GPUs that are divided.
    pub(crate) mig: Vec<MigGpu>,
    /// Every PCI function.
    pub(crate) tree: PciTree,
    /// What is not told here, a sentence each.
    pub(crate) open: Vec<String>,
}

impl Shown {
    /// Reads a box; `may_run` says whether a vendor's tool may be run for links beside PCI Express.
    ///
    /// # Errors
    /// No sysfs, or one that contradicts itself.
    pub(crate) fn read(
        sysfs: &Sysfs,
        (source, simulated): (String, Option<String>),
        may_run: bool,
    ) -> Result<Self, Stop> {
        let machine = Machine::read(sysfs)
            .context("reading sysfs")
            .map_err(|error| unreadable(sysfs, error))?;
        let platform = Platform::read(sysfs, &machine);
        let tree = PciTree::read(sysfs, platform.is_guest == Some(true));
        let (nics, open) = nics(sysfs);
        let kfd = KfdNode::read_all(sysfs);
        let mut shown = Self {
            schema: 2,
            source,
            simulated,
            platform,
            matrix: empty(),
            matrix_open: Vec::new(),
            devices: Vec::new(),
            kfd,
            mig: MigGpu::read_all(sysfs),
            tree,
            open,
            nics,
            machine,
        };
        shown.place(sysfs, may_run);
        Ok(shown)
    }

    /// Fills the matrix and what stands beside them.
    fn place(&mut self, sysfs: &Sysfs, may_run: bool) {
        let gpus = self.machine.gpus.clone();
        let names: Vec<Option<String>> = gpus.iter().map(|gpu| gpu_name(sysfs, gpu)).collect();
        if gpus.iter().filter(|gpu| gpu.may_have_nvlink()).count() > 1 {
            self.matrix_open.push(
                "NVLink is in no file of sysfs: where `nvidia-smi topo -m` shows NV#, give its output to --from"
                    .to_owned(),
            );
        }
        let fabric = self.fabric(sysfs, &gpus, may_run);
        let labels: Vec<Option<String>> = self.nics.iter().map(Nic::label).collect();
        let gpus = gpus
            .iter()
            .zip(&names)
            .map(|(gpu, name)| Placed::gpu(gpu, name.as_deref()));
        let nics = self
            .nics
            .iter()
            .zip(&labels)
            .map(|(nic, label)| Placed::nic(nic, label.as_deref()));
        let ends: Vec<Placed<'_>> = gpus.chain(nics).collect();
        let is_joined = |a, b| {
            fabric
                .as_ref()
                .is_some_and(|fabric| fabric.contains(&(a, b)))
        };
        let beside = |a: PciAddress, b: PciAddress| {
            let metax = || is_joined(a, b).then_some(PathType::Mx);
            xgmi(&self.kfd, a, b).or_else(metax)
        };
        let matrix = Matrix::of(sysfs, &self.machine, &ends, &beside);
        let is_guest = self.platform.is_guest == Some(true);
        let card = |(end, placed): (&End, &Placed<'_>)| {
            Card::read(
                (sysfs, &self.machine, &self.tree),
                is_guest,
                end,
                placed.pci,
            )
        };
        self.devices = matrix.ends.iter().zip(&ends).map(card).collect();
        self.matrix = matrix;
    }

    /// The links beside PCI Express that a vendor's tool knows; what it does not tell is said.
    fn fabric(&mut self, sysfs: &Sysfs, gpus: &[PciDevice], may_run: bool) -> Option<Fabric> {
        let has_several = gpus.iter().filter(|gpu| gpu.vendor == METAX).count() > 1;
        if has_several && !may_run {
            self.matrix_open.push("MetaXLink is in no file of sysfs, and no tool of a copy is run: give the output of `mx-smi topo -m` to --from".to_owned());
            return None;
        }
        let gpus: Vec<&PciDevice> = gpus.iter().collect();
        match may_run.then(|| fabric::of(&gpus, &self.machine, sysfs, &Interrupt::none()))?? {
            Ok(fabric) => Some(fabric),
            Err(reason) => {
                self.matrix_open
                    .push(format!("links beside PCI Express are not known: {reason}"));
                None
            }
        }
    }

    /// Whether there is anything to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.machine.nodes.is_empty()
            && self.matrix.ends.is_empty()
            && self.tree.functions.is_empty()
    }

    /// The cards of a kind.
    pub(crate) fn cards(&self, kind: EndKind) -> impl Iterator<Item = &Card> {
        self.devices
            .iter()
            .filter(move |card| card.end.kind == kind)
    }
}

fn empty() -> Matrix {
    Matrix {
        source: String::new(),
        ends: Vec::new(),
        classes: Vec::new(),
    }
}

/// On the machine itself nothing can be known; a folder that was named is the wrong one.
fn unreadable(sysfs: &Sysfs, error: anyhow::Error) -> Stop {
    let text = format!("{error:#}");
    if sysfs.root() == Path::new("/") {
        Stop::Refused(text.into())
    } else {
        Stop::Usage(text)
    }
}

/// The network cards that are ends; virtual functions of cards that are shown are left out and counted.
fn nics(sysfs: &Sysfs) -> (Vec<Nic>, Vec<String>) {
    let (left_out, nics): (Vec<Nic>, Vec<Nic>) = Nic::read_all(sysfs)
        .into_iter()
        .partition(|nic| nic.is_virtual);
    let open = match left_out.len() {
        0 => Vec::new(),
        count => vec![format!("{count} virtual functions of NICs are left out")],
    };
    (nics, open)
}
