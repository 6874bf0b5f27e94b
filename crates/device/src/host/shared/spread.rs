//! Operations that move bytes as they are, by way of slots: all-gather, broadcast and send/recv.

use super::operation::{Operation, Pieces};
use super::segment::SLOT;
use super::turn::Turn;
use crate::collectives::Operation as Kind;
use crate::error::Result;

/// Each rank writes its part piece by piece and reads the pieces of those that it wants, one step later.
pub(super) fn spread(operation: &Operation, turn: &mut Turn<'_>) -> Result<()> {
    let bytes = operation.from.bytes();
    let (ranks, rank) = (turn.membership.ranks, turn.membership.rank);
    let before = (rank + ranks - 1) % ranks;
    // Whether this rank's part is wanted by any other, and where in `to` whose part goes.
    let (gives, own, wanted): (bool, Option<usize>, _) = match operation.kind {
        Kind::AllGather => (true, Some(rank as usize * bytes), 0..ranks),
        Kind::Broadcast => (rank == 0, (rank == 0).then_some(0), 0..1),
        _ => (true, (before == rank).then_some(0), before..before + 1),
    };
    let place = |of: u32| match operation.kind {
        Kind::AllGather => of as usize * bytes,
        _ => 0,
    };
    let read = |turn: &Turn<'_>, step: u64, at: usize, length: usize| {
        for other in wanted.clone().filter(|other| *other != rank) {
            turn.await_rank(other, step)?;
            let to = operation.to.range(place(other) + at, length)?;
            to.copy_from(&turn.message(other, step, length)?)?;
        }
        Ok(())
    };
    let pieces = Pieces::of(bytes, SLOT);
    let mut last = None;
    for which in 0..pieces.number {
        let (at, length) = pieces.piece(which);
        let step = turn.begin()?;
        if gives {
            let slot = turn.message(rank, step, length)?;
            slot.copy_from(&operation.from.range(at, length)?)?;
        }
        turn.arrive(step);
        if let Some(own) = own {
            operation.keep(own + at, at, length)?;
        }
        if let Some((step, at, length)) = last.replace((step, at, length)) {
            read(turn, step, at, length)?;
        }
    }
    match last {
        Some((step, at, length)) => read(turn, step, at, length),
        None => Ok(()),
    }
}
