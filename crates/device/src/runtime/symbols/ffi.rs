//! Signatures of hip_runtime_api.h and hiprtc.h; MACA's are the same under its prefix, as the open projects that call it show. ROCm 5 and
//! 6 also have those of hiprtc in the runtime's own library.
//!
//! Most functions of cuda.h have the same signatures under names of their own: its addresses of memory are numbers as wide as a
//! pointer, which are passed alike. What has another signature there stands in a table of its own.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::library::symbols;

/// `hipError_t`, `mcError_t` or `CUresult`, whatever its value: a newer library has more of them than any header here.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) struct Code(pub(in crate::runtime) u32);

impl Code {
    pub(in crate::runtime) const SUCCESS: Self = Self(0);
    /// Memory, of the device or locked memory of the host, is exhausted.
    pub(in crate::runtime) const OUT_OF_MEMORY: Self = Self(2);
    /// An event that was never recorded, among others.
    pub(in crate::runtime) const INVALID_HANDLE: Self = Self(400);
    /// Work before the event is not done.
    pub(in crate::runtime) const NOT_READY: Self = Self(600);
    /// Peer access was enabled before.
    pub(in crate::runtime) const PEER_ENABLED: Self = Self(704);
    pub(in crate::runtime) const NO_DEVICE: Self = Self(100);
    pub(in crate::runtime) const INVALID_DEVICE: Self = Self(101);
    pub(in crate::runtime) const PEER_UNSUPPORTED: Self = Self(217);
    /// CUDA's library is the toolkit's, for linking only.
    pub(in crate::runtime) const STUB_LIBRARY: Self = Self(34);
    /// CUDA's Fabric Manager has not started the fabric of NVSwitches.
    pub(in crate::runtime) const SYSTEM_NOT_READY: Self = Self(802);
}

/// A stream, event, graph, module or function of the library.
pub(in crate::runtime) type Handle = *mut c_void;

symbols! {
    $ Names, Functions, names;
    // Without device.
    runtime_version: "RuntimeGetVersion" => unsafe extern "C" fn(*mut c_int) -> Code;
    device_count: "GetDeviceCount" => unsafe extern "C" fn(*mut c_int) -> Code;
    error_name: "GetErrorName" => unsafe extern "C" fn(Code) -> *const c_char;
    error_string: "GetErrorString" => unsafe extern "C" fn(Code) -> *const c_char;
    // Of a device by its number.
    device_name: "DeviceGetName" => unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Code;
    device_pci: "DeviceGetPCIBusId" => unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Code;
    device_uuid: "DeviceGetUuid" => unsafe extern "C" fn(*mut [u8; 16], c_int) -> Code;
    device_memory: "DeviceTotalMem" => unsafe extern "C" fn(*mut usize, c_int) -> Code;
    device_attribute: "DeviceGetAttribute" => unsafe extern "C" fn(*mut c_int, c_uint, c_int) -> Code;
    // The structure grows, and this name alone pins its beginning; see kernel/ffi.rs.
    device_properties: "GetDevicePropertiesR0600" => unsafe extern "C" fn(*mut c_void, c_int) -> Code;
    can_access_peer: "DeviceCanAccessPeer" => unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code;
    // Of the thread's current device.
    set_device: "SetDevice" => unsafe extern "C" fn(c_int) -> Code;
    enable_peer: "DeviceEnablePeerAccess" => unsafe extern "C" fn(c_int, c_uint) -> Code;
    disable_peer: "DeviceDisablePeerAccess" => unsafe extern "C" fn(c_int) -> Code;
    memory_info: "MemGetInfo" => unsafe extern "C" fn(*mut usize, *mut usize) -> Code;
    alloc: "Malloc" => unsafe extern "C" fn(*mut *mut c_void, usize) -> Code;
    free: "Free" => unsafe extern "C" fn(*mut c_void) -> Code;
    host_alloc: "HostMalloc" => unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> Code;
    host_free: "HostFree" => unsafe extern "C" fn(*mut c_void) -> Code;
    host_address: "HostGetDevicePointer" => unsafe extern "C" fn(*mut *mut c_void, *mut c_void, c_uint) -> Code;
    copy: "MemcpyAsync" => unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_uint, Handle) -> Code;
    copy_peer: "MemcpyPeerAsync" => unsafe extern "C" fn(*mut c_void, c_int, *const c_void, c_int, usize, Handle) -> Code;
    stream_create: "StreamCreateWithFlags" => unsafe extern "C" fn(*mut Handle, c_uint) -> Code;
    stream_destroy: "StreamDestroy" => unsafe extern "C" fn(Handle) -> Code;
    stream_synchronize: "StreamSynchronize" => unsafe extern "C" fn(Handle) -> Code;
    stream_wait: "StreamWaitEvent" => unsafe extern "C" fn(Handle, Handle, c_uint) -> Code;
    event_create: "EventCreateWithFlags" => unsafe extern "C" fn(*mut Handle, c_uint) -> Code;
    event_destroy: "EventDestroy" => unsafe extern "C" fn(Handle) -> Code;
    event_record: "EventRecord" => unsafe extern "C" fn(Handle, Handle) -> Code;
    event_elapsed: "EventElapsedTime" => unsafe extern "C" fn(*mut f32, Handle, Handle) -> Code;
    capture_begin: "StreamBeginCapture" => unsafe extern "C" fn(Handle, c_uint) -> Code;
    capture_end: "StreamEndCapture" => unsafe extern "C" fn(Handle, *mut Handle) -> Code;
    graph_instantiate: "GraphInstantiate" => unsafe extern "C" fn(*mut Handle, Handle, *mut Handle, *mut c_char, usize) -> Code;
    graph_launch: "GraphLaunch" => unsafe extern "C" fn(Handle, Handle) -> Code;
    graph_exec_destroy: "GraphExecDestroy" => unsafe extern "C" fn(Handle) -> Code;
    graph_destroy: "GraphDestroy" => unsafe extern "C" fn(Handle) -> Code;
    module_load: "ModuleLoadData" => unsafe extern "C" fn(*mut Handle, *const c_void) -> Code;
    module_unload: "ModuleUnload" => unsafe extern "C" fn(Handle) -> Code;
    module_function: "ModuleGetFunction" => unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Code;
    launch_kernel: "ModuleLaunchKernel" => unsafe extern "C" fn(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    ) -> Code;
}

