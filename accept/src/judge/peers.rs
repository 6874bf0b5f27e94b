//! Peer access of each ordered pair as the profile expects it.

use measure::quantity::Unit;
use measure::record::{KernelAccess, PeerProbe, PeerVerdict, StepOutcome};

use super::copies::arrow;
use super::judging::Judging;
use super::pool::Probed;
use super::trouble::Trouble;
use crate::profile::Expected;
use crate::report::{Check, Evidence, ReasonCode, Seen, Verdict};

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
            let text = "its probe began and the run ended before it came to a verdict".to_owned();
            return judging.subject(KIND, about).inconclusive(
                ReasonCode::WorkerFailed,
                text,
                None,
                vec![],
            );
        }
        return judging.lacking(KIND, about);
    };
    let expected = judging.profile.peer.expect;
    let evidence = Evidence::Seen {
        what: "peer access".to_owned(),
        value: probe.verdict.to_string(),
        expected: expected.map(|expected| expected.word().to_owned()),
        n: times(probe),
        source: source.clone(),
    };
    let rests_on = Evidence::Seen {
        what: "what it rests on".to_owned(),
        value: probe.rests_on.clone(),
        expected: None,
        n: times(probe),
        source: source.clone(),
    };
    let judged = |came| {
        judging.judged(
            KIND,
            about.clone(),
            came,
            None,
            Seen::new(evidence.clone(), [rests_on.clone()]),
        )
    };
    let fault = match probe.verdict {
        PeerVerdict::WrongData => {
            Some((ReasonCode::DataMismatch, "what was written did not arrive"))
        }
        PeerVerdict::Hang => Some((ReasonCode::Hang, "a copy did not end")),
        PeerVerdict::HostLost => Some((
            ReasonCode::Rebooted,
            "the machine went down during an earlier probe",
        )),
        _ => None,
    };
    if let Some((code, what)) = fault {
        return judged((Verdict::Fail, code, format!("{what}: {}", probe.rests_on)));
    }
    if matches!(probe.verdict, PeerVerdict::Failed | PeerVerdict::NotTried) {
        return judging.troubled(KIND, about, &Trouble::failed(&probe.rests_on), source);
    }
    let Some(expected) = expected else {
        let text = format!(
            "{}; the profile does not state how devices reach each other: extend it with [peer] expect and source",
            probe.verdict
        );
        return judging.subject(KIND, about).inconclusive(
            ReasonCode::NotStated,
            text,
            None,
            vec![evidence, rests_on],
        );
    };
    let found = format!(
        "{} ({}); {} is expected",
        probe.verdict,
        probe.rests_on,
        expected.word()
    );
    match (expected, probe.verdict, &probe.kernels) {
        (Expected::Direct, PeerVerdict::Direct, KernelAccess::Unusable { reason }) => {
            let text = format!("copies go directly and kernels must not: {reason}; {found}");
            judged((Verdict::Fail, ReasonCode::PeerUnexpected, text))
        }
        (Expected::Direct, PeerVerdict::Direct, KernelAccess::Untested { reason }) => judged((
            Verdict::Pass,
            ReasonCode::AsExpected,
            format!("{found}; no kernel tried it: {reason}"),
        )),
        (Expected::Direct, PeerVerdict::Direct, KernelAccess::Usable)
        | (Expected::Staged, PeerVerdict::Staged, _)
        | (Expected::Forbidden, PeerVerdict::Denied, _) => {
            judged((Verdict::Pass, ReasonCode::AsExpected, found))
        }
        // More access than expected is another configuration than the profile's, and no fault of the hardware.
        (Expected::Staged, PeerVerdict::Direct, _)
        | (Expected::Forbidden, PeerVerdict::Direct | PeerVerdict::Staged, _) => {
            let text = format!("{found}; use a profile that states it");
            judged((Verdict::Warn, ReasonCode::PeerUnexpected, text))
        }
        _ => judged((Verdict::Fail, ReasonCode::PeerUnexpected, found)),
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
