//! The vendors' libraries of collectives, loaded at run time: NCCL and those that took over its interface under their own names.
//!
//! A library is a [`Table`]: its files, where they lie, the prefix of its functions. What it needs of the backend whose memory
//! and streams it works on is a [`Carrier`]. Which transport a library takes is its own choice, and which ranks there are is
//! the caller's.

mod carrier;
mod communicator;
mod library;
mod places;
mod symbols;
mod table;
mod vendor;
mod version;

pub(crate) use carrier::Carrier;
pub(crate) use symbols::{CclNames, ccl_names};
pub(crate) use table::{Beside, Proof, Table, Vendor};
pub(crate) use vendor::Ccl;
