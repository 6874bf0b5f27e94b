//! Threads and memory on a NUMA node, and the proof that they are there.
//!
//! The kernel is asked by raw Linux calls through `libc`; libnuma is not needed. This crate does what a crate `numa_rs`
//! was meant to do: no crate of that name exists, and the one called `numa` on the package registry is a DNS resolver.
//!
//! Threads and the programs they start are bound ([`bind_thread`]), regions of memory are made on a node ([`HostPages`]), and processes
//! that run already are looked at and moved as far as the kernel has calls for it.
//!
//! A refusal (`EPERM` in a container, `ENOSYS`, a node that does not exist) is an error that names the node and the
//! reason; nothing falls back to memory elsewhere. Which nodes and CPUs there are is read by crate `topology`. Memory
//! that a vendor's library allocates is not made here, but [`placement`] can be asked where it is.

mod binding;
mod error;
mod ffi;
mod pages;
mod placement;
mod policy;
mod question;
mod thread;

pub use binding::{bind_thread, move_process_memory, pin_process};
pub use error::{Errno, NumaError};
pub use pages::{HostPages, Placement};
pub use placement::{PagePlacement, answering_call, placement, placement_of_all};
pub use policy::PolicyGuard;
pub use question::{GET_MEMPOLICY, MOVE_PAGES, NUMA_MAPS};
pub use thread::{Running, allowed_cpus, current_cpu_and_node, pin_thread_to_cpus};
