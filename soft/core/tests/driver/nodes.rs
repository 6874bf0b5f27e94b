//! Host memory and threads on nodes of the box. Expected times are arithmetic in the test.

use crate::driver::support::*;
use boxfile::{BoxFile, Far, Figure, PageableUpTo};
use softbox::SoftDriver;

const MB: usize = 1_000_000;

/// The plain box, whose nodes are far: half of the rate to the device and four fifths of that from it, for pageable memory a
/// quarter and a fifth; a thread that is far costs a half; 1 us. Devices 0 and 1 are on node 0, devices 2 and 3 on node 1.
fn far_box() -> BoxFile {
    let mut described = plain();
    let figure = |value| Figure::assumed(value, "test");
    described.far = vec![Far {
        distance: Some(32),
        nodes: None,
        h2d: figure(0.5),
        d2h: figure(0.8),
        h2d_pageable: figure(0.25),
        d2h_pageable: figure(0.2),
        pageable_thread: figure(0.5),
        latency_us: figure(1.0),
        segments: vec!["intersocket".to_owned()],
    }];
    described
}

/// Times of copies of 10 MB from host memory to device 0 and back, in microseconds.
fn both_ways(driver: &mut SoftDriver, memory: usize) -> [f64; 2] {
    let device = driver.allocate(0, 10 * MB).expect("allocates");
    let stream = driver.null_stream(0).expect("null stream");
    let there = time_us(driver, 0, stream, |driver| {
        let copied = driver.copy_h2d(device, pinned(memory), 10 * MB, stream);
        copied.expect("copies");
    });
    let back = time_us(driver, 0, stream, |driver| {
        let copied = driver.copy_d2h(pinned(memory), device, 10 * MB, stream);
        copied.expect("copies");
    });
    driver.free(device).expect("frees");
    [there, back]
}

fn all_near(found: [f64; 2], expected: [f64; 2]) {
    near(found[0], expected[0]);
    near(found[1], expected[1]);
}

#[test]
fn memory_that_devices_reach_takes_its_rate_by_its_node() {
    let mut driver = driver(&far_box());
    let own = driver.allocate_host(0, 10 * MB).expect("allocates");
    // It was put nowhere: 2 us + 10 MB / 25 GB/s = 402 us, as ever.
    assert_eq!(driver.node_of(own, 10 * MB), None);
    all_near(both_ways(&mut driver, own), [402.0, 402.0]);
    driver.place(own, 10 * MB, Some(0)).expect("places");
    all_near(both_ways(&mut driver, own), [402.0, 402.0]);
    driver.place(own, 10 * MB, Some(1)).expect("places");
    assert_eq!(driver.node_of(own, 10 * MB), Some(1));
    assert_eq!(driver.node_of(own + 5, MB), Some(1));
    assert_eq!(driver.node_of(own + 5, 10 * MB), None);
    // 3 us + 10 MB / 12.5 GB/s = 803 us, 3 us + 10 MB / 20 GB/s = 503 us.
    all_near(both_ways(&mut driver, own), [803.0, 503.0]);
    // A thread that is elsewhere changes nothing for such memory.
    driver.run_on(Some(1)).expect("runs");
    all_near(both_ways(&mut driver, own), [803.0, 503.0]);
    // What this thread allocates is on its node.
    let other = driver.allocate_host(0, 10 * MB).expect("allocates");
    assert_eq!(driver.node_of(other, 1), Some(1));
    driver.run_on(None).expect("takes it back");
    all_near(both_ways(&mut driver, other), [803.0, 503.0]);
    // Freed memory is forgotten.
    driver.free_host(other).expect("frees");
    assert_eq!(driver.node_of(other, 1), None);
}

#[test]
fn pageable_copies_go_by_the_memorys_node_and_the_threads() {
    let mut driver = driver(&far_box());
    let mut memory = vec![0_u8; 10 * MB];
    let address = host(&mut memory).get();
    let mut on = |memory, thread| {
        driver
            .place(address, 10 * MB, Some(memory))
            .expect("places");
        driver.run_on(thread).expect("runs");
        both_ways(&mut driver, address)
    };
    // 2 us + 10 MB / 10 GB/s = 1002 us, where the thread is as if on the GPU's node.
    all_near(on(0, None), [1002.0, 1002.0]);
    all_near(on(0, Some(0)), [1002.0, 1002.0]);
    // Near memory by a far thread: half of 10 GB/s.
    all_near(on(0, Some(1)), [2002.0, 2002.0]);
    // Far memory by a thread beside it: 3 us + 10 MB / (10/4 GB/s) = 4003 us, / (10/5 GB/s) = 5003 us.
    all_near(on(1, Some(1)), [4003.0, 5003.0]);
    // Far memory by a thread on the GPU's node: half of that.
    all_near(on(1, Some(0)), [8003.0, 10003.0]);
    all_near(on(1, None), [8003.0, 10003.0]);
}

#[test]
fn small_pageable_copies_have_a_rate_of_their_own() {
    let mut described = far_box();
    described.device[0].pageable_up_to = Some(PageableUpTo {
        bytes: 10 * MB as u64,
        h2d: Figure::assumed(5.0, "test"),
        d2h: Figure::assumed(4.0, "test"),
    });
    let mut driver = driver(&described);
    let mut memory = vec![0_u8; 20 * MB];
    let address = host(&mut memory);
    // Up to and with 10 MB: 2 us + 10 MB / 5 or 4 GB/s.
    all_near(both_ways(&mut driver, address.get()), [2002.0, 2502.0]);
    let larger = driver.allocate(0, 20 * MB).expect("allocates");
    let stream = driver.null_stream(0).expect("null stream");
    let found = time_us(&mut driver, 0, stream, |driver| {
        let copied = driver.copy_h2d(larger, address, 10 * MB + 1, stream);
        copied.expect("copies");
    });
    // One byte more: 10 GB/s.
    near(found, 1002.0);
}
