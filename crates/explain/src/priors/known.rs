//! Priors as they are looked up: by name, for a GPU and a weight format, with what was given by hand first.

use serde::{Deserialize, Serialize};

use super::error::PriorError;
use super::file::{Candidate, parse};

const FILE: &str = include_str!("../../priors.toml");

/// A range that stands for what was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    /// Its name, as `--prior name=low..high` takes it.
    pub name: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Unit of both ends.
    pub unit: String,
    /// How it is drawn between them.
    pub shape: Shape,
    /// What it rests on.
    pub basis: Basis,
    /// The source, or the reasoning where there is none.
    pub source: String,
}

/// How a prior is drawn between its ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every value alike.
    #[default]
    Uniform,
    /// Every ratio alike.
    LogUniform,
    /// The lower end twice in ten, else every value alike.
    LowOrUniform,
    /// The upper end every other time, else every value alike.
    HighOrUniform,
}

/// What a prior rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Somebody measured it and published it.
    Published,
    /// A range that the authors of this tool think right.
    Assumed,
    /// Given by the user.
    Given,
}

/// A range that the user gave in place of a prior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// The prior's name.
    pub name: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// All priors and published curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Priors {
    candidates: Vec<Candidate>,
    curves: Vec<PublishedCurve>,
    /// Every name in it is one of a candidate, and every range was checked.
    overrides: Vec<Override>,
}

/// A published curve of all-reduce times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PublishedCurve {
    pub(crate) gpu: String,
    pub(crate) path: PublishedPath,
    pub(crate) ranks: u32,
    pub(crate) source: String,
    /// Bytes of each rank's message and us, ascending.
    pub(crate) points: Vec<(u64, f64)>,
}

/// What a published curve went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PublishedPath {
    /// The library, with peer access.
    Peer,
    /// The library, through host memory.
    Staged,
    /// The engine's own kernel.
    Custom,
}

impl PublishedPath {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Peer => "library, peer access",
            Self::Staged => "library, staged through host memory",
            Self::Custom => "engine's own kernel",
        }
    }
}

impl Priors {
    /// Those that this crate brings.
    ///
    /// # Errors
    /// The file of this crate does not read, which its tests exclude.
    pub fn builtin() -> Result<Self, PriorError> {
        let (candidates, curves) = parse(FILE)?;
        Ok(Self {
            candidates,
            curves,
            overrides: Vec::new(),
        })
    }

    /// The names of all priors.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for candidate in &self.candidates {
            if !names.contains(&candidate.prior.name.as_str()) {
                names.push(&candidate.prior.name);
            }
        }
        names
    }

    /// Puts a range in place of a prior, whatever the GPU.
    ///
    /// # Errors
    /// There is no prior of that name, or the range has no sense.
    pub fn set(&mut self, given: Override) -> Result<(), PriorError> {
        let Some(candidate) = self.candidates.iter().find(|c| c.prior.name == given.name) else {
            let mut known: Vec<&str> = self
                .candidates
                .iter()
                .map(|c| c.prior.name.as_str())
                .collect();
            known.dedup();
            return Err(PriorError::Unknown {
                name: given.name,
                known: known.join(", "),
            });
        };
        Prior {
            low: given.low,
            high: given.high,
            ..candidate.prior.clone()
        }
        .check()?;
        self.overrides.retain(|o| o.name != given.name);
        self.overrides.push(given);
        Ok(())
    }

    /// The prior of that name for a GPU and a weight format; `None` where none applies.
    #[must_use]
    pub fn get(&self, name: &str, gpu: Option<&str>, weights: &str) -> Option<Prior> {
        let best = self
            .candidates
            .iter()
            .filter(|c| c.prior.name == name)
            .filter(|c| c.gpu.as_deref().is_none_or(|key| is_part(key, gpu)))
            .filter(|c| c.weights.is_empty() || c.weights.iter().any(|w| w == weights))
            .max_by_key(|c| u8::from(c.gpu.is_some()) + u8::from(!c.weights.is_empty()))?;
        let mut prior = best.prior.clone();
        if let Some(given) = self.overrides.iter().find(|o| o.name == name) {
            prior.low = given.low;
            prior.high = given.high;
            prior.basis = Basis::Given;
            "given by the user".clone_into(&mut prior.source);
        }
        Some(prior)
    }

    /// Every published curve of all-reduce times.
    pub(crate) fn all_curves(&self) -> &[PublishedCurve] {
        &self.curves
    }

    /// Published curves of that GPU at that number of ranks.
    pub(crate) fn curves(&self, gpu: Option<&str>, ranks: u32) -> Vec<&PublishedCurve> {
        self.curves
            .iter()
            .filter(|curve| curve.ranks == ranks && is_part(&curve.gpu, gpu))
            .collect()
    }
}

fn is_part(key: &str, gpu: Option<&str>) -> bool {
    gpu.is_some_and(|gpu| gpu.to_ascii_lowercase().contains(key))
}

