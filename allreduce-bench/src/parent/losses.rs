//! What an arm does after it lost its ranks: which sizes it leaves out, and in which order it goes through the rest.
//!
//! Sizes go from small to large. What hangs, hangs as a rule in a range of sizes, since libraries choose protocols by size: after two
//! losses in a row the largest size that is left comes next, and so on downwards until two more are lost, or nothing is left.
//! A fault at every size thus costs four deadlines, and one in a range of sizes leaves the sizes on both sides of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use record::unit::ByteCount;
use record::{CallMode, Failure};

use super::wanted::Wanted;

/// Losses in a row, whatever was called, after which nothing more of an arm is tried.
const LIMIT: u32 = 4;

/// The losses of one arm, over all its launches.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Since a point came to its end.
    in_a_row: u32,
    /// The point before, where it lost the ranks and is not one of two yet.
    before: Option<Wanted>,
    /// From the smallest to the largest size that is left out, by series.
    left_out: BTreeMap<Series, (u64, u64)>,
    /// What lost the ranks.
    lost: BTreeSet<Wanted>,
    /// Nothing more is tried.
    is_over: bool,
    /// Why the last ones were lost.
    why: Failure,
}

/// Calls that differ in their size only: one of them with no size.
type Series = Wanted;

fn series(call: &Wanted) -> Series {
    Wanted {
        bytes_per_rank: 0,
        ..*call
    }
}

impl Losses {
    /// A point came to its end.
    pub(super) fn held(&mut self) {
        self.in_a_row = 0;
        self.before = None;
    }

    /// The ranks were lost in this call; `for_good` where more of them should not be started.
    pub(super) fn lose(&mut self, call: &Wanted, why: Failure, for_good: bool) {
        self.in_a_row += 1;
        self.is_over |= for_good || self.in_a_row >= LIMIT;
        self.lost.insert(*call);
        self.why = why;
        let series = series(call);
        match self.before.take() {
            Some(first) if self::series(&first) == series => {
                let sizes = [first.bytes_per_rank, call.bytes_per_rank];
                let (low, high) = (sizes[0].min(sizes[1]), sizes[0].max(sizes[1]));
                if let Some((lowest, highest)) = self.left_out.get_mut(&series) {
                    // Both ends are known: this is no loss of everything.
                    if !self.is_over {
                        self.in_a_row = 0;
                    }
                    (*lowest, *highest) = (low.min(*lowest), high.max(*highest));
                } else {
                    self.left_out.insert(series, (low, high));
                }
            }
            _ => self.before = Some(*call),
        }
    }

    /// Why nothing more is tried; `None` while something is.
    pub(super) fn over(&self) -> Option<Failure> {
        self.is_over.then(|| {
            let times = match self.in_a_row {
                0 | 1 => String::new(),
                times => format!(" {times} times in a row"),
            };
            let why = &self.why;
            let detail =
                format!("the ranks were lost{times} and are not started again; last: {why}");
            Failure {
                detail,
                ..why.clone()
            }
        })
    }

    /// Why a call is not tried; `None` where it is.
    pub(super) fn leave_out(&self, call: &Wanted) -> Option<Failure> {
        let of_size = || {
            let (low, high) = self.left_out.get(&series(call))?;
            let is_between = (*low..=*high).contains(&call.bytes_per_rank);
            is_between.then(|| {
                let (low, high) = (ByteCount(*low), ByteCount(*high));
                let why = &self.why;
                let detail = format!(
                    "the ranks were lost 2 times in a row from {low} to {high}, which are left out; last: {why}"
                );
                Failure {
                    detail,
                    ..why.clone()
                }
            })
        };
        self.over().or_else(of_size)
    }

    /// Whether a call is known to lose the ranks, or left out.
    pub(super) fn know(&self, call: &Wanted) -> bool {
        self.lost.contains(call) || self.leave_out(call).is_some()
    }
}

/// What is left to do of one launch: series after series, and of a size one mode after the other.
pub(super) struct Course(VecDeque<(Wanted, CallMode)>);

impl Course {
    /// Calls whose series follow each other, each from small to large.
    pub(super) fn of(calls: &[Wanted], modes: &[CallMode]) -> Self {
        let in_modes = |call: &Wanted| {
            let call = *call;
            modes.iter().map(move |mode| (call, *mode))
        };
        Self(calls.iter().flat_map(in_modes).collect())
    }

