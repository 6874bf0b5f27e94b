//! What the values of a profile must be beyond their types: limits that make sense, each with a source.

use super::model::{LimitRow, LimitUnit, Profile};
use crate::report::Side;

/// A fraction above this of what a link carries is a slip of the pen.
const LARGEST_FRACTION: f64 = 1.2;

const RATES: &[LimitUnit] = &[LimitUnit::OfCeiling, LimitUnit::GbPerS];
const RATIO: &[LimitUnit] = &[LimitUnit::Ratio];

/// Path classes by the words of `nvidia-smi topo -m`; NVLINK whatever the number of links.
const PATHS: &[&str] = &[
    "", "PIX", "PXB", "PHB", "NODE", "SYS", "NVLINK", "MX", "XGMI", "X", "UNKNOWN",
];

/// Which units limits on a kind may have, and of which figures, the empty one of all; a kind that is not here takes none.
const FIGURES: &[(&str, &[LimitUnit], &[&str])] = &[
    ("h2d_pinned", RATES, &[""]),
    ("d2h_pinned", RATES, &[""]),
    ("h2d_pageable", RATES, &[""]),
    ("d2h_pageable", RATES, &[""]),
    ("bidirectional", RATIO, &[""]),
    ("p2p", RATES, PATHS),
    ("p2p_staged", RATES, PATHS),
    ("symmetry", RATIO, &[""]),
    ("spread", RATIO, &[""]),
    (
        "concurrent",
        RATIO,
        &["", "host_to_all", "all_to_host", "ring"],
    ),
    ("numa_penalty", RATIO, &[""]),
    (
        "allreduce",
        &[
            LimitUnit::Microseconds,
            LimitUnit::GbPerS,
            LimitUnit::Ratio,
            LimitUnit::OfCeiling,
        ],
        &["small", "large"],
    ),
    ("drift", RATIO, &[""]),
    (
        "counters",
        &[LimitUnit::Events, LimitUnit::EventsPerHour],
        &[
            "aer_correctable",
            "aer_nonfatal",
            "aer_fatal",
            "pcie_replays",
            "ecc_correctable",
            "ecc_uncorrectable",
        ],
    ),
    ("temperature", &[LimitUnit::Celsius], &[""]),
    (
        "memory_repairs",
        &[LimitUnit::Repairs],
        &[
            "remapped_uncorrectable",
            "remapped_correctable",
            "retired_pages",
        ],
    ),
    ("serving", &[LimitUnit::Milliseconds], &["tpot", "ttft"]),
];

/// Checks what all files together say.
pub(super) fn whole(profile: &Profile) -> Result<(), String> {
    if let Some((matches, numa)) = profile.matches.as_ref().zip(profile.numa.as_ref())
        && numa.nodes.len() != matches.count
    {
        let (nodes, count) = (numa.nodes.len(), matches.count);
        return Err(format!(
            "[numa] has {nodes} nodes of {count} devices; give one for each, in the order of their PCI addresses"
        ));
    }
    if let Some((generation, width)) = profile.link.generation.zip(profile.link.width) {
        topology::PcieLink::new(generation, width).map_err(|error| format!("[link]: {error}"))?;
    }
    if profile.sampling.repeats < stats::MIN_FOR_INTERVAL {
        let least = stats::MIN_FOR_INTERVAL;
        return Err(format!("[sampling] needs {least} repeats or more"));
    }
    let rows = &profile.limit;
    let named = |row: &LimitRow| (row.check.clone(), row.of.clone());
    for (at, row) in rows.iter().enumerate() {
        let of = row.of.as_deref().unwrap_or_default();
        let refused = |why: String| format!("the limit on {} {of}: {why}", row.check);
        limit(row, of).map_err(refused)?;
        if rows[..at].iter().any(|other| named(other) == named(row)) {
            return Err(refused("it stands there twice".to_owned()));
        }
    }
    Ok(())
}

/// Checks one limit.
fn limit(row: &LimitRow, of: &str) -> Result<(), String> {
    let known = FIGURES.iter().find(|(kind, ..)| *kind == row.check);
    let Some((_, units, figures)) = known else {
        return Err("[match], [link], [peer] or [numa] say what it must be".to_owned());
    };
    let most = match row.unit {
        LimitUnit::OfCeiling => LARGEST_FRACTION,
        _ => f64::MAX,
    };
    let mut lines = [row.fail, row.warn].into_iter().flatten();
    let is_outside = |(fail, warn): (f64, f64)| match row.good {
        Side::AtLeast => warn < fail,
        Side::AtMost => warn > fail,
    };
    match () {
        () if !figures.contains(&of) => Err(format!("`of` is one of {figures:?}")),
        () if !units.contains(&row.unit) => {
            let words: Vec<String> = units.iter().map(ToString::to_string).collect();
            Err(format!("`unit` is one of {words:?}"))
        }
        () if row.good != good_side(row) => Err("good lies on the other side".to_owned()),
        () if row.source.trim().is_empty() => Err("`source` is empty".to_owned()),
        () if row.fail.or(row.warn).is_none()
            || !lines.all(|line| (0.0..=most).contains(&line)) =>
        {
            Err(format!(
                "`fail` or `warn` must be given, from 0 to {most:e}"
            ))
        }
        () if row.fail.zip(row.warn).is_some_and(is_outside) => {
            Err("`warn` must be on the good side of `fail`".to_owned())
        }
        () => Ok(()),
    }
}

/// The side on which judges look for the good of a figure.
fn good_side(row: &LimitRow) -> Side {
    match (row.check.as_str(), row.unit) {
        ("symmetry" | "spread" | "counters" | "memory_repairs" | "serving", _)
        | ("allreduce", LimitUnit::Microseconds) => Side::AtMost,
        _ => Side::AtLeast,
    }
}
