//! Memory and events of a runtime's devices.

use std::marker::PhantomData;
use std::sync::Arc;

use super::memory::DeviceMemory;
use super::queue::RawEvent;
use super::table::Vendor;
use crate::backend;
use crate::error::Result;

/// Memory of a device.
pub struct DeviceBuffer<V: Vendor>(pub(super) Arc<DeviceMemory>, pub(super) PhantomData<V>);

impl<V: Vendor> DeviceBuffer<V> {
    /// The memory.
    pub(in crate::runtime) fn raw(&self) -> &Arc<DeviceMemory> {
        &self.0
    }
}

impl<V: Vendor> backend::DeviceBuffer for DeviceBuffer<V> {
    fn len(&self) -> usize {
        self.0.len()
    }
}

/// An event of a device.
pub struct Event<V: Vendor>(pub(super) RawEvent, pub(super) PhantomData<V>);

impl<V: Vendor> Event<V> {
    /// The handle.
    pub(in crate::runtime) fn raw(&self) -> &RawEvent {
        &self.0
    }
}

impl<V: Vendor> backend::Event for Event<V> {
    fn nanoseconds_since(&self, earlier: &Self) -> Result<f64> {
        let milliseconds = self.0.milliseconds_since(&earlier.0)?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}
