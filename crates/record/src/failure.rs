//! Why something has no number: a kind that programs act on, and words that only people read.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// What kind of failure it was. It crosses processes and stands in records; nothing looks into the words beside it.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FailureKind {
    /// The device is gone, or its context is broken for the rest of its process.
    DeviceLost,
    /// It made no progress for its deadline, with a CPU to itself.
    Hang,
    /// Device or host memory did not suffice.
    OutOfMemory,
    /// A driver or library is not on this machine, or lacks a function.
    LibraryMissing,
    /// The system does not let this user do it.
    Permission,
    /// Its process waited for a CPU that other work had.
    HostBusy,
    /// Its process was stopped from outside.
    Stopped,
    /// The device, driver or library does not have it.
    Unsupported,
    /// The data that arrived is not what was sent.
    WrongData,
    /// What it depends on failed before.
    Dependency,
    /// Anything else.
    #[default]
    Internal,
}

impl FailureKind {
    /// The stable code of the kind.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// The failure of this kind in these words.
    pub fn of(self, detail: impl Into<String>) -> Failure {
        Failure {
            kind: self,
            detail: detail.into(),
            rank: None,
        }
    }
}

/// A failure: its kind and, for people, the words of whoever met it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// What happened, for people.
    pub detail: String,
    /// The rank whose device or process it was, where ranks work together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

impl Failure {
    /// The same with words before its own.
    #[must_use]
    pub fn within(self, doing: impl fmt::Display) -> Self {
        Self {
            detail: format!("{doing}: {}", self.detail),
            ..self
        }
    }

    /// The same as a failure of this rank.
    #[must_use]
    pub fn of_rank(self, rank: u32) -> Self {
        Self {
            rank: Some(self.rank.unwrap_or(rank)),
            ..self
        }
    }
}

impl Deref for Failure {
    type Target = str;

    fn deref(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl From<String> for Failure {
    fn from(detail: String) -> Self {
        FailureKind::Internal.of(detail)
    }
}

impl From<&str> for Failure {
    fn from(detail: &str) -> Self {
        FailureKind::Internal.of(detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_back() {
        let lost = FailureKind::DeviceLost.of("gone").of_rank(1);
        let json = serde_json::to_string(&lost).unwrap_or_default();
        assert_eq!(json, r#"{"kind":"device-lost","detail":"gone","rank":1}"#);
        assert_eq!(serde_json::from_str::<Failure>(&json).ok(), Some(lost));
    }

    #[test]
    fn codes_are_those_of_the_json() {
        for kind in [
            FailureKind::DeviceLost,
            FailureKind::HostBusy,
            FailureKind::OutOfMemory,
        ] {
            let json = serde_json::to_value(kind).ok();
            assert_eq!(json.as_ref().and_then(|v| v.as_str()), Some(kind.code()));
        }
    }
}
