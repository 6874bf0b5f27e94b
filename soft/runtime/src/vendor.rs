//! [`Runtime`]: what differs from vendor to vendor, and the ways to the driver.

use crate::abi::{Handle, chosen};
use boxfile::{Device, Vendor};
use softbox::{Code, Outcome, SoftDriver};
use std::ffi::{c_int, c_uint};

/// What a device says of an attribute; nothing where the box does not know it.
pub(crate) type Attribute = fn(&Device) -> Option<c_int>;

/// What differs from vendor to vendor.
pub(crate) struct Runtime {
    /// Whose boxes the library plays.
    pub(crate) vendor: Vendor,
    /// Whether nothing begins by itself, as in CUDA's driver: it is initialised, and a thread has the device whose context it made
    /// current.
    pub(crate) contexts: bool,
    /// Flags of host allocations that the vendor has.
    pub(crate) host_flags: c_uint,
    /// Attributes of a device that are answered by number.
    pub(crate) attributes: &'static [(c_uint, Attribute)],
}

impl Runtime {
    /// Calls the driver of this process's box, initialised.
    pub(crate) fn with<T>(
        &self,
        mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
    ) -> Outcome<T> {
        softbox::with_driver(self.vendor, |driver| {
            if !self.contexts && driver.devices().is_err() {
                driver.init()?;
            }
            call(driver)
        })
    }

    /// Calls the driver with this thread's device, whose context it opens where it is not open yet.
    pub(crate) fn on_current<T>(
        &self,
        mut call: impl FnMut(&mut SoftDriver, usize) -> Outcome<T>,
    ) -> Outcome<T> {
        let current = self.current()?;
        self.with(|driver| {
            if !self.contexts && !driver.is_retained(current) {
                driver.retain(current)?;
            }
            call(driver, current)
        })
    }

    /// Calls the driver with a stream.
    pub(crate) fn on_stream<T>(
        &self,
        stream: Handle,
        mut call: impl FnMut(&mut SoftDriver, u64) -> Outcome<T>,
    ) -> Outcome<T> {
        if stream.is_null_stream() {
            return self.on_current(|driver, current| {
                let stream = driver.null_stream(current)?;
                call(driver, stream)
            });
        }
        self.with(|driver| call(driver, stream.id()))
    }

    /// The ordinal of this thread's device: of a runtime the first where it chose none.
    pub(crate) fn current(&self) -> Outcome<usize> {
        match chosen() {
            None if self.contexts => Err(Code::INVALID_CONTEXT.into()),
            chosen => Ok(chosen.unwrap_or_default()),
        }
    }
}
