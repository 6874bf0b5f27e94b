//! Whether the data of every measured copy and collective arrived as it was sent, and what loads of memory and arithmetic found.

use std::collections::BTreeMap;

use record::{CollectiveOutcome, Outcome, Payload, PeerVerdict, Verification};

use super::judging::Judging;
use super::pool::arrow;
use crate::report::{Came, Check, ReasonCode, Seen};

const KIND: &str = "data";

/// What was compared, and the first that was wrong of each place: the case with what was seen, and the record.
#[derive(Default)]
struct Compared {
    right: usize,
    not_asked: usize,
    wrong: BTreeMap<String, (String, String)>,
}

impl Compared {
    fn add(&mut self, about: String, case: &str, verification: &Verification, source: &str) {
        match verification {
            Verification::Passed => self.right += 1,
            Verification::NotAsked => self.not_asked += 1,
            Verification::WrongData { seen } => {
                let what = (format!("{case}: {seen}"), source.to_owned());
                self.wrong.entry(about).or_insert(what);
            }
        }
    }
}

/// A failed check for each place where it was wrong; else one for all.
pub(super) fn data(judging: &Judging<'_>) -> Vec<Check> {
    let mut all = Compared::default();
    let wrong = |seen: &str| Verification::WrongData {
        seen: seen.to_owned(),
    };
    for ((case, from, to, _), pooled) in &judging.pool.points {
        all.right += pooled.verified;
        all.not_asked += pooled.measured - pooled.verified;
        let trouble = pooled.trouble.as_ref();
        if let Some(trouble) = trouble.filter(|trouble| trouble.code == ReasonCode::WrongData) {
            let wrong = wrong(&trouble.detail);
            all.add(arrow((from, to)), case, &wrong, &pooled.source());
        }
    }
    for probed in &judging.pool.probes {
        let verification = match probed.probe.verdict {
            PeerVerdict::WrongData => wrong(&probed.probe.rests_on),
            PeerVerdict::Direct | PeerVerdict::Staged => Verification::Passed,
            _ => continue,
        };
        let ends = arrow((&probed.from, &probed.to));
        all.add(ends, "probe of peer access", &verification, &probed.source);
    }
    let records = judging.findings.numa.iter();
    for found in records.chain(&judging.findings.collectives) {
        match &found.it.payload {
            Payload::Numa(numa) => {
                for point in &numa.points {
                    let device = numa.devices.get(point.device);
                    if let (Outcome::Measured { verification, .. }, Some(device)) =
                        (&point.outcome, device)
                    {
                        let label = device.label.clone();
                        all.add(label, &point.case, verification, &found.source);
                    }
                }
            }
            Payload::Collectives(collectives) => {
                for point in &collectives.points {
                    if let CollectiveOutcome::Measured { verification, .. } = &point.outcome {
                        let (kind, bytes, mode) = (point.kind, point.bytes_per_rank, point.mode);
                        let what = format!("{kind} of {bytes} B, {mode}");
                        all.add("collectives".into(), &what, verification, &found.source);
                    }
                }
            }
            Payload::Links(_) | Payload::Serve(_) => {}
        }
    }
    let failed = all.wrong.iter().map(|(about, (what, source))| {
        let seen = Seen::of("data", what, source).expecting("as sent");
        let came = Came::fail(ReasonCode::WrongData, seen.quoted());
        judging.check(KIND, &[about], came)
    });
    let failed: Vec<Check> = failed.collect();
    let came = match (failed.is_empty(), all.right, all.not_asked) {
        (false, ..) => return failed,
        (_, 0, 0) => return Vec::new(),
        (_, 0, _) => Came::open(ReasonCode::Unreadable).saying("not compared"),
        _ => {
            let seen = Seen::of("points whose data was compared", "all as sent", "records");
            Came::pass(seen.expecting("all as sent").times(all.right))
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
