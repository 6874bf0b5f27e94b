//! Memory that the driver allocates: on the device, and locked on the host.

mod ffi;

pub(super) use ffi::{DeviceMemory, pinned};
