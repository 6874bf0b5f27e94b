//! Which timings a run takes, in which order points are gone through, and what is left out after ranks were lost.
//!
//! Sizes go from small to large. What hangs, hangs as a rule in a range of sizes, since libraries choose protocols by size: after two
//! losses in a row what is left is gone through backwards, from large to small, until two more are lost in a row. A fault at every
//! size of a series thus costs four deadlines, and one in a range leaves the sizes on both sides of it.

use std::collections::VecDeque;

use inventory::Built;
use record::{CallMode, Failure};

use crate::messages::Job;

/// Losses in a row after which the direction turns, and then the series ends.
const LIMIT: u32 = 2;

/// What is left to do of one operation and type: size after size, and of a size one mode after the other.
pub(super) struct Course {
    left: VecDeque<(Job, CallMode)>,
    in_a_row: u32,
    is_backward: bool,
    /// Why nothing more is tried.
    over: Option<Failure>,
}

impl Course {
    /// Calls from small to large.
    pub(super) fn of(calls: &[Job], modes: &[CallMode]) -> Self {
        let in_modes = |call: &Job| {
            let call = *call;
            modes.iter().map(move |mode| (call, *mode))
        };
        Self {
            left: calls.iter().flat_map(in_modes).collect(),
            in_a_row: 0,
            is_backward: false,
            over: None,
        }
    }

    /// What comes next, and why it is not tried where it is not.
    pub(super) fn next(&mut self) -> Option<(Job, CallMode, Option<Failure>)> {
        let next = match self.is_backward {
            true => self.left.pop_back(),
            false => self.left.pop_front(),
        };
        let (call, mode) = next?;
        Some((call, mode, self.over.clone()))
    }

    /// A point came to its end.
    pub(super) fn held(&mut self) {
        self.in_a_row = 0;
    }

    /// The ranks were lost in a point.
    pub(super) fn lose(&mut self, why: Failure) {
        self.in_a_row += 1;
        if self.in_a_row < LIMIT {
            return;
        }
        if self.is_backward {
            self.over = Some(given_up(&why));
        }
        (self.is_backward, self.in_a_row) = (true, 0);
    }
}

/// Why ranks that were lost are not started again.
pub(super) fn given_up(why: &Failure) -> Failure {
    Failure {
        detail: format!("the ranks were lost and are not started again; last: {why}"),
        ..why.clone()
    }
}

/// The timings of a run: those that were asked for, or all that mean something on this backend.
pub(super) fn modes(asked: &[CallMode], backend: Built, is_simulated: bool) -> Vec<CallMode> {
    let is_meant = |mode: &CallMode| {
        if asked.is_empty() {
            // Work between calls and the calls would share the CPUs.
            let is_shared = *mode == CallMode::Interleaved && backend == Built::Host;
            not_here(*mode, backend, is_simulated).is_none() && !is_shared
        } else {
            asked.contains(mode)
        }
    };
    CallMode::ALL.into_iter().filter(is_meant).collect()
}

/// Why a timing does not exist here; `None` where it does.
pub(super) fn not_here(mode: CallMode, backend: Built, is_simulated: bool) -> Option<&'static str> {
    match (mode, backend) {
        (CallMode::Graph, Built::Host) => Some("the host backend has no graphs"),
        (CallMode::HostSynced, _) if is_simulated => {
            Some("the host's clock is this machine's and not the simulated one's")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CallMode::{BackToBack, Graph, HostSynced, Interleaved};
    use record::{CollectiveKind, ElementType};

    /// Goes through sizes in one mode: those that were tried in order, and those that were left out.
    fn run(sizes: std::ops::RangeInclusive<u64>, loses: impl Fn(u64) -> bool) -> [Vec<u64>; 2] {
        let call = |bytes_per_rank| Job {
            kind: CollectiveKind::AllReduce,
            element: ElementType::Bf16,
            bytes_per_rank,
        };
        let calls: Vec<_> = sizes.map(call).collect();
        let mut course = Course::of(&calls, &[CallMode::Graph]);
        let [mut tried, mut left_out] = [Vec::new(), Vec::new()];
        while let Some((call, _, over)) = course.next() {
            let bytes = call.bytes_per_rank;
            match over {
                Some(_) => left_out.push(bytes),
                None if loses(bytes) => {
                    tried.push(bytes);
                    course.lose("it hangs".into());
                }
                None => {
                    tried.push(bytes);
                    course.held();
                }
            }
        }
        [tried, left_out]
    }

    #[test]
    fn a_range_that_hangs_leaves_the_sizes_on_both_sides() {
        // Up until two are lost, down until two more are, and what lies between is not tried.
        let small = run(1..=9, |bytes| bytes <= 6);
        assert_eq!(small, [vec![1, 2, 9, 8, 7, 6, 5], vec![4, 3]]);
        let two = run(1..=5, |bytes| bytes <= 2);
        assert_eq!(two, [vec![1, 2, 5, 4, 3], vec![]]);
        let large = run(1..=9, |bytes| bytes >= 4);
        assert_eq!(large, [vec![1, 2, 3, 4, 5, 9, 8], vec![7, 6]]);
        // A fault at every size costs four deadlines.
        let all = run(1..=9, |_| true);
        assert_eq!(all, [vec![1, 2, 9, 8], vec![7, 6, 5, 4, 3]]);
        let odd = run(1..=9, |bytes| bytes % 2 == 1);
        assert_eq!((odd[0].len(), odd[1].len()), (9, 0));
    }

    #[test]
    fn all_that_the_backend_has_is_measured_unless_some_were_asked_for() {
        assert_eq!(modes(&[], Built::Cuda, false), CallMode::ALL);
        let simulated = [BackToBack, Graph, Interleaved];
        assert_eq!(modes(&[], Built::Cuda, true), simulated);
        assert_eq!(modes(&[], Built::Host, false), [HostSynced, BackToBack]);
        assert_eq!(modes(&[Interleaved], Built::Host, false), [Interleaved]);
        // What was asked for and is not there is reported.
        assert_eq!(
            modes(&[Graph, HostSynced], Built::Host, false),
            [HostSynced, Graph]
        );
        assert!(not_here(HostSynced, Built::Cuda, true).is_some());
    }
}
