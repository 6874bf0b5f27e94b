//! Collective operations behind one shape: the library, its communicators, and what they reduce.
//!
//! [`Collectives`] is implemented by [`crate::cuda::Nccl`] (NVIDIA's library, loaded at run time) and by
//! [`crate::host::SharedMemory`] (host memory that processes share). Which ranks there are, who starts them and how an
//! id reaches them is not decided here, and nothing is measured.

mod element;
mod id;
mod shape;

pub use element::Element;
pub use id::UniqueId;
pub use shape::{Collectives, CollectivesFacts, Communicator};
pub(crate) use shape::{Kind, Lengths, check_aliasing, check_membership};
