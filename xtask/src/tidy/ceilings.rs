//! The table of ceilings, which fall: compared with what is counted, and tightened.
//!
//! It counts nothing. Git says who raised a ceiling.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Where the table stands below the repository's root.
pub(super) const FILE: &str = "xtask/ratchets.toml";

/// What stands above the rows; tightening writes it anew.
const HEAD: &str = "\
# Ceilings of every crate and page, which `cargo xtask tidy` checks. They fall: `cargo xtask tidy --tighten` writes today's
# value where that is lower, and rows for what is new. A rise is written by hand, and its commit says why.
# How lines are counted: xtask/src/tidy/lines.rs.

";

/// Finds counts above their ceilings, counts without one, and ceilings of nothing. Where it is to `tighten`, each ceiling first falls to
/// what is counted.
pub(super) fn check(
    file: &Path,
    counts: &BTreeMap<(String, &str), usize>,
    tighten: bool,
) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut rows: BTreeMap<String, BTreeMap<String, usize>> =
        toml::from_str(&text).with_context(|| format!("{FILE}: write rows of numbers"))?;
    let mut findings = Vec::new();
    let mut lowered: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((name, what), count) in counts {
        let ceiling = rows.get_mut(name).and_then(|row| row.remove(*what));
        match ceiling {
            Some(at) if *count > at => findings.push(format!(
                "{name}: {what} rose from {at} to {count}; cut it, or raise its ceiling"
            )),
            None if !tighten => findings.push(format!(
                "{name}: {what} has no ceiling; run `cargo xtask tidy --tighten`"
            )),
            _ => {}
        }
        let at = ceiling.map_or(*count, |at| at.min(*count));
        let cells = lowered.entry(name).or_default();
        cells.push(format!("{what} = {at}"));
    }
    if tighten {
        let rows = lowered.into_iter();
        let rows = rows.map(|(name, cells)| format!("\"{name}\" = {{ {} }}\n", cells.join(", ")));
        let rows: String = rows.collect();
        fs::write(file, HEAD.to_owned() + &rows).context(FILE)?;
        return Ok(findings);
    }
    for (name, row) in &rows {
        let gone = |what| format!("{name}: {what} is gone; run `cargo xtask tidy --tighten`");
        findings.extend(row.keys().map(gone));
    }
    Ok(findings)
}
