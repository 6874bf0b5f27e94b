//! Host memory that a device may be copying from or to, and who may touch it when.

mod access;
mod ffi;
mod holding;

pub(crate) use access::{Access, Held, InFlight};
pub(crate) use ffi::HostMemory;
pub use ffi::{HostBuffer, HostKind};
pub(crate) use holding::{Holding, Needs};

use crate::error::{DeviceError, Result};

/// Checks that `bytes` from `offset` lie inside a buffer.
pub(crate) fn check_range(offset: usize, bytes: usize, len: usize) -> Result<()> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        end => Err(DeviceError::OutOfRange {
            offset,
            end: end.unwrap_or(usize::MAX),
            len,
        }),
    }
}
