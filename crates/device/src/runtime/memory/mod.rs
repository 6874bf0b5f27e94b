//! Memory that the runtime allocates or locks: on the device and on the host.

mod ffi;

pub use ffi::DeviceBuffer;
pub(crate) use ffi::DeviceMemory;
pub(super) use ffi::{HostWish, device_address, host};
