//! Facts about collectives, for any library, as every rank runs them.
//!
//! Values are small whole numbers, which all types hold exactly, and so are their sums: rounding is no part of these facts.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::collectives::{Collectives, Communicator, Element, UniqueId};
use device::{Backend, Device, DeviceBuffer, DeviceError, Event, Stream};

use crate::bed::{Bed, touch};
use crate::ranks::Seat;

type DeviceOf<C> = <<C as Collectives>::Backend as Backend>::Device;

const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];
/// What a byte holds that nothing should write.
const UNTOUCHED: u8 = 0xee;

/// The whole number of a rank at an index, from -15 to 15.
fn number(rank: u32, index: usize) -> i32 {
    (index * 7 + rank as usize * 13) as i32 % 31 - 15
}

/// The bytes of a whole number below 2048, after IEEE 754: sign, power of two of the first digit, the digits behind it.
fn bytes_of(element: Element, value: i32) -> Vec<u8> {
    let magnitude = value.unsigned_abs();
    let bits = |exponent_bits: u32, fraction_bits: u32| {
        let sign = u32::from(value < 0) << (exponent_bits + fraction_bits);
        let Some(power) = magnitude.checked_ilog2() else {
            return sign;
        };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let fraction = (magnitude << fraction_bits >> power) & ((1 << fraction_bits) - 1);
        sign | (power + bias) << fraction_bits | fraction
    };
    match element {
        Element::F32 => bits(8, 23).to_ne_bytes().to_vec(),
        Element::F16 => (bits(5, 10) as u16).to_ne_bytes().to_vec(),
        Element::Bf16 => (bits(8, 7) as u16).to_ne_bytes().to_vec(),
    }
}

/// The bytes of many numbers; tables, because these are millions.
fn bytes_at(
    element: Element,
    indices: std::ops::Range<usize>,
    number: impl Fn(usize) -> i32,
) -> Vec<u8> {
    let known: Vec<Vec<u8>> = (-300..=300).map(|value| bytes_of(element, value)).collect();
    let mut bytes = Vec::with_capacity(indices.len() * element.bytes());
    for index in indices {
        bytes.extend_from_slice(&known[(number(index) + 300) as usize]);
    }
    bytes
}

/// A rank's device, stream and communicator.
pub(crate) struct Rank<'a, C: Collectives> {
    bed: Bed<DeviceOf<C>>,
    communicator: C::Communicator,
    seat: &'a Seat,
}

impl<'a, C: Collectives> Rank<'a, C> {
    /// Joins with the device of the rank's number.
    pub(crate) fn join(library: &C, backend: &C::Backend, seat: &'a Seat) -> Self {
        let bed = Bed::open(backend, seat.rank as usize);
        let communicator = seat.join(library, &bed.device);
        Self {
            bed,
            communicator,
            seat,
        }
    }

    fn own(&self, element: Element, indices: std::ops::Range<usize>) -> Vec<u8> {
        bytes_at(element, indices, |index| number(self.seat.rank, index))
    }

    fn sum(&self, element: Element, indices: std::ops::Range<usize>) -> Vec<u8> {
        let ranks = self.seat.ranks;
        bytes_at(element, indices, |index| {
            (0..ranks).map(|rank| number(rank, index)).sum()
        })
    }

    fn memory(&self, bytes: &[u8]) -> <DeviceOf<C> as Device>::DeviceBuffer {
        let host = self.bed.host(bytes.len());
        host.with_bytes(|to| to.copy_from_slice(bytes)).unwrap();
        let memory = self.bed.device.alloc(bytes.len()).unwrap();
        let stream = &self.bed.stream;
        stream
            .host_to_device((&memory, 0), (&host, 0), bytes.len())
            .unwrap();
        stream.synchronize().unwrap();
        memory
    }

    /// Both ways of an all-reduce, at offsets that are no multiple of anything but the element.
    fn reduces(&self, element: Element, elements: usize) {
        let (bytes, offset) = (elements * element.bytes(), 3 * element.bytes());
        let own = self.own(element, 0..elements);
        let sum = self.sum(element, 0..elements);
        let around = [UNTOUCHED; 12];
        let padded = |inner: &[u8]| [&around[..offset], inner, &around[..]].concat();
        let from = self.memory(&padded(&own));
        let to = self.memory(&padded(&vec![UNTOUCHED; bytes]));
        let stream = &self.bed.stream;
        for (to, from) in [(&to, &from), (&from, &from)] {
            self.communicator
                .all_reduce((to, offset), (from, offset), elements, element, stream)
                .unwrap();
        }
        stream.synchronize().unwrap();
        self.communicator.async_error().unwrap();
        for (way, memory) in [("out of place", &to), ("in place", &from)] {
            assert!(
                self.bed.read(memory) == padded(&sum),
                "{element:?} {elements} {way}"
            );
        }
    }

