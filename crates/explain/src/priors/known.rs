//! Priors as they are looked up: by name, for a GPU and a weight format, with what was given by hand first.

use super::error::PriorError;
use super::file::{Candidate, curves, parse};
use super::prior::{Basis, Override, Prior, PublishedCurve};

const FILE: &str = include_str!("../../priors.toml");
const CURVES: &str = include_str!("../../curves.csv");

/// All priors and published curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Priors {
    candidates: Vec<Candidate>,
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
        Ok(Self {
            candidates: parse(FILE)?,
            curves: curves(CURVES)?,
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
            .ok_or_else(|| PriorError::Unknown(name.to_owned()))
    }

    /// The prior of that name for a GPU and a weight format, whatever the engine; `None` where none applies.
    #[must_use]
    pub fn get(&self, name: &str, gpu: Option<&str>, weights: &str) -> Option<Prior> {
        self.get_for(name, gpu, weights, "")
    }

    /// The same for an engine, named as its authors write it.
    #[must_use]
    pub fn get_for(
        &self,
        name: &str,
        gpu: Option<&str>,
        weights: &str,
        engine: &str,
    ) -> Option<Prior> {
        let best = self
            .candidates
            .iter()
            .filter(|c| c.prior.name == name)
            .filter(|c| c.gpu.as_deref().is_none_or(|key| is_part(key, gpu)))
            .filter(|c| c.weights.is_empty() || c.weights.iter().any(|w| w == weights))
            .filter(|c| c.engine.as_deref().is_none_or(|of| of == engine))
            .max_by_key(|c| {
                let named = [c.gpu.is_some(), !c.weights.is_empty(), c.engine.is_some()];
                named.into_iter().filter(|named| *named).count()
            })?;
        let mut prior = best.prior.clone();
        if let Some(given) = self.overrides.iter().find(|o| o.name == name) {
            prior.low = given.low;
            prior.high = given.high;
            prior.basis = Basis::Given;
            "given by the user".clone_into(&mut prior.source);
        }
        Some(prior)
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

fn is_part(key: &str, gpu: Option<&str>) -> bool {
    let name = gpu.unwrap_or_default().to_ascii_lowercase();
    key.split('|').any(|part| name.contains(part))
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
            Err(PriorError::Unknown(_))
        ));
        assert!("gemm_speedup".parse::<Override>().is_err());
        assert!("gemm_speedup=a..b".parse::<Override>().is_err());
    }
}
