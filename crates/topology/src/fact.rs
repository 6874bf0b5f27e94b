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
    /// Not known, for this reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }

    /// It, or why it is not known.
    ///
    /// # Errors
    /// The reason.
    pub fn told(&self) -> Result<&T, &str> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Unknown(why) => Err(why),
        }
    }

    /// It, where it is known.
    pub fn known(&self) -> Option<&T> {
        self.told().ok()
    }
}

impl<T, E: Into<String>> From<Result<T, E>> for Fact<T> {
    fn from(result: Result<T, E>) -> Self {
        result.map_or_else(Self::unknown, Self::Known)
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
