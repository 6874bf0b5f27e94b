//! What the end of a job means: for its point, and for the exit code.

use record::caveat::Caveat;
use record::quantity::{Gate, Unit};
use record::{
    KernelAccess, LinkUse, Links, NamedQuantity, Outcome, PeerProbe, PeerVerdict, Verification,
    exit, judged,
};

use crate::messages::Finding;

impl Finding {
    /// With what the links did, given the numbers, and what is to be said of these.
    pub(crate) fn judged(mut self, link: impl Fn(&[NamedQuantity]) -> LinkUse) -> Self {
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
