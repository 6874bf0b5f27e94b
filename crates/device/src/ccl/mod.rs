//! The vendors' libraries of collectives, loaded at run time: NCCL and those that took over its interface under their own names.
//!
//! A library is a [`Table`]: its files, where they lie, the prefix of its functions. It works on memory
//! and streams of the vendor's runtime. Which transport a library takes is its own choice, and which ranks there are is
//! the caller's.

mod communicator;
mod library;
mod places;
mod symbols;
mod table;
mod vendor;

pub(crate) use symbols::{CclNames, ccl_names};
pub(crate) use table::{Beside, Proof, Table, Vendor};
pub(crate) use vendor::Ccl;
