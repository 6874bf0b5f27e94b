//! Bandwidth of copies between host memory and devices, and between devices; times of small ones.

use measure::record::{PeerVerdict, StepOutcome};
use measure::unit::ByteCount;
use topology::PathType;

use super::contradicts;
use super::held::{Ceiling, Held};
use super::inventory::seen;
use super::judging::Judging;
use super::link;
use super::pool::{HOST, Pooled};
use super::three_way::Figure;
use crate::profile::Expected;
use crate::report::{Check, ReasonCode, Seen, Verdict};

/// The name of a bandwidth in a point.
const BANDWIDTH: &str = "bandwidth";

/// Copies between host memory and each device.
pub(super) fn host_copies(judging: &Judging<'_>, kind: &'static str) -> Vec<Check> {
    let case = format!("{kind}_ce");
    if !judging.pool.has(&case) {
        return Vec::new();
    }
    let one = |label: String| {
        let (from, to) = if kind.starts_with("h2d") {
            (HOST, label.as_str())
        } else {
            (label.as_str(), HOST)
        };
        match judging.pool.point(&case, from, to) {
            None => judging.lacking(kind, vec![label]),
            Some((bytes, pooled)) => copy(
                judging,
                kind,
                vec![label.clone()],
                vec![label],
                (bytes, pooled),
                None,
            ),
        }
    };
    let mut checks: Vec<Check> = judging.pool.labels().into_iter().map(one).collect();
    if kind.ends_with("_pinned") && !judging.is_host() {
        behind_good_links(judging, &mut checks);
    }
    checks
}

/// What to do about copies that are slow though the link of their device is as the profile expects: what comes behind the link. Where all
/// devices are slow alike, no card of them is to be exchanged.
fn behind_good_links(judging: &Judging<'_>, checks: &mut [Check]) {
    let is_slow = |check: &Check| {
        let codes = [ReasonCode::BelowFloor, ReasonCode::BelowBaseline];
        let mut labels = check.about.iter();
        codes.contains(&check.reason.code) && labels.all(|label| link::is_good(judging, label))
    };
    let slow: Vec<bool> = checks.iter().map(is_slow).collect();
    let advice = match (checks.len(), slow.iter().all(|slow| *slow)) {
        (all @ 2.., true) => format!(
            "all {all} devices are slow and their links are as expected: look at the host rather than at a card (power profile and CPU clocks, \
             BIOS, memory channels, IOMMU, payload size; p2p-bw doctor)"
        ),
        _ => "the link is as expected, so look behind it: payload size, IOMMU and memory channels (p2p-bw doctor); then exchange the card \
              with that of another slot and see whether the fault goes with the card or stays with the slot"
            .to_owned(),
    };
    for (check, _) in checks.iter_mut().zip(slow).filter(|(_, slow)| *slow) {
        check.advice = Some(advice.clone());
    }
}

/// One bandwidth against its limit.
fn copy(
    judging: &Judging<'_>,
    kind: &'static str,
    about: Vec<String>,
    devices: Vec<String>,
    (bytes, pooled): (u64, &Pooled),
    of: Option<&str>,
) -> Check {
    let source = pooled.source();
    if let Some(trouble) = &pooled.trouble {
        return judging.troubled(kind, about, trouble, &source);
    }
    if let Some(check) = misplaced(judging, kind, &about, pooled) {
        return check;
    }
    let Some(figure) = pooled.figure(BANDWIDTH) else {
        return judging.lacking(kind, about);
    };
    if let Some(found) = contradicts::of_figure(judging, &devices, &figure) {
        let what = format!("bandwidth of copies of {}", ByteCount(bytes));
        let evidence = vec![figure.evidence(what, "GB/s", &source)];
        let subject = judging.subject(kind, about);
        let check = subject.inconclusive(ReasonCode::Unreadable, found.text, None, evidence);
        return check.following(&format!("link {}", found.label));
    }
    let is_unproven = pooled
        .placement
        .as_ref()
        .is_some_and(|place| place.wanted.is_some() && place.proven.is_none());
    let remark = if is_unproven {
        "; that the host memory was near is not proven"
    } else {
        ""
    };
    judging.hold(Held {
        kind,
        about,
        ceiling: judging.ceiling(pooled, BANDWIDTH, &devices),
        devices,
        figure,
        what: format!("bandwidth of copies of {}", ByteCount(bytes)),
        unit: "GB/s",
        row: judging.row(kind, of),
        bad: ReasonCode::BelowFloor,
        source,
        more: vec![],
        remark: remark.to_owned(),
    })
}

