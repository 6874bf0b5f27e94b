//! What a start of processes may differ by from another where too few of them were measured to show it: of servers, and of the ranks whose
//! collectives were timed.

use import::CurvePoint;
use record::{CollectiveKind, PlannedCollective};

use crate::inputs::Inputs;
use crate::priors::Prior;

/// Fewer launches than this show no spread between launches.
const FEWEST: u64 = 3;

/// The prior of what a server's start over another link differs by.
pub(super) fn of_server(inputs: &Inputs) -> &'static str {
    match inputs.is_on_cpus() {
        true => "start_to_start_on_cpus",
        false => "start_on_other_link",
    }
}

/// What the collectives of the server's own processes may differ by from those that were timed; `None` where the curve is of so many
/// launches that its own spread tells, or where nothing is sent.
pub(super) fn of_curve(inputs: &Inputs, planned: &[PlannedCollective]) -> Option<Prior> {
    let reduces = planned
        .iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce);
    let most = reduces.max_by_key(|of| of.count)?;
    if launches(inputs, most.bytes_per_rank) >= FEWEST {
        return None;
    }
    inputs.prior(match inputs.is_on_cpus() {
        true => "curve_start_to_start_on_cpus",
        false => "curve_start_to_start",
    })
}

/// Launches behind the time of an all-reduce; where no time is of just that size, behind the size that has fewest.
fn launches(inputs: &Inputs, bytes: u64) -> u64 {
    let points: Vec<CurvePoint> = inputs.usable_curve();
    let of_plan = || {
        points
            .iter()
            .filter(|of| of.kind == CollectiveKind::AllReduce && of.ranks == inputs.tp)
    };
    let at = |bytes: u64| -> u64 {
        let mut files: Vec<(&str, u64)> = Vec::new();
        for point in of_plan().filter(|of| of.bytes_per_rank == bytes) {
            let is_over = inputs.evidence.over_launches.contains(&point.origin);
            let launches = point.n.filter(|_| is_over).unwrap_or(1);
            match files.iter_mut().find(|(origin, _)| *origin == point.origin) {
                // Modes of one file are of the same launches.
                Some((_, before)) => *before = launches.min(*before),
                None => files.push((&point.origin, launches)),
            }
        }
        files.iter().map(|(_, launches)| launches).sum()
    };
    match at(bytes) {
        0 => of_plan().map(|of| at(of.bytes_per_rank)).min().unwrap_or(0),
        some => some,
    }
}
