//! Collectives over host memory that the processes of all ranks map: the `host` backend's own library.
//!
//! Each rank has slots that all see: it writes them, says so, and the others read. It is what a machine without a GPU measures, and no model of what a GPU library does.

mod communicator;
mod ffi;
mod member;
mod operation;
mod segment;
mod sum;

pub use communicator::{HostCommunicator, SharedMemory};
pub(super) use operation::Operation;
