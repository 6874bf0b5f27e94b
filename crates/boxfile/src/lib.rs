//! The box that is described: GPUs, PCI tree, NUMA nodes, links, collectives, noise and faults, read from a TOML file.
//!
//! A [`BoxFile`] is what the simulated vendor drivers play and what a generated sysfs tree ([`sysfs::write_tree`]) shows.
//! Every figure says whether it was `published` and where, or is `assumed` and why. The format is strict: `schema = 1`,
//! an unknown key is an error with its line, and every index, name and figure is checked on reading.
//!
//! This crate measures nothing, finds nothing on the running machine (that is `topology`), and holds no expected
//! results: those belong to tests. It does not simulate either (that is `softbox`).
#![forbid(unsafe_code)]

mod collective;
pub mod cpulist;
mod device;
mod error;
mod far;
mod fault;
mod figure;
mod link;
mod lookup;
mod model;
mod nic;
mod peer;
mod read;
pub mod sysfs;
mod validate;
mod vendor;

pub use collective::{Collective, CollectiveKind, CollectiveLibrary, Limits, Protocol, Transport};
pub use device::{Busy, Device, KernelFigures, MigInstance, PageableUpTo, Process, Sensors};
pub use error::BoxError;
pub use far::Far;
pub use fault::{AllocSite, Direction, Fault, HangOp, WrongOp};
pub use figure::Figure;
pub use link::Link;
pub use model::{BoxFile, Iommu, Node, Noise, NvLinkTable, Port, Segment};
pub use nic::{LinkLayer, Nic, NicPort, PortState};
pub use peer::{Peer, PeerDefault, PeerPath};
pub use read::builtin_names;
pub use vendor::Vendor;

/// The version of the box file format that this crate reads and writes.
pub const SCHEMA: u32 = 1;
