//! Whether anything that was moved or reduced arrived wrong, over all records.

use measure::record::{CollectiveOutcome, Outcome, Payload, PeerVerdict, Verification};

use super::copies::arrow;
use super::inventory::seen;
use super::judging::Judging;
use super::trouble::Trouble;
use crate::plural::plural;
use crate::report::{Check, Evidence, ReasonCode, Seen, Verdict};

const KIND: &str = "data";

/// Data that arrived wrong somewhere.
struct Wrong {
    about: String,
    what: String,
    source: String,
}

/// One check for each place at which data was wrong; one on all, where none was.
pub(super) fn data(judging: &Judging<'_>) -> Vec<Check> {
    let mut wrong: Vec<Wrong> = Vec::new();
    let (mut right, mut not_asked) = (0_usize, 0_usize);
    let mut told = |about: String, what: String, source: &str| {
        if !wrong.iter().any(|known| known.about == about) {
            wrong.push(Wrong {
                about,
                what,
                source: source.to_owned(),
            });
        }
    };
    for (key, pooled) in &judging.pool.points {
        right += pooled.verified;
        not_asked += pooled.measured - pooled.verified;
        if let Some(trouble) = pooled
            .trouble
            .as_ref()
            .filter(|trouble| trouble.code == ReasonCode::DataMismatch)
        {
            let ends = arrow(&(key.1.clone(), key.2.clone()));
            told(
                ends,
                format!("{}: {}", key.0, trouble.text),
                &pooled.source(),
            );
        }
    }
    for probed in &judging.pool.probes {
        match probed.probe.verdict {
            PeerVerdict::WrongData => {
                let ends = arrow(&(probed.from.clone(), probed.to.clone()));
                told(
                    ends,
                    format!("probe of peer access: {}", probed.probe.rests_on),
                    &probed.source,
                );
            }
            PeerVerdict::Direct | PeerVerdict::Staged => right += 1,
            _ => {}
        }
    }
    for found in judging
        .findings
        .numa
        .iter()
        .chain(&judging.findings.collectives)
    {
        for (about, what, verification) in verified(&found.it.payload) {
            match verification {
                Verification::Passed => right += 1,
                Verification::NotAsked => not_asked += 1,
                Verification::WrongData { seen } => {
                    told(
                        about,
                        format!("{what}: {}", Trouble::wrong_data(&seen).text),
                        &found.source,
                    );
                }
            }
        }
    }
    if !wrong.is_empty() {
        return wrong
            .into_iter()
            .map(|wrong| of_wrong(judging, wrong))
            .collect();
    }
    let about = ["box".to_owned()];
    if right == 0 {
        return match not_asked {
            0 => Vec::new(),
            _ => {
                let text = "data was compared nowhere: it was switched off".to_owned();
                vec![judging.subject(KIND, about).inconclusive(
                    ReasonCode::Unreadable,
                    text,
                    None,
                    vec![],
                )]
            }
        };
    }
    let rest = if not_asked > 0 {
        format!("; {not_asked} not compared")
    } else {
        String::new()
    };
    let evidence = Evidence::Seen {
        what: "measured points whose data was compared in full".to_owned(),
        value: "all as they were sent".to_owned(),
        expected: Some("all as they were sent".to_owned()),
        n: right,
        source: "all records".to_owned(),
    };
    let text = format!(
        "{} compared in full, all of them right{rest}",
        plural(right, "measured point")
    );
    let came = (Verdict::Pass, ReasonCode::AsExpected, text);
    vec![judging.judged(KIND, about, came, None, Seen::new(evidence, []))]
}

fn of_wrong(judging: &Judging<'_>, wrong: Wrong) -> Check {
    let expected = Some("as it was sent".to_owned());
    let evidence = seen("data", wrong.what.clone(), expected, &wrong.source);
    let came = (Verdict::Fail, ReasonCode::DataMismatch, wrong.what);
    judging.judged(KIND, [wrong.about], came, None, Seen::new(evidence, []))
}

/// What of a record was compared: about what, the case, and what came of it.
fn verified(payload: &Payload) -> Vec<(String, String, Verification)> {
    match payload {
        Payload::Numa(numa) => numa
            .points
            .iter()
            .filter_map(|point| match &point.outcome {
                Outcome::Measured { verification, .. } => {
                    let label = numa.devices.get(point.device)?.label.clone();
                    Some((label, point.case.clone(), verification.clone()))
                }
                _ => None,
            })
            .collect(),
        Payload::Collectives(all) => all
            .points
            .iter()
            .filter_map(|point| match &point.outcome {
                CollectiveOutcome::Measured { verification, .. } => {
                    let what = format!(
                        "{} of {} B, {}",
                        point.kind, point.bytes_per_rank, point.mode
                    );
                    Some(("collectives".to_owned(), what, verification.clone()))
                }
                _ => None,
            })
            .collect(),
        Payload::Links(_) | Payload::Serve(_) => Vec::new(),
    }
}
