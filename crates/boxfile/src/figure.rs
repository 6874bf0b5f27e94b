//! A number with its origin. It does not carry a unit: the key that holds it names the unit.

use serde::{Deserialize, Serialize};

/// One number of a box file together with where it comes from.
///
/// In TOML `{ value = 26.0, published = "source" }` or `{ value = 26.0, assumed = "why" }`: exactly one of the two, which
/// [`crate::BoxFile::validate`] checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number, in the unit that the key's documentation states.
    pub value: f64,
    /// Who published this figure.
    pub published: Option<String>,
    /// Why this value was taken, which nobody published.
    pub assumed: Option<String>,
}

impl Figure {
    /// Makes a figure that is assumed, for boxes that a test builds in code.
    #[must_use]
    pub fn assumed(value: f64, why: &str) -> Self {
        Self {
            value,
            published: None,
            assumed: Some(why.to_owned()),
        }
    }
}
