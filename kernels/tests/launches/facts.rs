//! Facts about each kernel on any backend that has it.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::pattern::Pattern;
use device::{Backend, Device, DeviceBuffer, DeviceError, HostBuffer, HostKind, Stream};
use kernels::{BURN_ROUNDS, CHAIN_STRIDE, Kernels, Place, write_chain};

use crate::process;

/// Longer than any of these tests takes to open a gate.
const LONG_NS: u64 = 60_000_000_000;
const PATTERN_BYTES: u64 = 4096;

/// A device with a stream and its kernels.
pub(crate) struct Bed<D: Device> {
    pub(crate) device: D,
    pub(crate) stream: D::Stream,
    pub(crate) kernels: Kernels<D>,
}

impl<D: Device> Bed<D> {
    pub(crate) fn open<B: Backend<Device = D>>(backend: &B, ordinal: usize) -> Self {
        let device = backend.device(ordinal).unwrap();
        Self {
            stream: device.stream().unwrap(),
            kernels: Kernels::load(&device).unwrap(),
            device,
        }
    }

    pub(crate) fn host(&self, bytes: &[u8]) -> HostBuffer {
        let host = self
            .device
            .alloc_host(HostKind::Pinned, bytes.len(), None)
            .unwrap();
        host.with_bytes(|memory| memory.copy_from_slice(bytes))
            .unwrap();
        host
    }

    /// Device memory with these bytes, which the copy engine brings there.
    pub(crate) fn memory(&self, bytes: &[u8]) -> D::DeviceBuffer {
        let memory = self.device.alloc(bytes.len()).unwrap();
        let host = self.host(bytes);
        self.stream
            .host_to_device((&memory, 0), (&host, 0), bytes.len())
            .unwrap();
        self.stream.synchronize().unwrap();
        memory
    }

    /// The bytes of device memory, which the copy engine brings here.
    pub(crate) fn read(&self, memory: &D::DeviceBuffer) -> Vec<u8> {
        let host = self.host(&vec![0; memory.len()]);
        self.stream
            .device_to_host((&host, 0), (memory, 0), memory.len())
            .unwrap();
        self.stream.synchronize().unwrap();
        host.with_bytes(|bytes| bytes.to_vec()).unwrap()
    }

    pub(crate) fn works(&self) {
        let memory = self.memory(&[7; 64]);
        assert_eq!(self.read(&memory), [7; 64]);
    }
}

pub(crate) fn pattern(seed: u64) -> Pattern {
    Pattern::of(seed, seed + 1, PATTERN_BYTES)
}

fn patterned(seed: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    pattern(seed).fill(&mut data);
    data
}

pub(crate) fn a_copy_moves_what_it_should_and_nothing_else<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    // One vector, one of a grid's rest, and more than a grid of 188 multiprocessors moves at once by four vectors a thread:
    // 188 * 4 * 512 * 4 * 16 B are 23.5 MiB.
    for bytes in [16, 4096 + 16, (32 << 20) + 48] {
        let data = patterned(1, bytes + 64);
        let from = bed.memory(&data);
        let to = bed.memory(&vec![0xab; bytes + 64]);
        let places = (Place::Device(&to, 32), Place::Device(&from, 16));
        bed.kernels
            .copy(&bed.stream, places.0, places.1, bytes)
            .unwrap();
        let found = bed.read(&to);
        assert_eq!(found[..32], [0xab; 32], "{bytes}");
        assert!(found[32..32 + bytes] == data[16..16 + bytes], "{bytes}");
        assert_eq!(found[32 + bytes..], [0xab; 32], "{bytes}");
    }
}

pub(crate) fn a_copy_reaches_locked_host_memory<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let data = patterned(2, 4096);
    let kind = HostKind::Pinned;
    let host = |bytes: &[u8]| {
        let host = bed.device.alloc_host(kind, bytes.len(), None).unwrap();
        assert_eq!(host.kind(), kind);
        host.with_bytes(|memory| memory.copy_from_slice(bytes))
            .unwrap();
        host
    };
    let (from, to) = (host(&data), host(&[0; 4096]));
    let memory = bed.device.alloc(4096).unwrap();
    let (copy, stream) = (Kernels::copy, &bed.stream);
    let (middle, kernels) = (|| Place::Device(&memory, 0), &bed.kernels);
    copy(kernels, stream, middle(), Place::Host(&from, 0), 4096).unwrap();
    copy(kernels, stream, Place::Host(&to, 0), middle(), 4096).unwrap();
    stream.synchronize().unwrap();
    assert!(to.with_bytes(|found| *found == *data).unwrap(), "{kind:?}");
}

pub(crate) fn a_fill_writes_the_pattern_of_the_host_or_its_complement<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let memory = bed.memory(&[0xab; 4096 + 16]);
    for complement in [false, true] {
        let to = Place::Device(&memory, 8);
        bed.kernels
            .fill(&bed.stream, to, 4096, pattern(3), complement)
            .unwrap();
        let mut expected = vec![0; 4096];
        if complement {
            pattern(3).poison().fill(&mut expected);
        } else {
            pattern(3).fill(&mut expected);
        }
        let found = bed.read(&memory);
        assert!(found[8..8 + 4096] == expected, "{complement}");
        assert_eq!(
            (&found[..8], &found[8 + 4096..]),
            (&[0xab; 8][..], &[0xab; 8][..])
        );
    }
}

