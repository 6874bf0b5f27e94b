//! Memory that the runtime allocates or locks: on the device and on the host.

mod ffi;

pub(super) use ffi::{DeviceMemory, HostWish, device_address, host};
