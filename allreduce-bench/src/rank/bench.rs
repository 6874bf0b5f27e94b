//! One rank's device, communicator and buffers: opening, joining, the call that was asked for, and whether its result is right.
//!
//! How calls are timed is in `timing`.

use std::cell::Cell;
use std::path::Path;

use device::collectives::{Collectives, Communicator, Element, Operation, UniqueId};
use device::{Backend, Device, DeviceBuffer, DeviceError, HostBuffer, HostKind, Result, Stream};
use program::Effort;
use record::{CollectiveKind, ElementType, LibraryFacts, Verification};

use super::gap::{Gap, pool_bytes};
use super::sums::Sums;
use crate::messages::{Job, RankReply};

pub(super) type DeviceOf<C> = <<C as Collectives>::Backend as Backend>::Device;
pub(super) type StreamOf<C> = <DeviceOf<C> as Device>::Stream;
pub(super) type BufferOf<C> = <DeviceOf<C> as Device>::DeviceBuffer;
pub(super) type GraphOf<C> = <StreamOf<C> as Stream>::Graph;
pub(super) type EventOf<C> = <DeviceOf<C> as Device>::Event;

/// Takes what begins now; each call restarts the parent's deadline.
pub(super) type Say<'a> = &'a mut dyn FnMut(&str);

/// What follows each other between two marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Series {
    Calls,
    /// The work between calls alone.
    Gaps,
    /// A gap before each call.
    GapsAndCalls,
}

/// A series that was captured.
pub(super) struct Captured<C: Collectives> {
    pub(super) series: Series,
    pub(super) calls: u32,
    pub(super) graph: GraphOf<C>,
}

/// An open device and library, and what they work on. Fields are dropped in this order: what others hold comes last.
pub(super) struct Bench<C: Collectives> {
    pub(super) work: Option<Work<C>>,
    pub(super) gap: Option<Gap<DeviceOf<C>>>,
    member: Option<Member<C>>,
    pub(super) stream: StreamOf<C>,
    pub(super) start: EventOf<C>,
    pub(super) end: EventOf<C>,
    pub(super) device: DeviceOf<C>,
    library: C,
    /// Bytes that no cache of the device holds.
    pub(super) pool: u64,
    /// How much is called.
    pub(super) effort: &'static Effort,
}

/// This rank in its communicator.
pub(super) struct Member<C: Collectives> {
    pub(super) communicator: C::Communicator,
    ranks: u32,
    rank: u32,
}

/// The call that was prepared, with all that does not change from one call to the next.
pub(super) struct Work<C: Collectives> {
    /// Those that were captured of these buffers.
    pub(super) graphs: Vec<Captured<C>>,
    /// What was replayed last, where that was a graph with calls.
    pub(super) replayed: Cell<Option<(Series, u32)>>,
    job: Job,
    operation: Operation,
    element: Element,
    elements: usize,
    sums: Sums,
    pub(super) buffers: Buffers<C>,
}

impl<C: Collectives> Bench<C> {
    /// Opens driver, device and library; the second value is the answer to the parent.
    pub(super) fn open(ordinal: usize, library: Option<&Path>) -> Result<(Self, RankReply)> {
        let backend = C::Backend::open()?;
        let device = backend.device(ordinal)?;
        let library = C::open(library)?;
        let facts = library.facts();
        let opened = RankReply::Opened {
            library: LibraryFacts {
                name: facts.name.clone(),
                version: facts.version.clone(),
                file: facts.file.as_ref().map(|file| file.display().to_string()),
                transport: None,
            },
            soft_box: facts.soft_box.clone(),
            events: backend.time_source(),
        };
        let mut devices = backend.devices().iter();
        let described = devices.find(|described| described.ordinal == ordinal);
        let bench = Self {
            work: None,
            gap: None,
            member: None,
            stream: device.stream()?,
            start: device.event()?,
            end: device.event()?,
            device,
            library,
            pool: pool_bytes(described.and_then(|device| device.cache_bytes)),
            effort: Effort::timed_by(backend.time_source()),
        };
        Ok((bench, opened))
    }

