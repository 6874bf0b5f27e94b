//! One collective operation as the worker of a stream does it: piece by piece, each in a step that all ranks take together.
//!
//! In step k a rank writes its piece into its slot k mod 2, arrives at k, waits until all have, and takes what it wants of the others'
//! slots. Whoever arrives at k + 1 has taken all of step k, so that a slot is written again only when nobody reads it.

use std::sync::Arc;
use std::sync::PoisonError;

use super::ffi::Part;
use super::member::Member;
use super::segment::{MAX_RANKS, SLOT, slot};
use super::sum::add_up;
use crate::collectives::{Element, Operation as Kind};
use crate::error::Result;
use crate::memory::InFlight;

/// An operation that may be done: ranges and aliasing were checked, and both parts are held.
pub(in crate::host) struct Operation {
    pub(super) member: Arc<Member>,
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
        let member = &*self.member;
        let (ranks, rank) = (member.ranks, member.rank);
        // Those of another stream wait, so that the steps of two do not mix.
        let mut step = member.step.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.to.bytes().min(self.from.bytes());
        let parts = match self.kind {
            Kind::ReduceScatter => ranks,
            _ => 1,
        };
        for part in 0..parts {
            for at in (0..bytes).step_by(SLOT) {
                let length = SLOT.min(bytes - at);
                member.check()?;
                *step += 1;
                let piece = |of| member.mapping.range(slot(of, *step), length);
                let own = self.from.range(part as usize * bytes + at, length)?;
                piece(rank)?.copy_from(&own)?;
                member.meet(*step)?;
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
}
