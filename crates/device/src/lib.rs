//! Devices behind one shape: memory, streams, events and copies, with every vendor's codes kept inside.
//!
//! [`Backend`] is implemented by [`cuda`] (the CUDA driver API, loaded at run time) and [`host`] (real
//! host memory, one worker a device; never called a GPU). Copies hold their buffers until the stream was
//! waited for, so memory is never freed or read by the host while a device may still move it.
//! This crate measures nothing and prints nothing. `unsafe` stands in `ffi.rs` files only.

mod backend;
pub mod collectives;
pub mod cuda;
mod error;
pub mod host;
pub mod management;
mod memory;
pub mod pattern;

pub use backend::{
    Backend, Device, DeviceBuffer, DeviceDescription, DriverFacts, Event, HostKind, Latch, Stream,
    TimeSource,
};
pub use error::{DeviceError, Result};
pub use memory::HostBuffer;
