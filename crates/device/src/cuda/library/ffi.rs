//! Loading the CUDA driver, and the calls that need no context.
//!
//! Signatures are cudarc's (`driver::sys`, from cuda.h 13.0). cudarc panics on a missing library or symbol, so [`load`]
//! checks for both before anything else may be called: holding a `Context` proves that it did. Graphs and kernels check
//! lists of their own. One weakness is cudarc's and stays: it declares results as a Rust enum, so that a code that is newer than
//! cuda.h 13.0 would be no valid value.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::codes::{NO_DEVICE, OUT_OF_MEMORY, STUB_LIBRARY, failure};
use crate::error::{DeviceError, Result};

const LIBRARY: &str = "libcuda.so.1";

/// Every function that is called through cudarc, checked before use.
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
    // SAFETY: loading runs the constructors of whatever answers by the driver's name; the loader's path is the user's to
    // keep clean. Nothing of ours depends on their order.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::LibraryMissing {
            library: LIBRARY,
            looked: "in the loader's path as libcuda.so, libcuda.so.1 and by CUDA major version"
                .to_owned(),
            next: "install NVIDIA's driver, or use --backend host",
        });
    }
    require(&REQUIRED)?;
    if !has_symbol("cuEventElapsedTime_v2") && !has_symbol("cuEventElapsedTime") {
        return Err(missing("cuEventElapsedTime"));
    }
    // SAFETY: cuda.h: `CUresult cuInit(unsigned int Flags)`; flags must be 0, and calling it again is no error.
    let code = unsafe { sys::cuInit(0) };
    match code as u32 {
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
    address_of(name.as_bytes()).is_some()
}

/// Where the library has a function.
pub(in crate::cuda) fn address_of(name: &[u8]) -> Option<*const c_void> {
    // SAFETY: gives the library that cudarc loaded, or loads it as above; where there is none it panics, which is sound.
    let library = unsafe { sys::culib() };
    // SAFETY: the address is taken as a plain pointer; what it is called as is the caller's matter.
    let symbol = unsafe { library.get::<*const c_void>(name) };
    symbol.ok().map(|address| *address)
}

/// The name of the simulated machine, where the loaded library is a simulated driver: it exports a marker.
pub(in crate::cuda) fn soft_box() -> Option<String> {
    type Marker = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: as in `has_symbol`.
    let library = unsafe { sys::culib() };
    // SAFETY: only our simulated driver exports this name, and with this signature; no vendor's header has it.
    let marker = unsafe { library.get::<Marker>(b"tplens_soft_box") }.ok()?;
    // SAFETY: the marker takes nothing and returns a static string or null; the library is never unloaded.
    let name = unsafe { marker() };
    if name.is_null() {
        return None;
    }
    // SAFETY: not null, ends in NUL, and is neither freed nor written.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_string_lossy().into_owned())
}

fn name_of(code: sys::CUresult) -> String {
    let mut name: *const c_char = ptr::null();
    // SAFETY: cuda.h: `cuGetErrorName(CUresult, const char **)` writes one pointer, null for a code it does not know.
    let known = unsafe { sys::cuGetErrorName(code, &raw mut name) };
    if known != sys::CUresult::CUDA_SUCCESS || name.is_null() {
        return "an unknown error".to_owned();
    }
    // SAFETY: not null; cuda.h promises a NUL-terminated string, which is a constant of the library.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

/// The error of a call's answer.
pub(in crate::cuda) fn check(call: &'static str, code: sys::CUresult) -> Result<()> {
    match code as u32 {
        0 => Ok(()),
        number => Err(failure(call, number, name_of(code))),
    }
}

/// The same for a call that takes memory.
pub(in crate::cuda) fn check_memory(
    call: &'static str,
    code: sys::CUresult,
    bytes: usize,
    what: &str,
) -> Result<()> {
    if code as u32 == OUT_OF_MEMORY {
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

/// The first version of cuEventElapsedTime, which cudarc's 13.0 table no longer has and drivers before 12.8 only have.
///
/// # Safety
/// Both events are alive.
pub(in crate::cuda) unsafe fn elapsed_before_12_8(
    milliseconds: &mut f32,
    start: sys::CUevent,
    end: sys::CUevent,
) -> Result<sys::CUresult> {
    type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
    // SAFETY: as in `has_symbol`.
    let library = unsafe { sys::culib() };
    // SAFETY: cuda.h up to 12.x: `CUresult cuEventElapsedTime(float *, CUevent, CUevent)`.
    let call = unsafe { library.get::<Elapsed>(b"cuEventElapsedTime") }
        .map_err(|_| missing("cuEventElapsedTime"))?;
    // SAFETY: writes one float; the caller promises that both handles are alive.
    Ok(unsafe { call(milliseconds, start, end) })
}
