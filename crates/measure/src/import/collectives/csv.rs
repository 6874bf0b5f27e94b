//! Plain CSV of collective times: `op,ranks,bytes,us` and perhaps `,mode`; bytes are those of one rank.
//!
//! Empty lines and lines that begin with `#` (a source, a note) are passed over.

use super::curve::CurvePoint;
use crate::control;
use crate::import::error::ImportError;
use crate::record::{CallMode, CollectiveKind};

const HEADER: [&str; 5] = ["op", "ranks", "bytes", "us", "mode"];

const KINDS: [CollectiveKind; 2] = [CollectiveKind::AllReduce, CollectiveKind::AllGather];

const MODES: [CallMode; 3] = [CallMode::HostSynced, CallMode::BackToBack, CallMode::Graph];

/// Whether the first line that counts is the header.
pub(super) fn is_one(text: &str) -> bool {
    rows(text)
        .next()
        .is_some_and(|(_, cells)| is_header(&cells))
}

fn is_header(cells: &[&str]) -> bool {
    let expected = HEADER.get(..cells.len());
    cells.len() >= 4
        && expected.is_some_and(|expected| {
            cells
                .iter()
                .zip(expected)
                .all(|(cell, name)| cell.eq_ignore_ascii_case(name))
        })
}

/// The lines that count with their numbers, split at commas.
fn rows(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| (number, line.split(',').map(str::trim).collect()))
}

pub(super) fn points(text: &str, origin: &str) -> Result<Vec<CurvePoint>, ImportError> {
    let columns = rows(text).next().map_or(0, |(_, cells)| cells.len());
    rows(text)
        .skip(1)
        .map(|(number, cells)| {
            let nonsense = |column: &str, seen: &str, want: &str| ImportError::Nonsense {
                origin: origin.to_owned(),
                key: format!("{column} of line {number}"),
                seen: format!("`{}`", control::replaced(seen)),
                want: want.to_owned(),
            };
            if cells.len() != columns {
                let want = format!("{columns} cells as in the header");
                return Err(nonsense("the row", &cells.join(","), &want));
            }
            let kind = KINDS
                .into_iter()
                .find(|kind| kind.to_string() == cells[0])
                .ok_or_else(|| nonsense("op", cells[0], "all_reduce or all_gather"))?;
            let ranks = cells[1]
                .parse()
                .ok()
                .filter(|ranks| *ranks >= 2)
                .ok_or_else(|| nonsense("ranks", cells[1], "a whole number of two or more"))?;
            let bytes_per_rank = cells[2]
                .parse()
                .ok()
                .filter(|bytes| *bytes > 0)
                .ok_or_else(|| {
                    nonsense("bytes", cells[2], "a whole number of bytes of one rank")
                })?;
            let us = cells[3]
                .parse()
                .ok()
                .filter(|us: &f64| us.is_finite() && *us > 0.0)
                .ok_or_else(|| nonsense("us", cells[3], "microseconds above zero"))?;
            let mode = match cells.get(4) {
                None | Some(&"") => None,
                Some(word) => Some(
                    MODES
                        .into_iter()
                        .find(|mode| mode.to_string() == *word)
                        .ok_or_else(|| {
                            nonsense("mode", word, "host_synced, back_to_back or graph")
                        })?,
                ),
            };
            let point = CurvePoint {
                kind,
                ranks,
                bytes_per_rank,
                us,
                low: None,
                high: None,
                n: None,
                mode,
                library: None,
                origin: origin.to_owned(),
                simulated: None,
            };
            point.plausible(&format!("us of line {number}"))
        })
        .collect()
}
