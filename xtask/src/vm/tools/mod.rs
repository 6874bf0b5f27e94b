//! What other tools say of a machine, from the text that they print.
//!
//! Nothing here is shared with the crates whose answers are compared with it.

pub(super) mod cpus;
pub(super) mod hits;
pub(super) mod lspci;
pub(super) mod lstopo;
pub(super) mod numactl;
pub(super) mod sysfs;
