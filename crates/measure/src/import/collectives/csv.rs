//! Plain CSV of collective times: `op,ranks,bytes,us` and perhaps `,mode`; bytes are those of one rank.
//!
//! Empty lines and lines that begin with `#` (a source, a note) are passed over.

use std::fmt::Display;

use super::value::{CallFile, CallValue};
use crate::calls::Series;
use crate::control;
use crate::import::error::ImportError;
use crate::record::{BufferCache, BufferPlacement, CallMode, CollectiveKind};

const HEADER: [&str; 5] = ["op", "ranks", "bytes", "us", "mode"];

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

pub(super) fn file(text: &str, origin: &str) -> Result<CallFile, ImportError> {
    let columns = rows(text).next().map_or(0, |(_, cells)| cells.len());
    let values: Result<Vec<CallValue>, ImportError> = rows(text)
        .skip(1)
        .map(|(number, cells)| {
            let nonsense = |column: &str, seen: &str, want: &str| ImportError::Nonsense {
                origin: origin.to_owned(),
                key: format!("{column} of line {number}"),
                seen: control::quoted(seen),
                want: want.to_owned(),
            };
            if cells.len() != columns {
                let want = format!("{columns} cells as in the header");
                return Err(nonsense("the row", &cells.join(","), &want));
            }
            let kind = named(CollectiveKind::ALL, cells[0])
                .map_err(|known| nonsense("op", cells[0], &known))?;
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
                    named(CallMode::ALL, &word.replace('-', "_"))
                        .map_err(|known| nonsense("mode", word, &known))?,
                ),
            };
            let value = CallValue {
                series: Series {
                    kind,
                    element: None,
                    ranks,
                    mode,
                    placement: BufferPlacement::OutOfPlace,
                    cache: BufferCache::Hot,
                    engine: None,
                    arm: None,
                },
                bytes_per_rank,
                us,
                interval: None,
                n: None,
                over_launches: false,
                samples: Vec::new(),
                clock: None,
                library: None,
                not_judged: None,
            };
            value.plausible(origin, &format!("us of line {number}"))
        })
        .collect();
    Ok(CallFile {
        origin: origin.to_owned(),
        made_by: "CSV".to_owned(),
        values: values?,
        ..CallFile::default()
    })
}

/// What has that name, or the names of all in words.
pub(super) fn named<T: Display>(all: impl IntoIterator<Item = T>, name: &str) -> Result<T, String> {
    let mut known = Vec::new();
    for one in all {
        let its_name = one.to_string();
        if its_name == name {
            return Ok(one);
        }
        known.push(its_name);
    }
    let last = known.pop().unwrap_or_default();
    Err(format!("{} or {last}", known.join(", ")))
}