impl Prior {
    /// The value at a quantile in 0..1.
    #[must_use]
    pub fn at(&self, quantile: f64) -> f64 {
        match self.shape {
            Shape::Uniform => self.low + (self.high - self.low) * quantile,
            Shape::LogUniform => self.low * (self.high / self.low).powf(quantile),
            Shape::LowOrUniform => {
                self.low + (self.high - self.low) * ((quantile - 0.2) / 0.8).max(0.0)
            }
            Shape::HighOrUniform => self.low + (self.high - self.low) * (2.0 * quantile).min(1.0),
        }
    }

    /// Fails where the range has no sense.
    pub(super) fn check(&self) -> Result<(), PriorError> {
        let finite = self.low.is_finite() && self.high.is_finite() && self.low <= self.high;
        let floor = match self.name.as_str() {
            "start_to_start" => -1.0,
            "gemm_speedup" => 1.0,
            "prefix_cache_share" | "host_ms" | "host_eager_ms" | "executor_ms" => 0.0,
            "unstated_spread" => 0.0,
            "unstated_curve_spread" | "attention_us_per_layer" | "elementwise_us_per_layer" => 0.0,
            "gemm_start_us" | "segment_jitter_us" => 0.0,
            "prompts_seen" | "launch_us_per_layer" | "attention_start_us" => 0.0,
            _ => f64::MIN_POSITIVE,
        };
        let ceiling = match self.name.as_str() {
            "gemm_speedup" => 2.0,
            "prefix_cache_share" | "start_to_start" | "unstated_spread" => 1.0,
            "unstated_curve_spread" => 1.0,
            "memory_efficiency" | "expert_memory_efficiency" | "math_efficiency" => 1.0,
            "prompts_seen" | "prompt_attention_efficiency" => 1.0,
            _ => f64::MAX,
        };
        if finite && self.low >= floor && self.high <= ceiling {
            return Ok(());
        }
        Err(PriorError::BadRange(self.name.clone()))
    }
}

impl std::fmt::Display for Prior {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            name,
            low,
            high,
            unit,
            source,
            ..
        } = self;
        match self.basis {
            Basis::Published => write!(f, "{name} {low}..{high} {unit} (published: {source})"),
            Basis::Assumed => write!(f, "{name} {low}..{high} {unit} (assumed: {source})"),
            Basis::Given => write!(f, "{name} {low}..{high} {unit} ({source})"),
        }
    }
}

impl std::str::FromStr for Override {
    type Err = PriorError;

    /// `name=low..high`, or `name=value`.
    fn from_str(text: &str) -> Result<Self, PriorError> {
        let bad = || PriorError::NotAPrior(text.to_owned());
        let (name, range) = text.split_once('=').ok_or_else(bad)?;
        let (low, high) = range.split_once("..").unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| bad());
        Ok(Self {
            name: name.trim().to_owned(),
            low: number(low)?,
            high: number(high)?,
        })
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
            let prior = priors.get("gemm_speedup", gpu, weights).unwrap();
            (prior.low, prior.high)
        };
        assert_eq!(range(Some(RTX), "fp8"), (1.72, 1.95));
        assert_eq!(range(Some(RTX), "bf16"), (1.89, 1.96));
        assert_eq!(range(Some(RTX), "int4"), (1.6, 2.0));
        assert_eq!(range(Some("NVIDIA L40"), "fp8"), (1.6, 2.0));
        assert_eq!(range(None, "fp8"), (1.6, 2.0));
        assert_eq!(priors.get("nonsense", None, "fp8"), None);
    }

    #[test]
    fn every_name_has_a_default() {
        let priors = Priors::builtin().unwrap();
        for candidate in &priors.candidates {
            let name = &candidate.prior.name;
            assert!(priors.get(name, None, "none").is_some(), "{name}");
        }
    }

    #[test]
    fn what_is_given_comes_first_and_bad_ranges_are_refused() {
        let mut priors = Priors::builtin().unwrap();
        priors
            .set("gemm_speedup=1.9..2.0".parse().unwrap())
            .unwrap();
        let prior = priors.get("gemm_speedup", Some(RTX), "fp8").unwrap();
        assert_eq!(
            (prior.low, prior.high, prior.basis),
            (1.9, 2.0, Basis::Given)
        );
        for bad in [
            "gemm_speedup=2.0..1.9",
            "gemm_speedup=1.9..2.1",
            "in_situ=0..1",
            "host_ms=-1..1",
        ] {
            let given: Override = bad.parse().unwrap();
            assert!(
                matches!(priors.set(given), Err(PriorError::BadRange(_))),
                "{bad}"
            );
        }
        assert!(matches!(
            priors.set("s=1".parse().unwrap()),
            Err(PriorError::Unknown { .. })
        ));
        assert!("gemm_speedup".parse::<Override>().is_err());
        assert!("gemm_speedup=a..b".parse::<Override>().is_err());
    }

    #[test]
    fn ranges_are_drawn_by_their_shape() {
        let mut prior = Priors::builtin()
            .unwrap()
            .get("transfer_staged", None, "fp8")
            .unwrap();
        // sqrt(0.8 * 2.5) = 1.414 in the middle of the logarithm.
        assert!((prior.at(0.5) - 1.414).abs() < 0.001);
        prior.shape = Shape::Uniform;
        assert!((prior.at(0.5) - 1.65).abs() < 1e-9);
    }
}
