//! Peer access of each ordered pair as the profile expects it.

use record::quantity::Unit;
use record::{FailureKind, KernelAccess, PeerProbe, PeerVerdict, StepOutcome};

use super::copies::arrow;
use super::judging::{Judging, quoted, seen_times};
use super::pool::Probed;
use super::trouble::Trouble;
use crate::profile::Expected;
use crate::report::{Check, ReasonCode, Seen, Verdict};

const KIND: &str = "peer_access";

/// One check for each ordered pair.
pub(super) fn access(judging: &Judging<'_>) -> Vec<Check> {
    if judging.pool.probes.is_empty() && judging.pool.pending.is_empty() {
        return Vec::new();
    }
    let pairs = judging.pool.pairs();
    pairs.iter().map(|pair| of_pair(judging, pair)).collect()
}

fn of_pair(judging: &Judging<'_>, pair: &(String, String)) -> Check {
    let about = vec![arrow(pair)];
    let is_own = |probed: &&Probed| (&probed.from, &probed.to) == (&pair.0, &pair.1);
    // The worst of several probes of the pair: data that is wrong once is wrong.
    let worst = judging
        .pool
        .probes
        .iter()
        .filter(is_own)
        .max_by_key(|probed| weight(probed.probe.verdict));
    let Some(Probed { probe, source, .. }) = worst else {
        if judging.pool.pending.contains(pair) {
            let detail = "the run ended during its probe";
            return judging.open(KIND, &arrow(pair), ReasonCode::NotMeasured, detail);
        }
        return judging.lacking(KIND, about);
    };
    let expected = judging.profile.peer.expect;
    let wanted = expected.map(|expected| expected.to_string());
    let n = times(probe);
    let evidence = seen_times(n, "peer access", probe.verdict.to_string(), wanted, source);
    let rests_on = quoted("what it rests on", &probe.rests_on, None, source);
    let judged = |came| {
        judging.judged(
            KIND,
            about.clone(),
            came,
            None,
            Seen::new(evidence.clone(), [rests_on.clone()]),
        )
    };
    let why = || probe.rests_on.clone();
    let bad = |verdict, code| judged((verdict, code, why()));
    match probe.verdict {
        PeerVerdict::WrongData => return bad(Verdict::Fail, ReasonCode::WrongData),
        PeerVerdict::Hang => return bad(Verdict::Fail, ReasonCode::Hang),
        PeerVerdict::HostLost => return bad(Verdict::Fail, ReasonCode::DeviceLost),
        PeerVerdict::Failed | PeerVerdict::NotTried => {
            return judging.troubled(
                KIND,
                about,
                &Trouble::failed(&FailureKind::Internal.of(why())),
                source,
            );
        }
        PeerVerdict::Direct | PeerVerdict::Staged | PeerVerdict::Denied => {}
    }
    let Some(expected) = expected else {
        let detail = "the profile states no [peer] expect";
        let subject = judging.subject(KIND, about);
        return subject.open(
            ReasonCode::Unreadable,
            detail,
            None,
            vec![evidence, rests_on],
        );
    };
    match (expected, probe.verdict, &probe.kernels) {
        (Expected::Direct, PeerVerdict::Direct, KernelAccess::Unusable { reason }) => judged((
            Verdict::Fail,
            ReasonCode::ConfigMismatch,
            format!("kernels cannot use it: {reason}"),
        )),
        (Expected::Direct, PeerVerdict::Direct, _)
        | (Expected::Staged, PeerVerdict::Staged, _)
        | (Expected::Forbidden, PeerVerdict::Denied, _) => {
            judged((Verdict::Pass, ReasonCode::AsExpected, String::new()))
        }
        // More access than expected is another configuration than the profile's, and no fault of the hardware.
        (Expected::Staged, PeerVerdict::Direct, _)
        | (Expected::Forbidden, PeerVerdict::Direct | PeerVerdict::Staged, _) => {
            bad(Verdict::Warn, ReasonCode::ConfigMismatch)
        }
        _ => bad(Verdict::Fail, ReasonCode::ConfigMismatch),
    }
}

/// How bad a verdict is, for the worst of several.
fn weight(verdict: PeerVerdict) -> u8 {
    match verdict {
        PeerVerdict::WrongData => 7,
        PeerVerdict::HostLost => 6,
        PeerVerdict::Hang => 5,
        PeerVerdict::Denied => 4,
        PeerVerdict::Staged => 3,
        PeerVerdict::Direct => 2,
        PeerVerdict::Failed => 1,
        PeerVerdict::NotTried => 0,
    }
}

/// How often a probe looked: the samples of its small copies' times, on which its verdict rests, the fewest of them; once, where it
/// timed none.
fn times(probe: &PeerProbe) -> usize {
    let timed = probe.steps.iter().filter_map(|step| match &step.outcome {
        StepOutcome::Timed { quantity } => Some(quantity),
        _ => None,
    });
    let of_small = timed.filter(|quantity| quantity.unit == Unit::Microseconds);
    of_small
        .map(|quantity| quantity.n)
        .min()
        .unwrap_or(1)
        .max(1)
}
