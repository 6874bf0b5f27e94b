//! Why a point has no number that stands for something.

use crate::collectives::CollectiveOutcome;
use crate::points::{Outcome, Verification};

/// The kind of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Unmeasured {
    /// It was measured, and the data was wrong.
    WrongData,
    /// It does not apply here.
    NotApplicable,
    /// It was not tried.
    Skipped,
    /// It was tried and failed.
    Failed,
    /// It did not end within its deadline.
    Hang,
}

macro_rules! unmeasured {
    ($outcome:ident) => {
        impl $outcome {
            /// Why it has no number, and what was seen; `None` where it has one.
            #[must_use]
            pub fn unmeasured(&self) -> Option<(Unmeasured, &str)> {
                Some(match self {
                    Self::Measured {
                        verification: Verification::WrongData { seen },
                        ..
                    } => (Unmeasured::WrongData, seen),
                    Self::Measured { .. } => return None,
                    Self::NotApplicable { reason } => (Unmeasured::NotApplicable, reason),
                    Self::Skipped { reason } => (Unmeasured::Skipped, reason),
                    Self::Failed { reason } => (Unmeasured::Failed, reason),
                    Self::Hang { doing } => (Unmeasured::Hang, doing),
                })
            }
        }
    };
}

unmeasured!(Outcome);
unmeasured!(CollectiveOutcome);
