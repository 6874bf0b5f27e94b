//! The calls on an opened device. Memory, streams and events are not made here.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::library::Library;
use super::super::symbols::Code;
use crate::error::Result;

thread_local! {
    /// The library's serial and the device that this thread made current last; a runtime keeps one for each thread.
    static CURRENT: Cell<(u64, c_int)> = const { Cell::new((0, 0)) };
}

/// An opened device. The runtime itself has one context for each, which it makes when it needs it and keeps.
pub(crate) struct Context {
    /// The library that drives it.
    pub(in crate::runtime) library: &'static Library,
    /// Its number there.
    pub(in crate::runtime) device: c_int,
    /// Devices whose memory this one may reach, as this process asked for it.
    peers: Mutex<BTreeSet<c_int>>,
}

impl Context {
    /// A device of a number that the library counted.
    pub(in crate::runtime) fn new(library: &'static Library, ordinal: usize) -> Self {
        Self {
            library,
            device: c_int::try_from(ordinal).unwrap_or(c_int::MAX),
            peers: Mutex::default(),
        }
    }

    /// Whether both are the same device.
    pub(in crate::runtime) fn is(&self, other: &Self) -> bool {
        self.library.serial == other.library.serial && self.device == other.device
    }

    /// Makes it this thread's current device, unless it is.
    pub(in crate::runtime) fn bind(&self) -> Result<()> {
        let wanted = (self.library.serial, self.device);
        if CURRENT.get() == wanted {
            return Ok(());
        }
        let function = &self.library.functions.set_device;
        let call = self.library.need(function)?;
        // SAFETY: hip_runtime_api.h: `hipSetDevice(int)`; a device that does not exist is an error code.
        let code = unsafe { call(self.device) };
        self.library.check(function.name, code)?;
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
        let function = &self.library.functions.enable_peer;
        let call = self.library.need(function)?;
        self.bind()?;
        // SAFETY: hip_runtime_api.h: `hipDeviceEnablePeerAccess(int, unsigned int)` on the current device; flags must be 0.
        let code = unsafe { call(peer.device, 0) };
        if code != Code::PEER_ENABLED {
            self.library.check(function.name, code)?;
        }
        self.peers().insert(peer.device);
        Ok(())
    }

    /// Takes that back.
    pub(in crate::runtime) fn disable_peer(&self, peer: &Self) -> Result<()> {
        let function = &self.library.functions.disable_peer;
        let call = self.library.need(function)?;
        self.bind()?;
        self.peers().remove(&peer.device);
        // SAFETY: hip_runtime_api.h: `hipDeviceDisablePeerAccess(int)` on the current device.
        let code = unsafe { call(peer.device) };
        if code == Code::PEER_NOT_ENABLED {
            return Ok(());
        }
        self.library.check(function.name, code)
    }
}
