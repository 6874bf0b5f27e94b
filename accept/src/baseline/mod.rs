//! A baseline: the figures of a box that was once found good, to hold later runs against. It can only tighten a limit.

mod capture;
mod fits;
mod load;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::report::Fingerprint;

pub(crate) use capture::capture;
pub(crate) use load::{BaselineError, Loaded, load};

/// Version of a baseline's schema.
pub(crate) const BASELINE_SCHEMA: u32 = 1;

/// The figures of a run that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    /// [`BASELINE_SCHEMA`].
    pub(crate) schema: u32,
    /// Name of the simulated machine, where it is of one.
    pub(crate) soft_box: Option<String>,
    /// When the run began, RFC 3339.
    pub(crate) started: String,
    /// Name and sha256 of the profile.
    pub(crate) profile: (String, String),
    /// What must be equal for figures to be compared.
    pub(crate) fingerprint: Fingerprint,
    /// One row for each measured check.
    pub(crate) figures: Vec<Figure>,
}

/// A figure of a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    /// Id of the check, such as `h2d_pinned GPU0`.
    pub(crate) check: String,
    /// What it is, as the evidence has it.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: String,
    /// The samples.
    pub(crate) samples: Vec<f64>,
}