pub(crate) fn a_check_finds_the_first_wrong_word<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let bytes = 1 << 20;
    let none = u64::MAX;
    // A wrong byte at 8 * i + 3 is one of word i; of several the first counts.
    for (wrong, expected) in [
        (vec![], none),
        (vec![3], 0),
        (vec![bytes - 1], 131_071),
        (vec![8 * 70_000 + 3, 8 * 400 + 3, 8 * 401], 400),
    ] {
        let mut data = patterned(4, bytes);
        for at in &wrong {
            data[*at] ^= 0x10;
        }
        let data = bed.memory(&data);
        let answer = bed.memory(&none.to_le_bytes());
        let places = (Place::Device(&data, 0), Place::Device(&answer, 0));
        bed.kernels
            .check(&bed.stream, places.0, bytes, pattern(4), places.1)
            .unwrap();
        assert_eq!(bed.read(&answer), expected.to_le_bytes(), "{wrong:?}");
    }
}

pub(crate) fn a_burn_of_any_length_has_the_sums_that_it_must_have<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let none = u64::MAX.to_le_bytes();
    let answer = bed.memory(&none);
    // No item, no round, one of each, more items than a grid has threads by one turn and one, and the most rounds.
    let filling = bed.kernels.burn_items(1);
    for (items, rounds) in [
        (0, 5),
        (5, 0),
        (1, 1),
        (2 * filling + 1, 3),
        (64, BURN_ROUNDS),
    ] {
        let told = Place::Device(&answer, 0);
        bed.kernels
            .burn(&bed.stream, items, rounds, 7, told)
            .unwrap();
        assert_eq!(bed.read(&answer), none, "{items} {rounds}");
    }
    let told = Place::Device(&answer, 0);
    let refused = bed.kernels.burn(&bed.stream, 1, BURN_ROUNDS + 1, 7, told);
    assert!(
        matches!(refused, Err(DeviceError::Argument { .. })),
        "{refused:?}"
    );
}

pub(crate) fn a_chase_ends_where_the_host_ends<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let mut chain = vec![0; 64 * CHAIN_STRIDE];
    let nodes = write_chain(&mut chain, 9);
    let (on_device, on_host) = (bed.memory(&chain), bed.host(&chain));
    for steps in [0, 1, 5, nodes, nodes + 3] {
        let mut at = 0;
        for _ in 0..steps {
            let node: [u8; 8] = chain[at..at + 8].try_into().unwrap();
            at = usize::try_from(u64::from_le_bytes(node)).unwrap();
        }
        for place in [Place::Device(&on_device, 0), Place::Host(&on_host, 0)] {
            let end = bed.host(&[0xff; 8]);
            bed.kernels
                .chase(&bed.stream, place, steps, Place::Host(&end, 0))
                .unwrap();
            bed.stream.synchronize().unwrap();
            let found = end.with_bytes(|bytes| bytes.to_vec()).unwrap();
            assert_eq!(found, (at as u64).to_le_bytes(), "{steps}");
        }
    }
}

pub(crate) fn a_gate_holds_its_stream_until_it_opens<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let other = bed.device.stream().unwrap();
    let gate = bed.kernels.gate().unwrap();
    let data = bed.memory(&[5; 64]);
    let held = bed.memory(&[0; 64]);
    // A fill would be loaded here, which waits for the kernels before it.
    let sent = bed.memory(&patterned(5, 64));
    for _ in 0..2 {
        bed.kernels.hold(&bed.stream, &gate, LONG_NS).unwrap();
        bed.kernels
            .copy(
                &bed.stream,
                Place::Device(&held, 0),
                Place::Device(&sent, 0),
                64,
            )
            .unwrap();
        // Work of another stream passes by the one that is held, and sees that nothing was done there.
        let seen = bed.host(&[1; 64]);
        other.device_to_host((&seen, 0), (&held, 0), 64).unwrap();
        other.synchronize().unwrap();
        assert_eq!(seen.with_bytes(|bytes| bytes.to_vec()).unwrap(), [0; 64]);
        gate.open();
        bed.stream.synchronize().unwrap();
        assert!(!gate.timed_out());
        assert_eq!(bed.read(&held), patterned(5, 64));
        gate.close();
        bed.stream
            .device_to_device((&held, 0), (&data, 0), 64)
            .unwrap();
        assert_eq!(bed.read(&held), [5; 64]);
        // The next round begins with zeros again.
        let zeros = bed.memory(&[0; 64]);
        bed.stream
            .device_to_device((&held, 0), (&zeros, 0), 64)
            .unwrap();
        bed.stream.synchronize().unwrap();
    }
}

