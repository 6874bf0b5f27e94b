//! The exports: the table of functions that all runtimes of this shape have, one line for each vendor, and what only HIP has.
//! hiprtc is in `compiler`.
//!
//! Signatures are those of hip_runtime_api.h; MetaX's are the same by the uses that are published.
#![expect(unsafe_code, reason = "exports C functions under their vendors' names")]

use crate::abi::{Address, Arguments, Handle, Image, Out, OutText, Status, Text, call};
use crate::names;
use crate::vendor::Runtime;
use crate::{contexts, copies, devices, errors, events, graphs, memory, modules, properties};
use boxfile::Vendor;
use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong};
use std::sync::LazyLock;

/// Exports of calls that answer a status: the name behind the vendor's prefix, the function, and the C parameters.
macro_rules! exports {
    ($runtime:expr, $prefix:literal;
     $($name:literal => $module:ident::$function:ident$(::<$given:literal>)?($($argument:ident: $kind:ty),*);)+) => {
        $(const _: () = {
            #[unsafe(export_name = concat!($prefix, $name))]
            extern "C" fn export($($argument: $kind),*) -> Status {
                call(|| $module::$function$(::<$given>)?($runtime, $($argument),*))
            }
        };)+
    };
}

/// A vendor's runtime: its constant, the prefix of its names, the names of its two calls on host memory, and what differs.
macro_rules! runtime {
    ($runtime:ident, $prefix:literal, $allocate_host:literal, $free_host:literal, $differs:expr) => {
        const $runtime: &Runtime = &$differs;

        const _: () = {
            #[unsafe(export_name = concat!($prefix, "GetErrorName"))]
            extern "C" fn error_name(code: Status) -> *const c_char {
                names::name($runtime.vendor, code)
            }
        };

        exports! { $runtime, $prefix;
            "GetDeviceCount" => devices::count(count: Out<c_int>);
            "RuntimeGetVersion" => devices::version(version: Out<c_int>);
            "GetDevice" => devices::get_current(device: Out<c_int>);
            "SetDevice" => devices::choose(device: c_int);
            "DeviceGetName" => devices::name(name: OutText, room: c_int, device: c_int);
            "DeviceGetAttribute" => devices::attribute(value: Out<c_int>, attribute: c_uint, device: c_int);
            "DeviceGetPCIBusId" => devices::pci_address(text: OutText, room: c_int, device: c_int);
            "DeviceCanAccessPeer" => devices::can_access_peer(can: Out<c_int>, device: c_int, peer: c_int);
            "DeviceEnablePeerAccess" => devices::enable_peer(peer: c_int, flags: c_uint);
            "DeviceDisablePeerAccess" => devices::disable_peer(peer: c_int);
            "MemGetInfo" => memory::info(free: Out<usize>, total: Out<usize>);
            "Malloc" => memory::allocate(pointer: Out<Address>, bytes: usize);
            "Free" => memory::free(pointer: Address);
            $allocate_host => memory::allocate_host(pointer: Out<Address>, bytes: usize, flags: c_uint);
            $free_host => memory::free_host(pointer: Address);
            "HostGetDevicePointer" => memory::device_pointer(pointer: Out<Address>, host: Address, flags: c_uint);
            "MemcpyAsync" => copies::copy(to: Address, from: Address, bytes: usize, kind: c_uint, stream: Handle);
            "MemcpyPeerAsync" => copies::copy_peer(
                to: Address, to_device: c_int, from: Address, from_device: c_int, bytes: usize, stream: Handle);
            "StreamCreateWithFlags" => events::open_stream(stream: Out<Handle>, flags: c_uint);
            "StreamDestroy" => events::close_stream(stream: Handle);
            "StreamSynchronize" => events::synchronize_stream(stream: Handle);
            "StreamWaitEvent" => events::wait_event(stream: Handle, event: Handle, flags: c_uint);
            "EventCreateWithFlags" => events::open_event(event: Out<Handle>, flags: c_uint);
            "EventDestroy" => events::close_event(event: Handle);
            "EventRecord" => events::record(event: Handle, stream: Handle);
            "EventElapsedTime" => events::elapsed(milliseconds: Out<f32>, from: Handle, to: Handle);
            "StreamBeginCapture" => graphs::begin_capture(stream: Handle, mode: c_uint);
            "StreamEndCapture" => graphs::end_capture(stream: Handle, graph: Out<Handle>);
            "StreamIsCapturing" => graphs::is_capturing(stream: Handle, status: Out<c_int>);
            "GraphInstantiate" => graphs::instantiate(
                executable: Out<Handle>, graph: Handle, node: Out<Handle>, log: OutText, room: usize);
            "GraphLaunch" => graphs::launch(executable: Handle, stream: Handle);
            "GraphExecDestroy" => graphs::destroy_executable(executable: Handle);
            "GraphDestroy" => graphs::destroy_graph(graph: Handle);
            "ModuleLoadData" => modules::load(module: Out<Handle>, image: Image);
            "ModuleUnload" => modules::unload(module: Handle);
            "ModuleGetFunction" => modules::function(function: Out<Handle>, module: Handle, name: Text);
            "ModuleLaunchKernel" => modules::launch(
                function: Handle,
                blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint,
                threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
                shared_bytes: c_uint, stream: Handle, arguments: Arguments, extra: Handle);
        }
    };
}

