//! The calls on an opened device. Memory, streams and events are not made here.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::library::Library;
use super::super::opened;
use super::super::symbols::{Code, Handle};
use crate::error::Result;

thread_local! {
    /// The library's serial and the device that this thread made current last; a runtime keeps one for each thread.
    static CURRENT: Cell<(u64, c_int)> = const { Cell::new((0, 0)) };
}

/// An opened device. A runtime itself has one context for each, which it makes when it needs it and keeps; of a driver the
/// primary context is retained here.
pub(crate) struct Context {
    /// The library that drives it.
    pub(in crate::runtime) library: &'static Library,
    /// Its number there.
    pub(in crate::runtime) device: c_int,
    /// Devices whose memory this one may reach, as this process asked for it.
    peers: Mutex<BTreeSet<c_int>>,
    /// The primary context, null before it is retained.
    primary: Mutex<Primary>,
}

/// A driver's context; null is none.
struct Primary(Handle);

// SAFETY: a context belongs to the process; any thread may make it current and release it (CUDA driver API, primary context
// management).
unsafe impl Send for Primary {}

impl Context {
    /// A device of a number that the library counted.
    pub(in crate::runtime) fn new(library: &'static Library, ordinal: usize) -> Result<Self> {
        let mut device = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        if let Some(driver) = &library.driver {
            let call = library.need(&driver.device)?;
            // SAFETY: cuda.h: `cuDeviceGet(CUdevice *, int)` writes one int; a bad ordinal is an error code.
            let code = unsafe { call(&raw mut device, device) };
            library.check(driver.device.name, code)?;
        }
        Ok(Self {
            library,
            device,
            peers: Mutex::default(),
            primary: Mutex::new(Primary(ptr::null_mut())),
        })
    }

    /// The driver's context, retained once and released in Drop; null for a runtime.
    pub(in crate::runtime) fn primary(&self) -> Result<Handle> {
        let library = self.library;
        let mut primary = self.primary.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = library.driver.as_ref().filter(|_| primary.0.is_null()) {
            let call = library.need(&driver.retain)?;
            // SAFETY: cuda.h: `cuDevicePrimaryCtxRetain(CUcontext *, CUdevice)` writes one handle.
            let code = unsafe { call(&raw mut primary.0, self.device) };
            library.check_memory(driver.retain.name, code, 0, "a context")?;
            opened::remember(library.device_pci(self.device));
        }
        Ok(primary.0)
    }

    /// Whether both are the same device.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.library.serial == other.library.serial && self.device == other.device
    }

    /// Makes it this thread's current device, unless it is.
    pub(crate) fn bind(&self) -> Result<()> {
        let wanted = (self.library.serial, self.device);
        if CURRENT.get() == wanted {
            return Ok(());
        }
        let library = self.library;
        if let Some(driver) = &library.driver {
            let (call, primary) = (library.need(&driver.set_current)?, self.primary()?);
            // SAFETY: cuda.h: `cuCtxSetCurrent(CUcontext)`; the context is retained by self. One that is current and was
            // released meanwhile may be replaced.
            library.check(driver.set_current.name, unsafe { call(primary) })?;
        } else {
            let function = &library.functions.set_device;
            let call = library.need(function)?;
            // SAFETY: hip_runtime_api.h: `hipSetDevice(int)`; a device that does not exist is an error code.
            library.check(function.name, unsafe { call(self.device) })?;
        }
        CURRENT.set(wanted);
        Ok(())
    }

    /// Free and total bytes.
    pub(in crate::runtime) fn memory(&self) -> Result<(u64, u64)> {
        let function = &self.library.functions.memory_info;
        let call = self.library.need(function)?;
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: hip_runtime_api.h: `hipMemGetInfo(size_t *, size_t *)` writes two sizes.
        let code = unsafe { call(&raw mut free, &raw mut total) };
        self.library.check(function.name, code)?;
        Ok((free as u64, total as u64))
    }

    /// Whether the library says that this device can reach memory of `peer`.
    pub(in crate::runtime) fn can_access(&self, peer: &Self) -> Result<bool> {
        let function = &self.library.functions.can_access_peer;
        let call = self.library.need(function)?;
        let mut can = 0;
        // SAFETY: hip_runtime_api.h: `hipDeviceCanAccessPeer(int *, int, int)` writes one int.
        let code = unsafe { call(&raw mut can, self.device, peer.device) };
        self.library.check(function.name, code).map(|()| can != 0)
    }

    fn peers(&self) -> MutexGuard<'_, BTreeSet<c_int>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether kernels of this device may use memory of `other`: its own, or a peer's whose access was enabled.
    ///
    /// Asked before a launch, because AMD's runtime ends the whole process when a kernel strays.
    pub(in crate::runtime) fn reaches(&self, other: &Self) -> bool {
        self.is(other)
            || (self.library.serial == other.library.serial && self.peers().contains(&other.device))
    }

    /// Lets this device reach memory of `peer`.
    pub(in crate::runtime) fn enable_peer(&self, peer: &Self) -> Result<()> {
        let library = self.library;
        self.bind()?;
        let (name, code) = if let Some(driver) = &library.driver {
            let (call, of) = (library.need(&driver.enable_peer)?, peer.primary()?);
            // SAFETY: cuda.h: `cuCtxEnablePeerAccess(CUcontext, unsigned int)`; both are retained; flags must be 0.
            (driver.enable_peer.name, unsafe { call(of, 0) })
        } else {
            let function = &library.functions.enable_peer;
            let call = library.need(function)?;
            // SAFETY: hip_runtime_api.h: `hipDeviceEnablePeerAccess(int, unsigned int)` on the current device; flags must be 0.
            (function.name, unsafe { call(peer.device, 0) })
        };
        // ROCm's clr has one answer for a device without access and for one that does not exist (hip_peer.cpp).
        let refused = match (code, &library.driver) {
            (Code::INVALID_DEVICE, None) => Code::PEER_UNSUPPORTED,
            _ => code,
        };
        if code != Code::PEER_ENABLED {
            library.check(name, refused)?;
        }
        self.peers().insert(peer.device);
        Ok(())
    }

    /// Takes that back, where this process has it.
    pub(in crate::runtime) fn disable_peer(&self, peer: &Self) -> Result<()> {
        if !self.peers().remove(&peer.device) {
            return Ok(());
        }
        let library = self.library;
        self.bind()?;
        let (name, code) = if let Some(driver) = &library.driver {
            let (call, of) = (library.need(&driver.disable_peer)?, peer.primary()?);
            // SAFETY: cuda.h: `cuCtxDisablePeerAccess(CUcontext)`; both contexts are retained.
            (driver.disable_peer.name, unsafe { call(of) })
        } else {
            let function = &library.functions.disable_peer;
            let call = library.need(function)?;
            // SAFETY: hip_runtime_api.h: `hipDeviceDisablePeerAccess(int)` on the current device.
            (function.name, unsafe { call(peer.device) })
        };
        library.check(name, code)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let release = self.library.driver.as_ref().and_then(|of| of.release.call);
        let primary = self
            .primary
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let (Some(call), false) = (release, primary.0.is_null()) {
            // SAFETY: retained once in `primary`, and everything made in it holds the `Arc` that is gone now. A thread in
            // which it is still current makes another one current before its next call (`CURRENT`).
            let _ = unsafe { call(self.device) };
        }
    }
}
