//! Readers of what tools print about a box, so that a colleague's paste can be analysed: one file a tool.
//!
//! [`read`] finds out by itself which tools a text is of. Nothing is run and nothing is asked of the machine this runs on.

mod add;
mod amd_smi;
mod classes;
mod error;
mod finding;
mod heading;
mod lines;
mod metax;
mod model;
mod numactl;
mod nvidia_list;
mod nvidia_p2p;
mod nvidia_topo;
mod read;
mod rocm_smi;
mod table;

pub use error::CapturedError;
pub use finding::CapturedFinding;
pub use model::{Captured, MigDevice, NamedGpu, PairTable};
pub use read::read;