    /// Both ways of an all-gather.
    fn gathers(&self, element: Element, elements: usize) {
        let (ranks, rank) = (self.seat.ranks as usize, self.seat.rank as usize);
        let bytes = elements * element.bytes();
        let of = |rank: usize| bytes_at(element, 0..elements, |index| number(rank as u32, index));
        let all: Vec<u8> = (0..ranks).flat_map(of).collect();
        let from = self.memory(&of(rank));
        let to = self.memory(&vec![UNTOUCHED; ranks * bytes]);
        let mut placed = vec![UNTOUCHED; ranks * bytes];
        placed[rank * bytes..(rank + 1) * bytes].copy_from_slice(&of(rank));
        let in_place = self.memory(&placed);
        let stream = &self.bed.stream;
        self.communicator
            .all_gather((&to, 0), (&from, 0), elements, element, stream)
            .unwrap();
        self.communicator
            .all_gather(
                (&in_place, 0),
                (&in_place, rank * bytes),
                elements,
                element,
                stream,
            )
            .unwrap();
        stream.synchronize().unwrap();
        self.communicator.async_error().unwrap();
        for (way, memory) in [("out of place", &to), ("in place", &in_place)] {
            assert!(self.bed.read(memory) == all, "{element:?} {elements} {way}");
        }
    }

    /// All types at sizes around the borders of blocks and slots of the host's library, and at one large one.
    pub(crate) fn delivers_sums_and_gathers_of_all_types_and_sizes(&self, large: usize) {
        for element in ELEMENTS {
            for elements in [1, 2, 3, 1023, 2049, 131_071, 262_145] {
                self.reduces(element, elements);
            }
            for elements in [1, 1025, 262_145] {
                self.gathers(element, elements);
            }
            self.reduces(element, large / element.bytes());
        }
    }

    /// Many calls, each with numbers of its own, queued one after another and waited for once.
    pub(crate) fn keeps_the_order_of_a_thousand_calls(&self) {
        const CALLS: usize = 1000;
        const EACH: usize = 5;
        let (element, bytes) = (Element::F16, EACH * Element::F16.bytes());
        let from = self.memory(&self.own(element, 0..CALLS * EACH));
        let to = self.memory(&vec![UNTOUCHED; CALLS * bytes]);
        let (start, end) = (
            self.bed.device.event().unwrap(),
            self.bed.device.event().unwrap(),
        );
        let stream = &self.bed.stream;
        stream.record(&start).unwrap();
        for call in 0..CALLS {
            let at = call * bytes;
            self.communicator
                .all_reduce((&to, at), (&from, at), EACH, element, stream)
                .unwrap();
        }
        stream.record(&end).unwrap();
        stream.synchronize().unwrap();
        assert!(self.bed.read(&to) == self.sum(element, 0..CALLS * EACH));
        assert!(end.nanoseconds_since(&start).unwrap() > 0.0);
    }

    /// Captured calls are done at each launch and not before, with what the buffers then hold.
    pub(crate) fn repeats_captured_calls(&self) {
        let (element, elements) = (Element::Bf16, 777);
        let bytes = elements * element.bytes();
        let (from, to) = (
            self.memory(&self.own(element, 0..elements)),
            self.memory(&vec![UNTOUCHED; bytes]),
        );
        let stream = &self.bed.stream;
        // Connections are made at the first call of a size, which no capture should see.
        self.communicator
            .all_reduce((&to, 0), (&from, 0), elements, element, stream)
            .unwrap();
        stream.synchronize().unwrap();
        let mut record = || {
            let call = |to, from| {
                self.communicator
                    .all_reduce(to, from, elements, element, stream)
            };
            call((&to, 0), (&from, 0))?;
            call((&to, 0), (&to, 0))
        };
        let Some(graph) = stream.capture(&mut record).unwrap() else {
            return;
        };
        assert!(
            self.bed.read(&to) == self.sum(element, 0..elements),
            "the capture did work"
        );
        // The sum of the sums is as many times the sum as there are ranks: within +-15 * 4 * 4, which 8 bits hold.
        let ranks = self.seat.ranks as i32;
        let twice = bytes_at(element, 0..elements, |index| {
            ranks
                * (0..self.seat.ranks)
                    .map(|rank| number(rank, index))
                    .sum::<i32>()
        });
        for _ in 0..3 {
            stream.launch(&graph).unwrap();
        }
        stream.synchronize().unwrap();
        assert!(self.bed.read(&to) == twice);
        self.communicator.async_error().unwrap();
    }

