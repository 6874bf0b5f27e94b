//! One collective operation as the worker of a stream does it, piece by piece.
//!
//! Step k uses slot k mod 2 of every rank: write the own slot, arrive at k, wait until all have arrived at k, read all slots.
//! A rank arrives at k + 1 only after it has read the slots of k, and nobody writes these again before all have arrived at
//! k + 1: so one wait for each step is enough.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::ffi::{Mapping, Part};
use super::members::{Broken, Members};
use super::patience::Patience;
use super::segment::{SLOT, SLOTS, slot};
use crate::collectives::{Element, Kind};
use crate::error::{DeviceError, Result};
use crate::memory::InFlight;

/// Bytes that are added up at a time: they stay in the first cache with their sums.
const BLOCK: usize = 4096;

/// One rank's membership: shared by its communicator and by the work that is queued.
pub(super) struct Membership {
    pub(super) mapping: Mapping,
    pub(super) ranks: u32,
    pub(super) rank: u32,
    pub(super) has_own_cpu: bool,
    /// Steps done; locked for a whole operation, so that those of two streams do not mix.
    pub(super) steps: Mutex<u64>,
    /// What broke the communicator first; work that waits looks at it.
    pub(super) broken: OnceLock<Broken>,
}

impl Membership {
    pub(super) fn members(&self) -> Members<'_> {
        Members {
            mapping: &self.mapping,
            ranks: self.ranks,
        }
    }

    /// What broke the communicator, if anything did.
    pub(super) fn check(&self) -> Result<()> {
        match self.broken.get() {
            Some(broken) => Err(broken.clone().into()),
            None => Ok(()),
        }
    }

    /// Remembers what broke the communicator first.
    pub(super) fn break_with(&self, broken: Broken) -> DeviceError {
        self.broken.get_or_init(|| broken).clone().into()
    }

    /// Waits until all ranks have arrived at a step.
    fn await_all(&self, step: u64) -> Result<()> {
        let members = self.members();
        let mut patience = Patience::new(self.has_own_cpu);
        for rank in (0..self.ranks).filter(|rank| *rank != self.rank) {
            while !members.has_arrived(rank, step) {
                self.check()?;
                let gone = patience.wait().and_then(|_| members.gone(rank));
                // It may have arrived just before it went.
                if let Some(reason) = gone.filter(|_| !members.has_arrived(rank, step)) {
                    return Err(self.break_with(Broken::Gone { rank, reason }));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.members().leave(self.rank);
    }
}

/// An operation that may be done: ranges and aliasing were checked, and both parts are held.
pub(in crate::host) struct Operation {
    pub(super) membership: Arc<Membership>,
    pub(super) kind: Kind,
    pub(super) element: Element,
    pub(super) to: Part,
    pub(super) from: Part,
}

impl Operation {
    /// Does it together with the other ranks, and gives back what it held.
    pub(in crate::host) fn run(self) -> ([InFlight; 2], Result<()>) {
        let done = self.work();
        ([self.to.into_held(), self.from.into_held()], done)
    }

    fn work(&self) -> Result<()> {
        let membership = &self.membership;
        let mut steps = membership
            .steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let bytes = self.from.bytes();
        for at in (0..bytes).step_by(SLOT) {
            membership.check()?;
            *steps += 1;
            self.step(*steps, at, SLOT.min(bytes - at))?;
        }
        Ok(())
    }

    /// One step: `bytes` from `at` on.
    fn step(&self, step: u64, at: usize, bytes: usize) -> Result<()> {
        let Membership {
            mapping,
            ranks,
            rank,
            ..
        } = &*self.membership;
        let members = self.membership.members();
        let which = usize::from(step % SLOTS as u64 == 1);
        let place = |rank: u32| slot(rank as usize, which);
        mapping.take(place(*rank), &self.from, at, bytes)?;
        members.offer(*rank, which, self.call());
        members.arrive(*rank, step);
        self.membership.await_all(step)?;
        for other in 0..*ranks {
            if members.offered(other, which) != self.call() {
                let reason = format!(
                    "rank {other} called something else than this {} of {} bytes of {}",
                    self.kind.name(),
                    self.from.bytes(),
                    self.element.name()
                );
                return Err(self.membership.break_with(Broken::Other(reason)));
            }
        }
        match self.kind {
            Kind::AllReduce => self.add_up(place, at, bytes),
            Kind::AllGather => (0..*ranks).try_for_each(|other| {
                let to = other as usize * self.from.bytes() + at;
                mapping.give(place(other), &self.to, to, bytes)
            }),
        }
    }

    /// Adds up all slots in rank order, so that every rank gets the same bits.
    fn add_up(&self, place: impl Fn(u32) -> usize, at: usize, bytes: usize) -> Result<()> {
        let (mut block, mut sums) = ([0; BLOCK], [0.0; BLOCK / 2]);
        for done in (0..bytes).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(bytes - done)];
            let sums = &mut sums[..block.len() / self.element.bytes()];
            for rank in 0..self.membership.ranks {
                self.membership.mapping.read(place(rank) + done, block)?;
                if rank == 0 {
                    self.element.decode(block, sums);
                } else {
                    self.element.add(block, sums);
                }
            }
            self.element.encode(sums, block);
            self.to.write(at + done, block)?;
        }
        Ok(())
    }

    /// What it is, as one number that is never 0: all ranks must name the same one.
    fn call(&self) -> u64 {
        let element = match self.element {
            Element::F32 => 1,
            Element::F16 => 2,
            Element::Bf16 => 3,
        };
        let kind = match self.kind {
            Kind::AllReduce => 0,
            Kind::AllGather => 1 << 4,
        };
        (self.from.bytes() as u64) << 8 | kind | element
    }
}

// The words are atomics of 64 bits in memory that other programs map: their layout must not depend on this build.
const _: () = assert!(size_of::<AtomicU64>() == 8);
