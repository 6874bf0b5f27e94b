//! Facts that only a simulated machine can show: memory that runs out, peers that are denied, devices that are lost.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::{Backend, Device, DeviceError, HostKind, Result, Stream};

use crate::bed::{Bed, touch};

const MIB: usize = 1 << 20;

fn is_out_of_memory<T>(answer: &Result<T>, asked: usize) -> bool {
    matches!(answer, Err(DeviceError::OutOfMemory { bytes, .. }) if *bytes == asked)
}

/// On a box with 64 MiB for each device.
pub(crate) fn memory_runs_out_and_comes_back<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let all = (64 * MIB) as u64;
    assert_eq!(bed.device.memory().unwrap(), (all, all));
    assert!(is_out_of_memory(
        &bed.device.alloc(64 * MIB + 1),
        64 * MIB + 1
    ));
    for _ in 0..2 {
        // 64 / 16 = 4, and the fifth finds nothing.
        let held: Vec<_> = (0..4)
            .map(|_| bed.device.alloc(16 * MIB).unwrap())
            .collect();
        assert_eq!(bed.device.memory().unwrap().0, 0);
        assert!(is_out_of_memory(&bed.device.alloc(16 * MIB), 16 * MIB));
        assert!(is_out_of_memory(&bed.device.alloc(1), 1));
        // The other device has its own, and this one still copies what it has.
        Bed::open(backend, 1).works();
        let host = bed.host(4096);
        bed.stream
            .host_to_device((&held[3], 16 * MIB - 4096), (&host, 0), 4096)
            .unwrap();
        bed.stream.synchronize().unwrap();
        drop(held);
        assert_eq!(bed.device.memory().unwrap().0, all);
    }
    bed.works();
}

/// On a box whose second device allocation and first pinned one fail.
pub(crate) fn one_allocation_fails<B: Backend>(backend: &B) {
    let device = backend.device(0).unwrap();
    let first = device.alloc(4096).unwrap();
    assert!(is_out_of_memory(&device.alloc(4096), 4096));
    let third = device.alloc(4096).unwrap();
    let pinned = || device.alloc_host(HostKind::Pinned, 4096, None);
    assert!(is_out_of_memory(&pinned(), 4096));
    let host = pinned().unwrap();
    let stream = device.stream().unwrap();
    for memory in [&first, &third] {
        stream
            .host_to_device((memory, 0), (&host, 0), 4096)
            .unwrap();
    }
    stream.synchronize().unwrap();
    Bed::open(backend, 0).works();
}

/// On a box where device 0 may not access device 1.
pub(crate) fn a_peer_is_denied<B: Backend>(backend: &B) {
    let [first, second] = [0, 1].map(|ordinal| backend.device(ordinal).unwrap());
    assert!(!first.can_access_peer(&second).unwrap());
    assert!(second.can_access_peer(&first).unwrap());
    let refused = first.enable_peer(&second);
    assert!(
        matches!(&refused, Err(DeviceError::PeerRefused { code: 217, .. })),
        "{refused:?}"
    );
    assert!(refused.is_err_and(|error| !error.is_lost()));
    second.enable_peer(&first).unwrap();
    crate::pairs::bytes_arrive_with_and_without_access(backend);
}

/// On a box whose device 0 is lost at the third copy that touches it.
pub(crate) fn a_lost_device_stays_lost<B: Backend>(backend: &B) {
    let (bed, other) = (Bed::open(backend, 0), Bed::open(backend, 1));
    let (host, memory) = (bed.host(4096), bed.device.alloc(4096).unwrap());
    let (theirs, event) = (
        other.device.alloc(4096).unwrap(),
        bed.device.event().unwrap(),
    );
    let copy = || bed.stream.host_to_device((&memory, 0), (&host, 0), 4096);
    copy().unwrap();
    copy().unwrap();
    bed.stream.record(&event).unwrap();
    bed.stream.synchronize().unwrap();
    let (device, stream) = (&bed.device, &bed.stream);
    let calls = [
        ("the third copy", copy()),
        ("the fourth copy", copy()),
        (
            "a copy back",
            stream.device_to_host((&host, 0), (&memory, 0), 4096),
        ),
        (
            "a local copy",
            stream.device_to_device((&memory, 0), (&memory, 64), 64),
        ),
        (
            "a peer copy out",
            stream.device_to_device((&theirs, 0), (&memory, 0), 4096),
        ),
        (
            "a peer copy in, by the other device",
            other
                .stream
                .device_to_device((&memory, 0), (&theirs, 0), 4096),
        ),
        ("record", stream.record(&event)),
        ("wait", stream.wait(&event)),
        ("synchronize", stream.synchronize()),
        (
            "elapsed",
            device::Event::nanoseconds_since(&event, &event).map(drop),
        ),
        ("alloc", device.alloc(64).map(drop)),
        (
            "alloc_host",
            device.alloc_host(HostKind::Pinned, 64, None).map(drop),
        ),
        ("stream", device.stream().map(drop)),
        ("event", device.event().map(drop)),
        ("memory", device.memory().map(drop)),
        ("enable_peer", device.enable_peer(&other.device)),
        ("enable_peer of the other", other.device.enable_peer(device)),
        (
            "again",
            backend
                .device(0)
                .and_then(|again| again.alloc(64))
                .map(drop),
        ),
    ];
    for (call, answer) in calls {
        let is_lost = answer.as_ref().is_err_and(DeviceError::is_lost);
        assert!(is_lost, "{call}: {answer:?}");
    }
    // A backend that takes no PTX says so whatever the device is.
    let module = device.try_module(c".version 6.4\n.target sm_75\n");
    let is_told =
        |error: &DeviceError| error.is_lost() || matches!(error, DeviceError::Unsupported { .. });
    assert!(module.as_ref().is_err_and(is_told), "{module:?}");
    // Whether the device still writes them is not known, so the host is kept out of what it copied.
    assert!(matches!(touch(&host), Err(DeviceError::BufferInUse)));
    // The other device's stream was queued nothing that it could not do.
    other.stream.synchronize().unwrap();
    other.works();
    drop((host, memory, event, bed));
    let again = backend.device(0).and_then(|again| again.alloc(64));
    assert!(again.is_err_and(|error| error.is_lost()));
    other.works();
}

/// On the same box: two copies are under way when the third is refused.
pub(crate) fn lost_with_work_in_flight<B: Backend>(backend: &B) {
    let (bed, other) = (Bed::open(backend, 0), Bed::open(backend, 1));
    let (host, memory) = (bed.host(MIB), bed.device.alloc(MIB).unwrap());
    let copy = || bed.stream.host_to_device((&memory, 0), (&host, 0), MIB);
    copy().unwrap();
    copy().unwrap();
    assert!(copy().is_err_and(|error| error.is_lost()));
    let kept = host.clone();
    // Buffers before their stream, then the stream, which cannot be waited for.
    drop((host, memory));
    drop(bed);
    assert!(
        matches!(touch(&kept), Err(DeviceError::BufferInUse)),
        "the lost device may still write it"
    );
    other.works();
}
