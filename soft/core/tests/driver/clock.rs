//! The wall clock, by the text of the crate's head: what the box says takes at least that long. No upper limit is asserted, a
//! busy machine has none.

use crate::driver::support::*;
use softbox::{
    Failure, Foreign, ForeignWork, Issued, Kernel, Outcome, SoftDriver, monotonic_ns, patiently,
};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

/// 25 GB/s and 2 us: 50 MB take 2 ms and 2 us.
const BYTES: usize = 50_000_000;
const NS: f64 = 2_002_000.0;

fn on_wall() -> Mutex<SoftDriver> {
    Mutex::new(driver(&plain()).on_wall_clock())
}

/// A call that must succeed.
fn ask<T>(driver: &Mutex<SoftDriver>, call: impl FnMut(&mut SoftDriver) -> Outcome<T>) -> T {
    patiently(driver, call).expect("succeeds")
}

/// A stream of device 0, device memory and pinned memory, of [`BYTES`] each.
fn places(driver: &Mutex<SoftDriver>) -> (u64, u64, usize) {
    ask(driver, |driver| {
        let (stream, device) = (driver.open_stream(0)?, driver.allocate(0, BYTES)?);
        Ok((stream, device, driver.allocate_host(0, BYTES)?))
    })
}

#[test]
fn a_copy_that_is_waited_for_takes_the_box_time_by_both_clocks() {
    let driver = on_wall();
    let (stream, device, host) = places(&driver);
    let [from, to] = [(); 2].map(|()| ask(&driver, |driver| driver.open_event(0, true)));
    let began = Instant::now();
    // One call issues all three, so that the copy begins where the first event is.
    ask(&driver, |driver| {
        driver.record(from, stream)?;
        driver.copy_h2d(device, pinned(host), BYTES, stream)?;
        driver.record(to, stream)
    });
    ask(&driver, |driver| driver.synchronize_event(to));
    let waited = began.elapsed();
    assert!(waited >= Duration::from_nanos(NS as u64), "{waited:?}");
    let elapsed = ask(&driver, |driver| driver.elapsed_ms(from, to));
    near(elapsed * 1e6, NS);
    // The clock is where the copy ended, or later.
    assert!(ask(&driver, |driver| Ok(driver.now_ns())) >= NS);
}

#[test]
fn what_is_issued_begins_when_it_is_issued() {
    let driver = on_wall();
    let (stream, device, host) = places(&driver);
    let [from, to] = [(); 2].map(|()| ask(&driver, |driver| driver.open_event(0, true)));
    ask(&driver, |driver| driver.record(from, stream));
    // The box's 2 ms of a copy on another stream, spent by waiting, stand between the two records.
    let other = ask(&driver, |driver| driver.open_stream(0));
    ask(&driver, |driver| {
        driver.copy_h2d(device, pinned(host), BYTES, other)
    });
    ask(&driver, |driver| driver.synchronize_stream(other));
    ask(&driver, |driver| driver.record(to, stream));
    let elapsed = ask(&driver, |driver| driver.elapsed_ms(from, to));
    assert!(elapsed * 1e6 >= NS, "{elapsed}");
}

#[test]
fn a_pageable_copy_returns_no_earlier_than_the_box_says_and_has_moved_its_bytes() {
    let driver = on_wall();
    let (_, device, _) = places(&driver);
    let mut bytes = pattern(10_000_000);
    let began = Instant::now();
    upload(
        &mut driver.lock().expect("not poisoned"),
        device,
        &mut bytes,
    );
    // 10 MB at 10 GB/s and 2 us.
    assert!(began.elapsed() >= Duration::from_micros(1002));
    let found = download(
        &mut driver.lock().expect("not poisoned"),
        device,
        10_000_000,
    );
    assert!(found == bytes);
}

#[test]
fn a_query_lets_no_time_pass_and_tells_the_truth_in_the_end() {
    let driver = on_wall();
    let (stream, device, host) = places(&driver);
    let began = Instant::now();
    ask(&driver, |driver| {
        driver.copy_h2d(device, pinned(host), BYTES, stream)
    });
    while !ask(&driver, |driver| driver.query_stream(stream)) {}
    assert!(began.elapsed() >= Duration::from_nanos(NS as u64));
}

#[test]
fn a_wait_leaves_the_driver_to_other_threads_and_an_opened_gate_ends_it() {
    let driver = on_wall();
    let (stream, _, host) = places(&driver);
    let gate = Kernel::Gate {
        flag: host as u64,
        answer: host as u64 + 128,
        // An hour: the test ends because the flag is raised through the driver that the other thread waits on.
        timeout_ns: 3_600_000_000_000,
    };
    ask(&driver, |driver| driver.launch_kernel(gate, stream));
    let early = driver
        .lock()
        .expect("not poisoned")
        .synchronize_stream(stream);
    assert!(matches!(early, Err(Failure::Early(_))), "{early:?}");
    let begun = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            ask(&driver, |driver| driver.synchronize_stream(stream));
        });
        begun.wait();
        let other = ask(&driver, |driver| driver.open_stream(1));
        ask(&driver, |driver| driver.synchronize_stream(other));
        raise(host);
    });
}

#[expect(unsafe_code, reason = "shares a word with a kernel as a host does")]
fn raise(flag: usize) {
    // SAFETY: pinned memory of the driver, which the test does not free, at the start of a page.
    let word = unsafe { AtomicU32::from_ptr(flag as *mut u32) };
    word.store(1, Ordering::Release);
}

/// Work of an hour that counts how often it was asked to move its bytes, and moves them at the third time.
#[derive(Default)]
struct Slow {
    asked: AtomicU64,
}

impl ForeignWork for Slow {
    fn issue(&self, _captured: bool) -> Issued {
        Issued {
            ticket: 7,
            ns: 3.6e12,
        }
    }

    fn finish(&self, ticket: u64, wait: bool) -> bool {
        // It has not ended, so that nobody may wait in it.
        assert!(ticket == 7 && !wait);
        self.asked.fetch_add(1, Ordering::Relaxed) == 2
    }
}

#[test]
fn work_of_another_library_moves_its_bytes_while_its_time_passes() {
    let driver = on_wall();
    let (stream, device, _) = places(&driver);
    let slow = Arc::new(Slow::default());
    let began = monotonic_ns();
    ask(&driver, |driver| {
        let work = Foreign {
            work: Arc::<Slow>::clone(&slow),
            from: (device, 4),
            to: (device, 4),
            chain: 1,
            entered_ns: 0,
        };
        driver.enqueue(work, stream)
    });
    let mut driver = driver.lock().expect("not poisoned");
    // Asked at each wait until it has; the answer is then when its time is over.
    let waits = [(); 4].map(|()| driver.synchronize_stream(stream));
    assert_eq!(slow.asked.load(Ordering::Relaxed), 3);
    // An hour is 3.6e12 ns, and 1 us before its end the rest of the wait begins.
    let far = waits.map(
        |wait| matches!(wait, Err(Failure::Early(at)) if at >= began + 3_600_000_000_000 - 1000),
    );
    assert_eq!(far, [false, false, true, true]);
    assert!(!driver.query_stream(stream).expect("asks"));
    assert_eq!(slow.asked.load(Ordering::Relaxed), 3);
}
