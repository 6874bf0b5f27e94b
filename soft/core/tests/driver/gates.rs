//! Gates, and the noise of kernels, by the text of the crate's head. Expected times are arithmetic in the test.

use crate::driver::kernels::{BYTES, copy, kernel_us};
use crate::driver::support::*;
use boxfile::Noise;
use softbox::{Kernel, SoftDriver, Step};

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
        Kernel::Gate {
            flag: self.flag as u64,
            answer: self.answer as u64,
            timeout_ns,
        }
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
        ends.push((from, to));
    }
    assert_eq!(driver.now_ns(), 0.0, "nothing has run");
    words.raise();
    driver.synchronize_event(ends[0].0).expect("opens");
    assert_eq!(driver.now_ns(), 0.0, "opening takes no time");
    for (from, to) in ends {
        driver.synchronize_event(to).expect("ends");
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
    let event = driver.open_event(0, true).expect("event");
    let begun = driver.now_ns();
    driver
        .launch_kernel(words.gate(7_000_000), stream)
        .expect("holds");
    driver.record(event, stream).expect("records");
    driver.synchronize_event(event).expect("ends");
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

#[test]
fn polling_behind_a_gate_runs_what_else_there_is_and_then_to_its_time_out() {
    let mut driver = driver(&plain());
    let words = Words::new(&mut driver);
    let (held, free) = (
        driver.open_stream(0).expect("stream"),
        driver.open_stream(0).expect("stream"),
    );
    let memory = driver.allocate(0, BYTES).expect("allocates");
    driver
        .launch_kernel(words.gate(1_000_000_000), held)
        .expect("holds");
    driver
        .launch_kernel(copy(memory, memory, BYTES), free)
        .expect("launches");
    // Two changes of the copy, at 5 and 205 us, then the gate's patience of one second.
    let mut times = Vec::new();
    while !driver.query_stream(held).expect("polls") {
        times.push(driver.now_ns());
    }
    assert_eq!(times.len(), 3, "{times:?}");
    near(times[1], 205_000.0);
    near(times[2], 1_000_000_000.0);
    assert_eq!(words.answer(), 1);
}

#[test]
fn one_factor_of_noise_is_drawn_for_a_kernel_and_none_for_a_gate() {
    let mut described = plain();
    described.noise = Some(Noise {
        cv: 0.0,
        slow_fraction: 1.0,
        slow_extra: 0.25,
        seed: 1,
    });
    let mut driver = driver(&described);
    let own = driver.allocate(0, BYTES).expect("allocates");
    // All of it takes 1.25 times as long: (5 + 200) x 1.25 us, and (5 + 10 x 0.4) x 1.25 us.
    near(kernel_us(&mut driver, copy(own, own, BYTES)), 256.25);
    let chase = Kernel::Chase {
        base: own,
        steps: 10,
        end: own,
    };
    near(kernel_us(&mut driver, chase), 11.25);
    let words = Words::new(&mut driver);
    near(kernel_us(&mut driver, words.gate(1000)), 1.0);
}

#[test]
fn gates_opened_at_one_instant_share_engines_in_order_of_issue() {
    let mut sim = softbox::Simulation::new(&[1], vec![]);
    let (a, b) = (sim.open_stream(0), sim.open_stream(0));
    let gates = [sim.gate(a, 1e9), sim.gate(b, 1e9)];
    // The second stream's copy was issued first, so it gets the only engine.
    let copies = [b, a].map(|stream| sim.copy(stream, softbox::Flow::idle(10.0)));
    assert_eq!(sim.closed_gates().collect::<Vec<_>>(), gates);
    sim.open_gates(&gates);
    while sim.step() == Step::Advanced {}
    let ended = [gates[0], gates[1], copies[0], copies[1]];
    assert!(sim.take_ended().eq(ended));
}
