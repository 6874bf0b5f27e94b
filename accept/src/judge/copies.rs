//! Copies between host and devices, pairs, and several at once: rates against the link in use, and ratios of them.

use record::unit::ByteCount;
use topology::{PathType, PcieLink};

use super::held::{ASSUMED_PAYLOAD_BYTES, Held};
use super::judging::Judging;
use super::pool::{BANDWIDTH, Device, HOST, Pair, Pooled};
use super::three_way::Figure;
use crate::profile::Expected;
use crate::report::{Came, Check, Evidence, ReasonCode};

/// A copy that is by so much faster than its link can carry shows that the reading of the link is wrong (our choice).
const ABOVE: f64 = 1.05;

const HOST_COPIES: [&str; 4] = ["h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"];

/// Several copies at once: the name in profiles, the case and its ends.
const PATTERNS: &[(&str, &str, Pair<'_>)] = &[
    ("host_to_all", "host_to_all_ce", (HOST, "all")),
    ("all_to_host", "all_to_host_ce", ("all", HOST)),
    ("ring", "ring_ce", ("all", "all")),
];

/// The cases that give a pair's rate: direct ones, then through the host.
pub(super) const PAIR_CASES: [&str; 3] = ["d2d_write_ce", "d2d_read_ce", "d2d_staged_ce"];

/// An ordered pair in words.
pub(super) fn arrow((from, to): Pair<'_>) -> String {
    format!("{from}->{to}")
}

/// The class of a path, as profiles name it.
pub(super) fn class(path: PathType) -> std::borrow::Cow<'static, str> {
    match path {
        PathType::Nv(_) => "NVLINK".into(),
        other => other.name(),
    }
}

fn host_ends<'a>(kind: &str, label: &'a str) -> Pair<'a> {
    match kind.starts_with("h2d") {
        true => (HOST, label),
        false => (label, HOST),
    }
}

/// The rate of a case between two ends, and its source.
pub(super) fn figure_of(
    judging: &Judging<'_>,
    case: &str,
    pair: Pair<'_>,
) -> Option<(Figure, String)> {
    let (_, pooled) = judging.pool.point(case, pair)?;
    let figure = pooled.figure(BANDWIDTH);
    let figure = figure.filter(|_| pooled.trouble.is_none())?;
    Some((figure, pooled.source()))
}

/// The rate of a pair.
pub(super) fn pair_figure(judging: &Judging<'_>, pair: Pair<'_>) -> Option<Figure> {
    let mut cases = PAIR_CASES.into_iter();
    cases.find_map(|case| Some(figure_of(judging, case, pair)?.0))
}

/// The rate between the host and a device.
pub(super) fn host_figure(
    judging: &Judging<'_>,
    kind: &str,
    label: &str,
) -> Option<(Figure, String)> {
    figure_of(judging, &format!("{kind}_ce"), host_ends(kind, label))
}

/// Copies between host and each device.
pub(super) fn host_copies(judging: &Judging<'_>, kind: &str) -> Vec<Check> {
    let case = format!("{kind}_ce");
    if !judging.pool.has(&case) {
        return Vec::new();
    }
    judging.each(kind, |device| {
        let label = &*device.it.label;
        let point = judging.pool.point(&case, host_ends(kind, label));
        point.map_or_else(
            || judging.lacking(kind),
            |point| copy(judging, (kind, None), &[label], point),
        )
    })
}

/// Copies of each ordered pair: the slower of writing and reading.
pub(super) fn pairs(judging: &Judging<'_>, kind: &str) -> Vec<Check> {
    let (direct, staged) = PAIR_CASES.split_at(2);
    let cases = if kind == "p2p" { direct } else { staged };
    if !cases.iter().any(|case| judging.pool.has(case)) {
        return Vec::new();
    }
    let one = |pair: Pair<'_>| {
        let points = cases.iter();
        let points: Vec<_> = points
            .filter_map(|case| judging.pool.point(case, pair))
            .collect();
        // What has no number outweighs what has one, and a fault anything else.
        let troubles = points
            .iter()
            .filter_map(|(_, pooled)| pooled.trouble.clone());
        if let Some(mut trouble) = troubles.max_by_key(Came::is_fault) {
            // Where direct access is expected, `peer_access` reports its absence, and this rests on it.
            let is_expected =
                kind == "p2p" && judging.profile.peer.expect == Some(Expected::Direct);
            if trouble.code == ReasonCode::NotApplicable && is_expected {
                trouble.code = ReasonCode::NotMeasured;
            }
            return trouble;
        }
        let rate = |pooled: &Pooled| {
            let figure = pooled.figure(BANDWIDTH);
            figure.map_or(f64::INFINITY, |figure| figure.value)
        };
        let slower = points.iter().min_by(|a, b| rate(a.1).total_cmp(&rate(b.1)));
        let Some(point) = slower else {
            return judging.lacking(kind);
        };
        let of = class(judging.pool.path(pair));
        copy(judging, (kind, Some(&*of)), &[pair.0, pair.1], *point)
    };
    let all = judging.pool.pairs().into_iter();
    all.map(|pair| judging.check(kind, &[&arrow(pair)], one(pair)))
        .collect()
}

