//! [`PathType`]: how near two PCI devices are, in the words of `nvidia-smi topo -m`.
//!
//! The class is derived from the PCI tree alone, but for a link beside it, which `mx_smi.rs` reads; whether peer copies
//! work on the path is measured, not derived.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::PciDevice;

/// What lies between two devices, nearest first, named as `nvidia-smi topo -m` does.
///
/// Serialised as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PathType {
    /// The same PCI function, as two MIG instances of one GPU are.
    Same,
    /// So many bonded NVLinks, beside PCI Express: `nvidia-smi topo -m` says so, the PCI tree does not.
    Nv(u8),
    /// MetaXLink, beside PCI Express: `mx-smi topo -m` says so, the PCI tree does not.
    Mx,
    /// AMD's xGMI, beside PCI Express: the KFD's topology says so, the PCI tree does not.
    Xgmi,
    /// At most one PCIe switch.
    Pix,
    /// Several PCIe switches, without a host bridge.
    Pxb,
    /// One PCIe host bridge.
    Phb,
    /// Several host bridges of one NUMA node.
    Node,
    /// The link between NUMA nodes.
    Sys,
    /// Different host bridges, of which at least one has no known NUMA node, or a device that was not found.
    Unknown,
}

/// A text is no path class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a path class; the classes are X, NV1 and so on, MX, XGMI, PIX, PXB, PHB, NODE, SYS and UNKNOWN"
)]
pub struct PathTypeError(pub String);

impl PathType {
    /// The name in `nvidia-smi topo -m`, for [`PathType::Mx`] in `mx-smi topo -m`, for [`PathType::Xgmi`] in `rocm-smi --showtopo`;
    /// `UNKNOWN` is ours.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Nv(links) => return Cow::Owned(format!("NV{links}")),
            Self::Same => "X",
            Self::Mx => "MX",
            Self::Xgmi => "XGMI",
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
            Self::Unknown => "UNKNOWN",
        })
    }
}

impl FromStr for PathType {
    type Err = PathTypeError;

    /// Parses a name; NVLinks are 1 to 255.
    fn from_str(text: &str) -> Result<Self, PathTypeError> {
        Ok(match text {
            "X" => Self::Same,
            "MX" => Self::Mx,
            "XGMI" => Self::Xgmi,
            "PIX" => Self::Pix,
            "PXB" => Self::Pxb,
            "PHB" => Self::Phb,
            "NODE" => Self::Node,
            "SYS" => Self::Sys,
            "UNKNOWN" => Self::Unknown,
            text => {
                let links = text
                    .strip_prefix("NV")
                    .filter(|links| !links.starts_with('+'));
                let links = links.and_then(|links| links.parse().ok());
                let links = links.filter(|links| *links > 0);
                Self::Nv(links.ok_or_else(|| PathTypeError(text.to_owned()))?)
            }
        })
    }
}

impl TryFrom<String> for PathType {
    type Error = PathTypeError;

    fn try_from(text: String) -> Result<Self, PathTypeError> {
        text.parse()
    }
}

impl From<PathType> for String {
    fn from(class: PathType) -> Self {
        class.name().into_owned()
    }
}

impl fmt::Display for PathType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
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
