//! Why a thing has no number: what an outcome without one comes to.
//!
//! The programs say in words what went wrong; the words that are looked for here are those of the device layer's errors.

use measure::record::{CollectiveOutcome, Outcome, Payload, PeerVerdict, Record, Verification};

use crate::report::{ReasonCode, Verdict};

/// What stands in place of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) verdict: Verdict,
    pub(super) code: ReasonCode,
    pub(super) text: String,
}

/// The words of the programs' processes that made no progress because they did not get a CPU.
pub(crate) const STARVED: &str = "were waits for a CPU";

/// The words of the programs' processes that somebody stopped.
pub(crate) const STOPPED: &str = "was stopped from outside";

/// What a failure's words hold, and what it then is; the first that fits.
const FAILURES: &[(&str, Verdict, ReasonCode)] = &[
    (
        "is not tried again",
        Verdict::Skip,
        ReasonCode::DependencyFailed,
    ),
    ("device lost", Verdict::Fail, ReasonCode::DeviceLost),
    (STARVED, Verdict::Inconclusive, ReasonCode::BusyHost),
    (STOPPED, Verdict::Inconclusive, ReasonCode::WorkerFailed),
    (
        "out of memory",
        Verdict::Inconclusive,
        ReasonCode::OutOfMemory,
    ),
    (
        "is not supported",
        Verdict::Skip,
        ReasonCode::UnsupportedByDevice,
    ),
    (".so not found", Verdict::Skip, ReasonCode::MissingLibrary),
    ("EPERM", Verdict::Inconclusive, ReasonCode::Permission),
    (
        "ermission denied",
        Verdict::Inconclusive,
        ReasonCode::Permission,
    ),
    (
        "not permitted",
        Verdict::Inconclusive,
        ReasonCode::Permission,
    ),
];

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
        let text = format!("the data that arrived is not what was sent: {seen}");
        Self::new(Verdict::Fail, ReasonCode::DataMismatch, text)
    }

    fn hang(doing: &str) -> Self {
        Self::new(
            Verdict::Fail,
            ReasonCode::Hang,
            format!("it did not end: {doing}"),
        )
    }

    /// What was tried and failed.
    pub(super) fn failed(reason: &str) -> Self {
        Self::known(reason)
            .unwrap_or_else(|| Self::new(Verdict::Inconclusive, ReasonCode::WorkerFailed, reason))
    }

    fn skipped(reason: &str) -> Self {
        Self::known(reason)
            .unwrap_or_else(|| Self::new(Verdict::Skip, ReasonCode::DependencyFailed, reason))
    }

    fn known(reason: &str) -> Option<Self> {
        let row = FAILURES.iter().find(|(words, ..)| reason.contains(words));
        row.map(|(_, verdict, code)| Self::new(*verdict, *code, reason))
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
        Outcome::Hang { doing } => Some(Trouble::hang(doing)),
    }
}

/// The same of a collective.
pub(super) fn of_collective(outcome: &CollectiveOutcome) -> Option<Trouble> {
    match outcome {
        CollectiveOutcome::Measured { verification, .. } => of_data(verification),
        CollectiveOutcome::NotApplicable { reason } => Some(not_applicable(reason)),
        CollectiveOutcome::Skipped { reason } => Some(Trouble::skipped(reason)),
        CollectiveOutcome::Failed { reason } => Some(Trouble::failed(reason)),
        CollectiveOutcome::Hang { doing } => Some(Trouble::hang(doing)),
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

fn of_data(verification: &Verification) -> Option<Trouble> {
    match verification {
        Verification::WrongData { seen } => Some(Trouble::wrong_data(seen)),
        Verification::Passed | Verification::NotAsked => None,
    }
}

fn not_applicable(reason: &str) -> Trouble {
    Trouble::new(Verdict::Skip, ReasonCode::NotApplicable, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_device_layer_are_told_apart() {
        let code = |reason: &str| Trouble::failed(reason).code;
        assert_eq!(
            code("device lost: cuMemcpyAsync returned CUDA_ERROR_UNKNOWN (999); look for Xid"),
            ReasonCode::DeviceLost
        );
        assert_eq!(
            code("out of memory: 4096 bytes of device memory"),
            ReasonCode::OutOfMemory
        );
        // The very words of `supervisor::Silence`.
        let starved = "rank 2 in `x`: no progress for 80 s, of which 75 s were waits for a CPU: other work has this machine's CPUs";
        assert_eq!(
            (Trouble::failed(starved).verdict, code(starved)),
            (Verdict::Inconclusive, ReasonCode::BusyHost)
        );
        let stopped = "copying: no progress for 20 s: one of its processes was stopped from outside (SIGSTOP or a debugger)";
        assert_eq!(
            (Trouble::failed(stopped).verdict, code(stopped)),
            (Verdict::Inconclusive, ReasonCode::WorkerFailed)
        );
        assert_eq!(
            code("the worker was killed by signal 11"),
            ReasonCode::WorkerFailed
        );
        // The first failure tells of the loss; what is left alone after it rests on that.
        let again = "GPU1 failed 2 times and is not tried again; last: device lost: x";
        assert_eq!(Trouble::skipped(again).code, ReasonCode::DependencyFailed);
    }
}
