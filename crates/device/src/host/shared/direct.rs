//! Long messages without slots: each rank says where its buffers lie, and the others read them there.
//!
//! An operation is a step in which all say so, the work, and a step after which all have read. Nobody writes into another's memory:
//! a rank that is late after the others gave up cannot harm what they do next.

use std::num::NonZeroU32;

use super::operation::{Operation, Pieces};
use super::pages::Place;
use super::peers;
use super::reduce::sources;
use super::segment::SHORT;
use super::sum::add_up;
use super::turn::Turn;
use crate::collectives::Operation as Kind;
use crate::error::Result;
use crate::memory::Shown;

/// Bytes of a rank's part from which it is read in place; [`Direct::all_reduce`] has the times.
const LONG: usize = 64 << 10;

/// Where a rank's buffers lie, as far as others can open them.
struct Said {
    from: Option<Place>,
    to: Option<Place>,
}

/// Whether a message is read in place where it can be, by the bytes of a rank's part.
pub(super) fn is_worth_it(bytes: usize) -> bool {
    bytes >= LONG
}

/// Does an operation, unless a rank's memory cannot be read; all ranks find the same.
pub(super) fn is_done(operation: &Operation, turn: &mut Turn<'_>) -> Result<bool> {
    if turn.peers().is_refused() {
        return Ok(false);
    }
    let said = say(operation, turn)?;
    let Some(read) = buffers(operation.kind, &said) else {
        return Ok(false);
    };
    if !are_mapped(&read, turn)? {
        return Ok(false);
    }
    let direct = Direct { operation, said };
    let (ranks, rank) = (turn.membership.ranks, turn.membership.rank);
    let bytes = operation.part_bytes();
    match operation.kind {
        Kind::AllReduce => direct.all_reduce(turn)?,
        Kind::ReduceScatter => direct.add_up(turn, (0, rank as usize * bytes), bytes)?,
        Kind::AllGather => {
            for of in 0..ranks {
                direct.read(turn, of, of as usize * bytes)?;
            }
        }
        Kind::Broadcast => direct.read(turn, 0, 0)?,
        Kind::SendRecv => direct.read(turn, (rank + ranks - 1) % ranks, 0)?,
    }
    meet(turn)?;
    Ok(true)
}

/// A step without a message.
fn meet(turn: &mut Turn<'_>) -> Result<()> {
    let step = turn.begin()?;
    turn.arrive(step);
    turn.await_all(step)
}

/// Says where the own buffers lie, and gives what each rank said.
fn say(operation: &Operation, turn: &mut Turn<'_>) -> Result<Vec<Said>> {
    let step = turn.begin()?;
    let own = turn.message(turn.membership.rank, step, SHORT)?;
    own.set(0, bytes_of(operation.from.place()));
    own.set(PLACE, bytes_of(operation.to.place()));
    turn.arrive(step);
    turn.await_all(step)?;
    let said = |rank| {
        let said = turn.message(rank, step, SHORT)?;
        Ok(Said {
            from: place_of(said.get(0)),
            to: place_of(said.get(PLACE)),
        })
    };
    (0..turn.membership.ranks).map(said).collect()
}

/// Bytes of a place as it is said: number and descriptor, file, first byte; a number of 0 is none.
const PLACE: usize = 24;

const _: () = assert!(2 * PLACE <= SHORT);

fn bytes_of(place: Option<Place>) -> [u8; PLACE] {
    let mut bytes = [0; PLACE];
    if let Some(Place { shown, start }) = place {
        bytes[..4].copy_from_slice(&shown.number.get().to_ne_bytes());
        bytes[4..8].copy_from_slice(&shown.descriptor.to_ne_bytes());
        bytes[8..16].copy_from_slice(&shown.file.to_ne_bytes());
        bytes[16..].copy_from_slice(&(start as u64).to_ne_bytes());
    }
    bytes
}

fn place_of(bytes: [u8; PLACE]) -> Option<Place> {
    let (short, long) = (
        |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes),
        |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes),
    );
    let shown = Shown {
        number: NonZeroU32::new(short(0))?,
        descriptor: short(4),
        file: long(8),
    };
    let start = usize::try_from(long(16)).ok()?;
    Some(Place { shown, start })
}

