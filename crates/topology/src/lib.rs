//! The box that was found: NUMA nodes, CPUs, GPUs on PCI Express and the links above them, read from sysfs and procfs.
//!
//! Everything is read through [`Sysfs`], whose root can be any folder, so that a test or a soft box gives its own tree.
//! This crate loads no vendor library, starts no process and does not judge what it finds: it says what the kernel says,
//! and where the kernel says nothing the answer is `None` or a reason. It does not describe boxes (crate `boxfile`) and
//! does not place memory or threads (crate `numa`).
#![forbid(unsafe_code)]

mod address;
mod cpuset;
mod link;
mod machine;
mod node;
mod path;
mod payload;
mod pci;
mod slot;
mod sysfs;

pub use address::{AddressError, PciAddress};
pub use cpuset::{CpuSet, CpuSetError};
pub use link::{LinkError, PcieLink};
pub use machine::{Machine, TopologyError};
pub use node::{Cpus, NumaNode};
pub use path::PathType;
pub use payload::max_payload_bytes;
pub use pci::PciDevice;
pub use slot::{LinkEnds, LinkStatus, SlotLink, SlotLinkUnknown, SlotPath, links, sample_current};
pub use sysfs::Sysfs;
