//! Graphs, and work of another library: what they take, what they refuse, and who is made to wait.
#![expect(unsafe_code, reason = "is another library")]

use crate::driver::support::*;
use softbox::{CaptureState, Code, Failure, Foreign, ForeignCall};
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Work of 7 us called by itself and 3 us in a graph, which can be held up and remembers who finished.
#[derive(Default)]
struct Work {
    held: AtomicBool,
    issued: AtomicU64,
    finished: Mutex<Vec<u64>>,
}

/// The work behind the data of a call.
fn work<'a>(data: *mut c_void) -> &'a Work {
    // SAFETY: `foreign` gave a work that its test drops after the driver.
    unsafe { &*data.cast() }
}

unsafe extern "C" fn issue(data: *mut c_void, captured: c_int, ns: *mut f64) -> u64 {
    // SAFETY: the driver passes a place for one double.
    unsafe { ns.write(if captured == 0 { 7000.0 } else { 3000.0 }) };
    work(data).issued.fetch_add(1, Ordering::Relaxed)
}

unsafe extern "C" fn finish(data: *mut c_void, ticket: u64, _wait: c_int) -> c_int {
    let work = work(data);
    let is_done = !work.held.load(Ordering::Relaxed);
    if is_done {
        work.finished.lock().expect("not poisoned").push(ticket);
    }
    is_done.into()
}

unsafe extern "C" fn release(_data: *mut c_void) {}

fn foreign(work: &Work, at: u64) -> Foreign {
    let call = ForeignCall {
        data: (&raw const *work).cast_mut().cast(),
        issue,
        finish,
        release,
        from: at,
        from_bytes: 4,
        to: at,
        to_bytes: 4,
        chain: 1,
    };
    // SAFETY: valid for reading, and the functions do not depend on the thread.
    unsafe { Foreign::of(&raw const call) }.expect("not null")
}

#[test]
fn a_launch_issues_what_was_captured_each_time() {
    let mut driver = driver(&plain());
    let (a, b) = (
        driver.allocate(0, 10_000_000).expect("a"),
        driver.allocate(0, 10_000_000).expect("b"),
    );
    let stream = driver.open_stream(0).expect("stream");
    driver.begin_capture(stream).expect("begins");
    driver.copy_d2d(b, a, 10_000_000, stream).expect("captured");
    assert_eq!(driver.capture_state(stream), Ok(CaptureState::Active));
    let graph = driver.end_capture(stream).expect("ends");
    assert_eq!(driver.capture_state(stream), Ok(CaptureState::None));
    let executable = driver.instantiate(graph, 0).expect("instantiates");
    driver.destroy_graph(graph).expect("destroys");
    assert_eq!(download(&mut driver, a, 4), [0; 4]);
    let launch = |driver: &mut softbox::SoftDriver| {
        driver.launch(executable, stream).expect("launches");
    };
    // 2 us + 10 MB / 100 GB/s = 102 us.
    near(time_us(&mut driver, 0, stream, launch), 102.0);
    assert_eq!(download(&mut driver, b, 4), [0; 4]);
    upload(&mut driver, a, &mut [9; 4]);
    launch(&mut driver);
    driver.synchronize_stream(stream).expect("synchronises");
    assert_eq!(download(&mut driver, b, 4), [9; 4]);
    // Its memory is gone, then it is.
    driver.free(b).expect("frees");
    assert_eq!(
        driver.launch(executable, stream),
        Err(code(Code::INVALID_VALUE))
    );
    driver.destroy_executable(executable).expect("destroys");
    assert_eq!(
        driver.launch(executable, stream),
        Err(code(Code::INVALID_HANDLE))
    );
}

#[test]
fn work_of_another_library_takes_its_time_and_no_engine() {
    let work = Work::default();
    let mut driver = driver(&plain());
    let at = driver.allocate(0, 4).expect("allocates");
    let stream = driver.open_stream(0).expect("stream");
    let others: Vec<u64> = (0..8)
        .map(|_| driver.open_stream(0).expect("stream"))
        .collect();
    let big = driver.allocate(0, 16_000_000).expect("allocates");
    let found = time_us(&mut driver, 0, stream, |driver| {
        for (other, part) in others.iter().zip(0..) {
            let (to, from) = (big + part * 2_000_000, big + part * 2_000_000);
            driver
                .copy_d2d(to, from, 2_000_000, *other)
                .expect("copies");
        }
        driver.enqueue(foreign(&work, at), stream).expect("queues");
    });
    // The box's two engines are busy with eight copies of 22 us; the work has ended after its 7 us.
    near(found, 7.0);
    driver.begin_capture(stream).expect("begins");
    driver.enqueue(foreign(&work, at), stream).expect("queues");
    let graph = driver.end_capture(stream).expect("ends");
    let executable = driver.instantiate(graph, 0).expect("instantiates");
    let found = time_us(&mut driver, 0, stream, |driver| {
        driver.launch(executable, stream).expect("launches");
    });
    near(found, 3.0);
    assert_eq!(*work.finished.lock().expect("not poisoned"), [0, 1]);
    for other in &others {
        driver.synchronize_stream(*other).expect("synchronises");
    }
    let begin = driver.now_ns();
    for (other, part) in others.iter().take(3).zip(0..) {
        let at = big + part * 2_000_000;
        driver.copy_d2d(at, at, 2_000_000, *other).expect("copies");
    }
    for other in &others {
        driver.synchronize_stream(*other).expect("synchronises");
    }
    // There are two engines as before: two copies of 2 us + 2 MB / 100 GB/s at a time, 2 x 22 us.
    near((driver.now_ns() - begin) / 1000.0, 44.0);
    let elsewhere = driver.open_stream(1).expect("stream");
    assert_eq!(
        driver.enqueue(foreign(&work, at), elsewhere),
        Err(code(Code::INVALID_VALUE))
    );
}

#[test]
fn work_that_waits_for_another_process_blocks_who_waits() {
    let work = Work::default();
    let mut driver = driver(&plain());
    let at = driver.allocate(0, 4).expect("allocates");
    let stream = driver.open_stream(0).expect("stream");
    let event = driver.open_event(0, true).expect("event");
    work.held.store(true, Ordering::Relaxed);
    driver.enqueue(foreign(&work, at), stream).expect("queues");
    driver.record(event, stream).expect("records");
    assert_eq!(driver.elapsed_ms(event, event), Err(code(Code::NOT_READY)));
    assert_eq!(driver.synchronize_stream(stream), Err(Failure::Blocked));
    assert_eq!(driver.free(at), Err(Failure::Blocked));
    let mut bytes = vec![0; 4];
    assert_eq!(
        driver.copy_d2h(host(&mut bytes), at, 4, stream),
        Err(Failure::Blocked)
    );
    work.held.store(false, Ordering::Relaxed);
    driver.synchronize_stream(stream).expect("synchronises");
    driver.free(at).expect("frees");
    assert_eq!(*work.finished.lock().expect("not poisoned"), [0]);
}