// Flags of host memory: portable, mapped, write-combined; HIP has NumaUser, Uncached, Coherent and NonCoherent besides.
runtime!(
    HIP,
    "hip",
    "HostMalloc",
    "HostFree",
    Runtime {
        vendor: Vendor::AMD,
        contexts: false,
        host_flags: 0xf000_0007,
        attributes: devices::HIP_ATTRIBUTES,
    }
);
// MetaX numbers its attributes in a way of its own, which nobody published: none is answered.
runtime!(
    MACA,
    "mc",
    "MallocHost",
    "FreeHost",
    Runtime {
        vendor: Vendor::METAX,
        contexts: false,
        host_flags: 0x7,
        attributes: &[],
    }
);

// MetaX's runtime begins by itself at the first call, and the others were not seen in it.
exports! { HIP, "hip";
    "DeviceGetUuid" => devices::uuid(uuid: Out<[u8; 16]>, device: c_int);
    "DeviceTotalMem" => devices::total_memory(bytes: Out<usize>, device: c_int);
    "GetDevicePropertiesR0600" => properties::current(into: Out<[u8; 1472]>, device: c_int);
}

const CUDA: &Runtime = &Runtime {
    vendor: Vendor::NVIDIA,
    contexts: true,
    // Portable, mapped, write-combined.
    host_flags: 0x7,
    attributes: devices::CUDA_ATTRIBUTES,
};

