//! The CSV that `allreduce-bench --csv` writes: a line a point, columns by their names, so that older files are taken, too.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::csv::named;
use super::value::{CallFile, CallTrouble, CallValue};
use crate::calls::Series;
use crate::control::{self, replaced};
use crate::import::error::ImportError;
use crate::import::links::TroubleKind;
use crate::record::CollectiveKind;
use crate::render::csv::NOT_JUDGED;
use crate::stats::{Interval, LEVEL, over_launches};

/// Columns that every version has.
const HAD_ALWAYS: [&str; 7] = [
    "op",
    "ranks",
    "element",
    "bytes_per_rank",
    "mode",
    "outcome",
    "time",
];

/// Whether the first line is the header.
pub(super) fn is_one(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let names = cells(first);
    HAD_ALWAYS
        .iter()
        .all(|name| names.iter().any(|known| known == name))
}

/// Cells of a line at most: no table that is known here has a tenth of them.
const MOST_CELLS: usize = 1024;

/// A line's cells without their quotes.
pub(in crate::import) fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                push(&mut cells, '"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted && cells.len() == MOST_CELLS => break,
            ',' if !quoted => cells.push(String::new()),
            other => push(&mut cells, other),
        }
    }
    cells
}

fn push(cells: &mut [String], c: char) {
    if let Some(last) = cells.last_mut() {
        last.push(c);
    }
}

/// A line with the names of its columns.
struct Line<'a> {
    origin: &'a str,
    number: usize,
    names: &'a [String],
    cells: Vec<String>,
}

impl Line<'_> {
    /// A cell that holds something.
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|known| known == name)?;
        let cell = self.cells.get(at)?.as_str();
        Some(cell).filter(|cell| !cell.is_empty())
    }

    fn words(&self, name: &str) -> Option<String> {
        self.text(name).map(replaced)
    }

    fn nonsense(&self, name: &str, want: &str) -> ImportError {
        ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: format!("{name} of line {}", self.number),
            seen: control::quoted(self.text(name).unwrap_or_default()),
            want: want.to_owned(),
        }
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, ImportError> {
        self.text(name)
            .map(|text| text.parse().map_err(|_| self.nonsense(name, "a number")))
            .transpose()
    }

    /// A word that the record has too.
    fn word<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ImportError> {
        let of = |text: &str| {
            serde_json::from_value(Value::from(text))
                .map_err(|_| self.nonsense(name, "a word that allreduce-bench writes"))
        };
        self.text(name).map(of).transpose()
    }

    fn series(&self) -> Result<Series, ImportError> {
        let op = self.text("op").unwrap_or_default();
        Ok(Series {
            kind: named(CollectiveKind::ALL, op).map_err(|known| self.nonsense("op", &known))?,
            element: self.word("element")?,
            ranks: self
                .number("ranks")?
                .filter(|ranks| *ranks >= 2)
                .ok_or_else(|| self.nonsense("ranks", "a whole number of two or more"))?,
            mode: self.word("mode")?,
            placement: self.word("placement")?.unwrap_or_default(),
            cache: self.word("cache")?.unwrap_or_default(),
            engine: self.words("engine"),
            arm: self.words("arm"),
        })
    }
}

/// The values of a file, launches put together.
pub(super) fn file(text: &str, origin: &str) -> Result<CallFile, ImportError> {
    let mut lines = text.lines().enumerate();
    let names = lines
        .next()
        .map(|(_, line)| cells(line))
        .unwrap_or_default();
    let mut file = CallFile {
        origin: origin.to_owned(),
        made_by: "allreduce-bench (CSV)".to_owned(),
        ..CallFile::default()
    };
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let line = Line {
            origin,
            number: at + 1,
            names: &names,
            cells: cells(line),
        };
        if line.cells.len() != names.len() {
            let want = format!("{} cells as in the header", names.len());
            return Err(line.nonsense("the row", &want));
        }
        add(&mut file, &line)?;
    }
    file.values = file
        .values
        .into_iter()
        .fold(Vec::new(), |mut values: Vec<CallValue>, value| {
            let same = |known: &&mut CallValue| {
                (&known.series, known.bytes_per_rank) == (&value.series, value.bytes_per_rank)
            };
            match values.iter_mut().find(same) {
                Some(known) => {
                    known.over_launches = true;
                    known.samples.push(value.us);
                    known.not_judged = known.not_judged.take().or(value.not_judged);
                }
                None => values.push(value),
            }
            values
        });
    for value in &mut file.values {
        finish(value);
    }
    Ok(file)
}

/// A value of several launches becomes one over them; samples of one launch are not in such a file.
fn finish(value: &mut CallValue) {
    if !value.over_launches {
        value.samples.clear();
    } else if let Some(over) = over_launches(&value.samples) {
        value.us = over.value;
        value.interval = over.interval;
        value.n = Some(over.n as u64);
    }
}

fn add(file: &mut CallFile, line: &Line<'_>) -> Result<(), ImportError> {
    let series = line.series()?;
    let bytes_per_rank = line
        .number("bytes_per_rank")?
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| line.nonsense("bytes_per_rank", "a whole number of bytes of one rank"))?;
    file.simulated = file.simulated.take().or_else(|| line.words("simulated"));
    file.library = file.library.take().or_else(|| line.words("library"));
    file.transport = file.transport.take().or_else(|| line.words("transport"));
    // Lines stand in the order of measuring, in which any arm may come first.
    if line.text("arm_number") == Some("0") {
        file.first_arm.clone_from(&series.arm);
    }
    let outcome = line.text("outcome").unwrap_or_default();
    let kind = match outcome {
        "measured" if line.text("verification") == Some("WRONG DATA") => TroubleKind::WrongData,
        "measured" => {
            let us: f64 = line
                .number("time")?
                .filter(|us: &f64| us.is_finite() && *us > 0.0)
                .ok_or_else(|| line.nonsense("time", "microseconds above zero"))?;
            let ends = (line.number("low")?, line.number("high")?);
            let library = line.words("library").filter(|_| series.engine.is_none());
            let value = CallValue {
                series,
                bytes_per_rank,
                us,
                interval: match ends {
                    (Some(low), Some(high)) => Some(Interval {
                        low,
                        high,
                        level: LEVEL,
                    }),
                    _ => None,
                },
                n: line.number("n")?,
                over_launches: false,
                samples: vec![us],
                clock: line.word("clock")?,
                library: library.and_then(|library| library.split(' ').next().map(str::to_owned)),
                not_judged: line
                    .words("reason")
                    .and_then(|reason| Some(reason.strip_prefix(NOT_JUDGED)?.to_owned())),
            };
            let key = format!("time of line {}", line.number);
            file.values.push(value.plausible(line.origin, &key)?);
            return Ok(());
        }
        "failed" | "hang" => TroubleKind::Failed,
        "not_applicable" => TroubleKind::NotApplicable,
        _ => TroubleKind::Absent,
    };
    let reason = line.words("reason").unwrap_or_default();
    file.troubles.push(CallTrouble {
        kind,
        series: Some(series),
        bytes_per_rank: Some(bytes_per_rank),
        words: format!("{}: {reason}", control::shortened(outcome)),
    });
    Ok(())
}
