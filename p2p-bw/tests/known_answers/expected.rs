//! Which points a run has, and which of them must have been measured: what a box cannot do is reported, not measured, and what
//! it can do is not left out.

use boxfile::BoxFile;
use record::{Endpoint, Links, Outcome, Point};

use super::boxes::access;
use super::program::ordinal;
use super::solver::Solver;

/// Every case of `tplens p2p --list`.
pub(crate) const CASES: [&str; 33] = [
    "h2d_pinned_ce",
    "h2d_pinned_sm",
    "d2h_pinned_ce",
    "d2h_pinned_sm",
    "h2d_pageable_ce",
    "d2h_pageable_ce",
    "host_bidir_pinned_ce",
    "host_bidir_pinned_sm",
    "local_ce",
    "local_sm",
    "d2d_write_ce",
    "d2d_write_sm",
    "d2d_read_ce",
    "d2d_read_sm",
    "d2d_bidir_write_ce",
    "d2d_bidir_write_sm",
    "d2d_bidir_read_ce",
    "d2d_bidir_read_sm",
    "d2d_staged_ce",
    "host_to_all_ce",
    "host_to_all_sm",
    "all_to_host_ce",
    "all_to_host_sm",
    "ring_ce",
    "ring_sm",
    "all_pairs_ce",
    "all_pairs_sm",
    "host_chase_sm",
    "local_chase_sm",
    "d2d_chase_sm",
    "small_copy_h2d_ce",
    "small_copy_d2h_ce",
    "small_copy_d2d_ce",
];

/// Whether a case runs on all devices at once.
pub(crate) fn is_group(case: &str) -> bool {
    ["_to_all", "all_to_", "ring", "all_pairs"]
        .iter()
        .any(|part| case.contains(part))
}

/// A run on a box, as it was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) described: &'a BoxFile,
    pub(crate) links: &'a Links,
    pub(crate) no_peer: bool,
}

impl Asked<'_> {
    /// Asserts that these cases have the points that they must have, and that each was measured or not as it must be.
    pub(crate) fn assert_complete(&self, cases: &[&str]) {
        for case in cases {
            let points = self.links.points.iter().filter(|point| point.case == *case);
            let (found, name) = (points.clone().count(), &self.described.name);
            assert_eq!(found, self.count(case), "{name}: {case}");
            for point in points {
                let wanted = self.must_be_measured(point);
                let fits = match &point.outcome {
                    Outcome::Measured { .. } => wanted,
                    Outcome::NotApplicable { reason } | Outcome::Skipped { reason } => {
                        !wanted && !reason.is_empty()
                    }
                    Outcome::Failed { .. } | Outcome::Hang { .. } => false,
                };
                assert!(fits, "{name}: measured must be {wanted}: {point:?}");
            }
        }
    }

    /// Points of a case at one size.
    fn count(&self, case: &str) -> usize {
        let n = self.links.devices.len();
        match case.rsplit_once('_').unwrap().0 {
            "d2d_bidir_write" | "d2d_bidir_read" => n * (n - 1) / 2,
            pairs if pairs.contains("d2d") => n * (n - 1),
            _ if is_group(case) => usize::from(n > 1),
            _ => n,
        }
    }

    fn must_be_measured(&self, point: &Point) -> bool {
        let (base, by) = point.case.rsplit_once('_').unwrap();
        let is_kernel = by == "sm";
        // A drawn box has kernels on all of its devices or on none.
        if is_kernel && self.described.device[0].kernels.is_none() {
            return false;
        }
        let pairs = self.pairs(base, point);
        let direct = |pair: &(usize, usize)| access(self.described, pair.0, pair.1).is_direct();
        if base.ends_with("staged") {
            return self.no_peer || !pairs.iter().all(direct);
        }
        let usable = |pair: &(usize, usize)| {
            direct(pair) || (!is_kernel && access(self.described, pair.0, pair.1).is_staged())
        };
        pairs.is_empty() || (!self.no_peer && pairs.iter().all(usable))
    }

    /// The pairs of devices of the file between which a case goes.
    fn pairs(&self, base: &str, point: &Point) -> Vec<(usize, usize)> {
        let solver = Solver::new(self.described);
        let physical = |position| match ordinal(self.links, Endpoint::Device(position)) {
            Endpoint::Device(ordinal) => solver.physical(ordinal),
            Endpoint::Host | Endpoint::All => unreachable!("it is a device"),
        };
        let n = self.links.devices.len();
        let pairs: Vec<(usize, usize)> = match (point.from, point.to) {
            (Endpoint::Device(a), Endpoint::Device(b)) if a != b => vec![(a, b)],
            (Endpoint::All, Endpoint::All) if base == "ring" => {
                (0..n).map(|j| (j, (j + 1) % n)).collect()
            }
            (Endpoint::All, Endpoint::All) => {
                (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).collect()
            }
            _ => Vec::new(),
        };
        pairs
            .into_iter()
            .map(|(a, b)| (physical(a), physical(b)))
            .collect()
    }
}