fn copy(
    judging: &Judging<'_>,
    (kind, of): (&str, Option<&str>),
    devices: &[&str],
    (bytes, pooled): (u64, &Pooled),
) -> Came {
    let source = pooled.source();
    if let Some(trouble) = &pooled.trouble {
        return trouble.clone();
    }
    let place = pooled.placement.as_ref();
    let wanted = place.and_then(|place| place.wanted);
    let proven = place.and_then(|place| place.proven);
    if let Some((wanted, proven)) = wanted.zip(proven)
        && wanted != proven
    {
        let evidence = Evidence::seen("node of the host memory", proven, &source);
        return Came::fail(ReasonCode::ConfigMismatch, evidence.expecting(wanted));
    }
    let Some(figure) = pooled.figure(BANDWIDTH) else {
        return judging.lacking(kind);
    };
    let held = Held {
        what: &format!("bandwidth of copies of {}", ByteCount(bytes)),
        unit: "GB/s",
        source: &source,
        devices,
    };
    let ceiling = judging.ceiling(pooled, devices);
    let came = judging.hold_below(judging.row(kind, of), &figure, &held, ceiling);
    match wanted.is_some() && proven.is_none() {
        true => came.saying("near host memory is not proven"),
        false => came,
    }
}

/// Whether a device's own copies are faster than its link as it was read.
pub(super) fn contradicts_link(judging: &Judging<'_>, device: &Device) -> bool {
    let read = device.loaded.iter();
    let read = read.filter_map(|(reading, _)| reading.limiting());
    let faster = |a: PcieLink, b: PcieLink| if a.cmp_rate(b).is_lt() { b } else { a };
    let Some(link) = read.reduce(faster) else {
        return false;
    };
    let payload = device.it.max_payload_bytes.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let most = link.payload_ceiling_gb_per_s(payload) * ABOVE;
    HOST_COPIES.iter().any(|kind| {
        let Some((figure, _)) = host_figure(judging, kind, &device.it.label) else {
            return false;
        };
        let least = figure.samples.iter().copied().reduce(f64::min);
        let low = figure.ends.map(|(low, _)| low).or(least);
        low.is_some_and(|low| low > most)
    })
}

/// What copies reach at once over what they have alone.
fn at_once(
    judging: &Judging<'_>,
    (kind, of): (&str, Option<&str>),
    devices: &[&str],
    point: Option<&Pooled>,
    alone: Option<Figure>,
) -> Came {
    if let Some(trouble) = point.and_then(|own| own.trouble.clone()) {
        return trouble;
    }
    let total = point.and_then(|own| Some((own.figure("total")?, own.source())));
    let both = total.zip(alone);
    let ratio = both
        .as_ref()
        .and_then(|((total, _), alone)| total.over(alone));
    let (Some(((total, source), alone)), Some(ratio)) = (&both, ratio) else {
        return judging.lacking(kind);
    };
    let held = Held {
        what: "all at once over alone",
        unit: "1",
        source,
        devices,
    };
    let parts = [("all at once", total), ("alone", alone)];
    let parts = parts.map(|(what, figure)| figure.evidence(what, "GB/s", source));
    let came = judging.hold(judging.row(kind, of), &ratio, &held);
    came.with(parts)
}

/// Both directions at once over the better single one.
pub(super) fn bidirectional(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "bidirectional";
    const CASE: &str = "host_bidir_pinned_ce";
    if !judging.pool.has(CASE) {
        return Vec::new();
    }
    judging.each(KIND, |device| {
        let label = &*device.it.label;
        let point = judging.pool.point(CASE, (HOST, label));
        let ways = ["h2d_pinned", "d2h_pinned"].into_iter();
        let ways = ways.filter_map(|kind| Some(host_figure(judging, kind, label)?.0));
        let better = ways.max_by(|a, b| a.value.total_cmp(&b.value));
        let point = point.map(|(_, own)| own);
        at_once(judging, (KIND, None), &[label], point, better)
    })
}

/// Several copies at once: what all together reach over the sum of what each has alone.
pub(super) fn concurrent(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "concurrent";
    let labels = judging.pool.labels();
    let one = |(name, case, ends): &(&str, &str, Pair<'_>)| {
        let (_, point) = judging.pool.point(case, *ends)?;
        let next = labels.iter().cycle().skip(1);
        let alone = |(label, next): (&&str, &&str)| match *name {
            "host_to_all" => Some(host_figure(judging, "h2d_pinned", label)?.0),
            "all_to_host" => Some(host_figure(judging, "d2h_pinned", label)?.0),
            _ => pair_figure(judging, (label, next)),
        };
        let alone: Option<Vec<Figure>> = labels.iter().zip(next).map(alone).collect();
        let alone = alone.and_then(|alone| Figure::sum(&alone.iter().collect::<Vec<_>>()));
        let came = at_once(judging, (KIND, Some(name)), &labels, Some(point), alone);
        Some(judging.check(KIND, &[name], came))
    };
    PATTERNS.iter().filter_map(one).collect()
}
