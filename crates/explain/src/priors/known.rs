//! Priors as their files have them, where an unknown key is an error, and as they are looked up: by name, for a GPU, a weight format
//! and an engine, with what was given by hand first.

use serde::Deserialize;

use crate::range::each_once;

use super::prior::{Basis, Override, Prior, PriorError, PublishedCurve, Shape};

const FILE: &str = include_str!("../../priors.toml");
const CURVES: &str = include_str!("../../curves.csv");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    prior: Vec<Entry>,
}

/// An entry with what it applies to.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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

impl Entry {
    fn prior(&self) -> Prior {
        let basis = match self.published {
            Some(_) => Basis::Published,
            None => Basis::Assumed,
        };
        let source = self.published.as_ref().or(self.assumed.as_ref());
        Prior {
            name: self.name.clone(),
            low: self.low,
            high: self.high,
            unit: self.unit.clone(),
            shape: self.shape,
            basis,
            source: source.cloned().unwrap_or_default(),
        }
    }
}

/// All priors and published curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Priors {
    entries: Vec<Entry>,
    curves: Vec<PublishedCurve>,
    /// Every name in it is one of a candidate, and every range was checked.
    overrides: Vec<Override>,
}

impl Priors {
    /// Those that this crate brings.
    ///
    /// # Errors
    /// The file of this crate does not read, which its tests exclude.
    pub fn builtin() -> Result<Self, PriorError> {
        let file: File =
            toml::from_str(FILE).map_err(|error| PriorError::File(error.to_string()))?;
        Ok(Self {
            entries: file.prior,
            curves: curves(CURVES)?,
            overrides: Vec::new(),
        })
    }

    /// The names of all priors.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        each_once(self.entries.iter().map(|entry| &entry.name))
    }

    /// Puts a range in place of a prior, whatever the GPU.
    ///
    /// # Errors
    /// There is no prior of that name, or the range has no sense.
    pub fn set(&mut self, given: Override) -> Result<(), PriorError> {
        // All entries of a name have one unit.
        let named = self.entries.iter().find(|entry| entry.name == given.name);
        let named = named.ok_or_else(|| PriorError::Unknown(given.name.clone()))?;
        given.of(named.prior()).check()?;
        self.overrides.retain(|other| other.name != given.name);
        self.overrides.push(given);
        Ok(())
    }

    /// The prior of that name for a GPU, a weight format and an engine, named as its authors write it; `None` where none applies.
    #[must_use]
    pub fn get(&self, name: &str, gpu: Option<&str>, weights: &str, engine: &str) -> Option<Prior> {
        let best = self
            .entries
            .iter()
            .filter(|of| of.name == name)
            .filter(|of| of.gpu.as_deref().is_none_or(|key| is_part(key, gpu)))
            .filter(|of| of.weights.is_empty() || of.weights.iter().any(|w| w == weights))
            .filter(|of| of.engine.as_deref().is_none_or(|of| of == engine))
            .max_by_key(|of| {
                let named = [
                    of.gpu.is_some(),
                    !of.weights.is_empty(),
                    of.engine.is_some(),
                ];
                named.into_iter().filter(|named| *named).count()
            })?
            .prior();
        let mut given = self.overrides.iter();
        Some(match given.find(|given| given.name == name) {
            Some(given) => given.of(best),
            None => best,
        })
    }

    /// Published curves of that GPU, named as its driver does, at that number of ranks.
    #[must_use]
    pub fn curves(&self, gpu: Option<&str>, ranks: u32) -> Vec<&PublishedCurve> {
        self.curves
            .iter()
            .filter(|curve| curve.ranks == ranks && is_part(&curve.gpu, gpu))
            .collect()
    }
}

/// Columns before those of sizes.
const BEFORE: usize = 5;

/// Published curves of the rows; a line that begins with `#` is a comment.
///
/// # Errors
/// A row lacks a column, or times are not above zero.
fn curves(text: &str) -> Result<Vec<PublishedCurve>, PriorError> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let sizes: Vec<u64> = header.iter().filter_map(|size| size.parse().ok()).collect();
    lines.map(|line| curve(line, &sizes)).collect()
}

