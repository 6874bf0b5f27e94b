//! Facts about collectives, for any library, as every rank runs them.
//!
//! Values are small whole numbers, which all types hold exactly, and so are their sums: rounding is no part of these facts.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use std::ops::Range;

use device::collectives::{
    Collectives, Communicator, ELEMENTS, Element, OPERATIONS, Operation, parts, width,
};
use device::{Backend, Device, DeviceBuffer, DeviceError, Event, Result, Stream, VisitCollectives};

use crate::bed::{Bed, touch};
use crate::numbers::{bytes_at, number, of_rank};
use crate::ranks::Seat;

type DeviceOf<C> = <<C as Collectives>::Backend as Backend>::Device;
pub(crate) type BufferOf<C> = <DeviceOf<C> as Device>::DeviceBuffer;

/// What a byte holds that nothing should write.
pub(crate) const UNTOUCHED: u8 = 0xee;

/// All facts, on one rank of a library's communicator.
pub(crate) struct Conform<'a> {
    pub(crate) seat: &'a Seat,
    /// Bytes of the largest call.
    pub(crate) large: usize,
    /// The box whose simulated library must answer.
    pub(crate) soft_box: Option<&'a str>,
}

impl VisitCollectives for Conform<'_> {
    type Output = ();

    fn visit<C: Collectives>(self) {
        let library = C::open(None).unwrap();
        let facts = library.facts();
        assert_eq!(facts.soft_box.as_deref(), self.soft_box, "{facts:?}");
        let backend = C::Backend::open().unwrap();
        let rank = Rank::join(&library, &backend, self.seat);
        rank.does_every_operation_on_every_element(self.large);
        rank.keeps_the_order_of_a_thousand_calls();
        rank.repeats_captured_calls();
        rank.captures_every_operation();
        rank.refuses_what_cannot_be_done();
        rank.keeps_a_communicator_for_its_graphs();
        rank.may_be_dropped_with_work_in_flight();
    }
}

/// How many real devices a library's backend has, or why there is no real library.
pub(crate) struct DevicesOf;

impl VisitCollectives for DevicesOf {
    type Output = Result<usize>;

    fn visit<C: Collectives>(self) -> Result<usize> {
        let backend = C::Backend::open()?;
        C::open(None)?;
        Ok(backend.devices().len())
    }
}

/// A rank's device, stream and communicator.
pub(crate) struct Rank<'a, C: Collectives> {
    pub(crate) bed: Bed<DeviceOf<C>>,
    pub(crate) communicator: C::Communicator,
    pub(crate) library: &'a C,
    pub(crate) seat: &'a Seat,
}

impl<'a, C: Collectives> Rank<'a, C> {
    /// Joins with the device of the rank's number.
    fn join(library: &'a C, backend: &C::Backend, seat: &'a Seat) -> Self {
        let bed = Bed::open(backend, seat.rank as usize);
        let communicator = seat.join(library, &bed.device);
        Self {
            bed,
            communicator,
            library,
            seat,
        }
    }

    pub(crate) fn own(&self, element: Element, indices: Range<usize>) -> Vec<u8> {
        of_rank(element, self.seat.rank, indices)
    }

    pub(crate) fn sum(&self, element: Element, indices: Range<usize>) -> Vec<u8> {
        let ranks = self.seat.ranks;
        bytes_at(element, indices, |index| {
            (0..ranks).map(|rank| number(rank, index)).sum()
        })
    }

    /// What this rank has after an operation, by what [`Operation`] says.
    pub(crate) fn outcome(
        &self,
        operation: Operation,
        element: Element,
        elements: usize,
    ) -> Vec<u8> {
        let (rank, ranks) = (self.seat.rank, self.seat.ranks);
        match operation {
            Operation::AllReduce => self.sum(element, 0..elements),
            Operation::AllGather => (0..ranks)
                .flat_map(|rank| of_rank(element, rank, 0..elements))
                .collect(),
            Operation::ReduceScatter => {
                let first = rank as usize * elements;
                self.sum(element, first..first + elements)
            }
            other => panic!("{other} is not called"),
        }
    }

