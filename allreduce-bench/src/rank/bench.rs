//! One rank's device, communicator and buffers, and the three ways in which a call is timed.
//!
//! Nothing but queueing happens between two marks: filling, comparing and allocating are outside. Before the first mark stands a
//! small call that all ranks wait for, so that they begin together.

use std::path::Path;
use std::time::Instant;

use device::collectives::{Collectives, Communicator, Element, UniqueId};
use device::{
    Backend, Device, DeviceBuffer, DeviceError, Event, HostBuffer, HostKind, Result, Stream,
};
use inventory::time_source;
use measure::record::{CallMode, CollectiveKind, ElementType, LibraryFacts, Verification};

use super::sums::Sums;
use crate::messages::{Job, RankReply};

type DeviceOf<C> = <<C as Collectives>::Backend as Backend>::Device;
type StreamOf<C> = <DeviceOf<C> as Device>::Stream;
type EventOf<C> = <DeviceOf<C> as Device>::Event;
type BufferOf<C> = <DeviceOf<C> as Device>::DeviceBuffer;
type GraphOf<C> = <StreamOf<C> as Stream>::Graph;

/// Takes what begins now; each call restarts the parent's deadline.
pub(super) type Say<'a> = &'a mut dyn FnMut(&str);

/// An open device and library, and what they work on. Fields are dropped in this order: what others hold comes last.
pub(super) struct Bench<C: Collectives> {
    work: Option<Work<C>>,
    member: Option<Member<C>>,
    stream: StreamOf<C>,
    start: EventOf<C>,
    end: EventOf<C>,
    device: DeviceOf<C>,
    library: C,
}

/// This rank in its communicator.
struct Member<C: Collectives> {
    communicator: C::Communicator,
    ranks: u32,
    rank: u32,
    /// What the small call sends and receives.
    tick: [BufferOf<C>; 2],
}

