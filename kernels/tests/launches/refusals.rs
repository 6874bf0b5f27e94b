//! Facts about what kernels refuse, and about devices that have none.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::{Backend, Device, DeviceError, HostKind, Result, Stream};
use kernels::{Kernels, Place};

use crate::facts::{Bed, pattern};

pub(crate) fn pageable_memory_is_refused_and_the_device_still_works<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let host = bed.device.alloc_host(HostKind::Pageable, 64, None).unwrap();
    let memory = bed.memory(&[1; 64]);
    let places = (Place::Device(&memory, 0), Place::Host(&host, 0));
    let refused = bed.kernels.copy(&bed.stream, places.0, places.1, 64);
    assert!(
        matches!(refused, Err(DeviceError::Argument { .. })),
        "{refused:?}"
    );
    bed.works();
}

pub(crate) fn wrong_ranges_are_refused_and_the_device_still_works<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let (from, to) = (bed.memory(&[1; 64]), bed.memory(&[2; 64]));
    let answer = bed.memory(&[0xff; 8]);
    let host = bed.host(&[0; 64]);
    let at = |offset| Place::Device(&to, offset);
    let copy = |offset, bytes| {
        bed.kernels
            .copy(&bed.stream, at(offset), Place::Device(&from, 0), bytes)
    };
    let check = |bytes| {
        let data = Place::Device(&from, 0);
        let told = Place::Device(&answer, 0);
        bed.kernels
            .check(&bed.stream, data, bytes, pattern(1), told)
    };
    let fill = |offset, bytes| {
        bed.kernels
            .fill(&bed.stream, at(offset), bytes, pattern(1), false)
    };
    // A chain has one node of 128 bytes at least, and this buffer has 64.
    let chase = bed
        .kernels
        .chase(&bed.stream, at(0), 1, Place::Host(&host, 0));
    let outside = [copy(16, 64), copy(80, 16), check(72), fill(8, 64), chase];
    for (number, refused) in outside.into_iter().enumerate() {
        let is_range = matches!(refused, Err(DeviceError::OutOfRange { .. }));
        assert!(is_range, "{number}: {refused:?}");
    }
    // Copies move 16 bytes at once, the others 8.
    let broken = [copy(8, 16), copy(0, 24), check(12), fill(4, 8), fill(0, 9)];
    for (number, refused) in broken.into_iter().enumerate() {
        let is_argument = matches!(refused, Err(DeviceError::Argument { .. }));
        assert!(is_argument, "{number}: {refused:?}");
    }
    bed.stream.synchronize().unwrap();
    assert_eq!(bed.read(&to), [2; 64], "nothing was launched");
    bed.works();
}

pub(crate) fn the_first_wrong_word_is_not_told_to_host_memory<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let (data, host) = (bed.memory(&[0; 64]), bed.host(&[0xff; 8]));
    let told = Place::Host(&host, 0);
    let refused = bed
        .kernels
        .check(&bed.stream, Place::Device(&data, 0), 64, pattern(1), told);
    assert!(
        matches!(refused, Err(DeviceError::Argument { .. })),
        "{refused:?}"
    );
    bed.works();
}

pub(crate) fn a_kernel_of_another_device_is_refused<B: Backend>(backend: &B) {
    let (first, second) = (Bed::open(backend, 0), Bed::open(backend, 1));
    let memory = second.memory(&[0; 64]);
    let to = Place::Device(&memory, 0);
    let refused = first
        .kernels
        .fill(&second.stream, to, 64, pattern(8), false);
    assert!(
        matches!(refused, Err(DeviceError::Argument { .. })),
        "{refused:?}"
    );
    second.works();
}

/// Copies and all else still work on a device that takes no kernels.
pub(crate) fn there_are_no_kernels<B: Backend>(backend: &B) {
    for described in backend.devices() {
        let device = backend.device(described.ordinal).unwrap();
        // Asking again does not change it.
        for _ in 0..2 {
            let Some(DeviceError::Unsupported { why, .. }) = Kernels::load(&device).err() else {
                panic!("{} takes kernels, or fails otherwise", B::NAME);
            };
            assert!(!why.is_empty());
        }
        let (stream, memory) = (device.stream().unwrap(), device.alloc(64).unwrap());
        let host = device.alloc_host(HostKind::Pinned, 64, None).unwrap();
        stream.host_to_device((&memory, 0), (&host, 0), 64).unwrap();
        stream.synchronize().unwrap();
    }
}

/// The launch is refused and nothing happened, or the device of the kernel is lost, as after any address that it does not
/// reach; the other one is not.
pub(crate) fn a_peer_without_access_is_out_of_reach<B: Backend>(backend: &B) {
    let (near, far) = (Bed::open(backend, 0), Bed::open(backend, 1));
    let (here, there) = (near.memory(&[1; 64]), far.memory(&[2; 64]));
    let places = (Place::Device(&there, 0), Place::Device(&here, 0));
    let copied = near.kernels.copy(&near.stream, places.0, places.1, 64);
    let waited = near.stream.synchronize();
    // A driver says so when the kernel is launched or when it is waited for.
    let is_lost = |answer: &Result<()>| answer.as_ref().is_err_and(DeviceError::is_lost);
    if matches!(copied, Err(DeviceError::Argument { .. })) {
        waited.unwrap();
        near.works();
    } else {
        assert!(
            is_lost(&copied) || is_lost(&waited),
            "{copied:?} {waited:?}"
        );
        assert!(near.device.alloc(64).is_err_and(|error| error.is_lost()));
    }
    far.works();
    assert_eq!(far.read(&there), [2; 64], "nothing was written");
}
