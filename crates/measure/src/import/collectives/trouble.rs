//! What a record of `allreduce-bench` tells that is no time: wrong data, hangs, failures, and a run that was broken off.

use crate::control;
use crate::import::error::ImportError;
use crate::record::{CollectiveOutcome, CollectivePoint, Record, Status, Verification};
use crate::unit::ByteCount;

use super::ours;

/// Something that went wrong while collectives were measured; the times of the curve do not show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Whether a result was wrong, so that nothing on this box can be believed until that is mended.
    pub wrong_data: bool,
    /// What and where, such as `all_reduce of 256 KiB, graph: wrong data: element 0 is 3`.
    pub words: String,
}

/// The troubles of a record, in the order of its points, how the run ended being the last.
pub(super) fn of(record: &Record, origin: &str) -> Result<Vec<Trouble>, ImportError> {
    let collectives = ours::payload(record, origin)?;
    let points = collectives.points.iter().filter_map(of_point);
    let ending = broken_off(&record.status, collectives.points.len());
    Ok(points
        .chain(ending.map(|words| (false, words)))
        .map(|(wrong_data, words)| Trouble {
            wrong_data,
            words: control::replaced(&words),
        })
        .collect())
}

fn of_point(point: &CollectivePoint) -> Option<(bool, String)> {
    let (wrong_data, what) = match &point.outcome {
        CollectiveOutcome::Measured {
            verification: Verification::WrongData { seen },
            ..
        } => (true, format!("wrong data: {seen}")),
        CollectiveOutcome::Hang { doing } => (false, format!("hang while {doing}")),
        CollectiveOutcome::Failed { reason } => (false, format!("failed: {reason}")),
        CollectiveOutcome::Measured { .. }
        | CollectiveOutcome::NotApplicable { .. }
        // Whatever kept it from being tried is told by another point.
        | CollectiveOutcome::Skipped { .. } => return None,
    };
    let size = ByteCount(point.bytes_per_rank);
    let words = format!("{} of {size}, {}: {what}", point.kind, point.mode);
    Some((wrong_data, words))
}

/// How the run ended, where it did not end by itself.
fn broken_off(status: &Status, points: usize) -> Option<String> {
    let why = match status {
        Status::Complete => return None,
        Status::Refused { reason } => return Some(format!("nothing was measured: {reason}")),
        Status::Interrupted { signal } => format!("INTERRUPTED by {signal}"),
        Status::Broken => "KILLED, crashed, its disk full, or the machine went down".to_owned(),
        Status::Failed { reason } => format!("FAILED, {reason}"),
    };
    let s = if points == 1 { "" } else { "s" };
    Some(format!("the run was broken off: {why}, {points} point{s}"))
}
