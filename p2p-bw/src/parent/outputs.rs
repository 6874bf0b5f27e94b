//! The exit code that a run's findings call for.

use measure::exit;
use measure::record::{Links, Outcome, PeerVerdict, Verification};

/// The exit code that the findings call for.
pub(super) fn exit_code(links: &Links) -> u8 {
    let of_probe = |verdict| match verdict {
        PeerVerdict::Direct | PeerVerdict::Staged | PeerVerdict::Denied => exit::DONE,
        PeerVerdict::WrongData => exit::WRONG_DATA,
        // What was not looked at is not a pass.
        PeerVerdict::Hang | PeerVerdict::HostLost | PeerVerdict::NotTried | PeerVerdict::Failed => {
            exit::INCONCLUSIVE
        }
    };
    let of_point = |outcome: &Outcome| match outcome {
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => exit::WRONG_DATA,
        Outcome::Measured { .. } | Outcome::NotApplicable { .. } | Outcome::Skipped { .. } => {
            exit::DONE
        }
        Outcome::Failed { .. } | Outcome::Hang { .. } => exit::INCONCLUSIVE,
    };
    let probes = links.probes.iter().map(|probe| of_probe(probe.verdict));
    let points = links.points.iter().map(|point| of_point(&point.outcome));
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
