//! [`TroubleKind`]: why something of a file is no value.

use std::fmt;

use record::{Status, Unmeasured};
use serde::Serialize;

/// What kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// The data was wrong: the number is about nothing.
    WrongData,
    /// It was tried and failed.
    Failed,
    /// It was tried and did not end.
    Hang,
    /// It was asked for and does not apply there.
    NotApplicable,
    /// It was not tried.
    Absent,
    /// The run did not end by itself.
    Interrupted,
    /// The file itself is not whole or says what cannot be.
    File,
}

impl From<Unmeasured> for TroubleKind {
    fn from(why: Unmeasured) -> Self {
        match why {
            Unmeasured::WrongData => Self::WrongData,
            Unmeasured::NotApplicable => Self::NotApplicable,
            Unmeasured::Skipped => Self::Absent,
            Unmeasured::Failed => Self::Failed,
            Unmeasured::Hang => Self::Hang,
        }
    }
}

impl TroubleKind {
    /// Of a run's status, with what it says; `None` where the run ended by itself.
    pub(crate) fn of_status(status: &Status) -> Option<(Self, &str)> {
        Some(match status {
            Status::Complete => return None,
            Status::Refused { reason } => (Self::Absent, reason),
            Status::Interrupted { signal } => (Self::Interrupted, signal),
            Status::Broken => (Self::Interrupted, ""),
            Status::Failed { reason } => (Self::Interrupted, reason),
        })
    }

    /// Whether what was measured before does not stand by itself.
    #[must_use]
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::NotApplicable | Self::Absent)
    }

    /// Writes the kind with a detail, where there is one.
    pub(crate) fn with(self, detail: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match detail {
            "" => write!(f, "{self}"),
            detail => write!(f, "{self}: {detail}"),
        }
    }
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongData => "wrong data",
            Self::Failed => "failed",
            Self::Hang => "hang",
            Self::NotApplicable => "not applicable",
            Self::Absent => "not measured",
            Self::Interrupted => "run interrupted",
            Self::File => "not used",
        })
    }
}
