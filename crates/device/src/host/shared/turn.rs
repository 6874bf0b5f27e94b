//! The steps of an operation: whose slot may be written, and when it may be read.
//!
//! All ranks count the same steps. In step k a rank writes its slot k mod 4, arrives at k, and reads the slots of others that
//! have arrived at k: at once, or, so that nobody stands still, after it has arrived at k + 1. A rank that has arrived at k has
//! therefore read all that it wants of steps up to k - 2, and a slot that was written in step k - 4 may be written again once
//! all have arrived at k - 2. Two steps lie between what is written and what is waited for.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{MutexGuard, PoisonError};

use super::ffi::Range;
use super::members::Broken;
use super::membership::{Membership, Progress};
use super::operation::Call;
use super::patience::ProgressDeadline;
use super::segment::{HEAD, LINE, SHORT, SLOTS, slot};
use crate::error::Result;

/// Words of a slot's head: the last step that its rank has arrived at with it, and what that was about.
const STEP: usize = 0;
const CALL: usize = 1;

/// How many steps a rank may still read behind the one that it has arrived at.
const BEHIND: u64 = 2;

/// A rank's steps while it does an operation; those of another stream wait.
pub(super) struct Turn<'a> {
    pub(super) membership: &'a Membership,
    progress: MutexGuard<'a, Progress>,
    call: Call,
    /// The call as one number, which all ranks must name.
    number: u64,
}

impl<'a> Turn<'a> {
    /// Begins an operation.
    pub(super) fn new(membership: &'a Membership, call: Call) -> Self {
        let progress = &membership.progress;
        Self {
            membership,
            progress: progress.lock().unwrap_or_else(PoisonError::into_inner),
            call,
            number: call.number(),
        }
    }

    /// Begins the next step: its slot may be written.
    pub(super) fn begin(&mut self) -> Result<u64> {
        self.membership.check()?;
        let step = self.progress.step + 1;
        self.progress.step = step;
        // All have read what the slot held.
        let free = (step + BEHIND).saturating_sub(SLOTS as u64);
        if free > self.progress.seen {
            for rank in self.others() {
                self.wait(rank, free)?;
            }
            self.progress.seen = free;
        }
        Ok(step)
    }

    /// A range of what a rank writes in a step for the others to read.
    fn data(&self, rank: u32, step: u64, at: usize, bytes: usize) -> Result<Range<'a>> {
        let mapping = &self.membership.mapping;
        mapping.range(slot(rank, step) + LINE + at, bytes)
    }

    /// The same where that is one message: a short one lies in the line of the head.
    pub(super) fn message(&self, rank: u32, step: u64, bytes: usize) -> Result<Range<'a>> {
        if bytes > SHORT {
            return self.data(rank, step, 0, bytes);
        }
        let mapping = &self.membership.mapping;
        mapping.range(slot(rank, step) + HEAD, bytes)
    }

    /// Says that the own slot of a step is written.
    pub(super) fn arrive(&self, step: u64) {
        let own = self.membership.rank;
        self.word(own, step, CALL).store(self.number, Relaxed);
        self.word(own, step, STEP).store(step, Release);
    }

    /// Waits until a rank has arrived at a step, with the same call.
    pub(super) fn await_rank(&self, rank: u32, step: u64) -> Result<()> {
        self.wait(rank, step)?;
        if self.word(rank, step, CALL).load(Relaxed) == self.number {
            return Ok(());
        }
        let reason = format!("rank {rank} called something else than this {}", self.call);
        Err(self.membership.break_with(Broken::Other(reason)))
    }

    /// Waits until all ranks have.
    pub(super) fn await_all(&mut self, step: u64) -> Result<()> {
        for rank in self.others() {
            self.await_rank(rank, step)?;
        }
        self.progress.seen = step;
        Ok(())
    }

    /// All ranks but the own one.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (ranks, own) = (self.membership.ranks, self.membership.rank);
        (0..ranks).filter(move |rank| *rank != own)
    }

    fn wait(&self, rank: u32, step: u64) -> Result<()> {
        let membership = self.membership;
        let arrived = self.word(rank, step, STEP);
        let has_arrived = || arrived.load(Acquire) >= step;
        let mut patience = ProgressDeadline::new(membership.has_own_cpu);
        while !has_arrived() {
            membership.check()?;
            let obstacle = patience
                .wait()
                .and_then(|_| membership.members().obstacle(rank));
            // It may have arrived just before it went.
            if let Some(broken) = obstacle.filter(|_| !has_arrived()) {
                return Err(membership.break_with(broken));
            }
        }
        Ok(())
    }

    fn word(&self, rank: u32, step: u64, field: usize) -> &'a AtomicU64 {
        self.membership.mapping.word(slot(rank, step) / 8 + field)
    }
}
