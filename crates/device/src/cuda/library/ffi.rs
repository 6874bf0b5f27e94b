//! Loading the CUDA driver, and the calls that need no context.
//!
//! Graphs and kernels check lists of their own.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::cuda::raw as sys;

use super::super::opened;
use super::codes::{NO_DEVICE, OUT_OF_MEMORY, STUB_LIBRARY, SYSTEM_NOT_READY, failure};
use crate::error::{DeviceError, Result};
use crate::library::text;

const LIBRARY: &str = "libcuda.so.1";

/// What nothing works without, checked before use.
const REQUIRED: [&str; 34] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetPCIBusId",
    "cuDeviceCanAccessPeer",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxEnablePeerAccess",
    "cuCtxDisablePeerAccess",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuGetErrorName",
];

/// Loads the library, checks the symbols and initialises the driver.
pub(in crate::cuda) fn load() -> Result<()> {
    sys::open().map_err(|said| DeviceError::LibraryMissing {
        library: LIBRARY,
        looked: said.to_owned(),
        next: "install NVIDIA's driver, or use --backend host",
    })?;
    require(&REQUIRED)?;
    if !has_symbol("cuEventElapsedTime_v2") && !has_symbol("cuEventElapsedTime") {
        return Err(missing("cuEventElapsedTime"));
    }
    // SAFETY: cuda.h: `CUresult cuInit(unsigned int Flags)`; flags must be 0, and calling it again is no error.
    let code = unsafe { sys::cuInit(0) };
    match code {
        NO_DEVICE => Err(DeviceError::NoDevice {
            backend: "cuda",
            reason: name_of(code),
        }),
        STUB_LIBRARY => Err(DeviceError::NoDevice {
            backend: "cuda",
            reason:
                "the library is the toolkit's stub; take its lib64/stubs out of LD_LIBRARY_PATH"
                    .to_owned(),
        }),
        SYSTEM_NOT_READY => Err(DeviceError::FabricNotReady {
            call: "cuInit",
            code: i64::from(code),
        }),
        _ => check("cuInit", code),
    }
}

/// The error of a function that the library lacks.
fn missing(symbol: &'static str) -> DeviceError {
    DeviceError::SymbolMissing {
        library: LIBRARY,
        symbol,
    }
}

/// Checks that the library exports all of these.
pub(in crate::cuda) fn require(symbols: &[&'static str]) -> Result<()> {
    match symbols.iter().find(|symbol| !has_symbol(symbol)) {
        Some(symbol) => Err(missing(symbol)),
        None => Ok(()),
    }
}

/// Whether the library exports a function.
pub(in crate::cuda) fn has_symbol(name: &str) -> bool {
    sys::address_of(name.as_bytes()).is_some()
}

/// The name of the simulated machine, where the loaded library is a simulated driver: it exports a marker.
pub(in crate::cuda) fn soft_box() -> Option<String> {
    type Marker = unsafe extern "C" fn() -> *const c_char;
    let marker = sys::address_of(b"tplens_soft_box")?;
    // SAFETY: only our simulated driver exports this name, and as a function of this type; no vendor's header has it.
    let marker = unsafe { std::mem::transmute::<*const c_void, Marker>(marker) };
    // SAFETY: the marker takes nothing and returns a static string or null; the library is never unloaded.
    let name = unsafe { marker() };
    // SAFETY: as it returned it; it is neither freed nor written.
    unsafe { text(name) }
}

fn name_of(code: sys::CUresult) -> String {
    let mut name: *const c_char = ptr::null();
    // SAFETY: cuda.h: `cuGetErrorName(CUresult, const char **)` writes one pointer, null for a code it does not know.
    let known = unsafe { sys::cuGetErrorName(code, &raw mut name) };
    // SAFETY: cuda.h promises a NUL-terminated string, which is a constant of the library, or null.
    let name = (known == 0).then(|| unsafe { text(name) });
    name.flatten()
        .unwrap_or_else(|| "an unknown error".to_owned())
}

/// The error of a call's answer.
pub(in crate::cuda) fn check(call: &'static str, code: sys::CUresult) -> Result<()> {
    match code {
        0 => Ok(()),
        number => Err(failure(call, number, name_of(code), opened::any_is_gone)),
    }
}

/// The same for a call that takes memory.
pub(in crate::cuda) fn check_memory(
    call: &'static str,
    code: sys::CUresult,
    bytes: usize,
    what: &str,
) -> Result<()> {
    if code == OUT_OF_MEMORY {
        return Err(DeviceError::OutOfMemory {
            bytes,
            what: what.to_owned(),
        });
    }
    check(call, code)
}

/// The version as `CUDA 12.8`.
pub(in crate::cuda) fn interface_version() -> Result<String> {
    let mut version: c_int = 0;
    // SAFETY: cuda.h: `cuDriverGetVersion(int *)` writes one int.
    check("cuDriverGetVersion", unsafe {
        sys::cuDriverGetVersion(&raw mut version)
    })?;
    Ok(format!("CUDA {}.{}", version / 1000, version % 1000 / 10))
}

/// Number of devices that this process sees.
pub(in crate::cuda) fn device_count() -> Result<usize> {
    let mut count: c_int = 0;
    // SAFETY: cuda.h: `cuDeviceGetCount(int *)` writes one int.
    check("cuDeviceGetCount", unsafe {
        sys::cuDeviceGetCount(&raw mut count)
    })?;
    Ok(usize::try_from(count).unwrap_or(0))
}
