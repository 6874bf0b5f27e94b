//! What no slope shows: a part of communication that no arm changes, such as ranks that wait for each other at each collective.
//!
//! It lies in the step without collectives, the line's other end. A half-width model on one GPU measures that end without the line,
//! so that the two must agree (an over-identification test). Without one, slope times collective time is a lower figure.

use serde::{Deserialize, Serialize};

use super::result::{Slope, SlopeCaveat, SlopeVerdict};
use crate::attribute::Attribution;
use crate::priors::{Prior, Priors};
use crate::range::Range;

/// Steps of the arm and of the results that are further apart are not of one load.
pub(crate) const SAME_LOAD: f64 = 0.03;

/// What is known of the part of communication that no arm changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ConstantPart {
    /// Nothing: slope times collective time is a lower figure.
    #[default]
    NotKnown,
    /// What may lie between a bench's collective and an engine's.
    Assumed {
        /// Communication of the arm's step with it, ms.
        communication_ms: Range,
        /// The range that it is taken from.
        by: Prior,
    },
    /// A half-width model's step tells it.
    HalfModel {
        /// How.
        check: HalfCheck,
    },
}

/// The step without collectives by the line, compared with a half-width model's step. All in ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HalfCheck {
    /// The half-width model's step.
    pub half_ms: Range,
    /// What the executor of several ranks adds to it.
    pub executor: Prior,
    /// The line's step without collectives less both: what several GPUs take whatever their link.
    pub constant_ms: Range,
    /// Whether that holds zero.
    pub agrees: bool,
    /// Communication of the arm's step: the step less the half-width model's and the executor's.
    pub communication_ms: Range,
}

impl HalfCheck {
    /// Whether the line leaves less than the half-width model takes, which no communication can do.
    #[must_use]
    pub fn contradicts(&self) -> bool {
        self.constant_ms.high < 0.0
    }
}

impl Slope {
    /// With the line's other end compared with what an explanation knows of it, where that is of the same runs.
    pub(crate) fn held_against(mut self, model: &str, tp: u32, attribution: &Attribution) -> Self {
        if (self.model.as_str(), self.tp, self.batch) == (model, tp, attribution.batch)
            && [0, self.planned].contains(&attribution.all_reduces())
        {
            self.hold(attribution);
        }
        self
    }

    fn hold(&mut self, attribution: &Attribution) {
        let Some((fit, step)) = self.fit.as_ref().zip(self.step_of_fit()) else {
            return;
        };
        let known = |name: &str| prior(attribution, name);
        let of_runs = attribution.step_of_several;
        let same = (step.mid / of_runs.mid - 1.0).abs() <= SAME_LOAD;
        let checked = attribution.half.as_ref().zip(known("executor_ms"));
        self.constant = match (checked, known("in_situ")) {
            (Some((half, executor)), _) if same => {
                let besides = plus(&half.step, &quantiles(&executor));
                let constant_ms = plus(&fit.intercept_ms, &besides.turned());
                ConstantPart::HalfModel {
                    check: HalfCheck {
                        half_ms: half.step,
                        agrees: constant_ms.low <= 0.0 && 0.0 <= constant_ms.high,
                        communication_ms: plus(&step, &besides.turned()),
                        constant_ms,
                        executor,
                    },
                }
            }
            (_, Some(by)) => ConstantPart::Assumed {
                communication_ms: times(&fit.communication_ms, &quantiles(&by)),
                by,
            },
            (_, None) => ConstantPart::NotKnown,
        };
        if attribution.half.is_some() && !same {
            let (arm_ms, runs_ms) = (step.mid, of_runs.mid);
            self.caveats
                .push(SlopeCaveat::OtherLoad { arm_ms, runs_ms });
        }
    }

    /// What the arms that the step followed give communication, where a half-width model leaves less for it; else `None`.
    pub(crate) fn against_half(&self) -> Option<Range> {
        let is_less = self.check().is_some_and(HalfCheck::contradicts);
        let follows = self.passes == SlopeVerdict::Follows;
        let fit = self.fit.as_ref().filter(|_| is_less && follows)?;
        Some(fit.communication_ms)
    }

    /// The step of the arm that communication is told of.
    pub(crate) fn step_of_fit(&self) -> Option<Range> {
        let at = &self.fit.as_ref()?.at;
        self.arms.iter().find(|arm| arm.name == *at)?.step_ms
    }
}

/// A prior as the attribution had it, else as this crate brings it.
fn prior(attribution: &Attribution, name: &str) -> Option<Prior> {
    let own = attribution.priors.iter().find(|prior| prior.name == name);
    let builtin = || Priors::builtin().ok()?.get(name, None, "");
    own.cloned().or_else(builtin)
}

fn quantiles(prior: &Prior) -> Range {
    Range {
        low: prior.at(0.05),
        mid: prior.at(0.5),
        high: prior.at(0.95),
    }
}

/// The sum of two quantities whose errors are independent: distances of the quantiles add by their squares.
fn plus(a: &Range, b: &Range) -> Range {
    let mid = a.mid + b.mid;
    Range {
        low: mid - (a.mid - a.low).hypot(b.mid - b.low),
        mid,
        high: mid + (a.high - a.mid).hypot(b.high - b.mid),
    }
}

/// Their product, by relative distances.
fn times(a: &Range, factor: &Range) -> Range {
    let mid = a.mid * factor.mid;
    let relative = |of: f64, mid: f64| (of - mid) / mid;
    let low = relative(a.low, a.mid).hypot(relative(factor.low, factor.mid));
    let high = relative(a.high, a.mid).hypot(relative(factor.high, factor.mid));
    Range {
        low: mid - mid.abs() * low,
        mid,
        high: mid + mid.abs() * high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_quantiles_add_by_their_squares() {
        let of = |low, mid, high| Range { low, mid, high };
        // 3 and 4 below make 5; 5 and 12 above make 13.
        assert_eq!(
            plus(&of(7.0, 10.0, 15.0), &of(16.0, 20.0, 32.0)),
            of(25.0, 30.0, 43.0)
        );
        // 30% and 40% below make 50% of 10 * 2.
        let product = times(&of(7.0, 10.0, 10.0), &of(1.2, 2.0, 2.0));
        assert!((product.low - 10.0).abs() < 1e-9 && product.high == 20.0);
    }
}