    pub(crate) fn memory(&self, bytes: &[u8]) -> BufferOf<C> {
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

    /// An all-reduce.
    pub(crate) fn reduce(
        &self,
        to: (&BufferOf<C>, usize),
        from: (&BufferOf<C>, usize),
        elements: usize,
        element: Element,
    ) -> Result<()> {
        let (operation, stream) = (Operation::AllReduce, &self.bed.stream);
        self.communicator
            .queue(operation, to, from, elements, element, stream)
    }

    /// An operation from one buffer to another, at offsets that are no multiple of anything but the element.
    fn delivers_apart(&self, operation: Operation, element: Element, elements: usize) {
        let offset = 3 * width(element);
        let (reads, writes) = parts(operation, self.seat.ranks);
        let around = [UNTOUCHED; 12];
        let padded = |inner: &[u8]| [&around[..offset], inner, &around[..]].concat();
        let own = padded(&self.own(element, 0..reads * elements));
        let untouched = vec![UNTOUCHED; writes * elements * width(element)];
        let (from, to) = (self.memory(&own), self.memory(&padded(&untouched)));
        let stream = &self.bed.stream;
        let (target, source) = ((&to, offset), (&from, offset));
        self.communicator
            .queue(operation, target, source, elements, element, stream)
            .unwrap();
        stream.synchronize().unwrap();
        self.communicator.async_error().unwrap();
        let outcome = self.outcome(operation, element, elements);
        assert!(
            self.bed.read(&to) == padded(&outcome),
            "{operation:?} {element:?} {elements}"
        );
        assert!(
            self.bed.read(&from) == own,
            "{operation:?} {element:?} {elements} wrote what it should read"
        );
    }

    /// An operation in place, where it has one.
    fn delivers_in_place(&self, operation: Operation, element: Element, elements: usize) {
        let (part, rank) = (elements * width(element), self.seat.rank as usize);
        let (reads, writes) = parts(operation, self.seat.ranks);
        let offset = 3 * width(element);
        let mut bytes = vec![UNTOUCHED; offset + reads.max(writes) * part + 12];
        // Where it reads from and writes to.
        let (from, to) = match operation {
            Operation::AllReduce => (offset, offset),
            Operation::AllGather => (offset + rank * part, offset),
            Operation::ReduceScatter => (offset, offset + rank * part),
            other => panic!("{other} is not called"),
        };
        let own = self.own(element, 0..reads * elements);
        bytes[from..from + own.len()].copy_from_slice(&own);
        let (memory, stream) = (self.memory(&bytes), &self.bed.stream);
        let (target, source) = ((&memory, to), (&memory, from));
        self.communicator
            .queue(operation, target, source, elements, element, stream)
            .unwrap();
        stream.synchronize().unwrap();
        self.communicator.async_error().unwrap();
        let outcome = self.outcome(operation, element, elements);
        let read = self.bed.read(&memory);
        assert!(
            read[to..to + writes * part] == outcome,
            "{operation:?} {element:?} {elements} in place"
        );
        let is_untouched = |bytes: &[u8]| bytes.iter().all(|byte| *byte == UNTOUCHED);
        assert!(
            is_untouched(&read[..offset]) && is_untouched(&read[read.len() - 12..]),
            "{operation:?} {element:?} {elements} wrote around its place"
        );
    }

    /// At sizes around the borders of blocks and slots of the host's library, and at one large one.
    fn does_every_operation_on_every_element(&self, large: usize) {
        for operation in OPERATIONS {
            for element in ELEMENTS {
                let is_first = operation == Operation::AllReduce;
                let sizes: &[usize] = if is_first {
                    &[1, 2, 3, 1023, 2049, 131_071, 262_145]
                } else {
                    &[1, 1025, 65_537]
                };
                for elements in sizes {
                    self.delivers_apart(operation, element, *elements);
                    self.delivers_in_place(operation, element, *elements);
                }
                if element == Element::Bf16 {
                    let (reads, writes) = parts(operation, self.seat.ranks);
                    let most = large / width(element) / reads.max(writes);
                    self.delivers_apart(operation, element, most);
                }
            }
        }
    }

    /// Many calls, each with numbers of its own, queued one after another and waited for once.
    fn keeps_the_order_of_a_thousand_calls(&self) {
        const CALLS: usize = 1000;
        const EACH: usize = 5;
        let (element, bytes) = (Element::F16, EACH * width(Element::F16));
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
            self.reduce((&to, at), (&from, at), EACH, element).unwrap();
        }
        stream.record(&end).unwrap();
        stream.synchronize().unwrap();
        assert!(self.bed.read(&to) == self.sum(element, 0..CALLS * EACH));
        assert!(end.nanoseconds_since(&start).unwrap() > 0.0);
    }

