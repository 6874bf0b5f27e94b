//! The calls on a device and on its primary context. Memory, streams and events are not made here.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cuda::raw as sys;

use crate::cuda::library::{PEER_ENABLED, PEER_NOT_ENABLED, check, check_memory};
use crate::cuda::opened;
use crate::error::{DeviceError, Result};
use crate::library::until_nul;

/// A device handle, valid for the life of the process.
#[derive(Debug, Clone, Copy)]
pub(in crate::cuda) struct Handle(sys::CUdevice);

impl Handle {
    /// The device of an ordinal.
    pub(in crate::cuda) fn of(ordinal: usize) -> Result<Self> {
        let mut device = 0;
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        // SAFETY: cuda.h: `cuDeviceGet(CUdevice *, int)` writes one int; a bad ordinal is an error code.
        check("cuDeviceGet", unsafe {
            sys::cuDeviceGet(&raw mut device, ordinal)
        })?;
        Ok(Self(device))
    }

    /// The vendor's name.
    pub(in crate::cuda) fn name(self) -> Result<String> {
        let mut text = [0u8; 256];
        // SAFETY: cuda.h: `cuDeviceGetName(char *, int len, CUdevice)` writes at most `len` bytes; there are 256.
        check("cuDeviceGetName", unsafe {
            sys::cuDeviceGetName(text.as_mut_ptr().cast(), 256, self.0)
        })?;
        Ok(until_nul(&text))
    }

    /// The PCI address as the driver prints it.
    pub(in crate::cuda) fn pci(self) -> Result<String> {
        let mut text = [0u8; 32];
        // SAFETY: cuda.h: `cuDeviceGetPCIBusId(char *, int len, CUdevice)` writes at most `len` bytes; there are 32.
        check("cuDeviceGetPCIBusId", unsafe {
            sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 32, self.0)
        })?;
        Ok(until_nul(&text))
    }

    /// The 16 bytes of the UUID; of the MIG instance where it is one (cuda.h, cuDeviceGetUuid_v2).
    pub(in crate::cuda) fn uuid(self) -> Result<[u8; 16]> {
        let mut uuid = [0; 16];
        // SAFETY: cuda.h: `cuDeviceGetUuid(CUuuid *, CUdevice)` writes the 16 bytes of one CUuuid.
        check("cuDeviceGetUuid_v2", unsafe {
            sys::cuDeviceGetUuid_v2(&raw mut uuid, self.0)
        })?;
        Ok(uuid)
    }

    /// Memory in bytes.
    pub(in crate::cuda) fn memory_bytes(self) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: cuda.h: `cuDeviceTotalMem(size_t *, CUdevice)` writes one size_t.
        check("cuDeviceTotalMem_v2", unsafe {
            sys::cuDeviceTotalMem_v2(&raw mut bytes, self.0)
        })?;
        Ok(bytes as u64)
    }

    /// An attribute, or `None` where this driver does not know it.
    pub(in crate::cuda) fn attribute(self, attribute: sys::CUdevice_attribute) -> Option<c_int> {
        let mut value = 0;
        // SAFETY: cuda.h: `cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice)` writes one int; an attribute that
        // the driver does not know is an error code.
        let code = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.0) };
        check("cuDeviceGetAttribute", code).ok().map(|()| value)
    }

    /// Whether this device can reach memory of `peer`.
    pub(in crate::cuda) fn can_access(self, peer: Self) -> Result<bool> {
        let mut can = 0;
        // SAFETY: cuda.h: `cuDeviceCanAccessPeer(int *, CUdevice, CUdevice)` writes one int.
        let code = unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, self.0, peer.0) };
        check("cuDeviceCanAccessPeer", code).map(|()| can != 0)
    }
}

/// The serial of the next context; 0 is none.
static SERIAL: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The serial of the context that this thread made current last. Not its address: a context that is opened after
    /// another was released may get the same address, while this thread's current one is the released one.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// A retained primary context.
#[derive(Debug)]
pub(crate) struct Context {
    raw: sys::CUcontext,
    serial: u64,
    pub(in crate::cuda) device: Handle,
}

