//! Copies between host and devices, pairs, and several at once: rates against the link in use, and ratios of them.

use record::unit::ByteCount;
use record::{PeerVerdict, StepOutcome};
use topology::{PathType, PcieLink};

use super::held::{ASSUMED_PAYLOAD_BYTES, Held};
use super::judging::{Judging, seen};
use super::pool::{BANDWIDTH, Device, HOST, Pooled};
use super::three_way::Figure;
use crate::profile::Expected;
use crate::report::{Check, ReasonCode};

/// A copy that is by so much faster than its link can carry shows that the reading of the link is wrong (our choice).
const ABOVE: f64 = 1.05;

const HOST_COPIES: [&str; 4] = ["h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"];

/// Several copies at once: the name in profiles, the case and its ends.
const PATTERNS: &[(&str, &str, &str, &str)] = &[
    ("host_to_all", "host_to_all_ce", HOST, "all"),
    ("all_to_host", "all_to_host_ce", "all", HOST),
    ("ring", "ring_ce", "all", "all"),
];

/// Ends of an ordered pair.
pub(super) type Pair = (String, String);

/// An ordered pair in words.
pub(super) fn arrow((from, to): &Pair) -> String {
    format!("{from}->{to}")
}

/// The class of a path, as profiles name it.
pub(super) fn class(path: PathType) -> String {
    match path {
        PathType::Nv(_) => "NVLINK".to_owned(),
        other => other.name().into_owned(),
    }
}

fn host_ends<'a>(kind: &str, label: &'a str) -> (&'a str, &'a str) {
    match kind.starts_with("h2d") {
        true => (HOST, label),
        false => (label, HOST),
    }
}

fn peer_cases(kind: &str) -> &'static [&'static str] {
    match kind {
        "p2p_staged" => &["d2d_staged_ce"],
        _ => &["d2d_write_ce", "d2d_read_ce"],
    }
}

/// The cases that give a pair's rate, the best evidence first.
pub(super) fn pair_cases() -> impl Iterator<Item = &'static str> {
    let kinds = ["p2p", "p2p_staged"];
    kinds.into_iter().flat_map(peer_cases).copied()
}

/// The rate of a case between two ends, and its source.
pub(super) fn figure_of(
    judging: &Judging<'_>,
    case: &str,
    from: &str,
    to: &str,
) -> Option<(Figure, String)> {
    let (_, pooled) = judging.pool.point(case, from, to)?;
    let figure = pooled
        .figure(BANDWIDTH)
        .filter(|_| pooled.trouble.is_none())?;
    Some((figure, pooled.source()))
}

/// The rate of a pair.
pub(super) fn pair_figure(judging: &Judging<'_>, (from, to): &Pair) -> Option<Figure> {
    pair_cases().find_map(|case| Some(figure_of(judging, case, from, to)?.0))
}

/// The rate between the host and a device.
pub(super) fn host_figure(
    judging: &Judging<'_>,
    kind: &str,
    label: &str,
) -> Option<(Figure, String)> {
    let (from, to) = host_ends(kind, label);
    figure_of(judging, &format!("{kind}_ce"), from, to)
}

/// The slower of several figures.
pub(super) fn slower(figures: impl Iterator<Item = Figure>) -> Option<Figure> {
    figures.min_by(|a, b| a.value.total_cmp(&b.value))
}