/// The buffers that others read, in an order that is the same on all ranks; `None` where one of them is not shown.
fn buffers(kind: Kind, said: &[Said]) -> Option<Vec<(u32, Shown)>> {
    let mut buffers = Vec::new();
    for (rank, said) in (0..).zip(said) {
        if kind != Kind::Broadcast || rank == 0 {
            buffers.push((rank, said.from?.shown));
        }
        if kind == Kind::AllReduce {
            buffers.push((rank, said.to?.shown));
        }
    }
    Some(buffers)
}

/// Maps those that are not. Where a rank cannot, all try no more.
fn are_mapped(read: &[(u32, Shown)], turn: &mut Turn<'_>) -> Result<bool> {
    let mut new = Vec::new();
    for (rank, shown) in read {
        if !turn.peers().has(*rank, *shown) && !new.contains(&(*rank, *shown)) {
            new.push((*rank, *shown));
        }
    }
    if new.is_empty() {
        return Ok(true);
    }
    let own = turn.membership.rank;
    let mut mapped = Vec::new();
    for (rank, shown) in &new {
        let process = turn.membership.members().process(*rank);
        if *rank == own {
            mapped.push(Some(None));
        } else if let Some(process) = process {
            turn.peers().forget_gone(*rank, process);
            mapped.push(peers::map(process, *shown).ok().map(Some));
        } else {
            mapped.push(None);
        }
    }
    let step = turn.begin()?;
    let can = mapped.iter().all(Option::is_some);
    turn.message(own, step, 1)?.set(0, [u8::from(can)]);
    turn.arrive(step);
    turn.await_all(step)?;
    for rank in 0..turn.membership.ranks {
        if turn.message(rank, step, 1)?.get(0) == [0] {
            turn.peers().refuse();
            return Ok(false);
        }
    }
    for ((rank, shown), mapping) in new.into_iter().zip(mapped.into_iter().flatten()) {
        turn.peers().keep(rank, shown, mapping);
    }
    Ok(true)
}

/// An operation whose buffers all ranks can read.
struct Direct<'a> {
    operation: &'a Operation,
    said: Vec<Said>,
}

