//! Operations that add up: one-shot, where each rank reads all and adds up all, and two-shot, where each adds up a part.
//!
//! Both go by way of slots; `direct` has what goes without. All add up in rank order, so that every rank has the same bits,
//! whichever way a message goes.

use super::ffi::Range;
use super::operation::{Operation, Pieces};
use super::segment::{LINE, MAX_RANKS, SLOT};
use super::sum::add_up;
use super::turn::Turn;
use crate::collectives::Operation as Kind;
use crate::error::Result;

/// Bytes of a message up to which one-shot is not slower, for so many ranks at most.
///
/// Two ranks on two cores of an EPYC (Zen 3, a virtual machine, not quiet), f32 back to back, the least of 48 batches in us.
/// 4 KiB to 16 KiB are left out: lines went between the cores three times slower while two-shot was timed there.
///
/// | bytes | one-shot | two-shot |
/// |---|---|---|
/// | 32 Ki | 4.6 | 5.4 |
/// | 64 Ki | 9.5 | 7.4 to 10.7 |
///
/// The second row is not measured, for want of cores: one-shot reads all other ranks' messages, two-shot less than two.
const ONE_SHOT: [(u32, usize); 2] = [(2, 32 << 10), (MAX_RANKS, 8 << 10)];

/// Bytes of a piece of two-shot: of all ranks' parts together. There, 1 MiB took 98 us at the least with 64 KiB, 94 us with
/// 128 KiB and 120 us with 16 KiB.
const PIECE: usize = 64 << 10;

const _: () = assert!(ONE_SHOT[0].1 <= SLOT && PIECE <= SLOT);

/// Whether each rank adds up all of a message.
pub(super) fn is_one_shot(ranks: u32, bytes: usize) -> bool {
    let row = ONE_SHOT.iter().find(|(most, _)| ranks <= *most);
    row.is_some_and(|(_, most)| bytes <= *most)
}

/// The sources of a sum: what `of` gives for each rank.
pub(super) fn sources<'a>(
    ranks: u32,
    of: impl Fn(u32) -> Result<Range<'a>>,
) -> Result<([Range<'a>; MAX_RANKS as usize], usize)> {
    let mut all = [of(0)?; MAX_RANKS as usize];
    for (source, rank) in all.iter_mut().zip(0..ranks).skip(1) {
        *source = of(rank)?;
    }
    Ok((all, ranks as usize))
}

/// All of the message in one step.
pub(super) fn one_shot(operation: &Operation, turn: &mut Turn<'_>) -> Result<()> {
    let (ranks, rank) = (turn.membership.ranks, turn.membership.rank);
    let bytes = operation.from.bytes();
    let own = operation.from.range(0, bytes)?;
    let step = turn.begin()?;
    turn.message(rank, step, bytes)?.copy_from(&own)?;
    turn.arrive(step);
    turn.await_all(step)?;
    let (all, number) = sources(ranks, |other| {
        if other == rank {
            Ok(own)
        } else {
            turn.message(other, step, bytes)
        }
    })?;
    add_up(
        operation.element,
        &all[..number],
        &[operation.to.range(0, bytes)?],
    );
    Ok(())
}

/// Where the pieces of the ranks' parts are in what each rank contributes.
struct Layout {
    kind: Kind,
    ranks: usize,
    pieces: Pieces,
    /// Of a rank's part of a reduce-scatter.
    part: usize,
}

impl Layout {
    fn of(kind: Kind, ranks: u32, part: usize) -> Self {
        let ranks = ranks as usize;
        let most = PIECE / ranks / LINE * LINE;
        // Of an all-reduce, all ranks add up as much.
        let together = if kind == Kind::AllReduce { ranks } else { 1 };
        Self {
            kind,
            ranks,
            pieces: Pieces::of(part, most, together),
            part,
        }
    }

    /// How many pieces a rank's part has.
    fn rounds(&self) -> usize {
        match self.kind {
            Kind::AllReduce => self.pieces.number / self.ranks,
            _ => self.pieces.number,
        }
    }

    /// Where a piece of a rank's part begins and how long it is.
    fn piece(&self, of: u32, round: usize) -> (usize, usize) {
        let of = of as usize;
        if self.kind == Kind::AllReduce {
            return self.pieces.piece(round * self.ranks + of);
        }
        let (start, length) = self.pieces.piece(round);
        (of * self.part + start, length)
    }

    /// Where it lies in a slot.
    fn place(&self, of: u32) -> usize {
        of as usize * self.pieces.each
    }
}

/// Each rank adds up its part, piece by piece.
///
/// In step k a rank writes what it contributes to the others' parts of piece k and, in the place of its own part, the sum of its
/// own part of piece k - 1; then it reads the others' sums of piece k - 2, which came with step k - 1. Sums that stay where they
/// were made, as those of a reduce-scatter, are not written to a slot, and the step after the last is not made.
pub(super) fn two_shot(operation: &Operation, turn: &mut Turn<'_>) -> Result<()> {
    let layout = Layout::of(
        operation.kind,
        turn.membership.ranks,
        operation.part_bytes(),
    );
    let shot = TwoShot { operation, layout };
    let gathers = operation.kind == Kind::AllReduce;
    let rounds = shot.layout.rounds();
    let mut step = 0;
    for round in 0..rounds + usize::from(gathers) {
        step = turn.begin()?;
        if round < rounds {
            shot.contribute(turn, round, step)?;
        }
        if !gathers {
            turn.arrive(step);
        }
        if round >= 1 {
            turn.await_all(step - 1)?;
            shot.add_up(turn, round - 1, step - 1, gathers.then_some(step))?;
        }
        if gathers {
            turn.arrive(step);
        }
        if gathers && round >= 2 {
            shot.gather(turn, round - 2, step - 1)?;
        }
    }
    turn.await_all(step)?;
    if gathers {
        shot.gather(turn, rounds - 1, step)
    } else {
        shot.add_up(turn, rounds - 1, step, None)
    }
}

/// A two-shot operation.
struct TwoShot<'a> {
    operation: &'a Operation,
    layout: Layout,
}

