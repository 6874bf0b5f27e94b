//! What a half-width model's bars are worth, and how it stands to a curve.

use super::result::{Grade, HalfModel};
use crate::range::Range;

/// What is taken as known may make up this part of a bar that is graded as measured.
const ASSUMED_PART: f64 = 0.1;

/// The grade of a bar that was measured but for what is taken as known in it, whose range is so wide, ms; and a word on it.
pub(super) fn measured(bar: &Range, assumed_ms: f64) -> (Grade, String) {
    match assumed_ms <= ASSUMED_PART * bar.mid {
        true => (Grade::A, String::new()),
        false => (
            Grade::D,
            format!(
                "; what is taken as known in it may be {assumed_ms:.2} ms, so that it is not graded A"
            ),
        ),
    }
}

impl HalfModel {
    /// Whether the collectives as they were timed on this box are not what it leaves.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.agrees == Some(false)
    }

    /// How the difference stands to the curve; `None` where there is none of this box.
    pub(crate) fn in_words(&self) -> Option<String> {
        let (by_curve, gap) = (self.by_curve?, self.gap?);
        let both = format!(
            "the half-width model leaves {} ms for collectives and executor, curve or trace give them {} ms",
            self.difference.with_decimals(2),
            by_curve.with_decimals(2)
        );
        let gap_in_words = gap.with_decimals(2);
        Some(match self.agrees? {
            true => format!("{both}: they agree (gap {gap_in_words} ms)"),
            false if gap.low > 0.0 => format!(
                "{both}: they disagree by {gap_in_words} ms, which calls alone do not take: ranks that wait for each other, contention, the host, or a path that is not the engine's"
            ),
            false => format!(
                "{both}: they disagree by {gap_in_words} ms, so the engine does them faster: another path than was timed, or overlap"
            ),
        })
    }
}