    /// What comes next: of a series in which sizes are left out the largest that is left, else the smallest.
    pub(super) fn next(&mut self, losses: &Losses) -> Option<(Wanted, CallMode)> {
        let first = series(&self.0.front()?.0);
        let mut next = 0;
        if losses.left_out.contains_key(&first) {
            let calls = self.0.iter().map(|(call, _)| call);
            let of_series = calls.take_while(|call| series(call) == first);
            let mut largest = 0;
            for (at, call) in of_series.enumerate() {
                if call.bytes_per_rank > largest {
                    (next, largest) = (at, call.bytes_per_rank);
                }
            }
        }
        self.0.remove(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CollectiveKind::{AllGather, AllReduce};
    use record::{BufferPlacement, CollectiveKind, ElementType};

    fn call(kind: CollectiveKind, bytes_per_rank: u64) -> Wanted {
        Wanted {
            kind,
            element: ElementType::Bf16,
            placement: BufferPlacement::OutOfPlace,
            bytes_per_rank,
        }
    }

    fn calls(kind: CollectiveKind, sizes: std::ops::RangeInclusive<u64>) -> Vec<Wanted> {
        sizes.map(|bytes| call(kind, bytes)).collect()
    }

    /// Goes through a launch in one mode and gives the sizes in order: what was tried, and what was left out.
    fn run(
        losses: &mut Losses,
        calls: &[Wanted],
        loses: impl Fn(&Wanted) -> bool,
    ) -> (Vec<u64>, Vec<u64>) {
        let mut course = Course::of(calls, &[CallMode::Graph]);
        let (mut tried, mut left_out) = (Vec::new(), Vec::new());
        while let Some((call, _)) = course.next(losses) {
            if losses.leave_out(&call).is_some() {
                left_out.push(call.bytes_per_rank);
                continue;
            }
            tried.push(call.bytes_per_rank);
            if loses(&call) {
                losses.lose(&call, "it hangs".into(), false);
            } else {
                losses.held();
            }
        }
        (tried, left_out)
    }

    #[test]
    fn small_sizes_that_hang_leave_the_large_ones_and_later_launches_know_them() {
        let mut losses = Losses::default();
        let calls = calls(AllReduce, 1..=9);
        let small = |call: &Wanted| call.bytes_per_rank <= 6;
        // Up until two are lost, down until two more are, and what lies between is not tried.
        let (tried, left_out) = run(&mut losses, &calls, small);
        assert_eq!(tried, [1, 2, 9, 8, 7, 6, 5]);
        assert_eq!(left_out, [4, 3]);
        let why = losses.leave_out(&calls[3]).unwrap();
        assert!(
            why.contains("from 1 B to 6 B") && why.ends_with("last: it hangs"),
            "{why}"
        );
        assert!(losses.know(&calls[5]) && !losses.know(&calls[6]));
        assert_eq!(losses.over(), None);
        // The next launch.
        let (tried, left_out) = run(&mut losses, &calls, small);
        assert_eq!((tried, left_out.len()), (vec![9, 8, 7], 6));
    }

    #[test]
    fn two_small_sizes_that_hang_leave_all_others() {
        let mut losses = Losses::default();
        let calls = calls(AllReduce, 1..=5);
        let (tried, left_out) = run(&mut losses, &calls, |call| call.bytes_per_rank <= 2);
        assert_eq!((tried, left_out), (vec![1, 2, 5, 4, 3], vec![]));
    }

    #[test]
    fn large_sizes_that_hang_are_tried_at_both_ends_only() {
        let mut losses = Losses::default();
        let calls = calls(AllReduce, 1..=9);
        let (tried, left_out) = run(&mut losses, &calls, |call| call.bytes_per_rank >= 4);
        assert_eq!(tried, [1, 2, 3, 4, 5, 9, 8]);
        assert_eq!(left_out, [7, 6]);
    }

    #[test]
    fn a_fault_at_every_size_of_everything_costs_four_deadlines() {
        let mut losses = Losses::default();
        let calls = [calls(AllReduce, 1..=9), calls(AllGather, 1..=9)].concat();
        let (tried, left_out) = run(&mut losses, &calls, |_| true);
        assert_eq!(tried, [1, 2, 9, 8]);
        assert_eq!(left_out.len(), 14);
        let why = losses.over().unwrap();
        assert!(why.contains("4 times in a row"), "{why}");
        // One call of each kind is the same.
        let mut losses = Losses::default();
        let one_each = CollectiveKind::ALL.map(|kind| call(kind, 8));
        assert_eq!(run(&mut losses, &one_each, |_| true).0, [8; 4]);
    }

    #[test]
    fn each_series_has_its_own_range() {
        let mut losses = Losses::default();
        let calls = [calls(AllReduce, 1..=6), calls(AllGather, 1..=6)].concat();
        let small = |call: &Wanted| call.bytes_per_rank <= 4;
        let (tried, _) = run(&mut losses, &calls, small);
        assert_eq!(tried, [1, 2, 6, 5, 4, 3, 1, 2, 6, 5, 4, 3]);
        assert_eq!(losses.over(), None);
    }

    #[test]
    fn losses_with_others_between_them_leave_nothing_out() {
        let mut losses = Losses::default();
        let calls = calls(AllReduce, 1..=9);
        let odd = |call: &Wanted| call.bytes_per_rank % 2 == 1;
        let (tried, left_out) = run(&mut losses, &calls, odd);
        assert_eq!((tried.len(), left_out.len()), (9, 0));
        assert!(losses.know(&calls[0]) && !losses.know(&calls[1]));
    }

    #[test]
    fn a_size_that_loses_in_two_modes_is_not_tried_in_a_third() {
        let calls = calls(AllReduce, 1..=2);
        let mut course = Course::of(&calls, &CallMode::ALL);
        let mut losses = Losses::default();
        for mode in &CallMode::ALL[..2] {
            assert_eq!(course.next(&losses), Some((calls[0], *mode)));
            losses.lose(&calls[0], "it hangs".into(), false);
        }
        assert_eq!(course.next(&losses), Some((calls[1], CallMode::ALL[0])));
        assert!(losses.leave_out(&calls[0]).is_some() && losses.leave_out(&calls[1]).is_none());
    }

    #[test]
    fn what_cannot_be_ended_is_not_started_again() {
        let mut losses = Losses::default();
        losses.lose(&call(AllReduce, 8), "it cannot be ended".into(), true);
        let why = losses.over().unwrap();
        assert!(why.contains("were lost and are not"), "{why}");
    }
}
