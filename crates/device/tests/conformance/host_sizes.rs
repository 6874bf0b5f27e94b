//! Known answers of the host's collectives at the lengths where they change their way: one line, one-shot, a slot, several.
//!
//! Ranks are threads here; as processes, and with dying ranks, they are in the conformance tests.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::collectives::{Collectives, Communicator, Element, Operation, UniqueId};
use device::host::{Host, SharedMemory};
use device::{Backend, Device, HostKind, Stream};

const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];

/// Bytes of one rank's part: what fits beside a slot's head, a line, both limits of one-shot, a slot, and several pieces.
const BORDERS: [usize; 6] = [48, 64, 8 << 10, 32 << 10, 64 << 10, 200_000];

/// The bytes of 0 to 8, by hand from the definitions: all are exact in every type, and so are the sums of four values up to 2.
fn bytes_of(element: Element, value: usize) -> Vec<u8> {
    const F16: [u16; 9] = [
        0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800,
    ];
    let single = value as f32;
    match element {
        Element::F32 => single.to_ne_bytes().to_vec(),
        Element::F16 => F16[value].to_ne_bytes().to_vec(),
        // The upper half of a binary32.
        Element::Bf16 => ((single.to_bits() >> 16) as u16).to_ne_bytes().to_vec(),
    }
}

/// The value from 0 to 2 that a rank has at an index; neighbours differ, and ranks do.
fn value(rank: usize, index: usize) -> usize {
    (index + index / 3 + index / 1000 + 2 * rank) % 3
}

fn bytes_at(element: Element, count: usize, value: impl Fn(usize) -> usize) -> Vec<u8> {
    let known: Vec<Vec<u8>> = (0..9).map(|value| bytes_of(element, value)).collect();
    (0..count)
        .flat_map(|index| &known[value(index)])
        .copied()
        .collect()
}

/// What a rank contributes, what it then has, and where it is in place: (in `to`, in `from`), in elements.
fn answer(
    operation: Operation,
    (ranks, rank): (usize, usize),
    part: usize,
    element: Element,
) -> (Vec<u8>, Vec<u8>, Option<(usize, usize)>) {
    let of = |rank: usize, count| bytes_at(element, count, |index| value(rank, index));
    let sum = |from: usize| {
        bytes_at(element, part, |index| {
            (0..ranks).map(|rank| value(rank, from + index)).sum()
        })
    };
    match operation {
        Operation::AllReduce => (of(rank, part), sum(0), Some((0, 0))),
        Operation::ReduceScatter => (
            of(rank, ranks * part),
            sum(rank * part),
            Some((rank * part, 0)),
        ),
        Operation::AllGather => (
            of(rank, part),
            (0..ranks).flat_map(|rank| of(rank, part)).collect(),
            Some((0, rank * part)),
        ),
    }
}

/// One rank: every operation at every length, apart and in place.
fn rank_of(library: &SharedMemory, id: &UniqueId, ranks: u32, rank: u32, element: Element) {
    const UNTOUCHED: u8 = 0xee;
    let device = Host::open().unwrap().device(rank as usize).unwrap();
    let communicator = library.join(&device, id, ranks, rank).unwrap();
    let stream = device.stream().unwrap();
    let each = element.bytes();
    let around = BORDERS
        .iter()
        .flat_map(|bytes| [bytes / each - 1, bytes / each, bytes / each + 1]);
    for part in std::iter::once(1).chain(around) {
        for operation in Operation::ALL {
            let who = (ranks as usize, rank as usize);
            let (from, to, place) = answer(operation, who, part, element);
            // Apart in one buffer, `to` first; in place in one that both share.
            let apart = (0, to.len(), to.len() + from.len());
            let shared = place
                .map(|(to_at, from_at)| (to_at * each, from_at * each, to.len().max(from.len())));
            for (to_at, from_at, length) in [Some(apart), shared].into_iter().flatten() {
                let mut bytes = vec![UNTOUCHED; length];
                bytes[from_at..][..from.len()].copy_from_slice(&from);
                let (host, memory) = (
                    device.alloc_host(HostKind::Pageable, length, None).unwrap(),
                    device.alloc(length).unwrap(),
                );
                host.with_bytes(|to| to.copy_from_slice(&bytes)).unwrap();
                stream
                    .host_to_device((&memory, 0), (&host, 0), length)
                    .unwrap();
                communicator
                    .queue(
                        operation,
                        (&memory, to_at),
                        (&memory, from_at),
                        part,
                        element,
                        &stream,
                    )
                    .unwrap();
                stream
                    .device_to_host((&host, 0), (&memory, 0), length)
                    .unwrap();
                stream.synchronize().unwrap();
                let is_right = host
                    .with_bytes(|seen| seen[to_at..][..to.len()] == *to)
                    .unwrap();
                let what = (operation, element.name(), part, who);
                assert!(is_right, "{what:?}, {from_at} to {to_at}");
            }
        }
    }
}

#[test]
fn every_operation_is_right_around_the_lengths_where_ways_change() {
    // 1 rank, two, and twice as many as some machines have CPUs.
    for ranks in [1, 2, 4] {
        for element in ELEMENTS {
            let library = SharedMemory::open(None).unwrap();
            let id = library.unique_id().unwrap();
            std::thread::scope(|scope| {
                for rank in 0..ranks {
                    let (library, id) = (&library, &id);
                    scope.spawn(move || rank_of(library, id, ranks, rank, element));
                }
            });
        }
    }
}

/// One rank: calls in place on one buffer, each with bytes of its own that were written just before and are read just after.
fn changes(library: &SharedMemory, id: &UniqueId, ranks: u32, rank: u32) {
    const CALLS: usize = 60;
    const BYTES: usize = 128 << 10;
    let device = Host::open().unwrap().device(rank as usize).unwrap();
    let communicator = library.join(&device, id, ranks, rank).unwrap();
    let (stream, memory) = (device.stream().unwrap(), device.alloc(BYTES).unwrap());
    let all = || {
        device
            .alloc_host(HostKind::Pageable, CALLS * BYTES, None)
            .unwrap()
    };
    let filled = |value: &dyn Fn(usize) -> usize| -> Vec<u8> {
        (0..CALLS)
            .flat_map(|call| (value(call) as f32).to_ne_bytes().repeat(BYTES / 4))
            .collect()
    };
    let (own, sums) = (all(), all());
    let value = |call: usize, rank: u32| call * 10 + rank as usize;
    let bytes = filled(&|call| value(call, rank));
    own.with_bytes(|to| to.copy_from_slice(&bytes)).unwrap();
    for call in 0..CALLS {
        let (at, place) = (call * BYTES, (&memory, 0));
        stream.host_to_device(place, (&own, at), BYTES).unwrap();
        let (kind, element) = (Operation::AllReduce, Element::F32);
        communicator
            .queue(kind, place, place, BYTES / 4, element, &stream)
            .unwrap();
        stream.device_to_host((&sums, at), place, BYTES).unwrap();
    }
    stream.synchronize().unwrap();
    let right = filled(&|call| (0..ranks).map(|rank| value(call, rank)).sum());
    assert!(sums.with_bytes(|seen| *seen == *right).unwrap(), "{rank}");
}

#[test]
fn a_buffer_may_change_as_soon_as_its_call_is_done() {
    for ranks in [2, 3] {
        let library = SharedMemory::open(None).unwrap();
        let id = library.unique_id().unwrap();
        std::thread::scope(|scope| {
            for rank in 0..ranks {
                let (library, id) = (&library, &id);
                scope.spawn(move || changes(library, id, ranks, rank));
            }
        });
    }
}
