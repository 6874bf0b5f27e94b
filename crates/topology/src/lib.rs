//! The box that was found: NUMA nodes, CPUs, GPUs on PCI Express and the links above them, read from sysfs and procfs.
//!
//! Everything is read through [`Sysfs`], whose root can be any folder, so that a test or a soft box gives its own tree.
//! This crate loads no vendor library, starts no process and does not judge what it finds: it says what the kernel says,
//! and where the kernel says nothing the answer is `None` or a reason. It does not describe boxes (crate `boxfile`) and
//! does not place memory or threads (crate `numa`).
#![forbid(unsafe_code)]

mod acs;
mod address;
mod bar;
mod cpuset;
mod iommu;
mod link;
mod machine;
pub mod mx_smi;
mod node;
mod path;
mod payload;
mod pci;
mod slot;
mod surroundings;
mod sysfs;

pub use acs::AcsPort;
pub use address::{AddressError, PciAddress};
pub use bar::LargeBar;
pub use cpuset::{CpuSet, CpuSetError};
pub use iommu::IommuMode;
pub use link::{LinkError, PcieLink};
pub use machine::{Machine, TopologyError};
pub use mx_smi::{Fabric, with_fabric};
pub use node::{Cpus, NumaNode};
pub use path::PathType;
pub use payload::max_payload_bytes;
pub use pci::PciDevice;
pub use slot::{LinkEnds, LinkStatus, SlotLink, SlotLinkUnknown, SlotPath, links, sample_current};
pub use surroundings::{Crossing, Fact, PeerSurroundings, peer_surroundings};
pub use sysfs::Sysfs;
