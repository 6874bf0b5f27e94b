//! Collective operations behind one shape: the library, its communicators, and what they reduce.
//!
//! [`Collectives`] is implemented by `ccl` (NCCL, RCCL and MCCL, loaded at run time) and by [`crate::host::HostCollectives`] (host
//! memory and sockets); [`crate::Built::visit_collectives`] gives a backend's. Which ranks there are, who starts them and how an
//! id reaches them is not decided here, and nothing is measured.

mod element;
mod id;
mod inspect;
mod shape;

pub use element::{ELEMENTS, Element, decode, encode, width};
pub use id::{IdShape, UniqueId};
pub use inspect::{Inspection, inspect};
pub use shape::{Collectives, CollectivesFacts, Communicator, OPERATIONS, Operation, parts};
pub(crate) use shape::{Lengths, check_aliasing, check_membership};
