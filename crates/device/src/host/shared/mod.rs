//! Collectives over host memory that the processes of all ranks map: the `host` backend's own library.
//!
//! One-shot: each rank copies its part to a slot that all see, waits for the others, and adds up all slots itself. It is
//! what a machine without a GPU measures, and no model of what a GPU library does.

mod communicator;
mod ffi;
mod members;
mod operation;
mod patience;
mod process;
mod segment;

pub use communicator::{HostCommunicator, SharedMemory};
pub(super) use operation::Operation;