fn curve(line: &str, sizes: &[u64]) -> Result<PublishedCurve, PriorError> {
    let wrong = || PriorError::File(format!("a row of curves.csv: {line}"));
    let cells: Vec<&str> = line.splitn(BEFORE + sizes.len() + 1, ',').collect();
    let [gpu, kernel, _version, path, ranks, times @ .., source] = cells.as_slice() else {
        return Err(wrong());
    };
    let timed = sizes.iter().zip(times).filter(|(_, us)| !us.is_empty());
    let points = timed.map(|(bytes, us)| Some((*bytes, us.parse().ok().filter(|us| *us > 0.0)?)));
    let points: Vec<(u64, f64)> = points.collect::<Option<_>>().ok_or_else(wrong)?;
    if points.len() < 2 {
        return Err(wrong());
    }
    Ok(PublishedCurve {
        gpu: (*gpu).to_owned(),
        path: path.parse().map_err(|_| wrong())?,
        kernel: (*kernel).to_owned(),
        ranks: ranks.parse().map_err(|_| wrong())?,
        source: source.trim_matches('"').to_owned(),
        points,
    })
}

fn is_part(key: &str, gpu: Option<&str>) -> bool {
    let name = gpu.unwrap_or_default().to_ascii_lowercase();
    key.split('|').any(|part| name.contains(part))
}

impl Override {
    /// The prior with this range.
    fn of(&self, prior: Prior) -> Prior {
        Prior {
            low: self.low,
            high: self.high,
            basis: Basis::Given,
            source: "given by the user".to_owned(),
            ..prior
        }
    }
}

impl std::str::FromStr for Override {
    type Err = PriorError;

    /// `name=low..high`, or `name=value`.
    fn from_str(text: &str) -> Result<Self, PriorError> {
        let (name, range) = text.split_once('=').unwrap_or((text, ""));
        let (low, high) = range.split_once("..").unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<f64>().ok();
        match (number(low), number(high)) {
            (Some(low), Some(high)) => Ok(Self {
                name: name.trim().to_owned(),
                low,
                high,
            }),
            _ => Err(PriorError::NotAPrior(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTX: &str = "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q";

    #[test]
    fn the_entry_that_names_more_wins_and_the_default_is_last() {
        let priors = Priors::builtin().unwrap();
        let range = |gpu, weights| {
            let prior = priors.get("gemm_start_us", gpu, weights, "").unwrap();
            (prior.low, prior.high)
        };
        assert_eq!(range(Some(RTX), "fp8"), (5.0, 29.0));
        assert_eq!(range(Some(RTX), "bf16"), (6.0, 17.0));
        assert_eq!(range(Some(RTX), "int4"), (1.0, 15.6));
        assert_eq!(range(Some("NVIDIA L40"), "fp8"), (0.8, 15.6));
        assert_eq!(range(None, "fp8"), (0.8, 15.6));
        assert_eq!(priors.get("nonsense", None, "fp8", ""), None);
    }

    #[test]
    fn every_entry_has_one_source_and_a_range_with_sense_and_every_name_a_default() {
        let priors = Priors::builtin().unwrap();
        for entry in &priors.entries {
            let sources = [&entry.published, &entry.assumed];
            assert_eq!(sources.into_iter().flatten().count(), 1, "{}", entry.name);
            entry.prior().check().unwrap();
        }
        for name in priors.names() {
            assert!(priors.get(&name, None, "none", "").is_some(), "{name}");
        }
    }

    #[test]
    fn what_is_given_comes_first_and_bad_ranges_are_refused() {
        let mut priors = Priors::builtin().unwrap();
        priors.set("gemm_start_us=3..6".parse().unwrap()).unwrap();
        let prior = priors.get("gemm_start_us", Some(RTX), "fp8", "").unwrap();
        assert_eq!(
            (prior.low, prior.high, prior.basis),
            (3.0, 6.0, Basis::Given)
        );
        for bad in [
            "gemm_start_us=6..3",
            "memory_efficiency=0.9..1.1",
            "in_situ=0..1",
            "host_ms=-1..1",
        ] {
            let given: Override = bad.parse().unwrap();
            assert!(
                matches!(priors.set(given), Err(PriorError::BadRange { .. })),
                "{bad}"
            );
        }
        assert!(matches!(
            priors.set("s=1".parse().unwrap()),
            Err(PriorError::Unknown(_))
        ));
        assert!("gemm_start_us".parse::<Override>().is_err());
        assert!("gemm_start_us=a..b".parse::<Override>().is_err());
    }
}