pub(crate) fn a_gate_that_is_not_opened_gives_up_and_says_so<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let gate = bed.kernels.gate().unwrap();
    let (start, end) = (bed.device.event().unwrap(), bed.device.event().unwrap());
    bed.stream.record(&start).unwrap();
    bed.kernels.hold(&bed.stream, &gate, 3_000_000).unwrap();
    bed.stream.record(&end).unwrap();
    bed.stream.synchronize().unwrap();
    assert!(gate.timed_out());
    // It waited the 3 ms; how much longer it took is not judged.
    assert!(device::Event::nanoseconds_since(&end, &start).unwrap() >= 2_990_000.0);
    gate.close();
    assert!(!gate.timed_out(), "closing it forgets");
}

pub(crate) fn memory_is_in_use_until_its_stream_was_waited_for<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let gate = bed.kernels.gate().unwrap();
    let (host, memory) = (bed.host(&[3; 64]), bed.memory(&[0; 64]));
    bed.kernels.hold(&bed.stream, &gate, LONG_NS).unwrap();
    let places = (Place::Device(&memory, 0), Place::Host(&host, 0));
    bed.kernels
        .copy(&bed.stream, places.0, places.1, 64)
        .unwrap();
    let touched = host.with_bytes(|_| ());
    gate.open();
    bed.stream.synchronize().unwrap();
    assert!(
        matches!(touched, Err(DeviceError::BufferInUse)),
        "{touched:?}"
    );
    assert!(host.with_bytes(|_| ()).is_ok());
    // And the other way round.
    let inside = host.with_bytes(|_| {
        let places = (Place::Device(&memory, 0), Place::Host(&host, 0));
        bed.kernels.copy(&bed.stream, places.0, places.1, 64)
    });
    assert!(
        matches!(inside, Ok(Err(DeviceError::BufferInUse))),
        "{inside:?}"
    );
}

pub(crate) fn kernels_and_memory_may_be_dropped_with_work_in_flight<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let again = Bed::open(backend, 0);
    let gate = bed.kernels.gate().unwrap();
    let memory = bed.memory(&[1; 1 << 20]);
    let to = bed.memory(&[0; 1 << 20]);
    bed.kernels.hold(&bed.stream, &gate, LONG_NS).unwrap();
    let places = (Place::Device(&to, 0), Place::Device(&memory, 0));
    bed.kernels
        .copy(&bed.stream, places.0, places.1, 1 << 20)
        .unwrap();
    let Bed {
        stream, kernels, ..
    } = bed;
    drop((kernels, memory));
    gate.open();
    drop(gate);
    stream.synchronize().unwrap();
    assert!(again.read(&to) == [1; 1 << 20]);
}

pub(crate) fn a_graph_repeats_its_kernels<B: Backend>(backend: &B) {
    let bed = Bed::open(backend, 0);
    let data = patterned(6, 4096);
    let (from, to) = (bed.memory(&data), bed.memory(&[0; 4096]));
    let graph = bed.stream.capture(&mut || {
        let places = (Place::Device(&to, 0), Place::Device(&from, 0));
        bed.kernels.copy(&bed.stream, places.0, places.1, 4096)
    });
    let Some(graph) = graph.unwrap() else {
        return process::skip("a_graph_repeats_its_kernels", "the backend has no graphs");
    };
    assert_eq!(bed.read(&to), [0; 4096], "captured work is not done");
    for _ in 0..2 {
        bed.stream.launch(&graph).unwrap();
        assert_eq!(bed.read(&to), data);
        let zeros = bed.memory(&[0; 4096]);
        bed.stream
            .device_to_device((&to, 0), (&zeros, 0), 4096)
            .unwrap();
        bed.stream.synchronize().unwrap();
    }
    // The graph keeps the kernel that it launches.
    let Bed {
        stream,
        kernels,
        device,
    } = bed;
    drop(kernels);
    stream.launch(&graph).unwrap();
    stream.synchronize().unwrap();
    let again = Bed {
        kernels: Kernels::load(&device).unwrap(),
        stream,
        device,
    };
    assert_eq!(again.read(&to), data);
}

pub(crate) fn a_kernel_writes_to_a_peer_and_reads_from_it<B: Backend>(backend: &B) {
    let (near, far) = (Bed::open(backend, 0), Bed::open(backend, 1));
    if !near.device.can_access_peer(&far.device).unwrap() {
        let test = "a_kernel_writes_to_a_peer_and_reads_from_it";
        return process::skip(test, "device 0 cannot access device 1");
    }
    near.device.enable_peer(&far.device).unwrap();
    let data = patterned(7, 1 << 20);
    let (here, there) = (near.memory(&data), far.memory(&vec![0; 1 << 20]));
    let back = near.memory(&vec![0; 1 << 20]);
    for (to, from) in [(&there, &here), (&back, &there)] {
        let places = (Place::Device(to, 0), Place::Device(from, 0));
        near.kernels
            .copy(&near.stream, places.0, places.1, 1 << 20)
            .unwrap();
        near.stream.synchronize().unwrap();
    }
    // Each owner looks at its own memory.
    assert!(far.read(&there) == data, "written");
    assert!(near.read(&back) == data, "read");
    near.device.disable_peer(&far.device).unwrap();
}
