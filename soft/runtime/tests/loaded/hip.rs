//! AMD's names: the runtime and its devices. Copies are in `transfers`.

use crate::stage::{call, ok, on_box, plain, text_of, words};
use libloading::Library;
use std::ffi::{c_char, c_int};

#[test]
fn a_device_is_described_as_the_box_says() {
    let mut described = plain("r9700-x8");
    described.device[1].multiprocessors = Some(64);
    on_box(
        "hip::a_device_is_described_as_the_box_says",
        Some(&described),
        |library| {
            ok!(library, "hipInit", 0 => u32);
            let mut number = -1;
            ok!(library, "hipGetDeviceCount", &raw mut number => *mut c_int);
            assert_eq!(number, 2);
            ok!(library, "hipRuntimeGetVersion", &raw mut number => *mut c_int);
            assert_eq!(number, 70_000_000);
            assert_eq!(
                text_of(library, "hipDeviceGetName", 0, 256),
                "AMD Radeon AI PRO R9700"
            );
            assert_eq!(
                text_of(library, "hipDeviceGetPCIBusId", 1, 13),
                "0000:06:00.0"
            );
            let mut text = [0 as c_char; 16];
            // 12 letters and the ending NUL are 13.
            let short = call!(library, "hipDeviceGetPCIBusId",
                text.as_mut_ptr() => *mut c_char, 12 => c_int, 1 => c_int);
            assert_eq!(short, 1);
            let mut device = -1;
            ok!(library, "hipDeviceGetByPCIBusId",
                &raw mut device => *mut c_int, c"0000:06:00.0".as_ptr() => *const c_char);
            assert_eq!(device, 1);
            let mut uuid = [0_u8; 16];
            ok!(library, "hipDeviceGetUuid", &raw mut uuid => *mut [u8; 16], 1 => c_int);
            assert_eq!(&uuid, b"9700000000000001");
            // The bus is 6, device and domain 0; 64 compute units; 2 engines; waves of 32; the whole memory can be reached.
            for (attribute, expected) in [
                (67, 6),
                (68, 0),
                (69, 0),
                (63, 64),
                (2, 2),
                (87, 32),
                (10011, 1),
            ] {
                ok!(library, "hipDeviceGetAttribute",
                    &raw mut number => *mut c_int, attribute => u32, 1 => c_int);
                assert_eq!(number, expected, "attribute {attribute}");
            }
            let unknown = call!(library, "hipDeviceGetAttribute",
                &raw mut number => *mut c_int, 9999 => u32, 1 => c_int);
            assert_eq!(unknown, 1);
            let mut total = 0;
            ok!(library, "hipDeviceTotalMem", &raw mut total => *mut usize, 0 => c_int);
            assert_eq!(total, 32624 << 20);
            assert_eq!(call!(library, "hipSetDevice", 2 => c_int), 101);
        },
    );
}

#[test]
fn the_structure_of_properties_is_written_in_the_layout_of_its_symbol() {
    on_box(
        "hip::the_structure_of_properties_is_written_in_the_layout_of_its_symbol",
        Some(&plain("r9700-x8")),
        |library| {
            let text_at = |bytes: &[u8], at: usize| {
                let end = bytes[at..].iter().position(|byte| *byte == 0).expect("NUL");
                String::from_utf8_lossy(&bytes[at..at + end]).into_owned()
            };
            // Offsets of the headers' structures: 1472 bytes, gcnArchName at 1160.
            let mut bytes = [0xff_u8; 4096];
            ok!(library, "hipGetDevicePropertiesR0600", bytes.as_mut_ptr() => *mut u8, 0 => c_int);
            assert_eq!(text_at(&bytes, 0), "AMD Radeon AI PRO R9700");
            assert_eq!(text_at(&bytes, 1160), "gfx1201");
            assert_eq!((bytes[1471], bytes[1472]), (0, 0xff));
        },
    );
}

