//! Memory, copies and graphs by AMD's names; MetaX's run through the same functions.

use crate::stage::{
    BYTES, Clocked, Pointer, assert_microseconds, bytes_at, call, numbered, ok, on_box, plain,
};
use libloading::Library;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

const H2D: u32 = 1;
const D2H: u32 = 2;
const D2D: u32 = 3;

fn allocated(library: &Library, device: c_int, bytes: usize) -> Pointer {
    let mut pointer = null_mut();
    ok!(library, "hipSetDevice", device => c_int);
    ok!(library, "hipMalloc", &raw mut pointer => *mut Pointer, bytes => usize);
    pointer
}

fn host(library: &Library, bytes: usize, flags: u32) -> Pointer {
    let mut pointer = null_mut();
    ok!(library, "hipHostMalloc", &raw mut pointer => *mut Pointer, bytes => usize, flags => u32);
    pointer
}

fn copy(library: &Library, to: Pointer, from: Pointer, kind: u32, stream: Pointer) {
    ok!(library, "hipMemcpyAsync",
        to => Pointer, from.cast_const() => *const std::ffi::c_void, BYTES => usize, kind => u32, stream => Pointer);
}

#[test]
fn copies_of_every_kind_arrive_in_the_time_of_the_box() {
    on_box(
        "transfers::copies_of_every_kind_arrive_in_the_time_of_the_box",
        Some(&plain("r9700-x8")),
        |library| {
            let far = allocated(library, 1, BYTES);
            let (near, second) = (allocated(library, 0, BYTES), allocated(library, 0, BYTES));
            let (from, to) = (host(library, BYTES, 0), host(library, BYTES, 0x2000_0000));
            numbered(bytes_at(from, BYTES));
            ok!(library, "hipDeviceEnablePeerAccess", 1 => c_int, 0 => u32);
            assert_eq!(
                call!(library, "hipDeviceEnablePeerAccess", 1 => c_int, 0 => u32),
                704
            );
            let mut clocked = Clocked::new(library, "hip");
            let stream = clocked.stream;
            clocked.mark();
            copy(library, near, from, H2D, stream);
            clocked.mark();
            ok!(library, "hipMemcpyPeerAsync",
                far => Pointer, 1 => c_int, near => Pointer, 0 => c_int, BYTES => usize, stream => Pointer);
            clocked.mark();
            // By their addresses: of a peer to the host.
            copy(library, second, far, D2D, stream);
            clocked.mark();
            copy(library, to, second, 4, stream);
            clocked.mark();
            // 2 us + 10 MB / 25 GB/s = 402; peers 3 + 10 MB / 20 GB/s = 503, both ways; to the host
            // 2 + 10 MB / 20 GB/s = 502.
            assert_microseconds(&clocked.microseconds(), &[402.0, 503.0, 503.0, 502.0]);
            assert!(bytes_at(to, BYTES) == bytes_at(from, BYTES));
            for pointer in [from, to] {
                ok!(library, "hipHostFree", pointer => Pointer);
            }
            for pointer in [far, near, second, null_mut()] {
                ok!(library, "hipFree", pointer => Pointer);
            }
            assert_eq!(call!(library, "hipFree", near => Pointer), 1);
        },
    );
}

#[test]
fn peers_without_access_are_staged_by_the_driver() {
    let mut described = plain("r9700-x8");
    described.peer_default.as_mut().expect("peers").access = false;
    on_box(
        "transfers::peers_without_access_are_staged_by_the_driver",
        Some(&described),
        |library| {
            let (far, near) = (allocated(library, 1, BYTES), allocated(library, 0, BYTES));
            let mut can = 1;
            ok!(library, "hipDeviceCanAccessPeer", &raw mut can => *mut c_int, 0 => c_int, 1 => c_int);
            assert_eq!(can, 0);
            assert_eq!(
                call!(library, "hipDeviceEnablePeerAccess", 1 => c_int, 0 => u32),
                101
            );
            let mut clocked = Clocked::new(library, "hip");
            clocked.mark();
            ok!(library, "hipMemcpyPeerAsync",
                far => Pointer, 1 => c_int, near => Pointer, 0 => c_int, BYTES => usize, clocked.stream => Pointer);
            clocked.mark();
            // 0.4 * min(20, 25) = 8 GB/s: 2 + 2 + 10 MB / 8 GB/s = 1254.
            assert_microseconds(&clocked.microseconds(), &[1254.0]);
        },
    );
}

#[test]
fn a_graph_does_what_was_captured() {
    on_box(
        "transfers::a_graph_does_what_was_captured",
        Some(&plain("r9700-x8")),
        |library| {
            let near = allocated(library, 0, BYTES);
            let from = host(library, BYTES, 0);
            let mut clocked = Clocked::new(library, "hip");
            let stream = clocked.stream;
            let (mut graph, mut executable) = (null_mut(), null_mut());
            ok!(library, "hipStreamBeginCapture", stream => Pointer, 1 => u32);
            copy(library, near, from, H2D, stream);
            copy(library, from, near, D2H, stream);
            ok!(library, "hipStreamEndCapture", stream => Pointer, &raw mut graph => *mut Pointer);
            ok!(library, "hipGraphInstantiate",
                &raw mut executable => *mut Pointer, graph => Pointer, null_mut() => *mut Pointer,
                null_mut() => *mut c_char, 0 => usize);
            clocked.mark();
            ok!(library, "hipGraphLaunch", executable => Pointer, stream => Pointer);
            clocked.mark();
            // 402 there and 502 back; nothing was copied while it was captured.
            assert_microseconds(&clocked.microseconds(), &[904.0]);
            ok!(library, "hipGraphExecDestroy", executable => Pointer);
            ok!(library, "hipGraphDestroy", graph => Pointer);
            assert_eq!(call!(library, "hipGraphDestroy", graph => Pointer), 400);
        },
    );
}
