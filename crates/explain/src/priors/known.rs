//! Priors as they are looked up: by name, for a GPU and a weight format, with what was given by hand first.

use serde::{Deserialize, Serialize};

use super::error::PriorError;
use super::file::{Candidate, parse};
use super::nearest::nearest;

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
        Prior {
            low: given.low,
            high: given.high,
            ..self.named(&given.name)?.clone()
        }
        .check()?;
        self.overrides.retain(|o| o.name != given.name);
        self.overrides.push(given);
        Ok(())
    }

    /// The first entry of that name, whose unit all have.
    fn named(&self, name: &str) -> Result<&Prior, PriorError> {
        let mut all = self.candidates.iter().map(|candidate| &candidate.prior);
        all.find(|prior| prior.name == name)
            .ok_or_else(|| PriorError::Unknown {
                name: name.to_owned(),
                nearest: nearest(name, &self.names()).join(", "),
            })
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
            "start_to_start" | "start_to_start_on_cpus" | "start_on_other_link" => -1.0,
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
            "prefix_cache_share"
            | "start_to_start"
            | "start_to_start_on_cpus"
            | "start_on_other_link"
            | "unstated_spread" => 1.0,
            "unstated_curve_spread" => 1.0,
            "memory_efficiency" | "expert_memory_efficiency" | "math_efficiency" => 1.0,
            "prompts_seen" | "prompt_attention_efficiency" => 1.0,
            _ => f64::MAX,
        };
        if finite && self.low >= floor && self.high <= ceiling {
            return Ok(());
        }
        // A factor has no lower end that a reader would want to see.
        let from = match floor {
            f64::MIN_POSITIVE => "above 0".to_owned(),
            floor => format!("from {floor} on"),
        };
        Err(PriorError::BadRange {
            name: self.name.clone(),
            given: format!("{}..{}", self.low, self.high),
            unit: self.unit.clone(),
            bounds: match ceiling {
                f64::MAX => from,
                ceiling => format!("{from} and at most {ceiling}"),
            },
        })
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
        let (name, range) = text
            .split_once('=')
            .map(|(name, range)| (name.trim(), range.trim()))
            .ok_or_else(|| PriorError::NotAPrior(text.to_owned()))?;
        let (low, high) = range.split_once("..").unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<f64>().ok();
        if let (Some(low), Some(high)) = (number(low), number(high)) {
            return Ok(Self {
                name: name.to_owned(),
                low,
                high,
            });
        }
        // What its unit is says the file of priors.
        let known = Priors::builtin()?;
        let prior = known.named(name)?;
        Err(PriorError::NotARange {
            name: name.to_owned(),
            given: range.to_owned(),
            unit: prior.unit.clone(),
            example: format!("{}..{}", prior.low, prior.high),
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
                matches!(priors.set(given), Err(PriorError::BadRange { .. })),
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
    fn what_is_wrong_with_a_prior_names_it_its_unit_and_what_it_may_be() {
        let said = |text: &str| {
            let mut priors = Priors::builtin().unwrap();
            let set = |given: Override| priors.set(given);
            text.parse().and_then(set).unwrap_err().to_string()
        };
        assert_eq!(
            said("host_ms=fast"),
            "prior host_ms: `fast` is no range; write host_ms=LOW..HIGH in ms a step, such as host_ms=0.1..1"
        );
        assert_eq!(
            said("host_ms=-1..1"),
            "prior host_ms cannot be -1..1; write host_ms=LOW..HIGH in ms a step, LOW first, both from 0 on"
        );
        assert!(said("gemm_speedup=1.9..2.1").ends_with("both from 1 on and at most 2"));
        assert!(said("in_situ=0..1").ends_with("both above 0"));
        // One letter is missing, and a word is too much.
        for wrong in ["gem_speedup=1.9..2", "gem_speedup=x"] {
            assert!(
                said(wrong)
                    .starts_with("there is no prior `gem_speedup`; nearest are gemm_speedup, "),
                "{}",
                said(wrong)
            );
        }
        assert!(said("host=1..2").contains("nearest are host_ms, "));
        assert!(said("host_ms").contains("NAME=LOW..HIGH"));
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
