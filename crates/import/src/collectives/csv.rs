//! Plain CSV of collective times: `op,ranks,bytes,us` and perhaps `,mode`; bytes are those of one rank.
//!
//! Empty lines and lines that begin with `#` (a source, a note) are passed over.

use std::fmt::Display;

use super::value::{CallFile, CallValue};
use crate::error::ImportError;
use crate::row::{Row, cells};
use record::calls::Series;
use record::{BufferPlacement, CallMode, CollectiveKind};

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
    let kind = named(CollectiveKind::ALL, row.text(0));
    let mode = Some(row.text(4)).filter(|word| !word.is_empty());
    let mode = mode.map(|word| {
        named(CallMode::ALL, &word.replace('-', "_"))
            .map_err(|known| row.nonsense("mode", word, &known))
    });
    let value = CallValue {
        series: Series {
            kind: kind.map_err(|known| row.nonsense("op", row.text(0), &known))?,
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

/// What has that name, or the names of all in words.
fn named<T: Display>(all: impl IntoIterator<Item = T>, name: &str) -> Result<T, String> {
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
