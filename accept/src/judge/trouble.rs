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

macro_rules! trouble {
    ($of:ident, $outcome:ident) => {
        /// What an outcome comes to where it has no number that stands for something; `None` where it has.
        pub(super) fn $of(outcome: &$outcome) -> Option<Came> {
            Some(match outcome {
                $outcome::Measured {
                    verification: Verification::WrongData { seen },
                    ..
                } => Came::without(R::WrongData).saying(seen),
                $outcome::Measured { .. } => return None,
                $outcome::NotApplicable { reason } => {
                    Came::skip(R::NotApplicable).saying(&*reason.detail)
                }
                $outcome::Skipped { reason } => skipped(reason),
                $outcome::Failed { reason } => failed(reason),
                $outcome::Hang { doing } => Came::without(R::Hang).saying(doing),
            })
        }
    };
}

trouble!(of_copy, Outcome);
trouble!(of_collective, CollectiveOutcome);

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
