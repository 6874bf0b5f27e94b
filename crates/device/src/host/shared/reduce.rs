//! Operations that add up: each rank shows its message piece by piece, and adds up what it keeps, in rank order, so that every rank
//! has the same bits.

use super::operation::{Operation, Pieces};
use super::segment::{MAX_RANKS, SLOT};
use super::sum::add_up;
use super::turn::Turn;
use crate::collectives::Operation as Kind;
use crate::error::Result;

/// All-reduce, of which every rank keeps all, and reduce-scatter, of which each keeps its part.
pub(super) fn reduce(operation: &Operation, turn: &mut Turn<'_>) -> Result<()> {
    let (ranks, rank) = (turn.membership.ranks, turn.membership.rank);
    let bytes = operation.part_bytes();
    let parts = match operation.kind {
        Kind::AllReduce => 1,
        _ => ranks,
    };
    let pieces = Pieces::of(bytes, SLOT);
    for part in 0..parts {
        for which in 0..pieces.number {
            let (at, length) = pieces.piece(which);
            let own = operation.from.range(part as usize * bytes + at, length)?;
            let step = turn.begin()?;
            turn.message(rank, step, length)?.copy_from(&own)?;
            turn.arrive(step);
            turn.await_all(step)?;
            if operation.kind != Kind::AllReduce && part != rank {
                continue;
            }
            let mut all = [own; MAX_RANKS as usize];
            for other in turn.others() {
                all[other as usize] = turn.message(other, step, length)?;
            }
            let target = operation.to.range(at, length)?;
            add_up(operation.element, &all[..ranks as usize], &target);
        }
    }
    Ok(())
}
