//! Why a thing has no number: what an outcome without one comes to, by the kind of its failure.

use record::{
    CollectiveOutcome, Failure, FailureKind, Outcome, Payload, PeerVerdict, Record, Verification,
};

use crate::report::{Came, ReasonCode as R, Verdict};

/// What was tried and failed.
pub(crate) fn failed(failure: &Failure) -> Came {
    use FailureKind as F;
    let came = match failure.kind {
        F::DeviceLost => Came::without(R::DeviceLost),
        F::Hang => Came::without(R::Hang),
        F::WrongData => Came::without(R::WrongData),
        F::HostBusy => Came::open(R::Noisy),
        F::Permission => Came::open(R::Unreadable),
        F::OutOfMemory | F::Stopped | F::Internal => Came::open(R::NotMeasured),
        F::Dependency => Came::skip(R::NotMeasured),
        F::LibraryMissing | F::Unsupported => Came::skip(R::Unreadable),
    };
    came.saying(&*failure.detail)
}

/// What was not tried: a fault was met before, and is told there.
fn skipped(failure: &Failure) -> Came {
    let came = failed(failure);
    match (came.verdict, came.code) {
        (Verdict::Inconclusive, R::NotMeasured) => Came::skip(came.code).saying(came.detail),
        _ => came,
    }
}

fn not_applicable(failure: &Failure) -> Came {
    Came::skip(R::NotApplicable).saying(&*failure.detail)
}

/// Data that arrived wrong; the number beside it stands for nothing.
fn of_data(verification: &Verification) -> Option<Came> {
    match verification {
        Verification::WrongData { seen } => Some(Came::without(R::WrongData).saying(seen)),
        Verification::Passed | Verification::NotAsked => None,
    }
}

/// What an outcome comes to where it has no number that stands for something; `None` where it has.
pub(super) fn of_copy(outcome: &Outcome) -> Option<Came> {
    match outcome {
        Outcome::Measured { verification, .. } => of_data(verification),
        Outcome::NotApplicable { reason } => Some(not_applicable(reason)),
        Outcome::Skipped { reason } => Some(skipped(reason)),
        Outcome::Failed { reason } => Some(failed(reason)),
        Outcome::Hang { doing } => Some(Came::without(R::Hang).saying(doing)),
    }
}

/// The same of a collective.
pub(super) fn of_collective(outcome: &CollectiveOutcome) -> Option<Came> {
    match outcome {
        CollectiveOutcome::Measured { verification, .. } => of_data(verification),
        CollectiveOutcome::NotApplicable { reason } => Some(not_applicable(reason)),
        CollectiveOutcome::Skipped { reason } => Some(skipped(reason)),
        CollectiveOutcome::Failed { reason } => Some(failed(reason)),
        CollectiveOutcome::Hang { doing } => Some(Came::without(R::Hang).saying(doing)),
    }
}

/// Whether a record holds a fault of the hardware, which stands whatever came of its run.
pub(crate) fn has_fault(record: &Record) -> bool {
    use PeerVerdict::{Hang, HostLost, WrongData};
    let is_fault = |came: Option<Came>| came.is_some_and(|came| came.is_fault());
    let is_copy = |outcome: &Outcome| is_fault(of_copy(outcome));
    match &record.payload {
        Payload::Links(links) => {
            let mut probes = links.probes.iter();
            probes.any(|probe| matches!(probe.verdict, WrongData | Hang | HostLost))
                || links.points.iter().any(|point| is_copy(&point.outcome))
        }
        Payload::Numa(numa) => numa.points.iter().any(|point| is_copy(&point.outcome)),
        Payload::Collectives(all) => {
            let mut points = all.points.iter();
            points.any(|point| is_fault(of_collective(&point.outcome)))
        }
        Payload::Serve(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_hardware_condemn_and_what_is_left_alone_after_one_does_not() {
        let code = |kind: FailureKind| failed(&kind.of("x")).code;
        assert_eq!(code(FailureKind::DeviceLost), R::DeviceLost);
        assert_eq!(code(FailureKind::HostBusy), R::Noisy);
        let again = skipped(&FailureKind::Dependency.of("x"));
        assert_eq!((again.verdict, again.code), (Verdict::Skip, R::NotMeasured));
        assert!(!failed(&FailureKind::Stopped.of("x")).is_fault());
    }
}
