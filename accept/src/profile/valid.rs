//! What the values of a profile must be: known words, limits that make sense, and a source for each.

use super::error::nearest;
use super::model::{LimitRow, LimitUnit, Profile};
use super::part::Part;
use crate::checks::{self, KINDS};
use crate::plural::plural;
use crate::report::Side;

/// Backends that a box can have.
const BACKENDS: &[&str] = &["cuda", "hip", "maca", "host"];

/// Levels that have a list of what they require.
const LEVELS: &[&str] = &["quick", "standard", "soak"];

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

/// What is wrong in a file, and the byte where, as far as that is known.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) at: Option<usize>,
    pub(super) problem: String,
}

/// Checks what one file says.
pub(super) fn file(part: &Part) -> Result<(), Fault> {
    let fault = |problem: String| Fault { at: None, problem };
    let stated = [
        (
            "link",
            part.link.generation.is_some() || part.link.width.is_some(),
            part.link.source.as_deref(),
        ),
        (
            "peer",
            part.peer.expect.is_some(),
            part.peer.source.as_deref(),
        ),
        (
            "numa",
            part.numa.is_some(),
            part.numa.as_ref().map(|numa| numa.source.as_str()),
        ),
    ];
    for (table, is_stated, source) in stated {
        if is_stated && source.is_none_or(|source| source.trim().is_empty()) {
            return Err(fault(format!(
                "[{table}] says what is expected and not where that comes from; add source = \"...\""
            )));
        }
    }
    for (index, row) in part.limit.iter().enumerate() {
        let at_row = |problem| Fault {
            at: Some(row.span().start),
            problem,
        };
        let row = row.get_ref();
        limit(row).map_err(at_row)?;
        if part.limit[..index]
            .iter()
            .any(|other| other.get_ref().is_of(row))
        {
            return Err(at_row(format!(
                "there are two limits on {}; leave one",
                named(row)
            )));
        }
    }
    for (level, kinds) in &part.required {
        if !LEVELS.contains(&level.as_str()) {
            return Err(fault(format!(
                "[required] has no level `{level}`; levels are {}",
                LEVELS.join(", ")
            )));
        }
        for kind in kinds {
            known_kind(kind).map_err(|problem| fault(format!("[required] {level}: {problem}")))?;
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
    if let (Some(generation), Some(width)) = (profile.link.generation, profile.link.width) {
        topology::PcieLink::new(generation, width).map_err(|error| format!("[link]: {error}"))?;
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if !positive(profile.budget.quick_s) || !positive(profile.budget.standard_s) {
        return Err("[budget] needs seconds above 0".to_owned());
    }
    let least = measure::stats::MIN_FOR_INTERVAL;
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
    match LEVELS
        .iter()
        .find(|level| !profile.required.contains_key(**level))
    {
        Some(level) => Err(format!(
            "[required] has no list for {level}; extend `base`, or say what it requires"
        )),
        None => Ok(()),
    }
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
    if let Some(figure) = &row.of
        && !figures.contains(&figure.as_str())
    {
        return Err(match figures {
            [] => format!("`{}` has one figure only; leave `of` out", row.check),
            figures => format!(
                "`{}` has no `{figure}`; its figures are {}",
                row.check,
                figures.join(", ")
            ),
        });
    }
    if row.of.is_none()
        && matches!(
            row.check.as_str(),
            "allreduce" | "counters" | "memory_repairs" | "serving"
        )
    {
        return Err(format!(
            "`{}` has several figures; say which with `of`: {}",
            row.check,
            figures.join(", ")
        ));
    }
    if !units.contains(&row.unit) {
        let words: Vec<String> = units
            .iter()
            .map(|unit| format!("`{}`", unit.word()))
            .collect();
        return Err(format!(
            "the limit on {of} is in `{}`; it can be in {}",
            row.unit.word(),
            words.join(" or ")
        ));
    }
    let good = good_side(row);
    if row.good != good {
        let [is, other, why] = match good {
            Side::AtLeast => ["at_least", "at_most", "more of it is better"],
            Side::AtMost => ["at_most", "at_least", "less of it is better"],
        };
        return Err(format!(
            "the limit on {of} has good = \"{other}\", and {why}; write good = \"{is}\""
        ));
    }
    if row.source.trim().is_empty() {
        return Err(format!(
            "the limit on {of} does not say where it comes from; fill `source`, and say so where it is a choice"
        ));
    }
    let values: Vec<f64> = [row.fail, row.warn].into_iter().flatten().collect();
    if values.is_empty() {
        return Err(format!(
            "the limit on {of} has neither fail nor warn; give one"
        ));
    }
    if values
        .iter()
        .any(|value| !value.is_finite() || *value < 0.0)
    {
        return Err(format!("the limit on {of} is not a number of 0 or more"));
    }
    let is_fraction = |value: &f64| *value > 0.0 && *value <= LARGEST_FRACTION;
    if row.unit == LimitUnit::OfCeiling && !values.iter().all(is_fraction) {
        return Err(format!(
            "the limit on {of} is a fraction of what the link carries: above 0, and at most {LARGEST_FRACTION}"
        ));
    }
    let is_outside = |(fail, warn): (f64, f64)| match row.good {
        Side::AtLeast => warn < fail,
        Side::AtMost => warn > fail,
    };
    if row.fail.zip(row.warn).is_some_and(is_outside) {
        return Err(format!(
            "the limit on {of} warns only where it fails already; put warn on the good side of fail"
        ));
    }
    Ok(())
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
    let next = nearest(key, KINDS.iter().map(|kind| kind.key)).map_or_else(
        || "`accept explain` lists them".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    Err(format!("there is no check `{key}`; {next}"))
}

/// The figure of a limit in messages.
pub(super) fn named(row: &LimitRow) -> String {
    match &row.of {
        Some(of) => format!("{} of {of}", row.check),
        None => row.check.clone(),
    }
}
