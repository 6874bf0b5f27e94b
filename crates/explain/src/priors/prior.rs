//! A prior by itself: its range, how it is drawn, what it rests on, and what a user gives in its place. Looking it up is not its business.

use serde::{Deserialize, Serialize};

use super::error::PriorError;
use super::known::Priors;

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
        let is = |ending: &str| self.name.ends_with(ending);
        let is_start = self.name.starts_with("start_");
        let (floor, ceiling) = match self.name.as_str() {
            "gemm_speedup" => (1.0, 2.0),
            "prefix_cache_share" | "prompts_seen" => (0.0, 1.0),
            _ if is_start => (-1.0, 1.0),
            _ if is("_spread") => (0.0, 1.0),
            _ if is("_efficiency") => (f64::MIN_POSITIVE, 1.0),
            _ if is("_ms") || is("_us") || is("_per_layer") || is("_per_sequence") => {
                (0.0, f64::MAX)
            }
            _ => (f64::MIN_POSITIVE, f64::MAX),
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
