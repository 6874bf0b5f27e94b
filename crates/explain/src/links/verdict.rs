//! What follows from a difference between two links.

use serde::{Deserialize, Serialize};

use super::result::{LinkPrediction, WireDifference};
use crate::attribute::Grade;
use crate::range::Range;

/// Measured and predicted difference must be equal to this part of the latter, half a 90% interval, before the link explains it.
const TELLS: f64 = 0.25;

/// What is said of curves that go against their links.
pub(super) const MIXED_UP: &str = "the curves contradict the links that were given: are --allreduce-a and --allreduce-b mixed up?";

/// What follows from a difference between two links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum LinkVerdict {
    /// The collectives' difference by the curves is what was measured.
    ExplainedByLink,
    /// The step differs by more than the collectives do: something else changed with the link.
    MoreThanLink {
        /// By how much, ms.
        beyond: Range,
    },
    /// The step differs by less: collectives are hidden behind other work, or the engine takes another path than the curves.
    LessThanLink {
        /// By how much, ms.
        short: Range,
    },
    /// Nothing differs, and nothing should.
    NoDifference,
    /// The links cannot differ by as much as these runs could see, by the curves, or by bytes where there are none.
    CannotShow {
        /// What the links can make at most, ms.
        most_ms: f64,
        /// What the runs could see at least, ms.
        seen_from_ms: f64,
    },
    /// No curves: the step differs by more than bytes over these links can.
    MoreThanBytes {
        /// What bytes can make at most, ms, with what the library's protocols carry beside a message.
        most_ms: f64,
    },
    /// Bytes over the two links make more of it than was measured: links, runs and plan contradict each other.
    LessThanBytes {
        /// What bytes make at least, ms.
        least_ms: f64,
        /// What was measured along their direction, ms.
        seen: Range,
    },
    /// It could be the link, and that is not proven.
    LinkCould {
        /// What the curves leave in doubt; `None` where there are none, and bytes over these links could make such a difference.
        #[serde(default)]
        doubt: Option<String>,
    },
    /// The side whose link is faster takes longer: it is not the link.
    AgainstLink,
    /// The files do not tell.
    NotTold {
        /// Why.
        reason: String,
    },
}

impl LinkVerdict {
    /// By curves: what was measured, ms, what they make of it, and what bytes make of it where the links are known.
    pub(super) fn by_curves(
        measured: &Range,
        by: &LinkPrediction,
        bytes: Option<&WireDifference>,
    ) -> Self {
        let verdict = Self::by_times(measured, by);
        if matches!(verdict, Self::AgainstLink | Self::LessThanLink { .. }) && by.modes.is_none() {
            return verdict;
        }
        if let Some(contradiction) = bytes.and_then(|bytes| against_bytes(measured, bytes)) {
            return contradiction;
        }
        match &by.modes {
            Some(modes) => Self::NotTold {
                reason: format!(
                    "the two curves were timed otherwise ({modes}), which differs by more than the link: measure both in one mode"
                ),
            },
            None => verdict,
        }
    }

    /// By curves that were timed alike.
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
            (true, true) => match doubt(by) {
                None => Self::ExplainedByLink,
                doubt => Self::LinkCould { doubt },
            },
            (false, false) => Self::NoDifference,
            (false, true) => Self::NotTold {
                reason: "the runs do not tell the difference from none, nor from what the curves predict: repeat them, each with a server started afresh".to_owned(),
            },
            (true, false) => Self::NotTold {
                reason: "the steps differ, and the curves tell no difference of the links: measure them again with more samples".to_owned(),
            },
        }
    }

    /// By bytes alone: what was measured, and from how much to how much bytes can differ; `None` where a link is not known. `why` says
    /// why the curves do not tell.
    pub(super) fn by_bytes(measured: &Range, bytes: Option<&WireDifference>, why: &str) -> Self {
        let told = measured.is_told();
        let Some(bytes) = bytes else {
            return Self::NotTold {
                reason: format!(
                    "{why}, and the links are not known: measure that, or give --link-a and --link-b"
                ),
            };
        };
        let wire = &bytes.difference_ms;
        if told && measured.mid * wire.mid < 0.0 {
            return Self::AgainstLink;
        }
        if let Some(contradiction) = against_bytes(measured, bytes) {
            return contradiction;
        }
        let plain = wire.low.abs().max(wire.high.abs());
        let most_ms = bytes.most_ms.map_or(plain, |most| most.max(plain));
        let seen_from_ms = (measured.high - measured.low) / 2.0;
        let least = if told {
            measured.low.abs().min(measured.high.abs())
        } else {
            0.0
        };
        if least > most_ms {
            return Self::MoreThanBytes { most_ms };
        }
        if most_ms < seen_from_ms && !told {
            return Self::CannotShow {
                most_ms,
                seen_from_ms,
            };
        }
        if told {
            return Self::LinkCould { doubt: None };
        }
        Self::NotTold {
            reason: "the runs do not tell the difference from none".to_owned(),
        }
    }
}

/// Whether the curves can be those of the links that they were given for.
///
/// # Errors
/// By the curves the link with more bytes a second has the slower collectives, and the measured times do not bear that out.
pub(super) fn on_own_links(
    measured: &Range,
    by: &LinkPrediction,
    bytes: &WireDifference,
) -> Result<(), String> {
    let (curves, links) = (&by.difference, &bytes.difference_ms);
    let opposed = curves.is_told() && links.is_told() && curves.mid * links.mid < 0.0;
    let borne_out = measured.is_told() && measured.mid * curves.mid > 0.0;
    match opposed && !borne_out && by.modes.is_none() {
        true => Err(format!(
            "{MIXED_UP}: by bytes over the links the difference is {} ms, by the curves {} ms; give each side the curve that was measured on it",
            links.with_decimals(2),
            curves.with_decimals(2)
        )),
        false => Ok(()),
    }
}

/// What was measured is less than bytes over the two links alone make; `None` where it is not.
fn against_bytes(measured: &Range, bytes: &WireDifference) -> Option<LinkVerdict> {
    let wire = &bytes.difference_ms;
    let least_ms = wire.low.max(-wire.high);
    let seen = match wire.mid < 0.0 {
        true => measured.turned(),
        false => *measured,
    };
    (least_ms > 0.0 && seen.high < least_ms)
        .then_some(LinkVerdict::LessThanBytes { least_ms, seen })
}

/// Why a difference that the curves do not contradict is not proven by them; `None` where it is.
fn doubt(by: &LinkPrediction) -> Option<String> {
    if by.grade == Grade::D {
        return Some(format!(
            "the curves are of grade D ({})",
            Grade::D.meaning()
        ));
    }
    let half = (by.beyond.high - by.beyond.low) / 2.0 / by.difference.mid.abs();
    (half > TELLS).then(|| {
        format!(
            "measured and predicted difference are equal to {:.0}% of the latter only",
            half * 100.0
        )
    })
}
