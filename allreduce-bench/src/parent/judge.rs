//! The exit code that a run's findings call for.

use record::exit;
use record::{CollectiveOutcome, Collectives, Verification};

/// The exit code of a complete run.
pub(super) fn exit_code(collectives: &Collectives) -> u8 {
    let of_point = |outcome: &CollectiveOutcome| match outcome {
        CollectiveOutcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => exit::WRONG_DATA,
        CollectiveOutcome::Measured { .. } | CollectiveOutcome::NotApplicable { .. } => exit::DONE,
        // What was not tried is not a pass.
        CollectiveOutcome::Skipped { .. }
        | CollectiveOutcome::Failed { .. }
        | CollectiveOutcome::Hang { .. } => exit::INCONCLUSIVE,
    };
    let points = &collectives.points;
    let is_measured =
        |outcome: &CollectiveOutcome| matches!(outcome, CollectiveOutcome::Measured { .. });
    let nothing = !points.iter().any(|point| is_measured(&point.outcome));
    exit::fold(
        points
            .iter()
            .map(|point| of_point(&point.outcome))
            .chain(nothing.then_some(exit::INCONCLUSIVE)),
    )
}
