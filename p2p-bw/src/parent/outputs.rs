//! The exit code that a run's findings call for.

use record::exit;
use record::{KernelAccess, Links, Outcome, PeerProbe, PeerVerdict, Verification};

/// The exit code that the findings call for.
pub(crate) fn exit_code(links: &Links) -> u8 {
    let of_probe = |probe: &PeerProbe| match probe.verdict {
        // Copies are fine, and kernels are not.
        PeerVerdict::Direct | PeerVerdict::Staged
            if matches!(probe.kernels, KernelAccess::Unusable { .. }) =>
        {
            exit::INCONCLUSIVE
        }
        PeerVerdict::Direct | PeerVerdict::Staged | PeerVerdict::Denied => exit::DONE,
        PeerVerdict::WrongData => exit::WRONG_DATA,
        // What was not looked at is not a pass.
        PeerVerdict::Hang | PeerVerdict::HostLost | PeerVerdict::NotTried | PeerVerdict::Failed => {
            exit::INCONCLUSIVE
        }
    };
    let probes = links.probes.iter().map(of_probe);
    let points = links.points.iter().map(|point| of_outcome(&point.outcome));
    let nothing = !links
        .points
        .iter()
        .any(|point| matches!(point.outcome, Outcome::Measured { .. }));
    exit::fold(
        probes
            .chain(points)
            .chain(nothing.then_some(exit::INCONCLUSIVE)),
    )
}

/// The exit code that one outcome calls for.
pub(crate) fn of_outcome(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => exit::WRONG_DATA,
        Outcome::Measured { .. } | Outcome::NotApplicable { .. } | Outcome::Skipped { .. } => {
            exit::DONE
        }
        Outcome::Failed { .. } | Outcome::Hang { .. } => exit::INCONCLUSIVE,
    }
}
