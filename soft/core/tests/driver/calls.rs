//! What calls do and how long they take. Expected times are arithmetic in the test, expected bytes come from its own patterns.

use crate::driver::support::*;
use boxfile::{BoxFile, Figure, Noise, Peer};
use softbox::{Code, SoftDriver};

#[test]
fn bytes_survive_upload_peer_copy_and_download() {
    let mut driver = driver(&plain());
    let (a, b) = (
        driver.allocate(0, MIB).expect("a"),
        driver.allocate(1, MIB).expect("b"),
    );
    let mut sent = pattern(MIB);
    upload(&mut driver, a, &mut sent);
    let stream = driver.open_stream(0).expect("stream");
    driver.copy_d2d(b, a, MIB, stream).expect("copies");
    driver.synchronize_stream(stream).expect("synchronises");
    assert!(download(&mut driver, b, MIB) == sent);
}

#[test]
fn pinned_and_pageable_copies_take_the_time_of_their_figures() {
    let mut driver = driver(&plain());
    let device = driver.allocate(0, 10_000_000).expect("allocates");
    let buffer = driver.allocate_host(0, 10_000_000).expect("allocates");
    let stream = driver.open_stream(0).expect("stream");
    let found = time_us(&mut driver, 0, stream, |driver| {
        driver
            .copy_h2d(device, pinned(buffer), 10_000_000, stream)
            .expect("copies");
    });
    // 2 us + 10 MB / 25 GB/s = 402 us.
    near(found, 402.0);
    let mut pageable = vec![0; 10_000_000];
    let before = driver.now_ns();
    driver
        .copy_d2h(host(&mut pageable), device, 10_000_000, stream)
        .expect("copies");
    // Synchronous: 2 us + 10 MB / 10 GB/s = 1002 us have passed on return.
    near((driver.now_ns() - before) / 1000.0, 1002.0);
}

#[test]
fn peer_copies_are_direct_only_where_the_issuing_device_has_access() {
    let mut driver = driver(&plain());
    let (a, b) = (
        driver.allocate(0, 10_000_000).expect("a"),
        driver.allocate(1, 10_000_000).expect("b"),
    );
    let (of_a, of_b) = (
        driver.open_stream(0).expect("stream"),
        driver.open_stream(1).expect("stream"),
    );
    let copy = |driver: &mut SoftDriver, ordinal, stream| {
        time_us(driver, ordinal, stream, |driver| {
            driver.copy_d2d(b, a, 10_000_000, stream).expect("copies")
        })
    };
    // Staged: 2 + 2 us + 10 MB / (0.5 x 25 GB/s) = 804 us.
    near(copy(&mut driver, 0, of_a), 804.0);
    driver.enable_peer(0, 1).expect("enables");
    // Direct: 3 us + 10 MB / 20 GB/s = 503 us; the other device still has no access.
    near(copy(&mut driver, 0, of_a), 503.0);
    near(copy(&mut driver, 1, of_b), 804.0);
    assert_eq!(
        driver.enable_peer(0, 1),
        Err(code(Code::PEER_ACCESS_ALREADY_ENABLED))
    );
    driver.disable_peer(0, 1).expect("disables");
    assert_eq!(
        driver.disable_peer(0, 1),
        Err(code(Code::PEER_ACCESS_NOT_ENABLED))
    );
}

#[test]
fn opposite_peer_copies_run_at_full_rate_and_equal_directions_share() {
    let mut driver = driver(&plain());
    for (a, b) in [(0, 1), (1, 0), (2, 1)] {
        driver.enable_peer(a, b).expect("enables");
    }
    let memory: Vec<u64> = (0..3)
        .map(|ordinal| driver.allocate(ordinal, 10_000_000).expect("allocates"))
        .collect();
    let more = driver.allocate(1, 10_000_000).expect("allocates");
    let streams: Vec<u64> = (0..3)
        .map(|ordinal| driver.open_stream(ordinal).expect("stream"))
        .collect();
    let found = time_us(&mut driver, 0, streams[0], |driver| {
        driver
            .copy_d2d(memory[0], memory[1], 10_000_000, streams[1])
            .expect("back");
        driver
            .copy_d2d(memory[1], memory[0], 10_000_000, streams[0])
            .expect("forth");
    });
    near(found, 503.0);
    driver.synchronize_stream(streams[1]).expect("synchronises");
    let found = time_us(&mut driver, 2, streams[2], |driver| {
        driver
            .copy_d2d(memory[1], memory[0], 10_000_000, streams[0])
            .expect("from 0");
        driver
            .copy_d2d(more, memory[2], 10_000_000, streams[2])
            .expect("from 2");
    });
    // Both enter device 1, whose link takes 25 GB/s: 12.5 each, 3 + 800 us.
    near(found, 803.0);
}

