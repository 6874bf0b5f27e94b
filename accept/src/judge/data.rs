//! Whether the data of every measured copy and collective arrived as it was sent, and what loads of memory and arithmetic found.

use std::collections::BTreeMap;

use record::{CollectiveOutcome, Outcome, Payload, PeerVerdict, Verification};

use super::judging::Judging;
use super::pool::arrow;
use crate::report::{Came, Check, ReasonCode, Seen};

const KIND: &str = "data";

/// A failed check for each place where it was wrong, by the first that was; else one for all.
pub(super) fn data(judging: &Judging<'_>) -> Vec<Check> {
    let (mut right, mut not_asked) = (0, 0);
    let mut wrong: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut is_wrong = |about: String, what: String, source: &str| {
        wrong.entry(about).or_insert((what, source.to_owned()));
    };
    for ((case, from, to, _), pooled) in &judging.pool.points {
        right += pooled.verified;
        not_asked += pooled.measured - pooled.verified;
        let trouble = pooled.trouble.as_ref();
        if let Some(trouble) = trouble.filter(|trouble| trouble.code == ReasonCode::WrongData) {
            let what = format!("{case}: {}", trouble.detail);
            is_wrong(arrow((from, to)), what, &pooled.source());
        }
    }
    for probed in &judging.pool.probes {
        let ends = arrow((&probed.from, &probed.to));
        match probed.probe.verdict {
            PeerVerdict::WrongData => {
                let what = format!("probe of peer access: {}", probed.probe.rests_on);
                is_wrong(ends, what, &probed.source);
            }
            PeerVerdict::Direct | PeerVerdict::Staged => right += 1,
            _ => {}
        }
    }
    let mut compared = |about: &str, case: &str, how: &Verification, source: &str| match how {
        Verification::Passed => right += 1,
        Verification::NotAsked => not_asked += 1,
        Verification::WrongData { seen } => {
            is_wrong(about.to_owned(), format!("{case}: {seen}"), source);
        }
    };
    let records = judging.findings.numa.iter();
    for found in records.chain(&judging.findings.collectives) {
        if let Payload::Numa(numa) = &found.it.payload {
            for point in &numa.points {
                let device = numa.devices.get(point.device);
                if let (Outcome::Measured { verification, .. }, Some(device)) =
                    (&point.outcome, device)
                {
                    compared(&device.label, &point.case, verification, &found.source);
                }
            }
        } else if let Payload::Collectives(collectives) = &found.it.payload {
            for point in &collectives.points {
                if let CollectiveOutcome::Measured { verification, .. } = &point.outcome {
                    let (kind, bytes, mode) = (point.kind, point.bytes_per_rank, point.mode);
                    let what = format!("{kind} of {bytes} B, {mode}");
                    compared("collectives", &what, verification, &found.source);
                }
            }
        }
    }
    let failed = wrong.iter().map(|(about, (what, source))| {
        let seen = Seen::of("data", what, source).expecting("as sent");
        let came = Came::fail(ReasonCode::WrongData, seen.quoted());
        judging.check(KIND, &[about], came)
    });
    let failed: Vec<Check> = failed.collect();
    let came = match (failed.is_empty(), right, not_asked) {
        (false, ..) => return failed,
        (_, 0, 0) => return Vec::new(),
        (_, 0, _) => Came::open(ReasonCode::Unreadable).saying("not compared"),
        _ => {
            let seen = Seen::of("points whose data was compared", "all as sent", "records");
            Came::pass(seen.expecting("all as sent").times(right))
        }
    };
    vec![judging.check(KIND, &["box"], came)]
}

/// What `tplens p2p load` found of each device: whether memory kept what was written, or sums came out right; the worst of all loads. Its
/// rates are not judged: they are those of a device that does both at once, with copies beside them.
pub(super) fn loaded(judging: &Judging<'_>, kind: &str, case: &str) -> Vec<Check> {
    if !judging.pool.has(case) {
        return Vec::new();
    }
    judging.each(kind, |device| {
        let points = judging.pool.points.iter();
        let own = points.filter(|(key, _)| key.0 == case && key.1 == device.it.label);
        let loads: Vec<_> = own.map(|(_, pooled)| pooled).collect();
        let troubles = loads.iter().filter_map(|load| load.trouble.clone());
        let worst = troubles.max_by_key(|trouble| trouble.verdict.severity());
        let n = loads.iter().map(|load| load.measured).sum();
        let seen = Seen::of("loads compared", "all right", "the soak");
        match worst {
            Some(worst) => worst,
            None if loads.is_empty() => judging.lacking(kind),
            None => Came::pass(seen.expecting("all right").times(n)),
        }
    })
}
