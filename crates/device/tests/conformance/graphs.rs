//! Facts about collectives in graphs, for any library, as every rank runs them.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use device::collectives::{
    Collectives, Communicator, Element, OPERATIONS, Operation, UniqueId, parts, width,
};
use device::{DeviceBuffer, Stream};

use crate::collectives::{BufferOf, Rank, UNTOUCHED};
use crate::numbers::{bytes_at, number};
use crate::ranks::Seat;

impl<C: Collectives> Rank<'_, C> {
    /// Captured calls are done at each launch and not before, with what the buffers then hold.
    pub(crate) fn repeats_captured_calls(&self) {
        let (element, elements) = (Element::Bf16, 777);
        let bytes = elements * width(element);
        let (from, to) = (
            self.memory(&self.own(element, 0..elements)),
            self.memory(&vec![UNTOUCHED; bytes]),
        );
        let stream = &self.bed.stream;
        // Connections are made at the first call of a size, which no capture should see.
        self.reduce((&to, 0), (&from, 0), elements, element)
            .unwrap();
        stream.synchronize().unwrap();
        let mut record = || {
            self.reduce((&to, 0), (&from, 0), elements, element)?;
            self.reduce((&to, 0), (&to, 0), elements, element)
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

    /// Every operation may be a part of one graph, in which each has buffers of its own.
    pub(crate) fn captures_every_operation(&self) {
        let (element, elements) = (Element::F16, 129);
        let buffers: Vec<_> = OPERATIONS
            .iter()
            .map(|operation| {
                let (reads, writes) = parts(*operation, self.seat.ranks);
                let untouched = vec![UNTOUCHED; writes * elements * width(element)];
                let own = self.own(element, 0..reads * elements);
                (*operation, self.memory(&own), self.memory(&untouched))
            })
            .collect();
        let stream = &self.bed.stream;
        let mut all = || {
            buffers.iter().try_for_each(|(operation, from, to)| {
                let (target, source) = ((to, 0), (from, 0));
                self.communicator
                    .queue(*operation, target, source, elements, element, stream)
            })
        };
        // Connections are made at the first call of a kind, which no capture should see.
        all().unwrap();
        stream.synchronize().unwrap();
        let Some(graph) = stream.capture(&mut all).unwrap() else {
            return;
        };
        let untouched = |to: &BufferOf<C>| self.memory(&vec![UNTOUCHED; to.len()]);
        for (_, _, to) in &buffers {
            let blank = untouched(to);
            stream
                .device_to_device((to, 0), (&blank, 0), to.len())
                .unwrap();
            stream.synchronize().unwrap();
        }
        for _ in 0..2 {
            stream.launch(&graph).unwrap();
        }
        stream.synchronize().unwrap();
        self.communicator.async_error().unwrap();
        for (operation, _, to) in &buffers {
            let outcome = self.outcome(*operation, element, elements);
            assert!(self.bed.read(to) == outcome, "{operation:?} in a graph");
        }
    }

    /// A second communicator of the same ranks: its id goes to all by an all-gather over the first one.
    fn another(&self) -> C::Communicator {
        let own = String::from(self.library.unique_id().unwrap());
        let ranks = self.seat.ranks as usize;
        let (from, to) = (
            self.memory(own.as_bytes()),
            self.memory(&vec![UNTOUCHED; ranks * own.len()]),
        );
        // A byte is two digits, so that their number is even; a gather moves bytes whatever they mean.
        let elements = own.len() / width(Element::F16);
        let (gather, element) = (Operation::AllGather, Element::F16);
        let (target, source, stream) = ((&to, 0), (&from, 0), &self.bed.stream);
        self.communicator
            .queue(gather, target, source, elements, element, stream)
            .unwrap();
        let first = self.bed.read(&to)[..own.len()].to_vec();
        let id = UniqueId::try_from(String::from_utf8(first).unwrap()).unwrap();
        let Seat { ranks, rank, .. } = *self.seat;
        self.library
            .join(&self.bed.device, &id, ranks, rank)
            .unwrap()
    }

    /// A captured call needs its communicator, which may be dropped before the launch.
    pub(crate) fn keeps_a_communicator_for_its_graphs(&self) {
        let (element, elements) = (Element::F32, 64);
        let own = self.own(element, 0..elements);
        let (from, to) = (self.memory(&own), self.memory(&vec![UNTOUCHED; own.len()]));
        let stream = &self.bed.stream;
        let capture = |communicator: &C::Communicator| {
            let (reduce, target, source) = (Operation::AllReduce, (&to, 0), (&from, 0));
            let mut record =
                || communicator.queue(reduce, target, source, elements, element, stream);
            stream.capture(&mut record).unwrap()
        };
        let dropped = self.another();
        let Some(graph) = capture(&dropped) else {
            return;
        };
        drop(dropped);
        stream.launch(&graph).unwrap();
        assert!(self.bed.read(&to) == self.sum(element, 0..elements));
        self.bed.works();
    }
}
