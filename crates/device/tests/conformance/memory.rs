//! Facts about devices, their memory and the code that they take.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use std::fs;

use device::host::Host;
use device::{Backend, Device, DeviceError, HostKind, Stream};

use crate::bed::Bed;

const MIB: usize = 1 << 20;
/// More than any machine has, and more than an address can reach.
const ABSURD: usize = 1 << 60;

pub(crate) fn a_device_that_does_not_exist_is_named<B: Backend>(backend: &B) {
    let present = backend.devices().len();
    for asked in [present, usize::MAX] {
        match backend.device(asked).err() {
            Some(DeviceError::NoSuchDevice {
                backend,
                ordinal,
                count,
            }) => assert_eq!((backend, ordinal, count), (B::NAME, asked, present)),
            other => panic!("device {asked}: {other:?}"),
        }
    }
}

pub(crate) fn a_device_opened_twice_has_one_context<B: Backend>(backend: &B) {
    let (first, second) = (Bed::open(backend, 0), Bed::open(backend, 0));
    let pattern = device::pattern::Pattern::of(0, 0, 1);
    let memory = first.filled(pattern, 4096);
    // A driver refuses events and streams of two contexts together.
    let (start, end) = (
        first.device.event().unwrap(),
        second.device.event().unwrap(),
    );
    second.stream.record(&start).unwrap();
    assert_eq!(pattern.first_difference(&second.read(&memory)), None);
    second.stream.record(&end).unwrap();
    second.stream.synchronize().unwrap();
    assert!(device::Event::nanoseconds_since(&end, &start).unwrap() >= 0.0);
    // What was made through one outlives it.
    drop(first);
    assert_eq!(pattern.first_difference(&second.read(&memory)), None);
}

pub(crate) fn memory_is_taken_and_comes_back_when_dropped<B: Backend>(backend: &B) {
    let bytes = 64 * MIB;
    let bed = Bed::open(backend, 0);
    // The first allocation of a context may take more than it is given.
    drop(bed.device.alloc(bytes).unwrap());
    let free = || match bed.device.memory() {
        Ok((free, total)) => {
            assert!(free <= total);
            free
        }
        // Host memory is everybody's: what this process has resident stands for it, the other way round.
        Err(DeviceError::Unsupported { .. }) if B::NAME == Host::NAME => u64::MAX / 2 - resident(),
        Err(other) => panic!("{other}"),
    };
    let before = free();
    let memory = bed.device.alloc(bytes).unwrap();
    let during = free();
    drop(memory);
    let after = free();
    // Three quarters, because other threads of a test program take and give back a little meanwhile.
    let most = (bytes / 4 * 3) as u64;
    assert!(before >= during + most, "taken: {before} {during}");
    assert!(after >= during + most, "given back: {during} {after}");
}

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() * 1024
}

pub(crate) fn absurd_sizes_are_refused_and_the_device_still_works<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    for bytes in [ABSURD, usize::MAX] {
        let refused = [
            bed.device.alloc(bytes).map(drop),
            bed.device
                .alloc_host(HostKind::Pageable, bytes, None)
                .map(drop),
            bed.device
                .alloc_host(HostKind::Pinned, bytes, None)
                .map(drop),
        ];
        for answer in refused {
            let error = answer.expect_err("no machine has that much");
            let is_clear = match &error {
                DeviceError::OutOfMemory { bytes: asked, .. } => *asked == bytes,
                DeviceError::HostMemory(refused) => refused.to_string().contains("mapping"),
                // A driver may call a size that no address reaches a bad value.
                DeviceError::Vendor { .. } => bytes == usize::MAX,
                _ => false,
            };
            assert!(is_clear, "{error}");
        }
    }
    bed.works();
}