#[test]
fn a_staged_pair_says_yes_and_crosses_the_host() {
    let mut described = plain();
    described.segment[0].gbps = Figure::assumed(4.0, "test");
    let own = |value| Some(Figure::assumed(value, "test"));
    described.peer.push(Peer {
        pair: [0, 1],
        access: None,
        fabric: None,
        gbps: own(8.0),
        latency_us: own(10.0),
        kernel_read: None,
        kernel_write: None,
        chase_ns: None,
        segments: None,
        staged: true,
    });
    described.validate("test").expect("valid");
    let mut driver = driver(&described);
    assert_eq!(driver.can_access_peer(0, 1), Ok(true));
    driver.enable_peer(0, 1).expect("enables");
    let (a, b) = (
        driver.allocate(0, 1_000_000).expect("a"),
        driver.allocate(1, 1_000_000).expect("b"),
    );
    let stream = driver.open_stream(0).expect("stream");
    let found = time_us(&mut driver, 0, stream, |driver| {
        driver.copy_d2d(b, a, 1_000_000, stream).expect("copies");
    });
    // Its own 8 GB/s would take 125 us; the host segment allows 4: 10 + 250 us.
    near(found, 260.0);
}

#[test]
fn memory_is_bounded_counted_and_checked() {
    let mut driver = driver(&plain());
    // Device 0: 46068 MiB, 448 of them held by somebody else.
    let mib = |value: u64| value << 20;
    assert_eq!(driver.memory_bytes(0), Ok((mib(46068 - 448), mib(46068))));
    let big = driver
        .allocate(0, 40_000 * MIB)
        .expect("virtual memory is cheap");
    assert_eq!(
        driver.memory_bytes(0),
        Ok((mib(46068 - 448 - 40_000), mib(46068)))
    );
    assert_eq!(
        driver.allocate(0, 6_000 * MIB),
        Err(code(Code::OUT_OF_MEMORY))
    );
    assert_eq!(driver.allocate(0, 0), Err(code(Code::INVALID_VALUE)));
    driver.free(big).expect("frees");
    assert_eq!(driver.free(big), Err(code(Code::INVALID_VALUE)));
    let small = driver.allocate(0, 4096).expect("allocates");
    let stream = driver.null_stream(0).expect("null stream");
    let mut outside = vec![0; 4097];
    assert_eq!(
        driver.copy_h2d(small, host(&mut outside), 4097, stream),
        Err(code(Code::INVALID_VALUE))
    );
    assert_eq!(
        driver.copy_d2h(host(&mut outside), small + 4000, 97, stream),
        Err(code(Code::INVALID_VALUE))
    );
}

#[test]
fn freeing_runs_what_is_pending() {
    let mut driver = driver(&plain());
    let (a, b) = (
        driver.allocate(0, 64).expect("a"),
        driver.allocate(0, 64).expect("b"),
    );
    upload(&mut driver, a, &mut pattern(64));
    let stream = driver.open_stream(0).expect("stream");
    driver.copy_d2d(b, a, 64, stream).expect("copies");
    driver.free(a).expect("frees");
    assert_eq!(download(&mut driver, b, 64), pattern(64));
}

#[test]
fn mig_instances_have_no_peer_access_and_stage() {
    let mut described = BoxFile::builtin("rtxpro6000-mig").expect("built in");
    described.noise = None;
    let mut driver = driver(&described);
    assert_eq!(driver.can_access_peer(0, 1), Ok(false));
    assert_eq!(
        driver.enable_peer(0, 1),
        Err(code(Code::PEER_ACCESS_UNSUPPORTED))
    );
    let (a, b) = (
        driver.allocate(0, 9_600_000).expect("a"),
        driver.allocate(1, 9_600_000).expect("b"),
    );
    let stream = driver.open_stream(0).expect("stream");
    let found = time_us(&mut driver, 0, stream, |driver| {
        driver.copy_d2d(b, a, 9_600_000, stream).expect("copies");
    });
    // Box file: 2 + 2 us, then 0.5 x min(50, 48) = 24 GB/s: 400 us.
    near(found, 404.0);
}

#[test]
fn noise_repeats_with_its_seed() {
    let mut described = plain();
    described.noise = Some(Noise {
        cv: 0.05,
        slow_fraction: 0.1,
        slow_extra: 0.5,
        seed: 3,
    });
    let times = || {
        let mut driver = driver(&described);
        let (a, b) = (
            driver.allocate(0, MIB).expect("a"),
            driver.allocate(0, MIB).expect("b"),
        );
        let stream = driver.open_stream(0).expect("stream");
        let mut copy = || {
            time_us(&mut driver, 0, stream, |driver| {
                driver.copy_d2d(b, a, MIB, stream).expect("copies")
            })
        };
        (0..10).map(|_| copy()).collect::<Vec<f64>>()
    };
    let first = times();
    assert_eq!(first, times());
    assert!(first.iter().any(|time| *time != first[0]));
}
