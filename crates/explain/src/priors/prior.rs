//! A prior by itself: its range, how it is drawn, what it rests on, and what a user gives in its place. Looking it up is not its business.

use serde::{Deserialize, Serialize};

/// A prior cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PriorError {
    /// The text has no name and no range.
    #[error("`{0}` is no prior; write NAME=LOW..HIGH, such as gemm_start_us=3..6")]
    NotAPrior(String),
    /// There is no prior of that name.
    #[error("there is no prior `{0}`; --help lists all")]
    Unknown(String),
    /// The ends are not finite, the lower one lies above the upper one, or one lies outside what has sense.
    #[error(
        "prior {name} cannot be {low}..{high}; write {name}=LOW..HIGH in {unit}, LOW first, from {least} to {most}"
    )]
    BadRange {
        /// Its name.
        name: String,
        /// The range that was given.
        low: f64,
        /// Its other end.
        high: f64,
        /// Unit of both ends.
        unit: String,
        /// The least that has sense.
        least: f64,
        /// The most.
        most: f64,
    },
    /// The file of priors does not read.
    #[error("priors do not read: {0}")]
    File(String),
}

/// A factor is between these.
const LEAST: f64 = 1e-6;
const MOST: f64 = 1e12;

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

impl Prior {
    /// The value at a quantile in 0..1.
    #[must_use]
    pub fn at(&self, quantile: f64) -> f64 {
        match self.shape {
            Shape::LogUniform if self.low > 0.0 => self.low * (self.high / self.low).powf(quantile),
            // No ratio leads from nothing to a value.
            Shape::Uniform | Shape::LogUniform => self.low + (self.high - self.low) * quantile,
            Shape::LowOrUniform => {
                self.low + (self.high - self.low) * ((quantile - 0.2) / 0.8).max(0.0)
            }
            Shape::HighOrUniform => self.low + (self.high - self.low) * (2.0 * quantile).min(1.0),
        }
    }

    /// Fails where the range has no sense.
    pub(super) fn check(&self) -> Result<(), PriorError> {
        let finite = self.low.is_finite() && self.high.is_finite() && self.low <= self.high;
        let is = |ending: &str| self.name.ends_with(ending);
        let is_start = self.name.starts_with("start_");
        let (floor, ceiling) = match self.name.as_str() {
            "prefix_cache_share" | "prompts_seen" => (0.0, 1.0),
            _ if is_start => (-1.0, 1.0),
            _ if is("_spread") => (0.0, 1.0),
            _ if is("_efficiency") => (LEAST, 1.0),
            _ if is("_ms") || is("_us") || is("_per_layer") || is("_per_sequence") => (0.0, MOST),
            _ => (LEAST, MOST),
        };
        if finite && self.low >= floor && self.high <= ceiling {
            return Ok(());
        }
        Err(PriorError::BadRange {
            name: self.name.clone(),
            low: self.low,
            high: self.high,
            unit: self.unit.clone(),
            least: floor,
            most: ceiling,
        })
    }
}

/// A published curve of all-reduce times.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedCurve {
    /// Parts of GPUs' names, `|` between them.
    pub gpu: String,
    /// What it went over.
    pub path: PublishedPath,
    /// Whose kernel: `nccl`, `vllm` or `trtllm`, which is FlashInfer's too.
    pub kernel: String,
    /// Number of GPUs.
    pub ranks: u32,
    /// Who measured it.
    pub source: String,
    /// Bytes of each rank's message and us, ascending.
    pub points: Vec<(u64, f64)>,
}

/// What a published curve went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum PublishedPath {
    /// The library, with peer access.
    Peer,
    /// The library, through host memory.
    Staged,
    /// The engine's own kernel.
    Custom,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_drawn_by_their_shape() {
        let mut prior = super::super::Priors::builtin()
            .unwrap()
            .get("transfer_staged", None, "fp8", "")
            .unwrap();
        // sqrt(0.8 * 2.5) = 1.414 in the middle of the logarithm.
        assert!((prior.at(0.5) - 1.414).abs() < 0.001);
        // Nothing, where a user says so.
        (prior.low, prior.high) = (0.0, 0.0);
        assert_eq!(prior.at(0.5), 0.0);
        (prior.low, prior.high) = (0.8, 2.5);
        prior.shape = Shape::Uniform;
        assert!((prior.at(0.5) - 1.65).abs() < 1e-9);
    }
}
