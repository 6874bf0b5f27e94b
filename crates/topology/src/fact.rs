//! [`Fact`]: something that is known, or why it is not. What it is of, its readers say.

use serde::{Deserialize, Serialize};

/// Something that is known, or why it is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact<T> {
    /// It is known.
    Known(T),
    /// It is not, for this reason.
    Unknown(String),
}

impl<T> Fact<T> {
    /// It, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }
}

impl<T: std::fmt::Display> std::fmt::Display for Fact<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::Unknown(why) => write!(f, "unknown, {why}"),
        }
    }
}
