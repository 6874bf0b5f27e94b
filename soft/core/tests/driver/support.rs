//! A box with round figures and short ways to use it. Holds no expected values.

use boxfile::{BoxFile, Fault, Figure, KernelFigures};
use softbox::{Code, Failure, HostAddress, SoftDriver, ordinals};

pub(crate) const MIB: usize = 1 << 20;

/// The L40 box without noise, with round figures: 25 GB/s and 2 us everywhere, 10 GB/s pageable, peers 20 GB/s and 3 us.
///
/// Kernels: 5 us to launch, 20 and 16 GB/s from and to the host, 50 within the device; a load takes 1000 ns from the host, 400
/// from the device, 1500 from a peer; 10 TFLOP/s.
pub(crate) fn plain() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").expect("built in");
    described.noise = None;
    let figure = |value| Figure::assumed(value, "test");
    for device in &mut described.device {
        device.h2d_pinned = figure(25.0);
        device.d2h_pinned = figure(25.0);
        device.h2d_pageable = figure(10.0);
        device.d2h_pageable = figure(10.0);
        device.local = figure(100.0);
        device.copy_latency_us = figure(2.0);
        device.kernels = Some(KernelFigures {
            h2d: figure(20.0),
            d2h: figure(16.0),
            local: figure(50.0),
            launch_us: figure(5.0),
            host_chase_ns: figure(1000.0),
            local_chase_ns: figure(400.0),
            fp32_tflops: Some(figure(10.0)),
        });
    }
    let peers = described.peer_default.as_mut().expect("the box has peers");
    peers.same_node = Some(figure(20.0));
    peers.cross_node = Some(figure(20.0));
    peers.latency_us = Some(figure(3.0));
    peers.chase_ns = Some(figure(1500.0));
    described
}

pub(crate) fn driver(described: &BoxFile) -> SoftDriver {
    let mut driver = SoftDriver::new(described.clone(), ordinals(described, None), None);
    driver.init().expect("initialises");
    for ordinal in 0..driver.devices().expect("devices").len() {
        driver.retain(ordinal).expect("opens");
    }
    driver
}

pub(crate) fn with_faults(faults: &[Fault]) -> SoftDriver {
    let mut described = plain();
    described.fault = faults.to_vec();
    driver(&described)
}

pub(crate) fn code(code: Code) -> Failure {
    Failure::Code(code)
}

#[expect(
    unsafe_code,
    reason = "hands memory that outlives every copy to the driver"
)]
pub(crate) fn host(bytes: &mut [u8]) -> HostAddress {
    // SAFETY: the callers keep their vectors until their copies have ended.
    unsafe { HostAddress::new(bytes.as_mut_ptr() as usize) }
}

#[expect(unsafe_code, reason = "names pinned memory of the driver's own")]
pub(crate) fn pinned(address: usize) -> HostAddress {
    // SAFETY: the address comes from allocate_host and is not freed before the copies have ended.
    unsafe { HostAddress::new(address) }
}

/// Writes through pageable copies, which end before they return.
pub(crate) fn upload(driver: &mut SoftDriver, to: u64, bytes: &mut [u8]) {
    let stream = driver
        .null_stream(driver.owner(to, 1).expect("allocated"))
        .expect("null stream");
    driver
        .copy_h2d(to, host(bytes), bytes.len(), stream)
        .expect("uploads");
}

pub(crate) fn download(driver: &mut SoftDriver, from: u64, bytes: usize) -> Vec<u8> {
    let stream = driver
        .null_stream(driver.owner(from, 1).expect("allocated"))
        .expect("null stream");
    let mut found = vec![0; bytes];
    driver
        .copy_d2h(host(&mut found), from, bytes, stream)
        .expect("downloads");
    found
}

pub(crate) fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|index| (index * 7 + index / 251) as u8)
        .collect()
}

/// Times one operation on a stream with events, in microseconds.
pub(crate) fn time_us(
    driver: &mut SoftDriver,
    ordinal: usize,
    stream: u64,
    issue: impl FnOnce(&mut SoftDriver),
) -> f64 {
    let from = driver.open_event(ordinal, true).expect("event");
    let to = driver.open_event(ordinal, true).expect("event");
    driver.record(from, stream).expect("records");
    issue(driver);
    driver.record(to, stream).expect("records");
    driver.synchronize_stream(stream).expect("synchronises");
    driver.elapsed_ms(from, to).expect("both are reached") * 1000.0
}

pub(crate) fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-3 * expected,
        "found {found}, expected {expected}"
    );
}
