//! The memory of a device that a load writes, in pieces.

use device::{Device, DeviceError};

use crate::children::tell::{Tell, doing};
use crate::messages::LoadRequest;

/// What one pass took in nanoseconds, and what was wrong.
pub(super) struct Pass {
    pub(super) written_ns: f64,
    /// `None` where the host compared what had gone through all of the memory.
    pub(super) checked_ns: Option<f64>,
    pub(super) wrong: Option<String>,
}

/// Memory of a device in pieces, as many as were wanted or there is room for.
pub(super) struct Pieces<D: Device> {
    pub(super) all: Vec<D::DeviceBuffer>,
    pub(super) bytes: usize,
}

impl<D: Device> Pieces<D> {
    pub(super) fn allocate(
        device: &D,
        request: &LoadRequest,
        tell: Tell<'_>,
    ) -> device::Result<Self> {
        let wanted = match request.bytes {
            Some(bytes) => bytes,
            None => device.memory()?.0 / 2,
        };
        let bytes = usize::try_from(request.piece_bytes).unwrap_or(usize::MAX);
        let count = wanted / bytes.max(1) as u64;
        let mut all = Vec::new();
        for number in 0..count.max(1) {
            doing(tell, &format!("allocating piece {number} of {count}"));
            match device.alloc(bytes) {
                Ok(piece) => all.push(piece),
                // Somebody else took what was free; what there is is loaded.
                Err(DeviceError::OutOfMemory { .. }) if !all.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self { all, bytes })
    }
}
