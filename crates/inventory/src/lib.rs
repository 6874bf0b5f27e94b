//! Which devices there are: the backend that answers, its devices and who uses them, the choice among them, and what sysfs adds.
//!
//! A child process asks the driver and the management library, so that one which hangs or crashes takes nobody along; the parent
//! loads no vendor library. Nothing is measured here.
#![forbid(unsafe_code)]

mod backend;
pub mod caveats;
pub mod child;
mod choose;
mod describe;
mod memory;
mod messages;
mod select;

pub use backend::{BackendArg, Built, time_source};
pub use child::CHILD;
pub use choose::{Chosen, choose};
pub use describe::{backend, describe, listing, paths};
pub use memory::host_memory_available;
pub use messages::{Found, Inventory};
pub use select::select;

/// The files of the soft drivers that an inventory needs.
pub const SOFT_LIBRARIES: [&str; 2] = ["libcuda.so.1", "libnvidia-ml.so.1"];
