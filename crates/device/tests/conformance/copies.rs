//! Facts about copies between the host and a device and within a device.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::pattern::Pattern;
use device::{Backend, Device, DeviceError, HostBuffer, HostKind, Stream};

use crate::bed::{Bed, LARGE, touch};

/// Every kind of host memory.
pub(crate) const KINDS: [HostKind; 2] = [HostKind::Pageable, HostKind::Pinned];

pub(crate) fn every_kind_of_host_memory_goes_both_ways<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    for kind in KINDS {
        // A byte, less than a page, more than one, and a length that is no multiple of anything.
        for bytes in [1, 4095, 4097, (1 << 20) + 3] {
            let pair = || bed.device.alloc_host(kind, bytes, None);
            let (from, to) = match (pair(), pair()) {
                (Ok(from), Ok(to)) => (from, to),
                // A user of the host backend may lock little; that it says so is what can be asked of it.
                (Err(DeviceError::HostMemory(numa::NumaError::Lock { .. })), _)
                | (_, Err(DeviceError::HostMemory(numa::NumaError::Lock { .. })))
                    if kind == HostKind::Pinned =>
                {
                    continue;
                }
                (from, to) => panic!("{kind:?}: {from:?} {to:?}"),
            };
            assert_eq!((from.kind(), from.len()), (kind, bytes));
            let pattern = Pattern::of(1, 2, bytes as u64);
            from.with_bytes(|bytes| pattern.fill(bytes)).unwrap();
            to.with_bytes(|bytes| pattern.poison().fill(bytes)).unwrap();
            let memory = bed.device.alloc(bytes).unwrap();
            bed.stream
                .host_to_device((&memory, 0), (&from, 0), bytes)
                .unwrap();
            bed.stream
                .device_to_host((&to, 0), (&memory, 0), bytes)
                .unwrap();
            bed.stream.synchronize().unwrap();
            let difference = to.with_bytes(|bytes| pattern.first_difference(bytes));
            assert_eq!(difference.unwrap(), None, "{kind:?}, {bytes} bytes");
        }
    }
}

pub(crate) fn offsets_are_kept_and_neighbours_untouched<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let numbers: Vec<u8> = (0..=255).collect();
    let host = bed.host(256);
    let fill = |value: &[u8]| {
        host.with_bytes(|bytes| bytes.copy_from_slice(value))
            .unwrap()
    };
    let memory = bed.device.alloc(256).unwrap();
    fill(&[0xee; 256]);
    bed.stream
        .host_to_device((&memory, 0), (&host, 0), 256)
        .unwrap();
    bed.stream.synchronize().unwrap();
    fill(&numbers);
    // Host bytes 10 to 29 go to device bytes 100 to 119, and of these 105 to 109 to host bytes 200 to 204.
    bed.stream
        .host_to_device((&memory, 100), (&host, 10), 20)
        .unwrap();
    bed.stream
        .device_to_host((&host, 200), (&memory, 105), 5)
        .unwrap();
    bed.stream.synchronize().unwrap();
    let mut on_device = vec![0xee; 256];
    on_device[100..120].copy_from_slice(&numbers[10..30]);
    assert_eq!(bed.read(&memory), on_device);
    let mut on_host = numbers;
    on_host[200..205].copy_from_slice(&[15, 16, 17, 18, 19]);
    assert_eq!(host.with_bytes(|bytes| bytes.to_vec()).unwrap(), on_host);
}

