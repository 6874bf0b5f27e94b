//! What the end of a job means: for its point, for how often its devices are tried again, and for the exit code.

use record::caveat::Caveat;
use record::quantity::{Gate, Unit};
use record::{
    Failure, KernelAccess, LinkUse, Links, NamedQuantity, Outcome, PeerProbe, PeerVerdict,
    Verification, exit, judged,
};
use runner::Signal;

use super::measurer::JobEnd;
use crate::messages::{Blame, Finding};

impl Finding {
    /// Of a job with one outcome; `link` says what the links did, given the numbers.
    ///
    /// # Errors
    /// The signal that ended the job.
    pub(crate) fn of(
        end: JobEnd,
        link: impl Fn(&[NamedQuantity]) -> LinkUse,
    ) -> Result<Self, Signal> {
        let one = Self::all(end, link)?.pop();
        Ok(one.unwrap_or_else(|| Self::failed("it answered out of turn".into())))
    }

    /// Of a job with several outcomes: one for each, or one for all where it did not end well.
    ///
    /// # Errors
    /// The signal that ended the job.
    pub(crate) fn all(
        end: JobEnd,
        link: impl Fn(&[NamedQuantity]) -> LinkUse,
    ) -> Result<Vec<Self>, Signal> {
        let (why, at_once, mut one) = match end {
            JobEnd::Interrupted { signal, .. } => return Err(signal),
            JobEnd::Done(found) => {
                let judged = |found: Self| found.judged(&link);
                return Ok(found.into_iter().map(judged).collect());
            }
            // The machine's own doing: nothing speaks against the device.
            JobEnd::Hang {
                doing,
                silence,
                unkillable: false,
            } if !silence.is_hang() => return Ok(vec![Self::failed(silence.kind().of(doing))]),
            JobEnd::Hang {
                doing, unkillable, ..
            } => {
                let hang = Outcome::Hang {
                    doing: doing.clone(),
                };
                (doing, unkillable, Self::without_numbers(hang))
            }
            JobEnd::Crashed { reason } => {
                let failed = Self::failed(reason.clone().into());
                (reason, false, failed)
            }
        };
        one.blame = Some(Blame { why, at_once });
        Ok(vec![one])
    }

    /// With the link, and what is to be said of the numbers.
    fn judged(mut self, link: &impl Fn(&[NamedQuantity]) -> LinkUse) -> Self {
        if let Outcome::Measured {
            quantities,
            link: used,
            ..
        } = &mut self.outcome
        {
            *used = link(quantities);
            self.caveats.extend(reservations(quantities, used));
        }
        self
    }

    fn failed(reason: Failure) -> Self {
        Self::without_numbers(Outcome::Failed { reason })
    }
}

/// What interval, outliers, gate and ceiling say against a measured point.
fn reservations(quantities: &[NamedQuantity], link: &LinkUse) -> Vec<Caveat> {
    // What comes before the one launch of a chase is little against its steps.
    let lacks_gate = |named: &NamedQuantity| {
        let quantity = &named.quantity;
        quantity.unit != Unit::Nanoseconds && quantity.timing.gate == Gate::None
    };
    let no_gate = quantities.iter().any(lacks_gate).then_some(Caveat::NoGate);
    let of_samples = judged(quantities).flat_map(|named| program::reservations(&named.quantity));
    let fraction = link.fraction.values().copied().fold(0.0, f64::max);
    let above = (fraction > 1.0).then_some(Caveat::AboveCeiling { fraction });
    let mut caveats: Vec<Caveat> = no_gate.into_iter().chain(of_samples).chain(above).collect();
    caveats.dedup();
    caveats
}

/// The exit code that the findings of a run call for.
pub(crate) fn exit_code(links: &Links) -> u8 {
    let of_probe = |probe: &PeerProbe| match (probe.verdict, &probe.kernels) {
        (PeerVerdict::WrongData, _) => exit::WRONG_DATA,
        (PeerVerdict::Denied, _) => exit::DONE,
        // Copies are fine, and kernels are not.
        (PeerVerdict::Direct | PeerVerdict::Staged, KernelAccess::Unusable { .. }) => {
            exit::INCONCLUSIVE
        }
        (PeerVerdict::Direct | PeerVerdict::Staged, _) => exit::DONE,
        // What was not looked at is not a pass.
        _ => exit::INCONCLUSIVE,
    };
    let outcomes = || links.points.iter().map(|point| &point.outcome);
    let nothing = !outcomes().any(|outcome| matches!(outcome, Outcome::Measured { .. }));
    let nothing = nothing.then_some(exit::INCONCLUSIVE);
    let probes = links.probes.iter().map(of_probe);
    exit::fold(probes.chain(outcomes().map(of_outcome)).chain(nothing))
}

/// The exit code that one outcome calls for.
pub(crate) fn of_outcome(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => exit::WRONG_DATA,
        Outcome::Failed { .. } | Outcome::Hang { .. } => exit::INCONCLUSIVE,
        _ => exit::DONE,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runner::Silence;

    use super::*;

    fn blame(end: JobEnd) -> Option<bool> {
        let found = Finding::of(end, |_| LinkUse::default()).unwrap();
        found.blame.map(|blame| blame.at_once)
    }

    #[test]
    fn hangs_crashes_and_losses_speak_against_a_device_and_refusals_do_not() {
        let hang = |is_starved, is_stopped, unkillable| JobEnd::Hang {
            doing: "copying".to_owned(),
            silence: Silence {
                waited: Duration::from_secs(20),
                for_cpu: Duration::ZERO,
                is_starved,
                is_stopped,
            },
            unkillable,
        };
        assert_eq!(blame(hang(false, false, false)), Some(false));
        assert_eq!(blame(hang(false, false, true)), Some(true));
        // The machine's own doing.
        assert_eq!(blame(hang(true, false, false)), None);
        assert_eq!(blame(hang(false, true, false)), None);
        let reason = || "why".to_owned();
        assert_eq!(blame(JobEnd::Crashed { reason: reason() }), Some(false));
        let skipped = Outcome::Skipped {
            reason: reason().into(),
        };
        let done = JobEnd::Done(vec![Finding::without_numbers(skipped)]);
        assert_eq!(blame(done), None);
    }
}