impl TwoShot<'_> {
    /// Writes the own slot but for the place of the own part.
    fn contribute(&self, turn: &Turn<'_>, round: usize, step: u64) -> Result<()> {
        for other in turn.others() {
            let (at, length) = self.layout.piece(other, round);
            let slot = turn.data(turn.membership.rank, step, self.layout.place(other), length)?;
            slot.copy_from(&self.operation.from.range(at, length)?)?;
        }
        Ok(())
    }

    /// Adds up the own part of what came with a step, and offers the sum with another one.
    fn add_up(&self, turn: &Turn<'_>, round: usize, step: u64, offered: Option<u64>) -> Result<()> {
        let (operation, layout) = (self.operation, &self.layout);
        let (ranks, rank) = (turn.membership.ranks, turn.membership.rank);
        let (at, length) = layout.piece(rank, round);
        let place = layout.place(rank);
        let (all, number) = sources(ranks, |other| {
            if other == rank {
                operation.from.range(at, length)
            } else {
                turn.data(other, step, place, length)
            }
        })?;
        // A reduce-scatter has its own part only.
        let to = if offered.is_some() {
            at
        } else {
            layout.pieces.piece(round).0
        };
        let to = operation.to.range(to, length)?;
        match offered {
            Some(step) => {
                let offered = turn.data(rank, step, place, length)?;
                add_up(operation.element, &all[..number], &[to, offered]);
            }
            None => add_up(operation.element, &all[..number], &[to]),
        }
        Ok(())
    }

    /// Reads the others' sums that came with a step.
    fn gather(&self, turn: &Turn<'_>, round: usize, step: u64) -> Result<()> {
        for other in turn.others() {
            let (at, length) = self.layout.piece(other, round);
            let sum = turn.data(other, step, self.layout.place(other), length)?;
            self.operation.to.range(at, length)?.copy_from(&sum)?;
        }
        Ok(())
    }
}
