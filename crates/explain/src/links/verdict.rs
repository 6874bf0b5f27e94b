//! What follows from a difference between two links.

use super::result::{LinkPrediction, LinkVerdict, NotTold};
use crate::grade::Grade;
use crate::range::Range;

/// A prediction that agrees with what was measured to this part of it says that the link explains it.
const TELLS: f64 = 0.25;

impl LinkVerdict {
    /// Without a prediction nothing is said of the link.
    pub(super) fn of(measured: &Range, predicted: Option<&LinkPrediction>) -> Self {
        let Some(by) = predicted else {
            return Self::NotTold {
                why: NotTold::NoCurves,
            };
        };
        match Self::by_times(measured, by) {
            against @ (Self::AgainstLink | Self::LessThanLink { .. }) if by.modes.is_none() => {
                against
            }
            _ if by.modes.is_some() => Self::NotTold {
                why: NotTold::CurveModes,
            },
            verdict => verdict,
        }
    }

    fn by_times(measured: &Range, by: &LinkPrediction) -> Self {
        let predicted = &by.difference;
        if measured.is_told() && predicted.is_told() && measured.mid * predicted.mid < 0.0 {
            return Self::AgainstLink;
        }
        // More and less are along the direction in which the link works; where it does nothing, along what was seen.
        let direction = match predicted.is_told() {
            true => predicted,
            false => measured,
        };
        let beyond = match direction.mid < 0.0 {
            true => by.beyond.turned(),
            false => by.beyond,
        };
        if beyond.low > 0.0 {
            return Self::MoreThanLink { beyond };
        }
        if beyond.high < 0.0 {
            return Self::LessThanLink {
                short: beyond.turned(),
            };
        }
        let most_ms = predicted.low.abs().max(predicted.high.abs());
        let seen_from_ms = (measured.high - measured.low) / 2.0;
        match (measured.is_told(), predicted.is_told()) {
            (false, true) if most_ms < seen_from_ms => Self::CannotShow {
                most_ms,
                seen_from_ms,
            },
            (true, true) if is_doubtful(by) => Self::LinkCould,
            (true, true) => Self::ExplainedByLink,
            (false, false) => Self::NoDifference,
            (false, true) => Self::NotTold {
                why: NotTold::RunsTooRough,
            },
            (true, false) => Self::NotTold {
                why: NotTold::CurvesTooRough,
            },
        }
    }
}

fn is_doubtful(by: &LinkPrediction) -> bool {
    let half = (by.beyond.high - by.beyond.low) / 2.0 / by.difference.mid.abs();
    by.grade == Grade::D || half > TELLS
}
