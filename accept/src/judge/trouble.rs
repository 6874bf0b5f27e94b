//! Why a thing has no number: what an outcome without one comes to, by the kind of its failure.

use record::{
    CollectiveOutcome, Failure, FailureKind, Outcome, Payload, PeerVerdict, Record, Verification,
};

use crate::report::{ReasonCode, Verdict};

/// What stands in place of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) verdict: Verdict,
    pub(super) code: ReasonCode,
    pub(super) text: String,
}

/// The verdict and code of a failure.
pub(crate) fn of_kind(kind: FailureKind) -> (Verdict, ReasonCode) {
    use FailureKind as F;
    match kind {
        F::DeviceLost => (Verdict::Fail, ReasonCode::DeviceLost),
        F::Hang => (Verdict::Fail, ReasonCode::Hang),
        F::WrongData => (Verdict::Fail, ReasonCode::WrongData),
        F::HostBusy => (Verdict::Inconclusive, ReasonCode::Noisy),
        F::Permission => (Verdict::Inconclusive, ReasonCode::Unreadable),
        F::OutOfMemory | F::Stopped | F::Internal => {
            (Verdict::Inconclusive, ReasonCode::NotMeasured)
        }
        F::Dependency => (Verdict::Skip, ReasonCode::NotMeasured),
        F::LibraryMissing | F::Unsupported => (Verdict::Skip, ReasonCode::Unreadable),
    }
}

impl Trouble {
    fn new(verdict: Verdict, code: ReasonCode, text: impl Into<String>) -> Self {
        Self {
            verdict,
            code,
            text: text.into(),
        }
    }

    /// Data that arrived wrong; the number beside it stands for nothing.
    pub(super) fn wrong_data(seen: &str) -> Self {
        Self::new(Verdict::Fail, ReasonCode::WrongData, seen)
    }

    /// What was tried and failed.
    pub(super) fn failed(failure: &Failure) -> Self {
        let (verdict, code) = of_kind(failure.kind);
        Self::new(verdict, code, failure.detail.clone())
    }

    /// What was not tried: a fault was met before, and is told there.
    fn skipped(failure: &Failure) -> Self {
        let (verdict, code) = match of_kind(failure.kind) {
            (Verdict::Inconclusive, ReasonCode::NotMeasured) => {
                (Verdict::Skip, ReasonCode::NotMeasured)
            }
            other => other,
        };
        Self::new(verdict, code, failure.detail.clone())
    }

    /// Whether it condemns what it is about, whatever other runs of the same gave.
    pub(super) fn is_fault(&self) -> bool {
        self.verdict == Verdict::Fail
    }
}

/// What an outcome comes to where it has no number that stands for something; `None` where it has.
pub(super) fn of_copy(outcome: &Outcome) -> Option<Trouble> {
    match outcome {
        Outcome::Measured { verification, .. } => of_data(verification),
        Outcome::NotApplicable { reason } => Some(not_applicable(reason)),
        Outcome::Skipped { reason } => Some(Trouble::skipped(reason)),
        Outcome::Failed { reason } => Some(Trouble::failed(reason)),
        Outcome::Hang { doing } => Some(hang(doing)),
    }
}

/// The same of a collective.
pub(super) fn of_collective(outcome: &CollectiveOutcome) -> Option<Trouble> {
    match outcome {
        CollectiveOutcome::Measured { verification, .. } => of_data(verification),
        CollectiveOutcome::NotApplicable { reason } => Some(not_applicable(reason)),
        CollectiveOutcome::Skipped { reason } => Some(Trouble::skipped(reason)),
        CollectiveOutcome::Failed { reason } => Some(Trouble::failed(reason)),
        CollectiveOutcome::Hang { doing } => Some(hang(doing)),
    }
}

/// Whether a record holds a fault of the hardware, which stands whatever came of its run.
pub(crate) fn has_fault(record: &Record) -> bool {
    let is_fault = |trouble: Option<Trouble>| trouble.is_some_and(|trouble| trouble.is_fault());
    match &record.payload {
        Payload::Links(links) => {
            let mut probes = links.probes.iter();
            let mut points = links.points.iter();
            probes.any(|probe| {
                use PeerVerdict::{Hang, HostLost, WrongData};
                matches!(probe.verdict, WrongData | Hang | HostLost)
            }) || points.any(|point| is_fault(of_copy(&point.outcome)))
        }
        Payload::Numa(numa) => {
            let mut points = numa.points.iter();
            points.any(|point| is_fault(of_copy(&point.outcome)))
        }
        Payload::Collectives(all) => {
            let mut points = all.points.iter();
            points.any(|point| is_fault(of_collective(&point.outcome)))
        }
        Payload::Serve(_) => false,
    }
}

fn hang(doing: &str) -> Trouble {
    Trouble::new(Verdict::Fail, ReasonCode::Hang, doing)
}

fn of_data(verification: &Verification) -> Option<Trouble> {
    match verification {
        Verification::WrongData { seen } => Some(Trouble::wrong_data(seen)),
        Verification::Passed | Verification::NotAsked => None,
    }
}

fn not_applicable(reason: &Failure) -> Trouble {
    Trouble::new(
        Verdict::Skip,
        ReasonCode::NotApplicable,
        reason.detail.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_hardware_condemn_and_what_is_left_alone_after_one_does_not() {
        let code = |kind: FailureKind| Trouble::failed(&kind.of("x")).code;
        assert_eq!(code(FailureKind::DeviceLost), ReasonCode::DeviceLost);
        assert_eq!(code(FailureKind::HostBusy), ReasonCode::Noisy);
        let again = Trouble::skipped(&FailureKind::Dependency.of("x"));
        assert_eq!(
            (again.verdict, again.code),
            (Verdict::Skip, ReasonCode::NotMeasured)
        );
        assert!(!Trouble::failed(&FailureKind::Stopped.of("x")).is_fault());
    }
}
