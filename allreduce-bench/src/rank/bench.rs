//! One rank's device, communicator and buffers: opening, joining, the call that was asked for, and whether its result is right.
//!
//! How calls are timed is in `timing`.

use std::cell::Cell;

use device::collectives::{Collectives, Communicator, UniqueId, parts, width};
use device::{Backend, Device, DeviceBuffer, DeviceError, HostBuffer, HostKind, Result, Stream};
use program::Effort;
use record::{LibraryFacts, Verification};

use super::gap::{Gap, pool_bytes};
use super::sums::Sums;
use crate::messages::{Job, Open, Opened, RankReply, RankRequest};

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
    /// Whether results are compared.
    verify: bool,
    /// How much is called.
    pub(super) effort: &'static Effort,
}

/// This rank in its communicator.
pub(super) struct Member<C: Collectives> {
    pub(super) communicator: C::Communicator,
    ranks: u32,
    rank: u32,
}

/// The call that was prepared, with all that does not change from one call to the next; out of place, as engines call.
pub(super) struct Work<C: Collectives> {
    /// Those that were captured of these buffers.
    pub(super) graphs: Vec<Captured<C>>,
    /// What was replayed last, where that was a graph with calls.
    pub(super) replayed: Cell<Option<(Series, u32)>>,
    job: Job,
    elements: usize,
    sums: Sums,
    to: BufferOf<C>,
    from: BufferOf<C>,
    /// Either as the host writes and reads it.
    image: HostBuffer,
}

