//! One collective of a step with its time, and what it takes in a draw.

use record::PlannedCollective;

use super::deck::{Hand, Knob};
use super::result::{CollectiveCost, TimeSource};
use crate::curve::Beyond;
use crate::grade::Grade;

/// A collective of the plan with its time.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub(crate) cost: CollectiveCost,
    pub(super) spread: f64,
    /// Whether more spread has to be assumed.
    pub(crate) is_unstated: bool,
    /// How it goes on beyond the curve's end; `None` within the curve.
    pub(super) beyond: Option<Beyond>,
    pub(crate) factors: Vec<Knob>,
}

impl Term {
    /// A collective as a tracer timed it; `spread` is the relative standard error of its mean, where that is known.
    pub(super) fn traced(
        planned: &PlannedCollective,
        us: f64,
        spread: Option<f64>,
        grade: Grade,
        source: TimeSource,
    ) -> Self {
        Self {
            cost: CollectiveCost {
                kind: planned.kind,
                role: planned.role.clone(),
                count: planned.count,
                bytes_per_rank: planned.bytes_per_rank,
                path: planned.path,
                us,
                grade,
                source,
            },
            spread: spread.unwrap_or(0.0),
            is_unstated: spread.is_none(),
            beyond: None,
            factors: vec![Knob::InTrace],
        }
    }

    /// The same where other work may hide a part of it.
    pub(super) fn may_hide(mut self) -> Self {
        self.factors.push(Knob::Exposed);
        self
    }

    /// Microseconds of all its calls in a step.
    pub(crate) fn us(&self, hand: &Hand) -> f64 {
        let factor: f64 = self.factors.iter().map(|knob| hand.get(*knob)).product();
        let assumed = match self.is_unstated {
            true => hand.get(Knob::UnstatedCurveSpread),
            false => 0.0,
        };
        let error = (hand.get(Knob::CurveError) * self.spread.hypot(assumed)).exp();
        let beyond = self
            .beyond
            .map_or(1.0, |beyond| beyond.factor(hand.get(Knob::Beyond)));
        self.base_us() * factor * error * beyond
    }

    /// Microseconds of all its calls in a step as the curve has it.
    pub(crate) fn base_us(&self) -> f64 {
        f64::from(self.cost.count) * self.cost.us
    }
}
