//! What follows from a difference between two links.

use serde::{Deserialize, Serialize};

use crate::range::Range;

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
    /// No curves: the links cannot differ by as much as these runs could see.
    CannotShow {
        /// What bytes can make at most, ms.
        most_ms: f64,
        /// What the runs could see at least, ms.
        seen_from_ms: f64,
    },
    /// No curves: the step differs by more than bytes over these links can.
    MoreThanBytes {
        /// What bytes can make at most, ms.
        most_ms: f64,
    },
    /// No curves: bytes over these links could make such a difference.
    LinkCould,
    /// The files do not tell.
    NotTold {
        /// Why.
        reason: String,
    },
}

impl LinkVerdict {
    /// By curves: what was measured, what was predicted, and their difference, ms.
    pub(super) fn by_curves(measured: &Range, predicted: &Range, beyond: &Range) -> Self {
        let told = |range: &Range| range.low > 0.0 || range.high < 0.0;
        // More and less are along the direction in which the link works; where it does nothing, along what was seen.
        let direction = if told(predicted) { predicted } else { measured };
        let beyond = if direction.mid < 0.0 {
            turned(beyond)
        } else {
            *beyond
        };
        if beyond.low > 0.0 {
            return Self::MoreThanLink { beyond };
        }
        if beyond.high < 0.0 {
            return Self::LessThanLink {
                short: turned(&beyond),
            };
        }
        match (told(measured), told(predicted)) {
            (true, true) => Self::ExplainedByLink,
            (false, false) => Self::NoDifference,
            (false, true) => Self::NotTold {
                reason: "the runs do not tell the difference from none, nor from what the curves predict: repeat them, each with a server started afresh".to_owned(),
            },
            (true, false) => Self::NotTold {
                reason: "the steps differ, and the curves tell no difference of the links: measure them again with more samples".to_owned(),
            },
        }
    }

    /// By bytes alone: what was measured, and from how much to how much bytes can differ; `None` where a link is not known.
    pub(super) fn by_bytes(measured: &Range, wire: Option<&Range>) -> Self {
        let told = measured.low > 0.0 || measured.high < 0.0;
        let Some(wire) = wire else {
            return Self::NotTold {
                reason: "there is no curve of both links, and the links are not known: give --allreduce-a and --allreduce-b, or --link-a and --link-b".to_owned(),
            };
        };
        let most_ms = wire.low.abs().max(wire.high.abs());
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
        if told && measured.mid * wire.mid >= 0.0 {
            return Self::LinkCould;
        }
        Self::NotTold {
            reason: "the runs do not tell the difference from none".to_owned(),
        }
    }
}

/// A range with its sign turned.
pub(super) fn turned(range: &Range) -> Range {
    Range {
        low: -range.high,
        mid: -range.mid,
        high: -range.low,
    }
}