// Signatures are those of cuda.h, whose addresses of memory are numbers as wide as a pointer.
exports! { CUDA, "cu";
    "Init" => devices::init(flags: c_uint);
    "GetErrorName" => errors::name(code: Status, to: Out<*const c_char>);
    "DriverGetVersion" => devices::version(version: Out<c_int>);
    "DeviceGetCount" => devices::count(count: Out<c_int>);
    "DeviceGet" => devices::by_number(device: Out<c_int>, number: c_int);
    "DeviceGetName" => devices::name(name: OutText, room: c_int, device: c_int);
    "DeviceGetUuid_v2" => devices::uuid_number(uuid: Out<[u8; 16]>, device: c_int);
    "DeviceTotalMem_v2" => devices::total_memory(bytes: Out<usize>, device: c_int);
    "DeviceGetAttribute" => devices::attribute(value: Out<c_int>, attribute: c_uint, device: c_int);
    "DeviceGetPCIBusId" => devices::pci_address(text: OutText, room: c_int, device: c_int);
    "DeviceCanAccessPeer" => devices::can_access_peer(can: Out<c_int>, device: c_int, peer: c_int);
    "DevicePrimaryCtxRetain" => contexts::retain(context: Out<Handle>, device: c_int);
    "DevicePrimaryCtxRelease_v2" => contexts::release(device: c_int);
    "CtxSetCurrent" => contexts::choose(context: Handle);
    "CtxGetCurrent" => contexts::chosen(context: Out<Handle>);
    "CtxGetDevice" => devices::get_current(device: Out<c_int>);
    "CtxEnablePeerAccess" => contexts::enable_peer(peer: Handle, flags: c_uint);
    "CtxDisablePeerAccess" => contexts::disable_peer(peer: Handle);
    "MemGetInfo_v2" => memory::info(free: Out<usize>, total: Out<usize>);
    "MemAlloc_v2" => memory::allocate(pointer: Out<Address>, bytes: usize);
    "MemFree_v2" => memory::free(pointer: Address);
    "MemHostAlloc" => memory::allocate_host(pointer: Out<Address>, bytes: usize, flags: c_uint);
    "MemFreeHost" => memory::free_host(pointer: Address);
    "MemHostGetDevicePointer_v2" => memory::device_pointer(pointer: Out<Address>, host: Address, flags: c_uint);
    "MemcpyHtoDAsync_v2" => copies::of_kind::<1>(to: Address, from: Address, bytes: usize, stream: Handle);
    "MemcpyDtoHAsync_v2" => copies::of_kind::<2>(to: Address, from: Address, bytes: usize, stream: Handle);
    "MemcpyDtoDAsync_v2" => copies::of_kind::<3>(to: Address, from: Address, bytes: usize, stream: Handle);
    "MemcpyPeerAsync" => contexts::copy_peer(
        to: Address, to_context: Handle, from: Address, from_context: Handle, bytes: usize, stream: Handle);
    "StreamCreate" => events::open_stream(stream: Out<Handle>, flags: c_uint);
    "StreamDestroy_v2" => events::close_stream(stream: Handle);
    "StreamSynchronize" => events::synchronize_stream(stream: Handle);
    "StreamIsCapturing" => graphs::is_capturing(stream: Handle, status: Out<c_int>);
    "StreamWaitEvent" => events::wait_event(stream: Handle, event: Handle, flags: c_uint);
    "EventCreate" => events::open_event(event: Out<Handle>, flags: c_uint);
    "EventDestroy_v2" => events::close_event(event: Handle);
    "EventRecord" => events::record(event: Handle, stream: Handle);
    "EventElapsedTime" => events::elapsed(milliseconds: Out<f32>, from: Handle, to: Handle);
    "EventElapsedTime_v2" => events::elapsed(milliseconds: Out<f32>, from: Handle, to: Handle);
    "StreamBeginCapture_v2" => graphs::begin_capture(stream: Handle, mode: c_uint);
    "StreamEndCapture" => graphs::end_capture(stream: Handle, graph: Out<Handle>);
    "GraphInstantiateWithFlags" => graphs::instantiate_with(executable: Out<Handle>, graph: Handle, flags: c_ulonglong);
    "GraphLaunch" => graphs::launch(executable: Handle, stream: Handle);
    "GraphExecDestroy" => graphs::destroy_executable(executable: Handle);
    "GraphDestroy" => graphs::destroy_graph(graph: Handle);
    "ModuleLoadData" => modules::load_text(module: Out<Handle>, image: Text);
    "ModuleUnload" => modules::unload(module: Handle);
    "ModuleGetFunction" => modules::function(function: Out<Handle>, module: Handle, name: Text);
    "FuncLoad" => modules::load_function(function: Handle);
    "LaunchKernel" => modules::launch(
        function: Handle,
        blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint,
        threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared_bytes: c_uint, stream: Handle, arguments: Arguments, extra: Handle);
}

static BOX_NAME: LazyLock<CString> = LazyLock::new(|| {
    softbox::box_name()
        .and_then(|name| CString::new(name).ok())
        .unwrap_or_default()
});

/// The name of the box behind this library, empty without one; its presence says that no GPU is here.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_box() -> *const c_char {
    BOX_NAME.as_ptr()
}
