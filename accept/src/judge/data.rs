//! Whether the data of every measured copy and collective arrived as it was sent.

use record::{CollectiveOutcome, Outcome, Payload, PeerVerdict, Verification};

use super::copies::arrow;
use super::judging::{Judging, quoted, seen_times};
use crate::report::{Check, ReasonCode};

const KIND: &str = "data";

/// Where data was wrong, the case, and the record.
type Wrong = (String, String, String);

/// A failed check for each place where it was wrong; else one for all.
pub(super) fn data(judging: &Judging<'_>) -> Vec<Check> {
    let mut wrong: Vec<Wrong> = Vec::new();
    let (mut right, mut not_asked) = (0_usize, 0_usize);
    for ((case, from, to, _), pooled) in &judging.pool.points {
        right += pooled.verified;
        not_asked += pooled.measured - pooled.verified;
        let trouble = pooled.trouble.as_ref();
        if let Some(trouble) = trouble.filter(|trouble| trouble.code == ReasonCode::WrongData) {
            let ends = arrow(&(from.clone(), to.clone()));
            wrong.push((ends, format!("{case}: {}", trouble.text), pooled.source()));
        }
    }
    for probed in &judging.pool.probes {
        match probed.probe.verdict {
            PeerVerdict::WrongData => {
                let ends = arrow(&(probed.from.clone(), probed.to.clone()));
                let what = format!("probe of peer access: {}", probed.probe.rests_on);
                wrong.push((ends, what, probed.source.clone()));
            }
            PeerVerdict::Direct | PeerVerdict::Staged => right += 1,
            _ => {}
        }
    }
    let records = judging.findings.numa.iter();
    for found in records.chain(&judging.findings.collectives) {
        for (about, what, verification) in verified(&found.it.payload) {
            match verification {
                Verification::Passed => right += 1,
                Verification::NotAsked => not_asked += 1,
                Verification::WrongData { seen } => {
                    wrong.push((about, format!("{what}: {seen}"), found.source.clone()));
                }
            }
        }
    }
    // The first of each place stands.
    wrong.sort_by(|one, other| one.0.cmp(&other.0));
    wrong.dedup_by(|later, first| later.0 == first.0);
    if !wrong.is_empty() {
        let check = |(about, what, source): &Wrong| {
            let evidence = quoted("data", what, Some("as sent"), source);
            judging.fail(KIND, about, ReasonCode::WrongData, evidence)
        };
        return wrong.iter().map(check).collect();
    }
    match (right, not_asked) {
        (0, 0) => Vec::new(),
        (0, _) => vec![judging.open(KIND, "box", ReasonCode::Unreadable, "not compared")],
        _ => {
            let (what, all) = ("points whose data was compared", "all as sent");
            let evidence = seen_times(right, what, all, Some(all.to_owned()), "all records");
            vec![judging.pass(KIND, "box", evidence)]
        }
    }
}

fn verified(payload: &Payload) -> Vec<(String, String, Verification)> {
    match payload {
        Payload::Numa(numa) => {
            let points = numa.points.iter().filter_map(|point| match &point.outcome {
                Outcome::Measured { verification, .. } => {
                    let label = numa.devices.get(point.device)?.label.clone();
                    Some((label, point.case.clone(), verification.clone()))
                }
                _ => None,
            });
            points.collect()
        }
        Payload::Collectives(all) => {
            let points = all.points.iter().filter_map(|point| match &point.outcome {
                CollectiveOutcome::Measured { verification, .. } => {
                    let (kind, bytes, mode) = (point.kind, point.bytes_per_rank, point.mode);
                    let what = format!("{kind} of {bytes} B, {mode}");
                    Some(("collectives".to_owned(), what, verification.clone()))
                }
                _ => None,
            });
            points.collect()
        }
        Payload::Links(_) | Payload::Serve(_) => Vec::new(),
    }
}