impl<C: Collectives> Bench<C> {
    /// Opens driver, device and library, and makes the id of a communicator where it is to; the second value is what the parent is
    /// told.
    pub(super) fn open(open: &Open) -> Result<(Self, Opened)> {
        let backend = C::Backend::open()?;
        let device = backend.device(open.ordinal)?;
        let library = C::open(open.library.as_deref())?;
        let facts = library.facts();
        let opened = Opened {
            library: LibraryFacts {
                name: facts.name.clone(),
                version: facts.version.clone(),
                file: facts.file.as_ref().map(|file| file.display().to_string()),
                transport: None,
            },
            soft_box: facts.soft_box.clone(),
            events: backend.time_source(),
            id: open.makes_id.then(|| library.unique_id()).transpose()?,
        };
        let mut devices = backend.devices().iter();
        let described = devices.find(|described| described.ordinal == open.ordinal);
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
            verify: false,
            effort: Effort::timed_by(backend.time_source()),
        };
        Ok((bench, opened))
    }

    /// Does what the parent asks of a rank that is open.
    pub(super) fn answer(&mut self, request: RankRequest, say: Say<'_>) -> Result<RankReply> {
        match request {
            RankRequest::Open(_) => Err(out_of_turn("end of the rank that is open")),
            RankRequest::Join { id, ranks, rank } => {
                self.join(&id, ranks, rank).map(|()| RankReply::Joined)
            }
            RankRequest::Prepare { job, verify } => self.prepare(job, verify, say),
            RankRequest::Time {
                mode,
                calls,
                samples,
                gap_us,
            } => self.time(mode, (calls, samples), gap_us, say),
            RankRequest::Check => self.check(say),
        }
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
    pub(super) fn prepare(&mut self, job: Job, verify: bool, say: Say<'_>) -> Result<RankReply> {
        self.verify = verify;
        if self.work.as_ref().is_none_or(|work| work.job != job) {
            // The old buffers go before the new ones come.
            self.work = None;
            say("allocating");
            match self.allocated(job) {
                Ok(work) => self.work = Some(work),
                // What is not supported does not apply; all else went wrong.
                Err(refused @ DeviceError::Unsupported { .. }) => {
                    return Ok(RankReply::NotThere {
                        reason: refused.to_string().into(),
                    });
                }
                Err(error) => return Err(error),
            }
        }
        self.lay(say)?;
        say("the first call");
        self.call()?;
        self.wait()?;
        let compared = self.compared(say)?;
        self.spoil()?;
        Ok(compared)
    }

    fn allocated(&self, job: Job) -> Result<Work<C>> {
        let ranks = self.member()?.ranks;
        let part = usize::try_from(job.bytes_per_rank).unwrap_or(usize::MAX);
        let (read, written) = parts(job.kind, ranks);
        let (read, written) = (part.saturating_mul(read), part.saturating_mul(written));
        let device = &self.device;
        Ok(Work {
            graphs: Vec::new(),
            replayed: Cell::new(None),
            elements: part / width(job.element),
            sums: Sums::new(job.kind, job.element, ranks),
            to: device.alloc(written)?,
            from: device.alloc(read)?,
            image: device.alloc_host(HostKind::Pageable, read.max(written), None)?,
            job,
        })
    }

    /// Compares a result of what was timed in full: the last call's, and of a graph that of one replay more, on a fresh input and with
    /// no other call beside it, as calls that were captured may go another way.
    pub(super) fn check(&mut self, say: Say<'_>) -> Result<RankReply> {
        let work = self.work()?;
        if self.verify
            && let Some(graph) = work.replayed.get()
        {
            self.lay(say)?;
            say("the last call");
            self.replay(graph)?;
            self.wait()?;
        }
        self.compared(say)
    }

    /// Writes what the rank contributes, and what no result is to where results go.
    fn lay(&self, say: Say<'_>) -> Result<()> {
        say("writing what this rank contributes");
        let (work, rank) = (self.work()?, self.member()?.rank);
        let read = work.from.len();
        work.image
            .with_bytes(|image| work.sums.fill(&mut image[..read], rank))?;
        self.stream
            .host_to_device((&work.from, 0), (&work.image, 0), read)?;
        self.stream.synchronize()?;
        self.spoil()
    }

    /// Writes what no result is to where results go: a later comparison sees a later call's result.
    fn spoil(&self) -> Result<()> {
        let work = self.work()?;
        work.image.with_bytes(Sums::spoil)?;
        self.stream
            .host_to_device((&work.to, 0), (&work.image, 0), work.to.len())?;
        self.stream.synchronize()
    }

    /// Compares every element of the last call's result with the exact one.
    fn compared(&self, say: Say<'_>) -> Result<RankReply> {
        let (work, rank) = (self.work()?, self.member()?.rank);
        let verification = if self.verify {
            say("comparing the result");
            // What the read-back does not deliver must not look right by what lay there before.
            work.image.with_bytes(Sums::spoil)?;
            let written = work.to.len();
            self.stream
                .device_to_host((&work.image, 0), (&work.to, 0), written)?;
            self.stream.synchronize()?;
            let difference = work
                .image
                .with_bytes(|image| work.sums.first_difference(&image[..written], rank))?;
            difference.map_or(Verification::Passed, |seen| Verification::WrongData {
                seen,
            })
        } else {
            Verification::NotAsked
        };
        Ok(RankReply::Compared {
            verification,
            by: None,
        })
    }

    /// Queues the call that was prepared.
    pub(super) fn call(&self) -> Result<()> {
        let (member, work) = (self.member()?, self.work()?);
        let (to, from, job) = ((&work.to, 0), (&work.from, 0), work.job);
        let by = &member.communicator;
        by.queue(job.kind, to, from, work.elements, job.element, &self.stream)
    }

    pub(super) fn wait(&self) -> Result<()> {
        self.stream.synchronize()?;
        self.member()?.communicator.async_error()
    }

    pub(super) fn member(&self) -> Result<&Member<C>> {
        let member = self.member.as_ref();
        member.ok_or_else(|| out_of_turn("communicator"))
    }

    pub(super) fn work(&self) -> Result<&Work<C>> {
        self.work.as_ref().ok_or_else(|| out_of_turn("buffer"))
    }
}

/// The parent asked for something before what it needs.
pub(super) fn out_of_turn(what: &'static str) -> DeviceError {
    DeviceError::Unsupported {
        what: "a request out of turn",
        why: format!("there is no {what} yet"),
    }
}
