//! The TOML form of priors and published curves; an unknown key is an error.

use serde::Deserialize;

use super::error::PriorError;
use super::known::{PublishedCurve, PublishedPath};
use super::prior::{Basis, Prior, Shape};

/// The version of the format that this crate reads.
const SCHEMA: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    prior: Vec<Entry>,
    curve: Vec<CurveEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    gpu: Option<String>,
    #[serde(default)]
    weights: Vec<String>,
    low: f64,
    high: f64,
    unit: String,
    #[serde(default)]
    shape: Shape,
    published: Option<String>,
    assumed: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveEntry {
    gpu: String,
    path: PublishedPath,
    ranks: u32,
    published: String,
    points: Vec<(u64, f64)>,
}

/// An entry with what it applies to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) gpu: Option<String>,
    pub(super) weights: Vec<String>,
    pub(super) prior: Prior,
}

/// Priors and curves of the text.
///
/// # Errors
/// It is not TOML of this schema, a range has no sense, or an entry has no source or two.
pub(super) fn parse(text: &str) -> Result<(Vec<Candidate>, Vec<PublishedCurve>), PriorError> {
    let file: File = toml::from_str(text).map_err(|error| PriorError::File(error.to_string()))?;
    if file.schema != SCHEMA {
        return Err(PriorError::File(format!(
            "schema {} where {SCHEMA} is read",
            file.schema
        )));
    }
    let priors = file
        .prior
        .into_iter()
        .map(candidate)
        .collect::<Result<_, _>>()?;
    let curves = file
        .curve
        .into_iter()
        .map(curve)
        .collect::<Result<_, _>>()?;
    Ok((priors, curves))
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
        prior,
    })
}

fn curve(entry: CurveEntry) -> Result<PublishedCurve, PriorError> {
    let ascending = entry.points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let positive = entry
        .points
        .iter()
        .all(|(bytes, us)| *bytes > 0 && *us > 0.0);
    if entry.points.is_empty() || !ascending || !positive {
        return Err(PriorError::File(format!(
            "the curve of {} needs points of ascending size with times above zero",
            entry.gpu
        )));
    }
    Ok(PublishedCurve {
        gpu: entry.gpu,
        path: entry.path,
        ranks: entry.ranks,
        source: entry.published,
        points: entry.points,
    })
}
