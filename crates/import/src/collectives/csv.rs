//! Plain CSV of collective times: `op,ranks,bytes,us` and perhaps `,mode`; bytes are those of one rank.
//!
//! Empty lines and lines that begin with `#` (a source, a note) are passed over.

use super::value::{CallFile, CallValue};
use crate::error::ImportError;
use crate::row::{Row, cells, named};
use record::calls::Series;
use record::{BufferPlacement, CallMode};

/// What `op` may be.
const KINDS: &str = "all_reduce, all_gather, reduce_scatter, broadcast or sendrecv";

/// What `mode` may be.
const MODES: &str = "host_synced, back_to_back, graph or interleaved";

const HEADER: [&str; 5] = ["op", "ranks", "bytes", "us", "mode"];

/// Whether the first line that counts is the header.
pub(super) fn is_one(text: &str) -> bool {
    let first = rows(text)
        .next()
        .map(|(_, line)| cells(line))
        .unwrap_or_default();
    let expected = HEADER.get(..first.len()).unwrap_or_default();
    let mut pairs = first.iter().zip(expected);
    expected.len() >= 4 && pairs.all(|(cell, name)| cell.trim().eq_ignore_ascii_case(name))
}

/// The lines that count, with their numbers.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn file(text: &str, origin: &str) -> Result<CallFile, ImportError> {
    let columns = rows(text).next().map_or(0, |(_, line)| cells(line).len());
    let values: Result<Vec<CallValue>, ImportError> = rows(text)
        .skip(1)
        .map(|(number, line)| value(&Row::of(origin, number, line, columns)?, origin, number))
        .collect();
    Ok(CallFile {
        origin: origin.to_owned(),
        made_by: "CSV".to_owned(),
        values: values?,
        ..CallFile::default()
    })
}

fn value(row: &Row<'_>, origin: &str, line: usize) -> Result<CallValue, ImportError> {
    let kind = || row.nonsense("op", row.text(0), KINDS);
    let mode = Some(row.text(4)).filter(|word| !word.is_empty());
    let mode = mode.map(|word| {
        let known: Option<CallMode> = named(&word.replace('-', "_"));
        known.ok_or_else(|| row.nonsense("mode", word, MODES))
    });
    let value = CallValue {
        series: Series {
            kind: named(row.text(0)).ok_or_else(kind)?,
            element: None,
            ranks: row.number(1, "ranks", "a whole number of two or more", |ranks| {
                *ranks >= 2
            })?,
            mode: mode.transpose()?,
            placement: BufferPlacement::OutOfPlace,
            engine: None,
        },
        bytes_per_rank: row.number(2, "bytes", "a whole number of bytes of one rank", |bytes| {
            *bytes > 0
        })?,
        us: row.number(3, "us", "microseconds above zero", |us: &f64| {
            us.is_finite() && *us > 0.0
        })?,
        interval: None,
        n: None,
        samples: Vec::new(),
        clock: None,
        library: None,
    };
    value.plausible(origin, &format!("us of line {line}"))
}