/// The call that was prepared.
struct Work<C: Collectives> {
    graph: Option<(u32, GraphOf<C>)>,
    job: Job,
    sums: Sums,
    from: BufferOf<C>,
    to: BufferOf<C>,
    scratch: HostBuffer,
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
            events: time_source(backend.time_source()),
        };
        let bench = Self {
            work: None,
            member: None,
            stream: device.stream()?,
            start: device.event()?,
            end: device.event()?,
            device,
            library,
        };
        Ok((bench, opened))
    }

    pub(super) fn backend_name(&self) -> &'static str {
        C::Backend::NAME
    }

    pub(super) fn unique_id(&self) -> Result<UniqueId> {
        self.library.unique_id()
    }

    /// Joins, and does the small call once.
    pub(super) fn join(&mut self, id: &UniqueId, ranks: u32, rank: u32) -> Result<()> {
        let communicator = self.library.join(&self.device, id, ranks, rank)?;
        let bytes = Element::F32.bytes();
        self.member = Some(Member {
            communicator,
            ranks,
            rank,
            tick: [self.device.alloc(bytes)?, self.device.alloc(bytes)?],
        });
        self.meet()?;
        self.wait()
    }

    /// Allocates, fills, does one call and compares its result; then the result is spoilt.
    pub(super) fn prepare(&mut self, job: Job, say: Say<'_>) -> Result<Verification> {
        let member = self.member()?;
        let (ranks, rank) = (member.ranks, member.rank);
        if self.work.as_ref().is_none_or(|work| work.job != job) {
            // The old buffers go before the new ones come.
            self.work = None;
            say("allocating");
            let bytes = usize::try_from(job.bytes_per_rank).unwrap_or(usize::MAX);
            let result = match job.kind {
                CollectiveKind::AllReduce => bytes,
                CollectiveKind::AllGather => bytes.saturating_mul(ranks as usize),
            };
            self.work = Some(Work {
                graph: None,
                job,
                sums: Sums::new(job.kind, job.element, ranks),
                from: self.device.alloc(bytes)?,
                to: self.device.alloc(result)?,
                scratch: self.device.alloc_host(HostKind::Pageable, result, None)?,
            });
        }
        let work = self.work()?;
        say("writing what this rank contributes");
        let bytes = work.from.len();
        work.scratch
            .with_bytes(|scratch| work.sums.fill(&mut scratch[..bytes], rank))?;
        self.stream
            .host_to_device((&work.from, 0), (&work.scratch, 0), bytes)?;
        self.stream.synchronize()?;
        self.spoil()?;
        say("the first call");
        self.call()?;
        self.wait()?;
        self.check(say)
    }

    /// Compares the result in full, then spoils it, so that a later comparison sees a later call's.
    pub(super) fn check(&mut self, say: Say<'_>) -> Result<Verification> {
        let work = self.work()?;
        if !work.job.verify {
            return Ok(Verification::NotAsked);
        }
        say("reading the result back");
        // What the read-back does not deliver must not look right by what lay there before.
        work.scratch.with_bytes(Sums::spoil)?;
        self.stream
            .device_to_host((&work.scratch, 0), (&work.to, 0), work.to.len())?;
        self.stream.synchronize()?;
        say("comparing the result");
        let difference = work
            .scratch
            .with_bytes(|result| work.sums.first_difference(result))?;
        self.spoil()?;
        Ok(match difference {
            Some(seen) => Verification::WrongData { seen },
            None => Verification::Passed,
        })
    }

    /// Takes samples of a mode, each the mean time of a call in microseconds; `None` where the backend does not have the mode.
    pub(super) fn time(
        &mut self,
        mode: CallMode,
        calls: u32,
        samples: u32,
        say: Say<'_>,
    ) -> Result<Option<Vec<f64>>> {
        if mode == CallMode::Graph && !self.captured(calls)? {
            return Ok(None);
        }
        let mut microseconds = Vec::new();
        for sample in 0..samples {
            say(&format!(
                "sample {} of {samples} in mode {mode}",
                sample + 1
            ));
            microseconds.push(match mode {
                CallMode::HostSynced => self.host_synced()?,
                CallMode::BackToBack => {
                    self.between_marks(calls, |bench| (0..calls).try_for_each(|_| bench.call()))?
                }
                CallMode::Graph => {
                    self.between_marks(calls, |bench| match &bench.work()?.graph {
                        Some((_, graph)) => bench.stream.launch(graph),
                        None => Err(out_of_turn("a graph")),
                    })?
                }
            });
        }
        Ok(Some(microseconds))
    }

    /// One call by the host's clock, from a state in which all ranks have just met.
    fn host_synced(&self) -> Result<f64> {
        self.meet()?;
        self.wait()?;
        let start = Instant::now();
        self.call()?;
        self.stream.synchronize()?;
        let took = start.elapsed();
        self.member()?.communicator.async_error()?;
        Ok(took.as_secs_f64() * 1e6)
    }

    /// Work of so many calls by the device's marks around it.
    fn between_marks(&self, calls: u32, work: impl FnOnce(&Self) -> Result<()>) -> Result<f64> {
        self.meet()?;
        self.stream.record(&self.start)?;
        work(self)?;
        self.stream.record(&self.end)?;
        self.wait()?;
        let nanoseconds = self.end.nanoseconds_since(&self.start)?;
        Ok(nanoseconds / 1e3 / f64::from(calls))
    }

    /// Captures so many calls, unless that was done; `false` where the backend has no graphs.
    fn captured(&mut self, calls: u32) -> Result<bool> {
        let work = self.work()?;
        if work.graph.as_ref().is_some_and(|(of, _)| *of == calls) {
            return Ok(true);
        }
        let graph = self
            .stream
            .capture(&mut || (0..calls).try_for_each(|_| self.call()))?;
        let is_there = graph.is_some();
        if let Some(work) = &mut self.work {
            work.graph = graph.map(|graph| (calls, graph));
        }
        Ok(is_there)
    }

    /// Queues the call that was prepared.
    fn call(&self) -> Result<()> {
        let (member, work) = (self.member()?, self.work()?);
        let (to, from) = ((&work.to, 0), (&work.from, 0));
        let element = element(work.job.element);
        let elements = work.from.len() / element.bytes();
        match work.job.kind {
            CollectiveKind::AllReduce => {
                member
                    .communicator
                    .all_reduce(to, from, elements, element, &self.stream)
            }
            CollectiveKind::AllGather => {
                member
                    .communicator
                    .all_gather(to, from, elements, element, &self.stream)
            }
        }
    }

    /// Queues the small call, which ends when all ranks have come to it.
    fn meet(&self) -> Result<()> {
        let member = self.member()?;
        let [from, to] = &member.tick;
        member
            .communicator
            .all_reduce((to, 0), (from, 0), 1, Element::F32, &self.stream)
    }

    fn wait(&self) -> Result<()> {
        self.stream.synchronize()?;
        self.member()?.communicator.async_error()
    }

    fn spoil(&self) -> Result<()> {
        let work = self.work()?;
        work.scratch.with_bytes(Sums::spoil)?;
        self.stream
            .host_to_device((&work.to, 0), (&work.scratch, 0), work.to.len())?;
        self.stream.synchronize()
    }

    fn member(&self) -> Result<&Member<C>> {
        self.member
            .as_ref()
            .ok_or_else(|| out_of_turn("a communicator"))
    }

    fn work(&self) -> Result<&Work<C>> {
        self.work.as_ref().ok_or_else(|| out_of_turn("buffers"))
    }
}

/// The parent asked for something before what it needs.
fn out_of_turn(what: &'static str) -> DeviceError {
    DeviceError::Unsupported {
        what: "a request out of turn",
        why: format!("there is no {what} yet"),
    }
}

fn element(element: ElementType) -> Element {
    match element {
        ElementType::F32 => Element::F32,
        ElementType::F16 => Element::F16,
        ElementType::Bf16 => Element::Bf16,
    }
}
