//! The text of nccl-tests and rccl-tests: columns are found by the header row, since versions have different ones.

use super::curve::CurvePoint;
use super::nccl::{Row, Test, kind};
use crate::control;
use crate::import::error::ImportError;
use crate::record::CallMode;

/// Whether a header row of nccl-tests is in the text.
pub(super) fn is_one(text: &str) -> bool {
    text.lines()
        .any(|line| Columns::of(&untagged(line)).is_some())
}

/// The points of every test in the text.
pub(super) fn points(text: &str, origin: &str) -> Result<Vec<CurvePoint>, ImportError> {
    let mut test = Test {
        origin,
        kind: None,
        ranks: 0,
        mode: CallMode::BackToBack,
    };
    let mut columns = None;
    let mut points = Vec::new();
    for (index, line) in text.lines().map(untagged).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(found) = Columns::of(&line) {
            columns = Some(found);
        } else if let Some(program) = after(&line, "Collective test starting:") {
            test.kind = kind(program);
        } else if words.first() == Some(&"#") {
            if words.get(1) == Some(&"Rank") {
                // A file may hold several tests, each with its own list.
                let is_first = words.get(2) == Some(&"0");
                test.ranks = if is_first { 1 } else { test.ranks + 1 };
            }
            if let Some(graph) = after(&line, "graph:") {
                test.mode = if graph == "0" {
                    CallMode::BackToBack
                } else {
                    CallMode::Graph
                };
            }
        } else if let Some(columns) = &columns
            && words
                .first()
                .is_some_and(|word| word.parse::<u64>().is_ok())
        {
            let row = columns
                .row(&words, index + 1)
                .ok_or_else(|| ImportError::Nonsense {
                    origin: origin.to_owned(),
                    key: format!("line {}", index + 1),
                    seen: format!("`{}`", control::replaced(&words.join(" "))),
                    want: "the columns of the header with a time".to_owned(),
                })?;
            points.extend(test.point(&row)?);
        }
    }
    Ok(points)
}

/// The word that follows a label in a line.
fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.split_once(label)?.1.split_whitespace().next()
}

/// A line without the tags that mpirun puts into it, such as `[1,0]<stdout>:` or `[0]`.
fn untagged(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let inside = from[1..].split(']').next().unwrap_or_default();
        let is_tag = !inside.is_empty()
            && from[1..].contains(']')
            && inside.chars().all(|c| c.is_ascii_digit() || c == ',');
        if is_tag {
            rest = &from[inside.len() + 2..];
            rest = ["<stdout>:", "<stderr>:"]
                .iter()
                .find_map(|stream| rest.strip_prefix(stream))
                .unwrap_or(rest);
        } else {
            out.push('[');
            rest = &from[1..];
        }
    }
    out.push_str(rest);
    out
}

/// Where the columns are that are read.
struct Columns {
    size: usize,
    time: usize,
    algorithm: usize,
    bus: usize,
    /// Absent in old versions, whose `error` column is the largest rounding error and no count.
    wrong: Option<usize>,
}

impl Columns {
    /// The columns of a header row; those that come twice are taken where they come first, which is out of place.
    fn of(line: &str) -> Option<Self> {
        let names: Vec<&str> = line.trim().strip_prefix('#')?.split_whitespace().collect();
        let at = |name: &str| names.iter().position(|known| *known == name);
        Some(Self {
            size: at("size")?,
            time: at("time")?,
            algorithm: at("algbw")?,
            bus: at("busbw")?,
            wrong: at("#wrong"),
        })
    }

    /// A row; `None` where a column is missing or no number.
    fn row(&self, words: &[&str], line: usize) -> Option<Row> {
        let number = |column: usize| words.get(column)?.parse::<f64>().ok();
        let wrong = match self.wrong.map(|column| words.get(column)) {
            Some(Some(&"N/A")) | None => 0.0,
            Some(word) => word?.parse().ok()?,
        };
        Some(Row {
            place: format!("line {line}"),
            size: words.get(self.size)?.parse().ok()?,
            us: number(self.time)?,
            bandwidths: number(self.algorithm).zip(number(self.bus)),
            wrong,
        })
    }
}