/// The check of a copy whose host memory was proven to lie on another node than it was wanted on.
fn misplaced(
    judging: &Judging<'_>,
    kind: &str,
    about: &[String],
    pooled: &Pooled,
) -> Option<Check> {
    let place = pooled.placement.as_ref()?;
    let (wanted, proven) = place
        .wanted
        .zip(place.proven)
        .filter(|(wanted, proven)| wanted != proven)?;
    let text = format!(
        "the host memory lies on node {proven} and was wanted on node {wanted} ({}), so that the figure is not that of near memory",
        place.basis
    );
    let evidence = seen(
        "node of the host memory",
        proven.to_string(),
        Some(wanted.to_string()),
        &pooled.source(),
    );
    let came = (Verdict::Fail, ReasonCode::NumaMisbound, text);
    Some(judging.judged(kind, about.to_vec(), came, None, Seen::new(evidence, [])))
}

/// Both directions at once over the better of the single ones.
pub(super) fn bidirectional(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "bidirectional";
    const CASE: &str = "host_bidir_pinned_ce";
    if !judging.pool.has(CASE) {
        return Vec::new();
    }
    let one = |label: String| {
        let about = vec![label.clone()];
        let Some((bytes, pooled)) = judging.pool.point(CASE, HOST, &label) else {
            return judging.lacking(KIND, about);
        };
        let source = pooled.source();
        if let Some(trouble) = &pooled.trouble {
            return judging.troubled(KIND, about, trouble, &source);
        }
        let single = |case: &str, from: &str, to: &str| {
            judging.pool.point(case, from, to)?.1.figure(BANDWIDTH)
        };
        let ways = [
            single("h2d_pinned_ce", HOST, &label),
            single("d2h_pinned_ce", &label, HOST),
        ];
        let better = ways
            .into_iter()
            .flatten()
            .max_by(|a, b| a.value.total_cmp(&b.value));
        let (Some(total), Some(better)) = (pooled.figure("total"), better) else {
            return judging.lacking(KIND, about);
        };
        let Some(ratio) = total.over(&better) else {
            return judging.lacking(KIND, about);
        };
        judging.hold(Held {
            kind: KIND,
            about,
            devices: vec![label],
            figure: ratio,
            what: "both directions at once over the better single one".to_owned(),
            unit: "1",
            row: judging.row(KIND, None),
            ceiling: Ceiling::NoLink,
            bad: ReasonCode::BelowFloor,
            more: vec![
                total.evidence(
                    format!("both directions at once, copies of {}", ByteCount(bytes)),
                    "GB/s",
                    &source,
                ),
                better.evidence("the better single direction", "GB/s", &source),
            ],
            source,
            remark: String::new(),
        })
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// The word of a path class in profiles.
pub(super) fn class(path: PathType) -> String {
    match path {
        PathType::Nv(_) => "NVLINK".to_owned(),
        other => other.name().into_owned(),
    }
}

/// `GPU0->GPU1`.
pub(super) fn arrow((from, to): &(String, String)) -> String {
    format!("{from}->{to}")
}

/// The cases of a kind of copies between devices, the first being the one that others are compared by.
fn peer_cases(kind: &str) -> &'static [&'static str] {
    match kind {
        "p2p_staged" => &["d2d_staged_ce"],
        _ => &["d2d_write_ce", "d2d_read_ce"],
    }
}

/// Copies of each ordered pair: `p2p` or `p2p_staged`. Of writes and reads the slower one decides.
pub(super) fn pairs(judging: &Judging<'_>, kind: &'static str) -> Vec<Check> {
    let cases = peer_cases(kind);
    if !cases.iter().any(|case| judging.pool.has(case)) {
        return Vec::new();
    }
    let all = judging.pool.pairs();
    all.iter()
        .map(|pair| of_pair(judging, kind, cases, pair))
        .collect()
}

fn of_pair(
    judging: &Judging<'_>,
    kind: &'static str,
    cases: &[&str],
    pair: &(String, String),
) -> Check {
    let about = vec![arrow(pair)];
    let (from, to) = pair;
    let found: Vec<(u64, &Pooled)> = cases
        .iter()
        .filter_map(|case| judging.pool.point(case, from, to))
        .collect();
    let is_troubled = |(_, pooled): &&(u64, &Pooled)| pooled.trouble.is_some();
    // What has no number outweighs what has one, and a fault anything else.
    let troubled = found.iter().filter(is_troubled).max_by_key(|(_, pooled)| {
        pooled
            .trouble
            .as_ref()
            .is_some_and(super::trouble::Trouble::is_fault)
    });
    if let Some((_, pooled)) = troubled
        && let Some(trouble) = &pooled.trouble
    {
        let mut trouble = trouble.clone();
        // Where direct access is expected, its absence is told by `peer_access`, and this rests on it.
        let is_expected = kind == "p2p" && judging.profile.peer.expect == Some(Expected::Direct);
        if trouble.code == ReasonCode::NotApplicable && is_expected {
            trouble.code = ReasonCode::DependencyFailed;
        }
        return judging.troubled(kind, about, &trouble, &pooled.source());
    }
    let figure = |pooled: &Pooled| {
        pooled
            .figure(BANDWIDTH)
            .map_or(f64::INFINITY, |figure| figure.value)
    };
    let slower = found
        .iter()
        .min_by(|a, b| figure(a.1).total_cmp(&figure(b.1)));
    let Some(point) = slower else {
        return judging.lacking(kind, about);
    };
    let of = class(judging.pool.path(from, to));
    copy(
        judging,
        kind,
        about,
        vec![from.clone(), to.clone()],
        *point,
        Some(&of),
    )
}

/// The bandwidth of a pair, and from where; direct where it was measured, else staged.
pub(super) fn pair_figure(
    judging: &Judging<'_>,
    pair: &(String, String),
) -> Option<(Figure, String)> {
    pair_cases().find_map(|case| pair_figure_of(judging, case, pair))
}

/// The cases by which pairs are compared with each other, the one that says most first. A copy of one is not held against one of another:
/// they go other ways.
pub(super) fn pair_cases() -> impl Iterator<Item = &'static str> {
    let kinds = ["p2p", "p2p_staged"];
    kinds.into_iter().flat_map(peer_cases).copied()
}

