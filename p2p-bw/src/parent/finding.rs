//! What the end of a job means: for its point, for how often its devices are tried again, and for the exit code.

use std::collections::BTreeMap;
use std::fmt::Display;

use record::caveat::Caveat;
use record::quantity::{Gate, Unit};
use record::{
    Failure, FailureKind, KernelAccess, LinkUse, Links, NamedQuantity, Outcome, PeerProbe,
    PeerVerdict, Verification, exit, judged,
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
        Ok(one.unwrap_or_else(|| Self::crashed("it answered out of turn".to_owned())))
    }

    /// Of a job with several outcomes: one for each, or one for all where it did not end well.
    ///
    /// # Errors
    /// The signal that ended the job.
    pub(crate) fn all(
        end: JobEnd,
        link: impl Fn(&[NamedQuantity]) -> LinkUse,
    ) -> Result<Vec<Self>, Signal> {
        let found = end.found?.into_iter();
        Ok(found.map(|found| found.judged(&link)).collect())
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
}

/// Failures after which something is left alone.
const LIMIT: u32 = 2;

/// What a hang, a crash or a loss speaks against. Which end of a pair is to blame is not known, nor which device of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Suspect {
    Device(usize),
    /// An ordered pair.
    Pair(usize, usize),
    /// A case over several devices, by its key.
    Group(&'static str),
}

/// Failures so far, and the last reason.
#[derive(Debug, Default)]
pub(crate) struct Health(BTreeMap<Suspect, (u32, String)>);

impl Health {
    /// The first that is left alone, and why it failed last.
    pub(crate) fn left_alone(&self, suspects: &[Suspect]) -> Option<(Suspect, &str)> {
        suspects.iter().find_map(|suspect| {
            let (count, why) = self.0.get(suspect)?;
            (*count >= LIMIT).then_some((*suspect, why.as_str()))
        })
    }

    /// Why something that failed so often is not tried.
    pub(crate) fn refusal(name: impl Display, why: &str) -> Failure {
        FailureKind::Dependency.of(format!(
            "{name} failed {LIMIT} times and is not tried again; last: {why}"
        ))
    }

    /// Counts a failure against the last suspect; what cannot be ended counts against all at once.
    pub(crate) fn failed(&mut self, suspects: &[Suspect], blame: &Blame) {
        let count = suspects.len();
        let others = if blame.at_once {
            0
        } else {
            count.saturating_sub(1)
        };
        for suspect in &suspects[others..] {
            let entry = self.0.entry(*suspect).or_default();
            let failures = if blame.at_once { LIMIT } else { entry.0 + 1 };
            *entry = (failures, blame.why.clone());
        }
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
    let of_probe = |probe: &PeerProbe| match probe.verdict {
        PeerVerdict::WrongData => exit::WRONG_DATA,
        PeerVerdict::Denied => exit::DONE,
        // Where copies are fine, kernels may not be.
        PeerVerdict::Direct | PeerVerdict::Staged
            if !matches!(probe.kernels, KernelAccess::Unusable { .. }) =>
        {
            exit::DONE
        }
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
    use record::unit::ByteCount;

    use super::*;
    use crate::cases;
    use crate::parent::plan::plan;

    fn suspects(key: &str, at: usize) -> Vec<Suspect> {
        plan(&cases::matching(key).unwrap(), 2, &[ByteCount(1)])[at].suspects()
    }

    fn refused(health: &Health, key: &str, at: usize) -> bool {
        health.left_alone(&suspects(key, at)).is_some()
    }

    fn fail(health: &mut Health, key: &str, at: usize, at_once: bool) {
        let why = "lost".to_owned();
        health.failed(&suspects(key, at), &Blame { why, at_once });
    }

    #[test]
    fn a_pair_or_a_group_that_hangs_does_not_take_its_devices_along() {
        for key in ["d2d_write_ce", "ring_ce"] {
            let mut health = Health::default();
            fail(&mut health, key, 0, false);
            fail(&mut health, key, 0, false);
            assert!(refused(&health, key, 0), "{key}");
            for other in ["all_pairs_ce", "local_ce"] {
                assert!(!refused(&health, other, 0), "{key} {other}");
            }
        }
        let mut health = Health::default();
        fail(&mut health, "d2d_write_ce", 0, true);
        assert!(refused(&health, "local_ce", 0) && refused(&health, "local_ce", 1));
    }
}
