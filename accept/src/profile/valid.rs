//! What the values of a profile must be beyond their types: limits that make sense, each with a source.

use program::command_line::nearest;

use super::model::{LimitRow, LimitUnit, Profile};
use crate::checks;
use crate::report::Side;

/// A fraction above this of what a link carries is a slip of the pen.
const LARGEST_FRACTION: f64 = 1.2;

/// Path classes by the words of `nvidia-smi topo -m`; NVLINK whatever the number of links.
const PATHS: &str = " PIX PXB PHB NODE SYS NVLINK MX XGMI X UNKNOWN";

const AT_LEAST: Side = Side::AtLeast;
const AT_MOST: Side = Side::AtMost;

/// On which side of limits on a kind the good lies, which units they may have, and of which of its figures, a space before them where it may be of all. A kind that is not here takes none.
const FIGURES: &[(&str, Side, &str, &str)] = &[
    ("h2d_pinned", AT_LEAST, "of_ceiling GB/s", ""),
    ("d2h_pinned", AT_LEAST, "of_ceiling GB/s", ""),
    ("h2d_pageable", AT_LEAST, "of_ceiling GB/s", ""),
    ("d2h_pageable", AT_LEAST, "of_ceiling GB/s", ""),
    ("bidirectional", AT_LEAST, "ratio", ""),
    ("p2p", AT_LEAST, "of_ceiling GB/s", PATHS),
    ("p2p_staged", AT_LEAST, "of_ceiling GB/s", PATHS),
    ("symmetry", AT_MOST, "ratio", ""),
    ("spread", AT_MOST, "ratio", ""),
    ("concurrent", AT_LEAST, "ratio", PATTERNS),
    ("numa_penalty", AT_LEAST, "ratio", ""),
    ("allreduce", AT_LEAST, CALLS, "small large"),
    ("drift", AT_LEAST, "ratio", ""),
    ("counters", AT_MOST, "events events/h", COUNTERS),
    ("temperature", AT_LEAST, "degC", ""),
    ("memory_repairs", AT_MOST, "repairs", REPAIRS),
    ("serving", AT_MOST, "ms", "tpot ttft"),
];

const PATTERNS: &str = " host_to_all all_to_host ring";
const CALLS: &str = "us GB/s ratio of_ceiling";
const COUNTERS: &str = "aer_correctable aer_nonfatal aer_fatal pcie_replays ecc_correctable ecc_uncorrectable nic_errors";
const REPAIRS: &str = "remapped_uncorrectable remapped_correctable retired_pages";

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
    let of = &profile.required;
    let mut required = [&of.quick, &of.standard, &of.soak].into_iter().flatten();
    if let Some(key) = required.find(|key| checks::kind(key).is_none()) {
        let near = nearest(key, checks::KINDS.iter().map(|kind| kind.key));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(format!("[required]: there is no check `{key}`{near}"));
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
    let Some((_, good, units, figures)) = known else {
        return Err("[match], [link], [peer] or [numa] say what it must be".to_owned());
    };
    let (good, most) = match row.unit {
        LimitUnit::OfCeiling => (*good, LARGEST_FRACTION),
        // A time of any kind is good where it is short.
        LimitUnit::Microseconds => (AT_MOST, f64::MAX),
        _ => (*good, f64::MAX),
    };
    let is_word = |word: &str, of: &str| of.split(' ').any(|known| known == word);
    let (is_known, unit) = (is_word(of, figures), row.unit.to_string());
    let mut lines = [row.fail, row.warn].into_iter().flatten();
    let are_lines = lines.clone().count() > 0 && lines.all(|line| (0.0..=most).contains(&line));
    let are_in_order = match row.fail.zip(row.warn) {
        Some((fail, warn)) if row.good == AT_LEAST => warn >= fail,
        Some((fail, warn)) => warn <= fail,
        None => true,
    };
    let must = |holds: bool, why: String| if holds { Ok(()) } else { Err(why) };
    must(is_known, format!("`of` is one of: {figures}"))?;
    let is_unit = is_word(&unit, units);
    must(is_unit, format!("`unit` is one of: {units}"))?;
    must(row.good == good, "good lies on the other side".into())?;
    let is_sourced = !row.source.trim().is_empty();
    must(is_sourced, "`source` is empty".into())?;
    let from = format!("`fail` or `warn` must be given, from 0 to {most:e}");
    must(are_lines, from)?;
    let side = "`warn` must be on the good side of `fail`";
    must(are_in_order, side.to_owned())
}