    pub(super) fn backend_name(&self) -> &'static str {
        C::Backend::NAME
    }

    pub(super) fn unique_id(&self) -> Result<UniqueId> {
        self.library.unique_id()
    }

    /// Joins, and calls nothing: a call of another size than those that are timed may hang where these do not.
    pub(super) fn join(&mut self, id: &UniqueId, ranks: u32, rank: u32) -> Result<()> {
        let communicator = self.library.join(&self.device, id, ranks, rank)?;
        self.member = Some(Member {
            communicator,
            ranks,
            rank,
        });
        Ok(())
    }

    /// Allocates, fills, does one call and compares its result; then everything is as it was before that call.
    pub(super) fn prepare(&mut self, job: Job, say: Say<'_>) -> Result<RankReply> {
        let member = self.member()?;
        let rank_of = (member.ranks, member.rank);
        let (operation, element) = match operation(job.kind).zip(element(job.element)) {
            Some(known) => known,
            None => return not_there(out_of_turn("such a collective")),
        };
        if self.work.as_ref().is_none_or(|work| work.job != job) {
            // The old buffers go before the new ones come.
            self.work = None;
            say("allocating");
            let bytes = usize::try_from(job.bytes_per_rank).unwrap_or(usize::MAX);
            let buffers = match Buffers::of(&self.device, (operation, bytes), rank_of) {
                Ok(buffers) => buffers,
                Err(refused) => return not_there(refused),
            };
            self.work = Some(Work {
                graphs: Vec::new(),
                replayed: Cell::new(None),
                operation,
                element,
                elements: bytes / element.bytes(),
                sums: Sums::new(operation, element, rank_of.0),
                buffers,
                job,
            });
        }
        self.lay(say)?;
        say("the first call");
        self.call()?;
        self.wait()?;
        let verification = self.compare(say)?;
        let work = self.work()?;
        work.buffers.spoil(&self.stream)?;
        Ok(RankReply::Prepared { verification })
    }

    /// Compares a result of what was timed in full: the last call's, and of a graph that of one replay more, on a fresh input and with
    /// no other call beside it, as calls that were captured may go another way.
    pub(super) fn check(&mut self, say: Say<'_>) -> Result<Verification> {
        let work = self.work()?;
        if work.job.verify
            && let Some(graph) = work.replayed.get()
        {
            self.lay(say)?;
            say("the last call");
            self.replay(graph)?;
            self.wait()?;
        }
        self.compare(say)
    }

    fn lay(&self, say: Say<'_>) -> Result<()> {
        say("writing what this rank contributes");
        let work = self.work()?;
        work.buffers.lay(&self.stream, &work.sums)
    }

    fn compare(&self, say: Say<'_>) -> Result<Verification> {
        let work = self.work()?;
        if !work.job.verify {
            return Ok(Verification::NotAsked);
        }
        say("comparing the result");
        let difference = work.buffers.first_difference(&self.stream, &work.sums)?;
        Ok(match difference {
            Some(seen) => Verification::WrongData { seen },
            None => Verification::Passed,
        })
    }

    /// Queues the call that was prepared.
    pub(super) fn call(&self) -> Result<()> {
        let (member, work) = (self.member()?, self.work()?);
        let (to, from) = ((&work.buffers.to, 0), (&work.buffers.from, 0));
        member.communicator.queue(
            work.operation,
            to,
            from,
            work.elements,
            work.element,
            &self.stream,
        )
    }

    pub(super) fn wait(&self) -> Result<()> {
        self.stream.synchronize()?;
        self.member()?.communicator.async_error()
    }

    pub(super) fn member(&self) -> Result<&Member<C>> {
        self.member
            .as_ref()
            .ok_or_else(|| out_of_turn("a communicator"))
    }

    pub(super) fn work(&self) -> Result<&Work<C>> {
        self.work.as_ref().ok_or_else(|| out_of_turn("buffers"))
    }
}

/// The parent asked for something before what it needs.
pub(super) fn out_of_turn(what: &'static str) -> DeviceError {
    DeviceError::Unsupported {
        what: "a request out of turn",
        why: format!("there is no {what} yet"),
    }
}

/// What is not supported does not apply; all else went wrong.
fn not_there(refused: DeviceError) -> Result<RankReply> {
    match refused {
        DeviceError::Unsupported { .. } => Ok(RankReply::NotThere {
            reason: refused.to_string().into(),
        }),
        _ => Err(refused),
    }
}

fn element(element: ElementType) -> Option<Element> {
    match element {
        ElementType::F32 => Some(Element::F32),
        ElementType::F16 => Some(Element::F16),
        ElementType::Bf16 => Some(Element::Bf16),
        ElementType::F8E4m3 | ElementType::F8E5m2 => None,
    }
}

fn operation(kind: CollectiveKind) -> Option<Operation> {
    match kind {
        CollectiveKind::AllReduce => Some(Operation::AllReduce),
        CollectiveKind::AllGather => Some(Operation::AllGather),
        CollectiveKind::ReduceScatter => Some(Operation::ReduceScatter),
        CollectiveKind::Broadcast | CollectiveKind::SendRecv => None,
    }
}

/// The memory of a job's calls on one rank, out of place, as engines call.
pub(super) struct Buffers<C: Collectives> {
    rank: u32,
    pub(super) to: BufferOf<C>,
    pub(super) from: BufferOf<C>,
    /// Either as the host writes and reads it.
    image: HostBuffer,
}

impl<C: Collectives> Buffers<C> {
    /// Allocates for parts of so many bytes.
    ///
    /// # Errors
    /// What allocating says.
    pub(super) fn of(
        device: &DeviceOf<C>,
        (operation, part): (Operation, usize),
        (ranks, rank): (u32, u32),
    ) -> Result<Self> {
        let (read, written) = operation.parts(ranks);
        let (read, written) = (part.saturating_mul(read), part.saturating_mul(written));
        Ok(Self {
            rank,
            to: device.alloc(written)?,
            from: device.alloc(read)?,
            image: device.alloc_host(HostKind::Pageable, read.max(written), None)?,
        })
    }

    /// Writes what the rank contributes, and what no result is to where results go.
    pub(super) fn lay(&self, stream: &StreamOf<C>, sums: &Sums) -> Result<()> {
        let read = self.from.len();
        self.image
            .with_bytes(|image| sums.fill(&mut image[..read], self.rank))?;
        stream.host_to_device((&self.from, 0), (&self.image, 0), read)?;
        stream.synchronize()?;
        self.spoil(stream)
    }

    /// Writes what no result is to where results go: a later comparison sees a later call's result.
    pub(super) fn spoil(&self, stream: &StreamOf<C>) -> Result<()> {
        self.image.with_bytes(Sums::spoil)?;
        stream.host_to_device((&self.to, 0), (&self.image, 0), self.to.len())?;
        stream.synchronize()
    }

    /// The first element of the last call's result that is not the exact one, in words.
    pub(super) fn first_difference(
        &self,
        stream: &StreamOf<C>,
        sums: &Sums,
    ) -> Result<Option<String>> {
        // What the read-back does not deliver must not look right by what lay there before.
        self.image.with_bytes(Sums::spoil)?;
        let written = self.to.len();
        stream.device_to_host((&self.image, 0), (&self.to, 0), written)?;
        stream.synchronize()?;
        self.image
            .with_bytes(|image| sums.first_difference(&image[..written], self.rank))
    }
}
