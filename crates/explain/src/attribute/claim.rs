//! What is claimed of communication: whether curve or trace fit what is left, and whether there is anything to tell.

use super::draws::Draw;
use super::misfit::{Misfit, Timed};
use super::prepare::Prepared;
use super::result::{Claim, Grade};
use super::waterfall::grade;
use super::work::range;
use crate::range::Range;

/// Why what is left is not told from nothing, in brackets; empty where its interval says so itself.
pub(crate) fn untold(remainder: &Range, tolerance_ms: f64) -> String {
    match remainder.low > 0.0 {
        true => format!(
            " (its lower end is less than the {} ms by which such steps differ for no reason)",
            Range::number(tolerance_ms, 2, false)
        ),
        false => String::new(),
    }
}

impl Prepared<'_> {
    /// How far the collectives by curve or trace do not fit into what is left; `None` where they do, or where a half-width model
    /// says what is left. This box's own must fit in one draw of twenty, another box's at its lowest factor.
    pub(super) fn misfit(&self, free: &[Draw], left: Range, curve_fits: bool) -> Option<Misfit> {
        let terms = self.workload.terms.as_deref()?;
        let unexplained = range(free, Draw::unexplained)?;
        let fits = match self.workload.by_own {
            true => curve_fits && unexplained.high >= 0.0,
            // What may be nothing at all is no evidence against somebody else's curve.
            false => curve_fits || left.low <= self.tolerance,
        };
        // A half-width model says what is left by itself, and that the two contradict each other.
        if fits || self.workload.half.is_some() {
            return None;
        }
        Some(Misfit {
            by_curve: range(free, |draw| draw.communication.unwrap_or(0.0))?,
            left,
            of: match (grade(terms), self.workload.by_own) {
                (Grade::A, _) => Timed::Trace,
                (_, true) => Timed::ThisBox,
                (_, false) => Timed::AnotherBox,
            },
        })
    }

    pub(super) fn claim(&self, remainder: &Range, misfit: Option<&Misfit>) -> Claim {
        let none = |reason: String| Claim::None { reason };
        if let Some(misfit) = misfit {
            return none(misfit.reason());
        }
        // What a tracer saw in the steps themselves is there, however little is left beside it.
        let terms = self.workload.terms.as_deref().unwrap_or_default();
        let was_seen = !terms.is_empty() && grade(terms) == Grade::A;
        if remainder.low <= self.tolerance && !was_seen {
            return none(format!(
                "what communication could take at most is {} ms, which is not told from nothing{}",
                remainder.with_decimals(2),
                untold(remainder, self.tolerance)
            ));
        }
        if self.workload.half.is_some() {
            return Claim::Estimated;
        }
        if self.workload.terms.is_none() {
            let reason = self.too_far.clone().unwrap_or_else(|| {
                "there is no curve of this box and none published for its GPU at that number of ranks: run allreduce-bench".to_owned()
            });
            return Claim::AtMost { reason };
        }
        Claim::Estimated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_without_nothing_in_it_says_why_it_is_not_told() {
        let remainder = |low| Range {
            low,
            mid: 1.5,
            high: 3.0,
        };
        assert_eq!(
            untold(&remainder(0.1), 0.31),
            " (its lower end is less than the 0.31 ms by which such steps differ for no reason)"
        );
        assert_eq!(untold(&remainder(-0.1), 0.31), "");
    }
}
