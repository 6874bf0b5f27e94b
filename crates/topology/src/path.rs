//! [`PathType`]: how near two PCI devices are, in the words of `nvidia-smi topo -m`.
//!
//! The class is derived from the PCI tree alone, but for a link beside it, which `mx_smi.rs` reads; whether peer copies
//! work on the path is measured, not derived.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::PciDevice;

/// What lies between two devices, nearest first, named as `nvidia-smi topo -m` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathType {
    /// The same PCI function, as two MIG instances of one GPU are.
    #[serde(rename = "X")]
    Same,
    /// MetaXLink, beside PCI Express: `mx-smi topo -m` says so, the PCI tree does not.
    #[serde(rename = "MX")]
    Mx,
    /// At most one PCIe switch.
    #[serde(rename = "PIX")]
    Pix,
    /// Several PCIe switches, without a host bridge.
    #[serde(rename = "PXB")]
    Pxb,
    /// One PCIe host bridge.
    #[serde(rename = "PHB")]
    Phb,
    /// Several host bridges of one NUMA node.
    #[serde(rename = "NODE")]
    Node,
    /// The link between NUMA nodes.
    #[serde(rename = "SYS")]
    Sys,
    /// Different host bridges, of which at least one has no known NUMA node, or a device that was not found.
    #[serde(rename = "UNKNOWN")]
    Unknown,
}

impl PathType {
    /// The name in `nvidia-smi topo -m`, for [`PathType::Mx`] in `mx-smi topo -m`; `UNKNOWN` is ours.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "X",
            Self::Mx => "MX",
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for PathType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl PciDevice {
    /// The path to another device of the same machine.
    ///
    /// An AMD card's own switch is left out, or every pair behind one switch would look like two switches apart.
    pub fn path_to(&self, other: &Self) -> PathType {
        if self.address == other.address {
            return PathType::Same;
        }
        if self.address.same_device(other.address) {
            return PathType::Pix;
        }
        if self.root != other.root {
            return match (self.node, other.node) {
                (Some(a), Some(b)) if a == b => PathType::Node,
                (Some(_), Some(_)) => PathType::Sys,
                _ => PathType::Unknown,
            };
        }
        let (ours, theirs) = (self.chain_to_card(), other.chain_to_card());
        let common = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        // One switch is its upstream port, which both share, and one downstream port on each side.
        match (common, ours.len() - common, theirs.len() - common) {
            (0, _, _) => PathType::Phb,
            (_, 0 | 1, 0 | 1) => PathType::Pix,
            _ => PathType::Pxb,
        }
    }
}
