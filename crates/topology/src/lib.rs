//! The box that was found: NUMA nodes, CPUs, GPUs and network cards on PCI Express and the links above them, read from sysfs
//! and procfs.
//!
//! Everything is read through [`Sysfs`], whose root can be any folder, so that a test or a simulated machine gives its own tree.
//! This crate loads no vendor library, starts no process and does not judge what it finds: it says what the kernel says,
//! and where the kernel says nothing the answer is `None` or a reason. It does not describe boxes (crate `boxfile`) and
//! does not place memory or threads (crate `numa`).
#![forbid(unsafe_code)]

mod address;
mod bar;
pub mod captured;
mod config;
mod cpuset;
mod error;
mod fact;
mod faults;
mod guest;
mod iommu;
mod kfd;
mod link;
mod machine;
mod matrix;
mod nic;
mod node;
mod nvidia;
mod nvlink;
mod path;
mod pci;
mod slot;
mod surroundings;
mod sysfs;
mod tree;
pub mod vendor;

pub use address::{AddressError, PciAddress};
pub use bar::{LargeBar, large_bar};
pub use config::{AcsPort, max_payload_bytes};
pub use cpuset::{CpuSet, CpuSetError};
pub use error::TopologyError;
pub use fact::Fact;
pub use faults::{AerCounters, RasErrors, Repairs, RetiredPages, RowRemaps};
pub use guest::Platform;
pub use iommu::IommuMode;
pub use kfd::{KfdLink, KfdNode, xgmi};
pub use link::{LinkError, PcieLink};
pub use machine::Machine;
pub use matrix::{End, EndKind, Matrix, Placed};
pub use nic::{Gid, Nic, RdmaDevice, RdmaPort};
pub use node::{Cpus, NumaNode};
pub use nvidia::{divided_gpus, gpu_name, nvidia_files};
pub use nvlink::{FabricState, NvLink, NvLinkEnd, NvLinks, nvlinks_between};
pub use path::{PathType, PathTypeError};
pub use pci::PciDevice;
pub use slot::{LinkEnds, SlotLink, SlotPath};
pub use surroundings::{PeerSurroundings, peer_surroundings};
pub use sysfs::Sysfs;
pub use tree::{PciFunction, PciTree};
