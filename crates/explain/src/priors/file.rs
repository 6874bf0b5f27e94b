//! The TOML form of priors, where an unknown key is an error, and the rows of published curves.

use serde::Deserialize;

use super::error::PriorError;
use super::prior::{Basis, Prior, PublishedCurve, PublishedPath, Shape};

/// The version of the format that this crate reads.
const SCHEMA: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    prior: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    gpu: Option<String>,
    #[serde(default)]
    weights: Vec<String>,
    engine: Option<String>,
    low: f64,
    high: f64,
    unit: String,
    #[serde(default)]
    shape: Shape,
    published: Option<String>,
    assumed: Option<String>,
}

/// An entry with what it applies to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) gpu: Option<String>,
    pub(super) weights: Vec<String>,
    pub(super) engine: Option<String>,
    pub(super) prior: Prior,
}

/// Priors of the text.
///
/// # Errors
/// It is not TOML of this schema, a range has no sense, or an entry has no source or two.
pub(super) fn parse(text: &str) -> Result<Vec<Candidate>, PriorError> {
    let file: File = toml::from_str(text).map_err(|error| PriorError::File(error.to_string()))?;
    if file.schema != SCHEMA {
        return Err(PriorError::File(format!(
            "schema {} where {SCHEMA} is read",
            file.schema
        )));
    }
    file.prior.into_iter().map(candidate).collect()
}

fn candidate(entry: Entry) -> Result<Candidate, PriorError> {
    let (basis, source) = match (entry.published, entry.assumed) {
        (Some(source), None) => (Basis::Published, source),
        (None, Some(source)) => (Basis::Assumed, source),
        _ => {
            return Err(PriorError::File(format!(
                "{}: either published or assumed says where it comes from",
                entry.name
            )));
        }
    };
    let prior = Prior {
        name: entry.name,
        low: entry.low,
        high: entry.high,
        unit: entry.unit,
        shape: entry.shape,
        basis,
        source,
    };
    prior.check()?;
    Ok(Candidate {
        gpu: entry.gpu,
        weights: entry.weights,
        engine: entry.engine,
        prior,
    })
}

/// Columns before those of sizes.
const BEFORE: usize = 5;

/// Published curves of the rows; a line that begins with `#` is a comment.
///
/// # Errors
/// A row lacks a column, or times are not above zero.
pub(super) fn curves(text: &str) -> Result<Vec<PublishedCurve>, PriorError> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let sizes: Vec<u64> = header.iter().filter_map(|size| size.parse().ok()).collect();
    lines.map(|line| curve(line, &sizes)).collect()
}

fn curve(line: &str, sizes: &[u64]) -> Result<PublishedCurve, PriorError> {
    let wrong = || PriorError::File(format!("a row of curves.csv: {line}"));
    let cells: Vec<&str> = line.splitn(BEFORE + sizes.len() + 1, ',').collect();
    let [gpu, kernel, version, path, ranks, times @ .., source] = cells.as_slice() else {
        return Err(wrong());
    };
    let timed = sizes.iter().zip(times).filter(|(_, us)| !us.is_empty());
    let points = timed.map(|(bytes, us)| Some((*bytes, us.parse().ok().filter(|us| *us > 0.0)?)));
    let points: Vec<(u64, f64)> = points.collect::<Option<_>>().ok_or_else(wrong)?;
    let path = match *path {
        "peer" => PublishedPath::Peer,
        "staged" => PublishedPath::Staged,
        "custom" => PublishedPath::Custom,
        _ => return Err(wrong()),
    };
    if points.len() < 2 {
        return Err(wrong());
    }
    Ok(PublishedCurve {
        gpu: (*gpu).to_owned(),
        path,
        kernel: (*kernel).to_owned(),
        version: (*version).to_owned(),
        ranks: ranks.parse().map_err(|_| wrong())?,
        source: source.trim_matches('"').to_owned(),
        points,
    })
}