    /// What cannot be done is refused before anything is queued, and holds nothing.
    fn refuses_what_cannot_be_done(&self) {
        let (memory, stream) = (self.memory(&[0; 64]), &self.bed.stream);
        let call = |operation, to, from, elements| {
            let (to, from) = ((&memory, to), (&memory, from));
            self.communicator
                .queue(operation, to, from, elements, Element::F16, stream)
        };
        let reduce = |to, from, elements| call(Operation::AllReduce, to, from, elements);
        let (ranks, rank) = (self.seat.ranks as usize, self.seat.rank as usize);
        for outside in [
            reduce(0, 0, 33),
            reduce(2, 2, 32),
            reduce(66, 66, 1),
            // Their place is right, and all ranks' parts are more than the 64 bytes.
            call(Operation::AllGather, 0, rank * 64, 32),
            call(Operation::ReduceScatter, rank * 64, 0, 32),
        ] {
            assert!(
                matches!(outside, Err(DeviceError::OutOfRange { .. })),
                "{outside:?}"
            );
        }
        // The place of another rank's part; of the only rank there is none.
        let other = (rank + 1) % ranks * 4;
        for wrong in [
            reduce(0, 1, 1),
            reduce(1, 1, 1),
            reduce(0, 2, 8),
            reduce(0, 0, usize::MAX),
        ]
        .into_iter()
        .chain((ranks > 1).then(|| call(Operation::AllGather, 0, other, 2)))
        .chain((ranks > 1).then(|| call(Operation::ReduceScatter, other, 0, 2)))
        {
            assert!(
                matches!(wrong, Err(DeviceError::Argument { .. })),
                "{wrong:?}"
            );
        }
        // All ranks' elements are more than the 32 that there is room for.
        let (own, elements) = (self.memory(&[0; 66]), 32 / ranks + 1);
        let (to, from) = ((&memory, 0), (&own, 0));
        let gather = Operation::AllGather;
        let gather = self
            .communicator
            .queue(gather, to, from, elements, Element::F16, stream);
        assert!(
            matches!(gather, Err(DeviceError::OutOfRange { .. })),
            "{gather:?}"
        );
        for operation in OPERATIONS {
            self.communicator
                .queue(operation, (&own, 0), (&memory, 0), 0, Element::F16, stream)
                .unwrap();
        }
        self.delivers_apart(Operation::AllReduce, Element::F32, 4);
    }

    /// Buffers may be dropped while they are reduced, and the communicator too.
    fn may_be_dropped_with_work_in_flight(self) {
        let elements = 300_001;
        let (own, sum) = (
            self.own(Element::F32, 0..elements),
            self.sum(Element::F32, 0..elements),
        );
        let (from, to) = (self.memory(&own), self.memory(&own));
        let host = self.bed.host(to.len());
        let (bed, communicator) = (&self.bed, self.communicator);
        let (operation, element) = (Operation::AllReduce, Element::F32);
        communicator
            .queue(
                operation,
                (&to, 0),
                (&from, 0),
                elements,
                element,
                &bed.stream,
            )
            .unwrap();
        bed.stream
            .device_to_host((&host, 0), (&to, 0), host.len())
            .unwrap();
        drop((from, to, communicator));
        assert!(matches!(touch(&host), Err(DeviceError::BufferInUse)));
        bed.stream.synchronize().unwrap();
        assert!(host.with_bytes(|bytes| *bytes == *sum).unwrap());
    }
}
