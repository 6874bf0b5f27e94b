//! The functions of cuda.h (13.0) that are called, loaded at run time, under their own names.
//!
//! A result is a plain number: a driver may return a code that is newer than any header. A function that the loaded
//! driver lacks returns [`NOT_FOUND`].
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]
#![expect(clippy::too_many_arguments, reason = "cuLaunchKernel has eleven")]
#![expect(non_snake_case, non_camel_case_types, reason = "the names of cuda.h")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

use crate::library::first_of;

/// `CUresult`.
pub(in crate::cuda) type CUresult = u32;
/// `CUdevice`.
pub(in crate::cuda) type CUdevice = c_int;
/// `CUdeviceptr`.
pub(in crate::cuda) type CUdeviceptr = u64;
/// `CUcontext`.
pub(in crate::cuda) type CUcontext = *mut c_void;
/// `CUstream`.
pub(in crate::cuda) type CUstream = *mut c_void;
/// `CUevent`.
pub(in crate::cuda) type CUevent = *mut c_void;
/// `CUmodule`.
pub(in crate::cuda) type CUmodule = *mut c_void;
/// `CUfunction`.
pub(in crate::cuda) type CUfunction = *mut c_void;
/// `CUgraph`.
pub(in crate::cuda) type CUgraph = *mut c_void;
/// `CUgraphExec`.
pub(in crate::cuda) type CUgraphExec = *mut c_void;
/// `CUdevice_attribute`.
pub(in crate::cuda) type CUdevice_attribute = c_uint;

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
pub(in crate::cuda) const MULTIPROCESSOR_COUNT: CUdevice_attribute = 16;
/// `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`.
pub(in crate::cuda) const L2_CACHE_SIZE: CUdevice_attribute = 38;
/// `CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT`.
pub(in crate::cuda) const ASYNC_ENGINE_COUNT: CUdevice_attribute = 40;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
pub(in crate::cuda) const CAPTURE_THREAD_LOCAL: c_uint = 1;
/// `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: CUresult = 500;

/// The driver's files, as the loader's path has them; the second is the toolkit's name of it.
const FILES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();

struct Driver {
    library: Library,
    functions: Functions,
}

/// Loads the driver, once in a process.
///
/// # Errors
/// What the loader said.
pub(in crate::cuda) fn open() -> Result<(), &'static str> {
    driver().map(drop)
}

fn driver() -> Result<&'static Driver, &'static str> {
    let driver = DRIVER.get_or_init(|| {
        let files: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
        let library = first_of(&files).map_err(|said| said.join("; "))?;
        // SAFETY: cuda.h declares the functions of these names with these types; the library is kept beside them and
        // never unloaded.
        let functions = unsafe { Functions::of(&library) };
        Ok(Driver { library, functions })
    });
    driver.as_ref().map_err(String::as_str)
}

/// Where the driver has a function; `None` without one, and without a driver.
pub(in crate::cuda) fn address_of(name: &[u8]) -> Option<*const c_void> {
    let library = &driver().ok()?.library;
    // SAFETY: the address is taken as a plain pointer; what it is called as is the caller's matter.
    let symbol = unsafe { library.get::<*const c_void>(name) };
    symbol.ok().map(|address| *address)
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The functions that were found.
        struct Functions {
            $($name: Option<unsafe extern "C" fn($($type),*) -> CUresult>,)*
        }

        impl Functions {
            /// # Safety
            /// The library's functions have the types of cuda.h.
            unsafe fn of(library: &Library) -> Self {
                Self {
                    // SAFETY: by the caller's word.
                    $($name: unsafe { library.get(stringify!($name).as_bytes()) }.ok().map(|call| *call),)*
                }
            }
        }

        $(
            /// The driver's function of this name.
            ///
            /// # Safety
            /// As cuda.h says of it.
            pub(in crate::cuda) unsafe fn $name($($argument: $type),*) -> CUresult {
                match driver().ok().and_then(|driver| driver.functions.$name) {
                    // SAFETY: by the caller's word.
                    Some(call) => unsafe { call($($argument),*) },
                    None => NOT_FOUND,
                }
            }
        )*
    };
}

functions! {
    cuInit(flags: c_uint);
    cuGetErrorName(code: CUresult, name: *mut *const c_char);
    cuDriverGetVersion(version: *mut c_int);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, room: c_int, device: CUdevice);
    cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceGetPCIBusId(address: *mut c_char, room: c_int, device: CUdevice);
    cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    cuCtxDisablePeerAccess(peer: CUcontext);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemFreeHost(address: *mut c_void);
    cuMemHostGetDevicePointer_v2(device: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync(to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream);
    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuStreamBeginCapture_v2(stream: CUstream, mode: c_uint);
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
    cuGraphExecDestroy(executable: CUgraphExec);
    cuGraphDestroy(graph: CUgraph);
    cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    cuModuleUnload(module: CUmodule);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuFuncLoad(function: CUfunction);
    cuLaunchKernel(function: CUfunction, blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint, threads_x: c_uint, threads_y: c_uint, threads_z: c_uint, shared_bytes: c_uint, stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void);
}
