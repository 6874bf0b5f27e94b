//! What the values of a profile must be: known words, limits that make sense, and a source for each.

use program::command_line::nearest;
use toml::{Table, Value};

use super::model::{LimitRow, LimitUnit, Profile};
use crate::checks::{self, KINDS};
use crate::plural::plural;
use crate::report::Side;

/// Backends that a box can have.
const BACKENDS: &[&str] = &["cuda", "hip", "maca", "host"];

/// A fraction above this of what a link carries is a slip of the pen.
const LARGEST_FRACTION: f64 = 1.2;

/// Which units limits on a kind may have, and of which figures; a kind that is not here takes none.
const FIGURES: &[(&str, &[LimitUnit], &[&str])] = &[
    ("h2d_pinned", RATES, &[]),
    ("d2h_pinned", RATES, &[]),
    ("h2d_pageable", RATES, &[]),
    ("d2h_pageable", RATES, &[]),
    ("bidirectional", &[LimitUnit::Ratio], &[]),
    ("p2p", RATES, PATHS),
    ("p2p_staged", RATES, PATHS),
    ("p2p_latency", &[LimitUnit::Microseconds], PATHS),
    ("symmetry", &[LimitUnit::Ratio], &[]),
    ("spread", &[LimitUnit::Ratio], &[]),
    (
        "concurrent",
        &[LimitUnit::Ratio],
        &["host_to_all", "all_to_host", "ring", "all_pairs"],
    ),
    ("numa_penalty", &[LimitUnit::Ratio], &[]),
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
    ("drift", &[LimitUnit::Ratio], &[]),
    (
        "counters",
        &[LimitUnit::Events, LimitUnit::EventsPerHour],
        COUNTERS,
    ),
    ("temperature", &[LimitUnit::Celsius], &[]),
    ("memory_repairs", &[LimitUnit::Repairs], REPAIRS),
    ("serving", &[LimitUnit::Milliseconds], &["tpot", "ttft"]),
];

const RATES: &[LimitUnit] = &[LimitUnit::OfCeiling, LimitUnit::GbPerS];

/// Path classes by the words of `nvidia-smi topo -m`; NVLINK whatever the number of links.
const PATHS: &[&str] = &[
    "PIX", "PXB", "PHB", "NODE", "SYS", "NVLINK", "MX", "XGMI", "X", "UNKNOWN",
];

const COUNTERS: &[&str] = &[
    "aer_correctable",
    "aer_nonfatal",
    "aer_fatal",
    "pcie_replays",
    "ecc_correctable",
    "ecc_uncorrectable",
];

const REPAIRS: &[&str] = &[
    "remapped_uncorrectable",
    "remapped_correctable",
    "retired_pages",
];

/// Checks one file by itself: what the profile that it ends in does not show any more.
pub(super) fn file(table: &Table) -> Result<(), String> {
    let expectations = [
        ("link", &["generation", "width"][..]),
        ("peer", &["expect"]),
        ("numa", &["nodes"]),
    ];
    for (name, keys) in expectations {
        let Some(own) = table.get(name).and_then(Value::as_table) else {
            continue;
        };
        let source = own
            .get("source")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if keys.iter().any(|key| own.contains_key(*key)) && source.trim().is_empty() {
            return Err(format!(
                "[{name}] needs source = \"...\": where it comes from"
            ));
        }
    }
    let rows = table.get("limit").and_then(Value::as_array);
    let names = rows
        .into_iter()
        .flatten()
        .map(|row| (row.get("check"), row.get("of")));
    let names: Vec<_> = names.collect();
    for (at, (check, of)) in names.iter().enumerate() {
        if names[..at].contains(&(*check, *of)) {
            let check = check.and_then(Value::as_str).unwrap_or_default();
            return Err(format!("there are two limits on {check}; leave one"));
        }
    }
    Ok(())
}

