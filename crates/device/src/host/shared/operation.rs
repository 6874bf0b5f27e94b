//! One collective operation as the worker of a stream does it: piece by piece, each in a step that all ranks take together.
//!
//! In step k a rank writes its piece into its slot k mod 2, arrives at k, waits until all have, and takes what it wants of the others'
//! slots. Whoever arrives at k + 1 has taken all of step k, so that a slot is written again only when nobody reads it.

use std::sync::Arc;
use std::sync::PoisonError;

use super::ffi::Part;
use super::members::{Broken, Members};
use super::membership::Membership;
use super::patience::ProgressDeadline;
use super::segment::{MAX_RANKS, SLOT, slot};
use super::sum::add_up;
use crate::collectives::{Element, Operation as Kind};
use crate::error::Result;
use crate::memory::InFlight;

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
        let membership = &*self.membership;
        let (ranks, rank) = (membership.ranks, membership.rank);
        // Those of another stream wait, so that the steps of two do not mix.
        let mut step = membership
            .step
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let bytes = self.to.bytes().min(self.from.bytes());
        let parts = match self.kind {
            Kind::ReduceScatter => ranks,
            _ => 1,
        };
        for part in 0..parts {
            for at in (0..bytes).step_by(SLOT) {
                let length = SLOT.min(bytes - at);
                membership.check()?;
                *step += 1;
                let piece = |of| membership.mapping.range(slot(of, *step), length);
                let own = self.from.range(part as usize * bytes + at, length)?;
                piece(rank)?.copy_from(&own)?;
                membership.members().arrive(rank, *step, self.number(bytes));
                self.await_all(*step, bytes)?;
                let take = |of: u32, to: usize| {
                    let (to, from) = (self.to.range(to, length)?, piece(of)?);
                    to.copy_from(&from)
                };
                match self.kind {
                    Kind::ReduceScatter if part != rank => {}
                    Kind::AllReduce | Kind::ReduceScatter => {
                        let target = self.to.range(at, length)?;
                        let mut all = [target; MAX_RANKS as usize];
                        for of in 0..ranks {
                            all[of as usize] = piece(of)?;
                        }
                        add_up(self.element, &all[..ranks as usize], &target);
                    }
                    Kind::AllGather => {
                        for of in 0..ranks {
                            take(of, of as usize * bytes + at)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until all ranks have arrived at a step, with the same call.
    fn await_all(&self, step: u64, bytes: usize) -> Result<()> {
        let membership = &*self.membership;
        let members: Members<'_> = membership.members();
        let mut patience = ProgressDeadline::new(membership.has_own_cpu);
        while !members.all_arrived(step) {
            membership.check()?;
            let gone = patience.wait().and_then(|_| members.gone_before(step));
            if let Some(broken) = gone {
                return Err(membership.break_with(broken));
            }
        }
        let Some(other) = members.calls_else(step, self.number(bytes)) else {
            return Ok(());
        };
        let (kind, element) = (self.kind.name(), self.element.name());
        Err(membership.break_with(Broken::Other(format!(
            "rank {other} called something else than this {kind} of {bytes} bytes of {element}"
        ))))
    }

    /// What is called on a part of so many bytes, as a number for the other ranks to compare.
    fn number(&self, bytes: usize) -> u64 {
        (bytes as u64) << 8 | (self.kind as u64) << 4 | self.element as u64
    }
}
