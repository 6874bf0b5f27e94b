//! Copies between host and devices, pairs, and several at once: rates against the link in use, and ratios of them.

use record::unit::ByteCount;
use topology::PathType;

use super::judging::{ASSUMED_PAYLOAD_BYTES, Judging};
use super::pool::{BANDWIDTH, Device, HOST, PAIR_CASES, Pair, Pooled, arrow, host_ends};
use crate::profile::Expected;
use crate::report::{Came, Check, Measured, ReasonCode, Seen};

/// A copy that is by so much faster than its link can carry shows that the reading of the link is wrong (our choice).
const ABOVE: f64 = 1.05;

const HOST_COPIES: [&str; 4] = ["h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"];

/// Several copies at once: the name in profiles, the case and its ends.
const PATTERNS: &[(&str, &str, Pair<'_>)] = &[
    ("host_to_all", "host_to_all_ce", (HOST, "all")),
    ("all_to_host", "all_to_host_ce", ("all", HOST)),
    ("ring", "ring_ce", ("all", "all")),
];

/// The class of a path, as profiles name it.
pub(super) fn class(path: PathType) -> std::borrow::Cow<'static, str> {
    match path {
        PathType::Nv(_) => "NVLINK".into(),
        other => other.name(),
    }
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
        copy(judging, (kind, None), &[label], point)
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
        let point = |case: &&str| judging.pool.point(case, pair);
        let points = || cases.iter().filter_map(point);
        // What has no number outweighs what has one, and a fault anything else.
        let troubles = points().filter_map(|pooled| pooled.trouble.clone());
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
        let slower = points().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let of = class(judging.pool.path(pair));
        copy(judging, (kind, Some(&*of)), &[pair.0, pair.1], slower)
    };
    let all = judging.pool.pairs().into_iter();
    all.map(|pair| judging.check(kind, &[&arrow(pair)], one(pair)))
        .collect()
}

fn copy(
    judging: &Judging<'_>,
    (kind, of): (&str, Option<&str>),
    devices: &[&str],
    point: Option<&Pooled>,
) -> Came {
    let Some(pooled) = point else {
        return judging.lacking(kind);
    };
    if let Some(trouble) = &pooled.trouble {
        return trouble.clone();
    }
    let place = pooled.placement.as_ref();
    let wanted = place.and_then(|place| place.wanted);
    let proven = place.and_then(|place| place.proven);
    if let Some((wanted, proven)) = wanted.zip(proven)
        && wanted != proven
    {
        let seen = Seen::of("node of the host memory", proven, &pooled.source());
        return Came::fail(ReasonCode::ConfigMismatch, seen.expecting(wanted));
    }
    let Some(figure) = pooled.figure(BANDWIDTH) else {
        return judging.lacking(kind);
    };
    let size = ByteCount(pooled.bytes);
    let figure = figure.named(format!("bandwidth of copies of {size}"));
    let ceiling = judging.ceiling(pooled, devices);
    let came = judging.hold_below(judging.row(kind, of), figure, devices, ceiling);
    match wanted.is_some() && proven.is_none() {
        true => came.saying("near host memory is not proven"),
        false => came,
    }
}

/// Whether a device's own copies are faster than its link as it was read.
pub(super) fn contradicts_link(judging: &Judging<'_>, device: &Device) -> bool {
    let read = device.loaded.iter();
    let read = read.filter_map(|(reading, _)| reading.limiting());
    let Some(link) = read.max_by(|a, b| a.cmp_rate(*b)) else {
        return false;
    };
    let payload = device.it.max_payload_bytes.unwrap_or(ASSUMED_PAYLOAD_BYTES);
    let most = link.payload_ceiling_gb_per_s(payload) * ABOVE;
    HOST_COPIES.iter().any(|kind| {
        let figure = judging.pool.host_rate(kind, &device.it.label);
        figure.is_some_and(|figure| {
            let least = figure.samples.iter().copied().reduce(f64::min);
            figure.low.or(least).is_some_and(|low| low > most)
        })
    })
}

/// What copies reach at once over what they have alone.
fn at_once(
    judging: &Judging<'_>,
    (kind, of): (&str, Option<&str>),
    devices: &[&str],
    point: Option<&Pooled>,
    alone: Option<Measured>,
) -> Came {
    if let Some(trouble) = point.and_then(|own| own.trouble.clone()) {
        return trouble;
    }
    let both = point.and_then(|own| own.figure("total")).zip(alone);
    let ratio = both.as_ref().and_then(|(total, alone)| total.over(alone));
    let (Some((total, alone)), Some(ratio)) = (both, ratio) else {
        return judging.lacking(kind);
    };
    let alone = alone.named("alone").in_unit("GB/s", &*total.source);
    let ratio = ratio.named("all at once over alone");
    let came = judging.hold(judging.row(kind, of), ratio, devices);
    came.with([total.named("all at once"), alone])
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
        let ways = ways.filter_map(|kind| judging.pool.host_rate(kind, label));
        let better = ways.max_by(|a, b| a.value.total_cmp(&b.value));
        at_once(judging, (KIND, None), &[label], point, better)
    })
}

/// Several copies at once: what all together reach over the sum of what each has alone.
pub(super) fn concurrent(judging: &Judging<'_>) -> Vec<Check> {
    const KIND: &str = "concurrent";
    let pool = &judging.pool;
    let labels = pool.labels();
    let one = |(name, case, ends): &(&str, &str, Pair<'_>)| {
        let point = pool.point(case, *ends)?;
        let next = labels.iter().cycle().skip(1);
        let alone = |(label, next): (&&str, &&str)| match *name {
            "host_to_all" => pool.host_rate("h2d_pinned", label),
            "all_to_host" => pool.host_rate("d2h_pinned", label),
            _ => pool.pair_rate((label, next)),
        };
        let alone: Option<Vec<Measured>> = labels.iter().zip(next).map(alone).collect();
        let alone = alone.and_then(|alone| Measured::sum(&alone.iter().collect::<Vec<_>>()));
        let came = at_once(judging, (KIND, Some(name)), &labels, Some(point), alone);
        Some(judging.check(KIND, &[name], came))
    };
    PATTERNS.iter().filter_map(one).collect()
}