impl Direct<'_> {
    /// Each rank adds up its part, and then reads the others' sums. Also in place: of what a rank writes, nobody reads what was
    /// there.
    ///
    /// Two ranks on two cores of an EPYC (Zen 3, a virtual machine), f32 back to back, in us, with 12 launches at the least: the
    /// median over launches of the median of 5 batches. Lines go between the cores fast at some times and slowly at others;
    /// `written` are those where each rank writes all of `from` before each call, which is in the time.
    ///
    /// | bytes | fast: slots | here | slow: slots | here | written, fast: slots | here | slow: slots | here |
    /// |---|---|---|---|---|---|---|---|---|
    /// | 64 Ki | 10.4 | 6.7 | 33.4 | 18.1 | 11.6 | 10.0 | 33.1 | 26.2 |
    /// | 256 Ki | 33.0 | 24.0 | 124 | 64.2 | 37.8 | 31.9 | 126 | 93.9 |
    /// | 1 Mi | 125 | 79.3 | 489 | 237 | 153 | 112 | 515 | 369 |
    /// | 4 Mi | 621 | 363 | 2035 | 955 | 1099 | 811 | 2245 | 1383 |
    ///
    /// Where each of two ranks adds up all of both messages, 1 Mi takes 112 at both times as long as nobody writes `from`, and else
    /// 175 and 357.
    fn all_reduce(&self, turn: &mut Turn<'_>) -> Result<()> {
        let bytes = self.operation.part_bytes();
        let parts = Pieces::of(bytes, bytes, self.said.len());
        let (at, length) = parts.piece(turn.membership.rank as usize);
        self.add_up(turn, (at, at), length)?;
        meet(turn)?;
        for rank in turn.others() {
            let (at, length) = parts.piece(rank as usize);
            let sums = turn.mapped(rank, self.said[rank as usize].to, at, length)?;
            self.operation.to.range(at, length)?.copy_from(&sums)?;
        }
        Ok(())
    }

    /// Adds up some bytes of all ranks' `from`, from one place to another: (in `to`, in `from`).
    fn add_up(&self, turn: &Turn<'_>, (to, from): (usize, usize), bytes: usize) -> Result<()> {
        let (all, number) = sources(turn.membership.ranks, |rank| {
            if rank == turn.membership.rank {
                self.operation.from.range(from, bytes)
            } else {
                turn.mapped(rank, self.said[rank as usize].from, from, bytes)
            }
        })?;
        let to = self.operation.to.range(to, bytes)?;
        add_up(self.operation.element, &all[..number], &[to]);
        Ok(())
    }

    /// Reads all of a rank's `from` to a place in `to`.
    fn read(&self, turn: &Turn<'_>, rank: u32, to: usize) -> Result<()> {
        let bytes = self.operation.part_bytes();
        if rank == turn.membership.rank {
            return self.operation.keep(to, 0, bytes);
        }
        let part = turn.mapped(rank, self.said[rank as usize].from, 0, bytes)?;
        self.operation.to.range(to, bytes)?.copy_from(&part)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::{Backend, Device as _, HostKind, Stream as _};
    use crate::collectives::{Collectives, Communicator, Element};
    use crate::host::{Device, DeviceBuffer, Host, HostCommunicator, SharedMemory};
    use crate::memory::HostBuffer;

    const BYTES: usize = 2 * LONG;

    fn ordinary() -> HostBuffer {
        HostBuffer::from_pages(HostKind::Pageable, BYTES, None).unwrap()
    }

    /// Memory that is said to lie in a file which is not there.
    fn misnamed() -> HostBuffer {
        let memory = Arc::into_inner(ordinary().memory).unwrap();
        let nowhere = Shown {
            number: NonZeroU32::MAX,
            descriptor: u32::MAX,
            file: 0,
        };
        HostBuffer::new(memory.showing(nowhere), HostKind::Pageable)
    }

    /// What is kept of the ranks' buffers after two calls of a rank whose `from` is such: (buffers of each rank, refused).
    fn after_two_calls(
        rank: u32,
        device: &Device,
        communicator: &HostCommunicator,
        from: &DeviceBuffer,
    ) -> (Vec<usize>, bool) {
        let (stream, to) = (device.stream().unwrap(), device.alloc(BYTES).unwrap());
        for call in 1..3_u8 {
            let own = f32::from(call) * (rank as f32 + 1.0);
            let host = ordinary();
            let fill =
                |bytes: &mut [u8]| bytes.copy_from_slice(&own.to_ne_bytes().repeat(BYTES / 4));
            host.with_bytes(fill).unwrap();
            stream.host_to_device((from, 0), (&host, 0), BYTES).unwrap();
            let (kind, element) = (Kind::AllReduce, Element::F32);
            communicator
                .queue(kind, (&to, 0), (from, 0), BYTES / 4, element, &stream)
                .unwrap();
            stream.device_to_host((&host, 0), (&to, 0), BYTES).unwrap();
            stream.synchronize().unwrap();
            // Ranks 0 and 1 give 1 and 2 times the call's number.
            let sum = (3.0 * f32::from(call)).to_ne_bytes().repeat(BYTES / 4);
            assert!(host.with_bytes(|seen| *seen == *sum).unwrap(), "{call}");
        }
        let progress = communicator.0.progress.lock().unwrap();
        let peers = &progress.peers;
        (peers.numbers(), peers.is_refused())
    }

    /// The same of two ranks, whose `from` are such.
    fn with(first: &From, second: &From) -> [(Vec<usize>, bool); 2] {
        let library = SharedMemory::open(None).unwrap();
        let id = library.unique_id().unwrap();
        let rank = |rank: u32, from: &From| {
            let device = Host::open().unwrap().device(rank as usize).unwrap();
            let communicator = library.join(&device, &id, 2, rank).unwrap();
            after_two_calls(rank, &device, &communicator, &from(&device))
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| rank(1, second));
            [rank(0, first), other.join().unwrap()]
        })
    }

    /// How a rank comes by a buffer.
    type From = dyn Fn(&Device) -> DeviceBuffer + Sync;

    fn shown(device: &Device) -> DeviceBuffer {
        device.alloc(BYTES).unwrap()
    }

    #[test]
    fn long_messages_are_read_in_place_from_buffers_that_are_mapped_once() {
        // Two of each rank, after two calls.
        let kept = (vec![2, 2], false);
        let found = with(&shown, &shown);
        assert_eq!(found, [kept.clone(), kept]);
    }

    #[test]
    fn a_rank_whose_memory_lies_in_no_file_makes_all_use_slots() {
        let found = with(&shown, &|_| DeviceBuffer(ordinary()));
        assert_eq!(found, [(vec![], false), (vec![], false)]);
    }

    #[test]
    fn a_rank_whose_memory_cannot_be_opened_makes_all_use_slots_from_then_on() {
        let found = with(&shown, &|_| DeviceBuffer(misnamed()));
        assert_eq!(found, [(vec![], true), (vec![], true)]);
    }
}