/// The bandwidth of a pair in one case, and from where.
pub(super) fn pair_figure_of(
    judging: &Judging<'_>,
    case: &str,
    (from, to): &(String, String),
) -> Option<(Figure, String)> {
    let (_, pooled) = judging.pool.point(case, from, to)?;
    let figure = pooled
        .figure(BANDWIDTH)
        .filter(|_| pooled.trouble.is_none())?;
    Some((figure, pooled.source()))
}

/// The bandwidth of a device's host link by which it is compared with others.
pub(super) fn host_figure(
    judging: &Judging<'_>,
    kind: &str,
    label: &str,
) -> Option<(Figure, String)> {
    let (from, to) = if kind.starts_with("h2d") {
        (HOST, label)
    } else {
        (label, HOST)
    };
    let (_, pooled) = judging.pool.point(&format!("{kind}_ce"), from, to)?;
    let figure = pooled
        .figure(BANDWIDTH)
        .filter(|_| pooled.trouble.is_none())?;
    Some((figure, pooled.source()))
}

/// Times of 16 B copies of the probe, of pairs that reach each other directly.
pub(super) fn small(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "p2p_latency";
    let mut checks = Vec::new();
    for pair in judging.pool.pairs() {
        let of_pair = || {
            judging
                .pool
                .probes
                .iter()
                .filter(|probed| (&probed.from, &probed.to) == (&pair.0, &pair.1))
        };
        let direct = || of_pair().filter(|probed| probed.probe.verdict == PeerVerdict::Direct);
        let samples: Vec<f64> = direct()
            .flat_map(|probed| &probed.probe.steps)
            .filter_map(|step| match &step.outcome {
                StepOutcome::Timed { quantity } if step.name == "small_copies" => {
                    Some(&quantity.samples)
                }
                _ => None,
            })
            .flatten()
            .copied()
            .collect();
        let about = vec![arrow(&pair)];
        let Some(figure) = Figure::of(samples) else {
            if of_pair().next().is_some() {
                let text = "no small copy went directly between them".to_owned();
                checks.push(
                    judging
                        .subject(KIND, about)
                        .skipped(ReasonCode::NotApplicable, text),
                );
            }
            continue;
        };
        let of = class(judging.pool.path(&pair.0, &pair.1));
        checks.push(
            judging.hold(Held {
                kind: KIND,
                about,
                devices: vec![pair.0.clone(), pair.1.clone()],
                figure,
                what: "time of a 16 B copy with peer access".to_owned(),
                unit: "us",
                row: judging.row(KIND, Some(&of)),
                ceiling: Ceiling::NoLink,
                bad: ReasonCode::AboveLimit,
                source: direct()
                    .map(|probed| probed.source.clone())
                    .next()
                    .unwrap_or_default(),
                more: vec![],
                remark: String::new(),
            }),
        );
    }
    checks
}
