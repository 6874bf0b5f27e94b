//! One collective operation as the worker of a stream does it: which way it goes, and what its steps are about.

use std::sync::Arc;

use super::ffi::Part;
use super::membership::Membership;
use super::turn::Turn;
use super::{reduce, spread};
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
        let call = Call {
            kind: self.kind,
            element: self.element,
            bytes: self.part_bytes(),
        };
        let mut turn = Turn::new(&self.membership, call);
        match self.kind {
            Kind::AllReduce | Kind::ReduceScatter => reduce::reduce(self, &mut turn),
            Kind::AllGather | Kind::Broadcast | Kind::SendRecv => spread::spread(self, &mut turn),
        }
    }

    /// Bytes of one rank's part.
    pub(super) fn part_bytes(&self) -> usize {
        self.to.bytes().min(self.from.bytes())
    }

    /// Copies from the own buffer to the own buffer, unless it is there.
    pub(super) fn keep(&self, to: usize, from: usize, bytes: usize) -> Result<()> {
        let (to, from) = (self.to.range(to, bytes)?, self.from.range(from, bytes)?);
        if to.begins_with(&from) {
            return Ok(());
        }
        to.copy_from(&from)
    }
}

/// What a rank calls; all ranks must call the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) element: Element,
    /// Of one rank's part.
    pub(super) bytes: usize,
}

impl Call {
    /// As one number that is never 0, for the other ranks to compare; it must not depend on this build.
    pub(super) fn number(&self) -> u64 {
        let element = match self.element {
            Element::F32 => 1,
            Element::F16 => 2,
            Element::Bf16 => 3,
            Element::F8E4m3 => 4,
            Element::F8E5m2 => 5,
        };
        let kind = match self.kind {
            Kind::AllReduce => 0,
            Kind::AllGather => 1,
            Kind::ReduceScatter => 2,
            Kind::Broadcast => 3,
            Kind::SendRecv => 4,
        };
        (self.bytes as u64) << 8 | kind << 4 | element
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, bytes, element) = (self.kind.name(), self.bytes, self.element.name());
        write!(f, "{kind} of {bytes} bytes of {element}")
    }
}

/// A message that goes in pieces of nearly equal length: whole lines, but the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    pub(super) number: usize,
    /// Bytes of each but the last.
    each: usize,
    bytes: usize,
}

impl Pieces {
    /// Of `bytes`, each of `most` at most, which is a multiple of the line.
    pub(super) fn of(bytes: usize, most: usize) -> Self {
        let number = bytes.div_ceil(most);
        let each = bytes
            .div_ceil(number.max(1))
            .next_multiple_of(super::segment::LINE);
        Self {
            number,
            each,
            bytes,
        }
    }

    /// Where a piece begins and how long it is; behind the end there is nothing.
    pub(super) fn piece(&self, which: usize) -> (usize, usize) {
        let start = (which * self.each).min(self.bytes);
        (start, self.each.min(self.bytes - start))
    }
}
