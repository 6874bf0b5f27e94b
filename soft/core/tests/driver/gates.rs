//! Gates, and the noise of kernels, by the text of the crate's head. Expected times are arithmetic in the test.

use crate::driver::kernels::{BYTES, copy};
use crate::driver::support::*;
use softbox::{Kernel, SoftDriver};

/// A flag and an answer in pinned memory of the driver, and ways to use them as a host does.
struct Words {
    flag: usize,
    answer: usize,
}

#[expect(unsafe_code, reason = "shares words with kernels as a host does")]
impl Words {
    fn new(driver: &mut SoftDriver) -> Self {
        let memory = driver.allocate_host(0, 256).expect("allocates");
        Self {
            flag: memory,
            answer: memory + 128,
        }
    }

    fn gate(&self, timeout_ns: u64) -> Kernel {
        Kernel::Gate(self.flag as u64, self.answer as u64, timeout_ns)
    }

    fn raise(&self) {
        // SAFETY: pinned memory of the driver, which no test frees; host and driver are one thread.
        unsafe { (self.flag as *mut u32).write_volatile(1) };
    }

    fn answer(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (self.answer as *const u32).read_volatile() }
    }
}

#[test]
fn a_gate_lets_streams_start_together_and_takes_no_time() {
    let mut driver = driver(&plain());
    let words = Words::new(&mut driver);
    let host = driver.allocate_host(0, BYTES).expect("allocates");
    let mut ends = Vec::new();
    for ordinal in 0..2 {
        let device = driver.allocate(ordinal, BYTES).expect("allocates");
        let stream = driver.open_stream(ordinal).expect("stream");
        driver
            .launch_kernel(words.gate(2_000_000_000), stream)
            .expect("holds");
        let from = driver.open_event(ordinal, true).expect("event");
        let to = driver.open_event(ordinal, true).expect("event");
        driver.record(from, stream).expect("records");
        driver
            .copy_h2d(device, pinned(host), BYTES, stream)
            .expect("copies");
        driver.record(to, stream).expect("records");
        ends.push((stream, from, to));
    }
    assert_eq!(driver.now_ns(), 0.0, "nothing has run");
    words.raise();
    for (stream, from, to) in ends {
        driver.synchronize_stream(stream).expect("ends");
        let us = driver.elapsed_ms(from, to).expect("reached") * 1000.0;
        // Both 2 us + 10 MB / 25 GB/s, at the same time.
        near(us, 402.0);
    }
    near(driver.now_ns(), 402_000.0);
    assert_eq!(words.answer(), 0);
}

#[test]
fn a_gate_that_nobody_opens_gives_up_and_says_so() {
    let mut driver = driver(&plain());
    let words = Words::new(&mut driver);
    let stream = driver.open_stream(0).expect("stream");
    let begun = driver.now_ns();
    driver
        .launch_kernel(words.gate(7_000_000), stream)
        .expect("holds");
    driver.synchronize_stream(stream).expect("ends");
    near(driver.now_ns() - begun, 7_000_000.0);
    assert_eq!(words.answer(), 1);
    // Raised before it comes to the head of its stream, behind a copy kernel of 5 us + 0.32 us: no time more.
    let memory = driver.allocate(0, 16_000).expect("allocates");
    words.raise();
    let found = time_us(&mut driver, 0, stream, |driver| {
        driver
            .launch_kernel(copy(memory, memory, 16_000), stream)
            .expect("launches");
        driver
            .launch_kernel(words.gate(7_000_000), stream)
            .expect("holds");
    });
    near(found, 5.32);
}
