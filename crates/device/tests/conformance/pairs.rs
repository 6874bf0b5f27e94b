//! Facts about two devices: access, copies between them, and order across them.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, Stream};

use crate::bed::{Bed, LARGE, touch};

fn open<B: Backend>(backend: &B) -> [Bed<B::Device>; 2] {
    [0, 1].map(|ordinal| Bed::open(backend, ordinal))
}

/// Copies from one device to another on each one's stream, and looks at what arrived.
#[track_caller]
fn crosses<D: Device>(from: &Bed<D>, to: &Bed<D>) {
    for writer in [from, to] {
        let (a, b) = (from.device.ordinal() as u64, to.device.ordinal() as u64);
        let pattern = Pattern::of(a, b, writer.device.ordinal() as u64);
        let bytes = (1 << 20) + 7;
        let (source, target) = (from.filled(pattern, bytes), to.poisoned(pattern, bytes));
        writer
            .stream
            .device_to_device((&target, 0), (&source, 0), bytes)
            .unwrap();
        writer.stream.synchronize().unwrap();
        assert_eq!(pattern.first_difference(&to.read(&target)), None);
    }
}

pub(crate) fn bytes_arrive_with_and_without_access<B: Backend>(backend: &B) {
    let [first, second] = open(backend);
    for (a, b) in [(&first, &second), (&second, &first)] {
        crosses(a, b);
        if a.device.can_access_peer(&b.device).unwrap() {
            a.device.enable_peer(&b.device).unwrap();
            crosses(a, b);
            crosses(b, a);
            a.device.disable_peer(&b.device).unwrap();
        }
        crosses(a, b);
    }
}

pub(crate) fn access_is_given_and_taken_twice_or_refused_as_such<B: Backend>(backend: &B) {
    let [first, second] = open(backend);
    for (a, b) in [(&first, &second), (&second, &first)] {
        if a.device.can_access_peer(&b.device).unwrap() {
            for _ in 0..2 {
                a.device.enable_peer(&b.device).unwrap();
            }
            for _ in 0..2 {
                a.device.disable_peer(&b.device).unwrap();
            }
        } else {
            let refused = a.device.enable_peer(&b.device);
            assert!(
                matches!(refused, Err(DeviceError::PeerRefused { .. })),
                "{refused:?}"
            );
            // There is nothing to take back, which is no error.
            a.device.disable_peer(&b.device).unwrap();
        }
        a.works();
    }
}

pub(crate) fn ranges_outside_a_peers_buffer_are_refused<B: Backend>(backend: &B) {
    let [first, second] = open(backend);
    let (small, large) = (
        first.device.alloc(64).unwrap(),
        second.device.alloc(128).unwrap(),
    );
    for answer in [
        first.stream.device_to_device((&small, 0), (&large, 0), 65),
        first.stream.device_to_device((&large, 65), (&small, 0), 64),
        first.stream.device_to_device((&small, 1), (&large, 0), 64),
    ] {
        assert!(
            matches!(answer, Err(DeviceError::OutOfRange { .. })),
            "{answer:?}"
        );
    }
    crosses(&first, &second);
}

pub(crate) fn a_wait_orders_streams_of_two_devices<B: Backend>(backend: &B) {
    let [first, second] = open(backend);
    let pattern = Pattern::of(0, 1, LARGE as u64);
    let (from, to) = (first.host_filled(pattern, LARGE), second.host(LARGE));
    let between = first.poisoned(pattern, LARGE);
    let memory = second.device.alloc(LARGE).unwrap();
    let written = first.device.event().unwrap();
    let latch = first.hold();
    first
        .stream
        .host_to_device((&between, 0), (&from, 0), LARGE)
        .unwrap();
    first.stream.record(&written).unwrap();
    second.stream.wait(&written).unwrap();
    second
        .stream
        .device_to_device((&memory, 0), (&between, 0), LARGE)
        .unwrap();
    second
        .stream
        .device_to_host((&to, 0), (&memory, 0), LARGE)
        .unwrap();
    latch.open();
    second.stream.synchronize().unwrap();
    let difference = to.with_bytes(|bytes| pattern.first_difference(bytes));
    assert_eq!(difference.unwrap(), None);
    // The first stream was reached but not waited for by this host.
    assert!(matches!(touch(&from), Err(DeviceError::BufferInUse)));
    first.stream.synchronize().unwrap();
    touch(&from).unwrap();
}