symbols! {
    $ DriverNames, DriverFunctions, driver_names;
    init: "Init" => unsafe extern "C" fn(c_uint) -> Code;
    error_name: "GetErrorName" => unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    device: "DeviceGet" => unsafe extern "C" fn(*mut c_int, c_int) -> Code;
    retain: "DevicePrimaryCtxRetain" => unsafe extern "C" fn(*mut Handle, c_int) -> Code;
    release: "DevicePrimaryCtxRelease_v2" => unsafe extern "C" fn(c_int) -> Code;
    set_current: "CtxSetCurrent" => unsafe extern "C" fn(Handle) -> Code;
    enable_peer: "CtxEnablePeerAccess" => unsafe extern "C" fn(Handle, c_uint) -> Code;
    disable_peer: "CtxDisablePeerAccess" => unsafe extern "C" fn(Handle) -> Code;
    copy_to_device: "MemcpyHtoDAsync_v2" => unsafe extern "C" fn(*mut c_void, *const c_void, usize, Handle) -> Code;
    copy_to_host: "MemcpyDtoHAsync_v2" => unsafe extern "C" fn(*mut c_void, *const c_void, usize, Handle) -> Code;
    copy_within: "MemcpyDtoDAsync_v2" => unsafe extern "C" fn(*mut c_void, *const c_void, usize, Handle) -> Code;
    copy_peer: "MemcpyPeerAsync" => unsafe extern "C" fn(*mut c_void, Handle, *const c_void, Handle, usize, Handle) -> Code;
    // Up to CUDA 12.7.
    event_elapsed: "EventElapsedTime" => unsafe extern "C" fn(*mut f32, Handle, Handle) -> Code;
    graph_instantiate: "GraphInstantiateWithFlags" => unsafe extern "C" fn(*mut Handle, Handle, c_ulonglong) -> Code;
    // From CUDA 12.4 on.
    load_function: "FuncLoad" => unsafe extern "C" fn(Handle) -> Code;
}

symbols! {
    $ CompilerNames, CompilerFunctions, compiler_names;
    create: "CreateProgram" => unsafe extern "C" fn(
        *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    ) -> Code;
    compile: "CompileProgram" => unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Code;
    code_size: "GetCodeSize" => unsafe extern "C" fn(Handle, *mut usize) -> Code;
    code: "GetCode" => unsafe extern "C" fn(Handle, *mut c_char) -> Code;
    log_size: "GetProgramLogSize" => unsafe extern "C" fn(Handle, *mut usize) -> Code;
    log: "GetProgramLog" => unsafe extern "C" fn(Handle, *mut c_char) -> Code;
    destroy: "DestroyProgram" => unsafe extern "C" fn(*mut Handle) -> Code;
    error_string: "GetErrorString" => unsafe extern "C" fn(Code) -> *const c_char;
}
