//! Memory that the driver allocates or locks: on the device, and on the host.

mod ffi;

pub(super) use ffi::{DeviceMemory, address_on_device, pinned};
