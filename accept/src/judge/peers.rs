//! How devices reach each other: peer access of each ordered pair as the profile expects it, and NVLinks with the fabric that joins them.

use record::{KernelAccess, NvlinkReading, PeerVerdict, StepOutcome};
use topology::FabricState;

use super::judging::Judging;
use super::pool::{Pair, Probed, arrow};
use crate::profile::Expected;
use crate::report::{Came, Check, Counted, ReasonCode as R, Seen, Verdict};

const ACCESS: &str = "peer_access";
const NVLINK: &str = "nvlink";

/// One check for each ordered pair.
pub(super) fn access(judging: &Judging<'_>) -> Vec<Check> {
    if judging.pool.probes.is_empty() {
        return Vec::new();
    }
    let pairs = judging.pool.pairs().into_iter();
    let one = |pair| judging.check(ACCESS, &[&arrow(pair)], of_pair(judging, pair));
    pairs.map(one).collect()
}

fn of_pair(judging: &Judging<'_>, pair: Pair<'_>) -> Came {
    // The worst of several probes of the pair: data that is wrong once is wrong.
    let probes = judging.pool.probes.iter();
    let probes = probes.filter(|probed| (&*probed.from, &*probed.to) == pair);
    let Some(Probed { probe, source, .. }) =
        probes.max_by_key(|probed| weight(probed.probe.verdict))
    else {
        return judging.lacking(ACCESS);
    };
    let expected = judging.profile.peer.expect;
    // It looked as often as it timed small copies, on which its verdict rests; once, where it timed none.
    let timed = probe.steps.iter().filter_map(|step| match &step.outcome {
        StepOutcome::Timed { quantity } => Some(quantity.n),
        _ => None,
    });
    let n = timed.min().unwrap_or(1).max(1);
    let mut seen = Seen::of("peer access", probe.verdict, source).times(n);
    if let Some(expected) = expected {
        seen = seen.expecting(expected);
    }
    let rests_on = Seen::of("what it rests on", &probe.rests_on, source).quoted();
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
    use PeerVerdict::{Denied, Direct, Failed, Hang, HostLost, NotTried, Staged, WrongData};
    let order = [
        NotTried, Failed, Direct, Staged, Denied, Hang, HostLost, WrongData,
    ];
    order.iter().position(|known| *known == verdict)
}

/// One check for each device: whether all its NVLinks are up, its fabric, and errors that they count.
pub(super) fn nvlink(judging: &Judging<'_>) -> Vec<Check> {
    let records = judging.findings.links.iter();
    let all = records.filter_map(|found| Some(&found.links()?.nvlinks));
    let all: Vec<&NvlinkReading> = all.flatten().collect();
    let wanted = judging.profile.peer.nvlinks;
    if all.iter().all(|reading| reading.active == 0) && wanted.is_none() {
        return Vec::new();
    }
    judging.each(NVLINK, |device| {
        let own = all.iter().filter(|one| one.device == device.it.label);
        let own: Vec<&NvlinkReading> = own.copied().collect();
        match own.is_empty() {
            true if wanted.is_some() => Came::open(R::Unreadable),
            true => Came::skip(R::NotApplicable),
            false => of_nvlinks(&own, wanted),
        }
    })
}

/// The first evidence is named by the code of what was found.
fn of_nvlinks(own: &[&NvlinkReading], wanted: Option<usize>) -> Came {
    use FabricState::{Failed, NotStarted};
    let links = own.iter().map(|reading| reading.links).max().unwrap_or(0);
    let active = own.iter().map(|reading| reading.active).min().unwrap_or(0);
    let wanted = wanted.unwrap_or(links);
    let errors = |reading: Option<&&NvlinkReading>| reading.and_then(|reading| reading.errors);
    let mut fabrics = own.iter().filter_map(|reading| reading.fabric);
    let up = |active: usize| format!("{active} of {} up", links.max(wanted));
    let seen = |what: &str, value: String, expected: String| {
        let seen = Seen::of(what, value, "NVML").times(own.len());
        seen.expecting(expected)
    };
    if active < wanted {
        let share = (100 * (wanted - active) + wanted / 2) / wanted.max(1);
        let value = format!("{}, {share}% of the bandwidth missing", up(active));
        let seen = seen("nvlink-inactive", value, up(wanted));
        return Came::fail(R::LinkDegraded, seen);
    }
    if fabrics.any(|fabric| matches!(fabric, NotStarted | Failed)) {
        let seen = seen("fabric-manager", "not started".into(), "started".into());
        return Came::fail(R::ConfigMismatch, seen);
    }
    let links = seen("NVLinks", up(active), up(wanted));
    let Some((before, after)) = errors(own.first()).zip(errors(own.last())) else {
        let came = Came::new(Verdict::Warn, R::Unreadable).with([links]);
        return came.saying("the driver counts no errors of NVLinks");
    };
    if after == 0 {
        return Came::pass(links);
    }
    let verdict = match after > before {
        true => Verdict::Fail,
        false => Verdict::Warn,
    };
    let counted = Counted::of("nvlink-errors", (before, after), "NVML");
    let came = Came::new(verdict, R::ErrorsCounted).with([counted]);
    let detail = format!("errors such as CRC: {before} before, {after} after");
    came.saying(detail)
}