pub(crate) fn ranges_outside_a_buffer_are_refused<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let (host, memory) = (bed.host(64), bed.device.alloc(128).unwrap());
    let other = bed.device.alloc(128).unwrap();
    // Offsets and lengths that leave the host's 64 or the device's 128 bytes, the last two beyond the largest number.
    for (on_device, on_host, bytes) in [
        (0, 0, 65),
        (0, 1, 64),
        (0, 65, 0),
        (65, 0, 64),
        (129, 0, 0),
        (usize::MAX, 0, 1),
        (0, 8, usize::MAX),
    ] {
        let answers = [
            bed.stream
                .host_to_device((&memory, on_device), (&host, on_host), bytes),
            bed.stream
                .device_to_host((&host, on_host), (&memory, on_device), bytes),
        ];
        for answer in answers {
            assert!(
                matches!(answer, Err(DeviceError::OutOfRange { .. })),
                "{on_device} {on_host} {bytes}: {answer:?}"
            );
        }
    }
    for (to, from, bytes) in [(0, 0, 129), (1, 0, 128), (0, 1, 128), (0, usize::MAX, 2)] {
        let answer = bed
            .stream
            .device_to_device((&other, to), (&memory, from), bytes);
        assert!(
            matches!(answer, Err(DeviceError::OutOfRange { .. })),
            "{to} {from} {bytes}: {answer:?}"
        );
    }
    touch(&host).expect("a refused copy holds nothing");
    bed.works();
}

pub(crate) fn a_device_copies_within_itself<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let bytes = (1 << 20) + 5;
    let pattern = Pattern::of(3, 3, bytes as u64);
    let (from, to) = (bed.filled(pattern, bytes), bed.poisoned(pattern, bytes));
    bed.stream
        .device_to_device((&to, 0), (&from, 0), bytes)
        .unwrap();
    bed.stream.synchronize().unwrap();
    assert_eq!(pattern.first_difference(&bed.read(&to)), None);
    // Within one buffer: its first 1000 bytes go to 2000 to 2999, and nothing else changes.
    bed.stream
        .device_to_device((&to, 2000), (&to, 0), 1000)
        .unwrap();
    bed.stream.synchronize().unwrap();
    let mut expected = vec![0; bytes];
    pattern.fill(&mut expected);
    expected.copy_within(0..1000, 2000);
    assert!(bed.read(&to) == expected);
}

fn is_in_use(answer: device::Result<()>) -> bool {
    matches!(answer, Err(DeviceError::BufferInUse))
}

pub(crate) fn a_buffer_is_in_use_until_its_stream_was_waited_for<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let other = bed.device.stream().unwrap();
    for kind in [HostKind::Pageable, HostKind::Pinned] {
        let Ok(host) = bed.device.alloc_host(kind, 4096, None) else {
            continue;
        };
        let (memory, clone) = (bed.device.alloc(4096).unwrap(), host.clone());
        bed.stream
            .host_to_device((&memory, 0), (&host, 0), 4096)
            .unwrap();
        assert!(is_in_use(touch(&host)) && is_in_use(touch(&clone)));
        // Waiting for another stream is not enough, nor is one of two streams that use it.
        other.synchronize().unwrap();
        assert!(is_in_use(touch(&host)));
        other
            .device_to_host((&host, 0), (&memory, 0), 4096)
            .unwrap();
        bed.stream.synchronize().unwrap();
        assert!(is_in_use(touch(&host)));
        other.synchronize().unwrap();
        touch(&host).unwrap();
    }
}

pub(crate) fn buffers_may_be_dropped_with_work_in_flight<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let pattern = Pattern::of(4, 5, LARGE as u64);
    let (from, between) = (bed.host_filled(pattern, LARGE), bed.device.alloc(LARGE));
    let (between, to) = (between.unwrap(), bed.poisoned(pattern, LARGE));
    let latch = bed.hold();
    bed.stream
        .host_to_device((&between, 0), (&from, 0), LARGE)
        .unwrap();
    bed.stream
        .device_to_device((&to, 0), (&between, 0), LARGE)
        .unwrap();
    drop((from, between));
    // Memory that is allocated meanwhile must not be that of the dropped buffers.
    let meanwhile: Vec<HostBuffer> = (0..4).map(|_| bed.host(LARGE)).collect();
    for host in &meanwhile {
        host.with_bytes(|bytes| bytes.fill(0xee)).unwrap();
    }
    latch.open();
    bed.stream.synchronize().unwrap();
    assert_eq!(pattern.first_difference(&bed.read(&to)), None);
}
