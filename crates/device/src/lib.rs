//! Devices behind one shape: memory, streams, events and copies, with every vendor's codes kept inside.
//!
//! [`Backend`] is implemented by [`runtime`] for NVIDIA's driver and the runtimes of AMD and MetaX (an interface that vendors share),
//! all loaded at run time, and by [`host`] (real host memory, one worker a device; never called a GPU). Copies hold their buffers until the stream was
//! waited for, so memory is never freed or read by the host while a device may still move it.
//! This crate measures nothing and prints nothing. `unsafe` stands in `ffi.rs` files and in `library.rs` only.

mod backend;
mod built;
mod ccl;
pub mod collectives;
mod error;
pub mod host;
pub mod kernel;
mod library;
pub mod management;
mod memory;
mod nodes;
pub mod pattern;
mod places;
mod registry;
pub mod runtime;
mod vendors;

pub use backend::{
    Backend, Device, DeviceBuffer, DeviceDescription, DriverFacts, Event, Latch, Stream, TimeSource,
};
pub use error::{DeviceError, Result};
pub use memory::{HostBuffer, HostKind};
pub use registry::{PciVendor, Visit, VisitCollectives};
pub use vendors::Built;

/// NVIDIA's driver.
pub type Cuda = runtime::Runtime<vendors::Nvidia>;