/// Checks what all files together say.
pub(super) fn whole(profile: &Profile) -> Result<(), String> {
    if let Some(matches) = &profile.matches {
        if !BACKENDS.contains(&matches.backend.as_str()) {
            return Err(format!(
                "[match] backend is `{}`; backends are {}",
                matches.backend,
                BACKENDS.join(", ")
            ));
        }
        if matches.count == 0 || matches.names.is_empty() {
            return Err("[match] needs at least one name and a count of 1 or more".to_owned());
        }
        if let Some(numa) = &profile.numa
            && numa.nodes.len() != matches.count
        {
            let (nodes, count) = (numa.nodes.len(), matches.count);
            return Err(format!(
                "[numa] gives {} for {}; give one for each device, in the order of their PCI addresses",
                plural(nodes, "node"),
                plural(count, "device")
            ));
        }
    }
    profile.limit.iter().try_for_each(limit)?;
    let required = &profile.required;
    let required = [&required.quick, &required.standard, &required.soak];
    let mut required = required.into_iter().flatten();
    required.try_for_each(|kind| known_kind(kind))?;
    if let (Some(generation), Some(width)) = (profile.link.generation, profile.link.width) {
        topology::PcieLink::new(generation, width).map_err(|error| format!("[link]: {error}"))?;
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if !positive(profile.budget.quick_s) || !positive(profile.budget.standard_s) {
        return Err("[budget] needs seconds above 0".to_owned());
    }
    let least = stats::MIN_FOR_INTERVAL;
    let sampling = profile.sampling;
    if sampling.repeats < least || sampling.max_repeats < sampling.repeats {
        return Err(format!(
            "[sampling] needs {least} repeats or more, which an interval of the median takes, and max_repeats not below them"
        ));
    }
    let sizes = &profile.allreduce;
    if sizes.small_bytes == 0 || sizes.large_bytes <= sizes.small_bytes {
        return Err("[allreduce] needs small_bytes above 0 and large_bytes above that".to_owned());
    }
    Ok(())
}

/// Checks one limit.
fn limit(row: &LimitRow) -> Result<(), String> {
    known_kind(&row.check)?;
    let of = named(row);
    let Some((_, units, figures)) = FIGURES.iter().find(|(kind, ..)| *kind == row.check) else {
        return Err(format!(
            "{of} takes no limit: what it must be stands in [match], [link], [peer] or [numa], or is not a number"
        ));
    };
    let has_several = matches!(
        row.check.as_str(),
        "allreduce" | "counters" | "memory_repairs" | "serving"
    );
    let is_figure = match &row.of {
        Some(figure) => figures.contains(&figure.as_str()),
        None => !has_several,
    };
    let units: Vec<&str> = units.iter().map(|unit| unit.word()).collect();
    let good = match good_side(row) {
        Side::AtLeast => "at_least",
        Side::AtMost => "at_most",
    };
    let values: Vec<f64> = [row.fail, row.warn].into_iter().flatten().collect();
    let most = match row.unit {
        LimitUnit::OfCeiling => LARGEST_FRACTION,
        _ => f64::MAX,
    };
    let is_outside = |(fail, warn): (f64, f64)| match row.good {
        Side::AtLeast => warn < fail,
        Side::AtMost => warn > fail,
    };
    let rules = [
        (
            is_figure,
            format!("`of` must be one of [{}]", figures.join(", ")),
        ),
        (
            units.contains(&row.unit.word()),
            format!("`unit` must be one of [{}]", units.join(", ")),
        ),
        (
            row.good == good_side(row),
            format!("`good` must be \"{good}\""),
        ),
        (
            !row.source.trim().is_empty(),
            "`source` must say where it comes from".to_owned(),
        ),
        (
            !values.is_empty() && values.iter().all(|value| (0.0..=most).contains(value)),
            format!("`fail` or `warn` must be given, from 0 to {most:e}"),
        ),
        (
            !row.fail.zip(row.warn).is_some_and(is_outside),
            "`warn` must be on the good side of `fail`".to_owned(),
        ),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(format!("the limit on {of}: {rule}")),
        None => Ok(()),
    }
}

/// The side on which judges look for the good of a figure.
fn good_side(row: &LimitRow) -> Side {
    match (row.check.as_str(), row.unit) {
        ("p2p_latency" | "symmetry" | "spread" | "counters" | "memory_repairs" | "serving", _)
        | ("allreduce", LimitUnit::Microseconds) => Side::AtMost,
        _ => Side::AtLeast,
    }
}

fn known_kind(key: &str) -> Result<(), String> {
    if checks::kind(key).is_some() {
        return Ok(());
    }
    let near = nearest(key, KINDS.iter().map(|kind| kind.key));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Err(format!("there is no check `{key}`{near}"))
}

/// The figure of a limit in messages.
pub(super) fn named(row: &LimitRow) -> String {
    match &row.of {
        Some(of) => format!("{} of {of}", row.check),
        None => row.check.clone(),
    }
}
