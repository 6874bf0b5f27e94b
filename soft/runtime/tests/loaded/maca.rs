//! MetaX's names.

use crate::stage::{
    BYTES, Clocked, Pointer, assert_microseconds, bytes_at, call, numbered, ok, on_box, plain,
    text_of,
};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

fn host(library: &Library, flags: u32) -> Pointer {
    let mut pointer = null_mut();
    // Three arguments, unlike CUDA's function of this name.
    ok!(library, "mcMallocHost", &raw mut pointer => *mut Pointer, BYTES => usize, flags => u32);
    pointer
}

#[test]
fn a_measurement_needs_no_init_and_gives_the_box_figures() {
    on_box(
        "maca::a_measurement_needs_no_init_and_gives_the_box_figures",
        Some(&plain("mxc500x4")),
        |library| {
            let mut count = 0;
            ok!(library, "mcGetDeviceCount", &raw mut count => *mut c_int);
            assert_eq!(count, 4);
            assert_eq!(text_of(library, "mcDeviceGetName", 3, 256), "MXC500");
            assert_eq!(
                text_of(library, "mcDeviceGetPCIBusId", 3, 256),
                "0000:04:00.0"
            );
            let mut number = 0;
            // Its attributes have numbers of their own: 63 is not HIP's.
            let refused = call!(library, "mcDeviceGetAttribute",
                &raw mut number => *mut c_int, 63 => u32, 0 => c_int);
            assert_eq!(refused, 1);
            let mut devices = [null_mut(); 2];
            for (device, pointer) in (0..).zip(&mut devices) {
                ok!(library, "mcSetDevice", device => c_int);
                ok!(library, "mcMalloc", &raw mut *pointer => *mut Pointer, BYTES => usize);
            }
            ok!(library, "mcSetDevice", 0 => c_int);
            ok!(library, "mcDeviceEnablePeerAccess", 1 => c_int, 0 => u32);
            let (from, to) = (host(library, 0), host(library, 4));
            numbered(bytes_at(from, BYTES));
            let mut clocked = Clocked::new(library, "mc");
            let stream = clocked.stream;
            clocked.mark();
            ok!(library, "mcMemcpyAsync",
                devices[0] => Pointer, from.cast_const() => *const c_void, BYTES => usize, 1 => u32, stream => Pointer);
            clocked.mark();
            ok!(library, "mcMemcpyPeerAsync",
                devices[1] => Pointer, 1 => c_int, devices[0].cast_const() => *const c_void, 0 => c_int,
                BYTES => usize, stream => Pointer);
            clocked.mark();
            ok!(library, "mcMemcpyAsync",
                to => Pointer, devices[0].cast_const() => *const c_void, BYTES => usize, 2 => u32, stream => Pointer);
            clocked.mark();
            // 2 us + 10 MB / 25 GB/s; 3 + 10 MB / 20 GB/s; to the host 2 + 10 MB / 20 GB/s.
            assert_microseconds(&clocked.microseconds(), &[402.0, 503.0, 502.0]);
            assert!(bytes_at(to, BYTES) == bytes_at(from, BYTES));
            for pointer in [from, to] {
                ok!(library, "mcFreeHost", pointer => Pointer);
            }
        },
    );
}

#[test]
fn a_box_of_another_vendor_has_no_maca_device() {
    on_box(
        "maca::a_box_of_another_vendor_has_no_maca_device",
        Some(&plain("r9700-x8")),
        |library| {
            let mut count = -1;
            assert_eq!(
                call!(library, "mcGetDeviceCount", &raw mut count => *mut c_int),
                100
            );
            assert_eq!(count, 0);
        },
    );
}