// SAFETY: a context belongs to the process; any thread may make it current and release it (CUDA driver API, primary
// context management).
unsafe impl Send for Context {}
// SAFETY: a context may be current in several threads at once, and calls on it are thread-safe (CUDA C++ programming
// guide, driver API, context). `raw` is never changed after `retain`.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of a device.
    pub(in crate::cuda) fn retain(device: Handle) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: cuda.h: `cuDevicePrimaryCtxRetain(CUcontext *, CUdevice)` writes one handle; released in Drop.
        let code = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut raw, device.0) };
        check_memory("cuDevicePrimaryCtxRetain", code, 0, "a context")?;
        if let Ok(address) = device.pci() {
            opened::remember(address);
        }
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            raw,
            serial,
            device,
        })
    }

    /// Its handle, alive as long as this value.
    pub(in crate::cuda) fn raw(&self) -> sys::CUcontext {
        self.raw
    }

    /// Makes it this thread's current context, unless it is.
    pub(in crate::cuda) fn bind(&self) -> Result<()> {
        if CURRENT.get() == self.serial {
            return Ok(());
        }
        // SAFETY: cuda.h: `cuCtxSetCurrent(CUcontext)`; the context is retained by self. One that is current and was
        // released meanwhile may be replaced.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.raw) })?;
        CURRENT.set(self.serial);
        Ok(())
    }

    /// Free and total bytes.
    pub(in crate::cuda) fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: cuda.h: `cuMemGetInfo(size_t *, size_t *)` writes two sizes.
        check("cuMemGetInfo_v2", unsafe {
            sys::cuMemGetInfo_v2(&raw mut free, &raw mut total)
        })?;
        Ok((free as u64, total as u64))
    }

    /// Lets this context reach memory of `peer`.
    pub(in crate::cuda) fn enable_peer(&self, peer: &Self) -> Result<()> {
        self.bind()?;
        // SAFETY: cuda.h: `cuCtxEnablePeerAccess(CUcontext, unsigned int)`; both are retained; flags must be 0.
        let code = unsafe { sys::cuCtxEnablePeerAccess(peer.raw, 0) };
        if code == PEER_ENABLED {
            Ok(())
        } else {
            check("cuCtxEnablePeerAccess", code)
        }
    }

    /// Takes that back.
    pub(in crate::cuda) fn disable_peer(&self, peer: &Self) -> Result<()> {
        self.bind()?;
        // SAFETY: cuda.h: `cuCtxDisablePeerAccess(CUcontext)`; both contexts are retained.
        let code = unsafe { sys::cuCtxDisablePeerAccess(peer.raw) };
        if code == PEER_NOT_ENABLED {
            Ok(())
        } else {
            check("cuCtxDisablePeerAccess", code)
        }
    }

    /// Loads a module, which must be PTX text, for the caller to unload.
    pub(in crate::cuda) fn load_module(&self, image: &CStr) -> Result<sys::CUmodule> {
        // A binary has its length in its head, and the driver would read beyond the NUL: ELF begins with a control
        // character, a fat binary with bytes that are not ASCII, and PTX is ASCII text (PTX ISA, source format).
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        if !image.to_bytes().iter().all(is_text) {
            return Err(DeviceError::Unsupported {
                what: "the module",
                why: "it is not PTX text".to_owned(),
            });
        }
        self.bind()?;
        let mut module = ptr::null_mut();
        // SAFETY: cuda.h: `cuModuleLoadData(CUmodule *, const void *)` writes one handle and reads text up to its NUL.
        let code = unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) };
        check("cuModuleLoadData", code).map(|()| module)
    }

    /// Loads and unloads a module, which must be PTX text.
    pub(in crate::cuda) fn try_module(&self, image: &CStr) -> Result<()> {
        let module = self.load_module(image)?;
        // SAFETY: cuda.h: `cuModuleUnload(CUmodule)`; it was just loaded into the current context and is not used again.
        check("cuModuleUnload", unsafe { sys::cuModuleUnload(module) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `retain`, and everything made in it holds the `Arc` that is gone now. Threads in which
        // it is still current make another one current before their next call (`CURRENT`).
        // What it returns changes nothing: there is nothing left to do.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.0) };
    }
}