#[test]
fn codes_have_hip_names() {
    on_box("hip::codes_have_hip_names", None, |library| {
        for (code, name, text) in [
            (0, "hipSuccess", "no error"),
            (2, "hipErrorOutOfMemory", "out of memory"),
            (
                100,
                "hipErrorNoDevice",
                "no ROCm-capable device is detected",
            ),
            (
                217,
                "hipErrorPeerAccessUnsupported",
                "peer access is not supported between these two devices",
            ),
            (4242, "hipErrorUnknown", "unknown error"),
        ] {
            assert_eq!(words(library, "hipGetErrorName", code), name);
            assert_eq!(words(library, "hipGetErrorString", code), text);
        }
    });
}

/// What every first call says where there is no device.
fn nothing_is_here(library: &Library) {
    let mut count = -1;
    assert_eq!(call!(library, "hipInit", 0 => u32), 100);
    assert_eq!(
        call!(library, "hipGetDeviceCount", &raw mut count => *mut c_int),
        100
    );
    assert_eq!(count, 0);
    assert_eq!(call!(library, "hipSetDevice", 0 => c_int), 100);
    assert_eq!(call!(library, "hipGetLastError"), 100);
    assert_eq!(call!(library, "hipGetLastError"), 0);
}

#[test]
fn without_a_box_there_is_no_device() {
    on_box(
        "hip::without_a_box_there_is_no_device",
        None,
        nothing_is_here,
    );
}

#[test]
fn a_box_of_another_vendor_has_no_hip_device() {
    on_box(
        "hip::a_box_of_another_vendor_has_no_hip_device",
        Some(&plain("mxc500x4")),
        nothing_is_here,
    );
}

#[test]
fn each_thread_has_a_device_of_its_own() {
    on_box(
        "hip::each_thread_has_a_device_of_its_own",
        Some(&plain("r9700-x8")),
        |library| {
            let current = || {
                let mut device = -1;
                ok!(library, "hipGetDevice", &raw mut device => *mut c_int);
                device
            };
            ok!(library, "hipSetDevice", 1 => c_int);
            let other = std::thread::scope(|scope| scope.spawn(current).join().expect("joined"));
            assert_eq!((current(), other), (1, 0));
        },
    );
}

#[test]
fn everything_that_hip_programs_need_is_exported() {
    on_box(
        "hip::everything_that_hip_programs_need_is_exported",
        Some(&plain("r9700-x8")),
        |library| {
            let names = "hipInit hipRuntimeGetVersion hipDriverGetVersion hipGetDeviceCount hipGetDevice hipSetDevice \
                hipDeviceGet hipDeviceGetName hipDeviceGetAttribute hipDeviceGetUuid hipDeviceTotalMem hipMemGetInfo \
                hipDeviceGetPCIBusId hipDeviceSynchronize hipGetLastError hipGetErrorName hipGetErrorString \
                hipDeviceCanAccessPeer hipDeviceEnablePeerAccess hipDeviceDisablePeerAccess hipDeviceGetP2PAttribute \
                hipMalloc hipFree hipHostMalloc hipHostFree hipHostGetDevicePointer \
                hipMemcpyAsync hipMemcpyPeerAsync hipMemsetAsync hipStreamCreateWithFlags hipStreamDestroy \
                hipStreamSynchronize hipStreamQuery hipStreamWaitEvent hipStreamBeginCapture hipStreamEndCapture \
                hipStreamIsCapturing hipEventCreateWithFlags hipEventDestroy hipEventSynchronize hipEventQuery \
                hipEventRecord hipEventElapsedTime hipGraphInstantiate hipGraphLaunch hipGraphExecDestroy \
                hipGraphDestroy hipModuleLoadData hipModuleUnload hipModuleGetFunction hipModuleLaunchKernel \
                hiprtcVersion hiprtcGetErrorString hiprtcCreateProgram hiprtcCompileProgram hiprtcGetCodeSize \
                hiprtcGetCode hiprtcGetProgramLogSize hiprtcGetProgramLog hiprtcDestroyProgram tplens_soft_box";
            for name in names.split_whitespace() {
                // SAFETY: looks the symbol up without calling it.
                let symbol = unsafe { library.get::<*const ()>(name.as_bytes()) };
                assert!(symbol.is_ok(), "{name} is missing");
            }
        },
    );
}
