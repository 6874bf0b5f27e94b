//! What cannot be in an ablation's file: times that no clock gives, launches without a step, and one launch counted twice.

use super::arms::{Ablation, Arm, Launch};
use crate::range::Range;

/// An ablation that no arms were measured like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AblationError {
    /// A figure of a launch cannot be.
    #[error("{launch}: {what}; measure that launch again, or leave it out")]
    Impossible {
        /// The launch and its arm.
        launch: String,
        /// What cannot be.
        what: String,
    },
    /// Two launches hold the same samples.
    #[error(
        "{first} and {second} hold the same samples: it is one launch and not two; give each launch once"
    )]
    Twice {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
}

impl Ablation {
    /// Refuses figures that cannot be. On a soft box, whose clock is arithmetic, launches may be alike.
    ///
    /// # Errors
    /// A time that is not above zero or whose ends are inverted, a launch without steps, or one that is there twice.
    pub fn check(&self) -> Result<(), AblationError> {
        let mut before: Vec<(&Arm, &Launch)> = Vec::new();
        for (arm, launch) in self.launches() {
            if let Some(what) = impossible(launch) {
                return Err(AblationError::Impossible {
                    launch: named(arm, launch),
                    what,
                });
            }
            let same = |(_, other): &&(&Arm, &Launch)| {
                (other.collective_us, other.step_ms, other.steps)
                    == (launch.collective_us, launch.step_ms, launch.steps)
            };
            if let Some((first, other)) = before.iter().find(same)
                && self.simulated.is_none()
            {
                return Err(AblationError::Twice {
                    first: named(first, other),
                    second: named(arm, launch),
                });
            }
            before.push((arm, launch));
        }
        Ok(())
    }

    fn launches(&self) -> impl Iterator<Item = (&Arm, &Launch)> {
        let arms = self.arms.iter();
        arms.flat_map(|arm| arm.launches.iter().map(move |launch| (arm, launch)))
    }
}

/// A launch as a reader finds it: its place, its arm and its folder.
fn named(arm: &Arm, launch: &Launch) -> String {
    let folder = launch.folder.as_ref();
    let folder = folder.map_or(String::new(), |folder| format!(" ({folder})"));
    format!("launch {} of the arm {}{folder}", launch.order, arm.name)
}

/// What cannot be in a launch; `None` where all can.
fn impossible(launch: &Launch) -> Option<String> {
    if launch.steps == 0 {
        return Some("its step is the mean of 0 steps".to_owned());
    }
    let collective = launch.collective_us.as_ref();
    let times = [
        (Some(&launch.step_ms), "step_ms"),
        (collective, "collective_us"),
    ];
    times
        .into_iter()
        .find_map(|(range, key)| no_time(range?, key))
}

/// Why a range is none of a time.
fn no_time(range: &Range, key: &str) -> Option<String> {
    let Range { low, mid, high } = *range;
    if !(low.is_finite() && mid.is_finite() && high.is_finite()) {
        Some(format!("{key} is no number"))
    } else if mid <= 0.0 {
        Some(format!("{key} is {mid}, and a time is above zero"))
    } else if !(low <= mid && mid <= high) {
        Some(format!(
            "{key} goes from {low} over {mid} to {high}, which is not ascending"
        ))
    } else {
        None
    }
}