/// Copies between host and each device.
pub(super) fn host_copies(judging: &Judging<'_>, kind: &'static str) -> Vec<Check> {
    let case = format!("{kind}_ce");
    if !judging.pool.has(&case) {
        return Vec::new();
    }
    let one = |label: String| {
        let (from, to) = host_ends(kind, &label);
        let devices = vec![label.clone()];
        match judging.pool.point(&case, from, to) {
            None => judging.lacking(kind, devices),
            Some(point) => copy(judging, kind, devices.clone(), devices, point, None),
        }
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// Copies of each ordered pair: the slower of writing and reading.
pub(super) fn pairs(judging: &Judging<'_>, kind: &'static str) -> Vec<Check> {
    let cases = peer_cases(kind);
    if !cases.iter().any(|case| judging.pool.has(case)) {
        return Vec::new();
    }
    let one = |pair: &Pair| {
        let about = vec![arrow(pair)];
        let points = cases
            .iter()
            .filter_map(|case| judging.pool.point(case, &pair.0, &pair.1));
        let points: Vec<(u64, &Pooled)> = points.collect();
        // What has no number outweighs what has one, and a fault anything else.
        let troubled = points
            .iter()
            .filter_map(|(_, pooled)| Some((pooled.trouble.clone()?, pooled)));
        if let Some((mut trouble, pooled)) = troubled.max_by_key(|(trouble, _)| trouble.is_fault())
        {
            // Where direct access is expected, `peer_access` reports its absence, and this rests on it.
            let is_expected =
                kind == "p2p" && judging.profile.peer.expect == Some(Expected::Direct);
            if trouble.code == ReasonCode::NotApplicable && is_expected {
                trouble.code = ReasonCode::NotMeasured;
            }
            return judging.troubled(kind, about, &trouble, &pooled.source());
        }
        let rate = |pooled: &Pooled| {
            let figure = pooled.figure(BANDWIDTH);
            figure.map_or(f64::INFINITY, |figure| figure.value)
        };
        let slower = points.iter().min_by(|a, b| rate(a.1).total_cmp(&rate(b.1)));
        let Some(point) = slower else {
            return judging.lacking(kind, about);
        };
        let of = class(judging.pool.path(&pair.0, &pair.1));
        let devices = vec![pair.0.clone(), pair.1.clone()];
        copy(judging, kind, about, devices, *point, Some(&of))
    };
    judging.pool.pairs().iter().map(one).collect()
}

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
    let place = pooled.placement.as_ref();
    let wanted = place.and_then(|place| place.wanted);
    let proven = place.and_then(|place| place.proven);
    if let Some((wanted, proven)) = wanted.zip(proven)
        && wanted != proven
    {
        let expected = Some(wanted.to_string());
        let evidence = seen(
            "node of the host memory",
            proven.to_string(),
            expected,
            &source,
        );
        return judging.fail(kind, &about.join(" "), ReasonCode::ConfigMismatch, evidence);
    }
    let Some(figure) = pooled.figure(BANDWIDTH) else {
        return judging.lacking(kind, about);
    };
    let what = format!("bandwidth of copies of {}", ByteCount(bytes));
    let remark = match wanted.is_some() && proven.is_none() {
        true => "near host memory is not proven",
        false => "",
    };
    let held = Held::new(kind, about, figure, (what, "GB/s"), source);
    judging.hold(Held {
        ceiling: judging.ceiling(pooled, &devices),
        remark: remark.to_owned(),
        ..held.by(judging.row(kind, of), devices)
    })
}

/// Whether a device's own copies are faster than its link as it was read.
pub(super) fn contradicts_link(judging: &Judging<'_>, device: &Device) -> bool {
    let label = &device.it.label;
    let mut host = HOST_COPIES
        .iter()
        .filter_map(|kind| host_figure(judging, kind, label));
    host.any(|(figure, _)| is_above(device, &figure))
}

fn is_above(device: &Device, figure: &Figure) -> bool {
    let read = device
        .loaded
        .iter()
        .filter_map(|(reading, _)| reading.limiting());
    let faster = |a: PcieLink, b: PcieLink| if a.cmp_rate(b).is_lt() { b } else { a };
    let Some(link) = read.reduce(faster) else {
        return false;
    };
    let payload = device.it.max_payload_bytes.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let most = link.payload_ceiling_gb_per_s(payload);
    let least = figure.samples.iter().copied().reduce(f64::min);
    let low = figure.ends.map(|(low, _)| low).or(least);
    low.is_some_and(|low| low > most * ABOVE)
}

/// What copies reach at once over what they have alone.
fn at_once(
    judging: &Judging<'_>,
    (kind, of): (&'static str, Option<&str>),
    (about, devices): (&str, Vec<String>),
    point: Option<&Pooled>,
    alone: Option<Figure>,
) -> Check {
    let about = vec![about.to_owned()];
    if let Some((pooled, trouble)) = point.and_then(|own| Some((own, own.trouble.as_ref()?))) {
        return judging.troubled(kind, about, trouble, &pooled.source());
    }
    let total = point.and_then(|own| Some((own.figure("total")?, own.source())));
    let Some(((total, source), alone)) = total.zip(alone) else {
        return judging.lacking(kind, about);
    };
    let Some(figure) = total.over(&alone) else {
        return judging.lacking(kind, about);
    };
    let parts = [("all at once", &total), ("alone", &alone)];
    let parts = parts.map(|(what, figure)| figure.evidence(what, "GB/s", &source));
    let held = Held::new(kind, about, figure, ("all at once over alone", "1"), source);
    judging.hold(Held {
        more: parts.to_vec(),
        ..held.by(judging.row(kind, of), devices)
    })
}

/// Both directions at once over the better single one.
pub(super) fn bidirectional(judging: &Judging<'_>) -> Vec<Check> {
    const CASE: &str = "host_bidir_pinned_ce";
    if !judging.pool.has(CASE) {
        return Vec::new();
    }
    let one = |label: String| {
        let point = judging.pool.point(CASE, HOST, &label);
        let ways = ["h2d_pinned", "d2h_pinned"].into_iter();
        let ways = ways.filter_map(|kind| Some(host_figure(judging, kind, &label)?.0));
        let better = ways.max_by(|a, b| a.value.total_cmp(&b.value));
        let devices = vec![label.clone()];
        let of = ("bidirectional", None);
        at_once(
            judging,
            of,
            (&label, devices),
            point.map(|(_, own)| own),
            better,
        )
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// Several copies at once: what all together reach over the sum of what each has alone.
pub(super) fn concurrent(judging: &Judging<'_>) -> Vec<Check> {
    let one = |(name, case, from, to): &(&str, &str, &str, &str)| {
        let (_, point) = judging.pool.point(case, from, to)?;
        let labels = judging.pool.labels();
        let next = labels.iter().cycle().skip(1);
        let alone = |(label, next): (&String, &String)| match *name {
            "host_to_all" => Some(host_figure(judging, "h2d_pinned", label)?.0),
            "all_to_host" => Some(host_figure(judging, "d2h_pinned", label)?.0),
            _ => pair_figure(judging, &(label.clone(), next.clone())),
        };
        let alone: Option<Vec<Figure>> = labels.iter().zip(next).map(alone).collect();
        let alone = alone.and_then(|alone| Figure::sum(&alone));
        let of = ("concurrent", Some(*name));
        let about = (*name, labels.clone());
        Some(at_once(judging, of, about, Some(point), alone))
    };
    PATTERNS.iter().filter_map(one).collect()
}

/// Small copies of each pair with peer access.
pub(super) fn small(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "p2p_latency";
    let one = |pair: Pair| {
        let probes = || {
            let all = judging.pool.probes.iter();
            all.filter(|probed| (&probed.from, &probed.to) == (&pair.0, &pair.1))
        };
        let about = vec![arrow(&pair)];
        let direct = || probes().filter(|probed| probed.probe.verdict == PeerVerdict::Direct);
        let steps = direct().flat_map(|probed| &probed.probe.steps);
        let samples = steps.filter_map(|step| match &step.outcome {
            StepOutcome::Timed { quantity } if step.name == "small_copies" => {
                Some(&quantity.samples)
            }
            _ => None,
        });
        let Some(figure) = Figure::of(samples.flatten().copied().collect()) else {
            let none = judging.skip(KIND, &arrow(&pair), ReasonCode::NotApplicable);
            return probes().next().map(|_| none);
        };
        let of = class(judging.pool.path(&pair.0, &pair.1));
        let source = direct().map(|probed| probed.source.clone()).next();
        let what = ("time of a 16 B copy with peer access", "us");
        let held = Held::new(KIND, about, figure, what, source.unwrap_or_default());
        let devices = vec![pair.0.clone(), pair.1.clone()];
        Some(judging.hold(held.by(judging.row(KIND, Some(&of)), devices)))
    };
    judging.pool.pairs().into_iter().filter_map(one).collect()
}
