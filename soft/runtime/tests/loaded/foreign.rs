//! Work of another library in streams of the runtimes.

use crate::stage::{Clocked, Pointer, assert_microseconds, call, ok, on_box, plain};
use libloading::Library;
use softbox::ForeignCall;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

static FINISHED: AtomicU64 = AtomicU64::new(0);
static RELEASED: AtomicU64 = AtomicU64::new(0);

/// Takes 7 us called by itself and 3 us in a graph.
unsafe extern "C" fn issue(_data: *mut c_void, captured: c_int, ns: *mut f64) -> u64 {
    // SAFETY: the driver passes a place for one double.
    unsafe { ns.write(if captured == 0 { 7000.0 } else { 3000.0 }) };
    5
}

unsafe extern "C" fn finish(_data: *mut c_void, ticket: u64, _wait: c_int) -> c_int {
    FINISHED.fetch_add(ticket, Ordering::Relaxed);
    1
}

unsafe extern "C" fn release(_data: *mut c_void) {
    RELEASED.fetch_add(1, Ordering::Relaxed);
}

fn work(at: Pointer) -> ForeignCall {
    ForeignCall {
        data: ptr::null_mut(),
        issue,
        finish,
        release,
        from: at as u64,
        from_bytes: 64,
        to: at as u64,
        to_bytes: 64,
        chain: 1,
    }
}

fn enqueue(library: &Library, work: *const ForeignCall, stream: Pointer) -> c_int {
    call!(library, "tplens_soft_enqueue", work => *const ForeignCall, stream => Pointer)
}

fn memory(library: &Library, prefix: &str) -> Pointer {
    let mut at = ptr::null_mut();
    ok!(library, format!("{prefix}Malloc"), &raw mut at => *mut Pointer, 64 => usize);
    at
}

fn takes_its_time(library: &Library, prefix: &'static str) {
    let at = memory(library, prefix);
    let mut clocked = Clocked::new(library, prefix);
    clocked.mark();
    assert_eq!(enqueue(library, &work(at), clocked.stream), 0);
    clocked.mark();
    let name = |what| format!("{prefix}{what}");
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    ok!(library, name("StreamBeginCapture"), clocked.stream => Pointer, 2 => u32);
    assert_eq!(enqueue(library, &work(at), clocked.stream), 0);
    assert_eq!(enqueue(library, &work(at), clocked.stream), 0);
    ok!(library, name("StreamEndCapture"), clocked.stream => Pointer, &raw mut graph => *mut Pointer);
    ok!(library, name("GraphInstantiate"), &raw mut executable => *mut Pointer, graph => Pointer,
        ptr::null_mut() => *mut Pointer, ptr::null_mut() => Pointer, 0 => usize);
    ok!(library, name("GraphLaunch"), executable => Pointer, clocked.stream => Pointer);
    clocked.mark();
    // One by itself; then two in a graph, one after the other.
    assert_microseconds(&clocked.microseconds(), &[7.0, 6.0]);
    // Three executions of number 5.
    assert_eq!(FINISHED.load(Ordering::Relaxed), 15);

    // In the null stream too; what is refused is released at once.
    assert_eq!(enqueue(library, &work(at), ptr::null_mut()), 0);
    ok!(library, name("DeviceSynchronize"));
    let released = RELEASED.load(Ordering::Relaxed);
    let outside = ForeignCall {
        to_bytes: 1 << 30,
        ..work(at)
    };
    assert_eq!(enqueue(library, &outside, clocked.stream), 1);
    assert_eq!(RELEASED.load(Ordering::Relaxed), released + 1);
    assert_eq!(enqueue(library, ptr::null(), clocked.stream), 1);
}

#[test]
fn work_of_another_library_takes_its_time_in_streams_of_hip() {
    on_box(
        "foreign::work_of_another_library_takes_its_time_in_streams_of_hip",
        Some(&plain("r9700-x16")),
        |library| takes_its_time(library, "hip"),
    );
}

#[test]
fn work_of_another_library_takes_its_time_in_streams_of_maca() {
    on_box(
        "foreign::work_of_another_library_takes_its_time_in_streams_of_maca",
        Some(&plain("mxc500x4")),
        |library| takes_its_time(library, "mc"),
    );
}
