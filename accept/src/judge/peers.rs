//! Peer access of each ordered pair as the profile expects it.

use record::{KernelAccess, PeerVerdict, StepOutcome};

use super::copies::arrow;
use super::judging::Judging;
use super::pool::{Pair, Probed};
use crate::profile::Expected;
use crate::report::{Came, Check, Evidence, ReasonCode as R, Verdict};

const KIND: &str = "peer_access";

/// One check for each ordered pair.
pub(super) fn access(judging: &Judging<'_>) -> Vec<Check> {
    if judging.pool.probes.is_empty() {
        return Vec::new();
    }
    let pairs = judging.pool.pairs().into_iter();
    let one = |pair| judging.check(KIND, &[&arrow(pair)], of_pair(judging, pair));
    pairs.map(one).collect()
}

fn of_pair(judging: &Judging<'_>, pair: Pair<'_>) -> Came {
    // The worst of several probes of the pair: data that is wrong once is wrong.
    let probes = judging.pool.probes_of(pair);
    let Some(Probed { probe, source, .. }) =
        probes.max_by_key(|probed| weight(probed.probe.verdict))
    else {
        return judging.lacking(KIND);
    };
    let expected = judging.profile.peer.expect;
    // It looked as often as it timed small copies, on which its verdict rests; once, where it timed none.
    let timed = probe.steps.iter().filter_map(|step| match &step.outcome {
        StepOutcome::Timed { quantity } => Some(quantity.n),
        _ => None,
    });
    let n = timed.min().unwrap_or(1).max(1);
    let mut seen = Evidence::seen("peer access", probe.verdict, source).times(n);
    if let Some(expected) = expected {
        seen = seen.expecting(expected);
    }
    let rests_on = Evidence::seen("what it rests on", &probe.rests_on, source).quoted();
    let came = |verdict, code| Came::new(verdict, code).with([seen, rests_on]);
    let bad = |came: Came| came.saying(&*probe.rests_on);
    match (expected, probe.verdict, &probe.kernels) {
        (_, PeerVerdict::WrongData, _) => bad(came(Verdict::Fail, R::WrongData)),
        (_, PeerVerdict::Hang, _) => bad(came(Verdict::Fail, R::Hang)),
        (_, PeerVerdict::HostLost, _) => bad(came(Verdict::Fail, R::DeviceLost)),
        (_, PeerVerdict::Failed | PeerVerdict::NotTried, _) => bad(Came::open(R::NotMeasured)),
        (None, ..) => {
            came(Verdict::Inconclusive, R::Unreadable).saying("the profile states no [peer] expect")
        }
        (Some(Expected::Direct), PeerVerdict::Direct, KernelAccess::Unusable { reason }) => {
            let detail = format!("kernels cannot use it: {reason}");
            came(Verdict::Fail, R::ConfigMismatch).saying(detail)
        }
        (Some(Expected::Direct), PeerVerdict::Direct, _)
        | (Some(Expected::Staged), PeerVerdict::Staged, _)
        | (Some(Expected::Forbidden), PeerVerdict::Denied, _) => came(Verdict::Pass, R::AsExpected),
        // More access than expected is another configuration than the profile's, and no fault of the hardware.
        (Some(Expected::Staged), PeerVerdict::Direct, _)
        | (Some(Expected::Forbidden), PeerVerdict::Direct | PeerVerdict::Staged, _) => {
            bad(came(Verdict::Warn, R::ConfigMismatch))
        }
        _ => bad(came(Verdict::Fail, R::ConfigMismatch)),
    }
}

/// How bad a verdict is, for the worst of several.
fn weight(verdict: PeerVerdict) -> Option<usize> {
    use PeerVerdict as P;
    const ORDER: [PeerVerdict; 8] = [
        P::NotTried,
        P::Failed,
        P::Direct,
        P::Staged,
        P::Denied,
        P::Hang,
        P::HostLost,
        P::WrongData,
    ];
    ORDER.iter().position(|known| *known == verdict)
}