    /// What cannot be done is refused before anything is queued, and holds nothing.
    pub(crate) fn refuses_what_cannot_be_done(&self) {
        let (memory, stream) = (self.memory(&[0; 64]), &self.bed.stream);
        let reduce = |to, from, elements| {
            let (to, from) = ((&memory, to), (&memory, from));
            self.communicator
                .all_reduce(to, from, elements, Element::F16, stream)
        };
        for outside in [reduce(0, 0, 33), reduce(2, 2, 32), reduce(66, 66, 1)] {
            assert!(
                matches!(outside, Err(DeviceError::OutOfRange { .. })),
                "{outside:?}"
            );
        }
        for wrong in [
            reduce(0, 1, 1),
            reduce(1, 1, 1),
            reduce(0, 2, 8),
            reduce(0, 0, usize::MAX),
        ] {
            assert!(
                matches!(wrong, Err(DeviceError::Argument { .. })),
                "{wrong:?}"
            );
        }
        // All ranks' elements are more than the 32 that there is room for.
        let (own, elements) = (self.memory(&[0; 66]), 32 / self.seat.ranks as usize + 1);
        let gather =
            self.communicator
                .all_gather((&memory, 0), (&own, 0), elements, Element::F16, stream);
        assert!(
            matches!(gather, Err(DeviceError::OutOfRange { .. })),
            "{gather:?}"
        );
        reduce(0, 0, 0).unwrap();
        self.reduces(Element::F32, 4);
    }

    /// Buffers may be dropped while they are reduced, and the communicator too.
    pub(crate) fn may_be_dropped_with_work_in_flight(self) {
        let elements = 300_001;
        let (own, sum) = (
            self.own(Element::F32, 0..elements),
            self.sum(Element::F32, 0..elements),
        );
        let (from, to) = (self.memory(&own), self.memory(&own));
        let host = self.bed.host(to.len());
        let (bed, communicator) = (&self.bed, self.communicator);
        communicator
            .all_reduce((&to, 0), (&from, 0), elements, Element::F32, &bed.stream)
            .unwrap();
        bed.stream
            .device_to_host((&host, 0), (&to, 0), host.len())
            .unwrap();
        drop((from, to, communicator));
        assert!(matches!(touch(&host), Err(DeviceError::BufferInUse)));
        bed.stream.synchronize().unwrap();
        assert!(host.with_bytes(|bytes| *bytes == *sum).unwrap());
    }

    /// A second communicator of the same ranks: its id goes to all by an all-gather over the first one.
    fn another(&self, library: &C) -> C::Communicator {
        let own = String::from(library.unique_id().unwrap());
        let ranks = self.seat.ranks as usize;
        let (from, to) = (
            self.memory(own.as_bytes()),
            self.memory(&vec![UNTOUCHED; ranks * own.len()]),
        );
        // A byte is two digits, so that their number is even; a gather moves bytes whatever they mean.
        let elements = own.len() / Element::F16.bytes();
        self.communicator
            .all_gather(
                (&to, 0),
                (&from, 0),
                elements,
                Element::F16,
                &self.bed.stream,
            )
            .unwrap();
        let first = self.bed.read(&to)[..own.len()].to_vec();
        let id = UniqueId::try_from(String::from_utf8(first).unwrap()).unwrap();
        let Seat { ranks, rank, .. } = *self.seat;
        library.join(&self.bed.device, &id, ranks, rank).unwrap()
    }

    /// A captured call needs its communicator, which may be dropped before the launch and not be aborted.
    pub(crate) fn keeps_a_communicator_for_its_graphs(&self, library: &C) {
        let (element, elements) = (Element::F32, 64);
        let own = self.own(element, 0..elements);
        let (from, to) = (self.memory(&own), self.memory(&vec![UNTOUCHED; own.len()]));
        let stream = &self.bed.stream;
        let capture = |communicator: &C::Communicator| {
            let mut record =
                || communicator.all_reduce((&to, 0), (&from, 0), elements, element, stream);
            stream.capture(&mut record).unwrap()
        };
        let dropped = self.another(library);
        let Some(graph) = capture(&dropped) else {
            return;
        };
        drop(dropped);
        stream.launch(&graph).unwrap();
        assert!(self.bed.read(&to) == self.sum(element, 0..elements));
        let aborted = self.another(library);
        let graph = capture(&aborted).unwrap();
        aborted.abort();
        let refused = stream.launch(&graph);
        assert!(
            matches!(refused, Err(DeviceError::CommunicatorBroken { .. })),
            "{refused:?}"
        );
        self.bed.works();
    }
}
