//! Several times of one size on one curve that contradict each other: said, or refused where they cannot be of one box.
//!
//! What is not said is held by the spread of the repeats, as [`crate::curve`] puts them together.

use measure::import::CurvePoint;
use measure::unit::ByteCount;

use crate::inputs::Inputs;

/// Times of one size that lie further apart are said, whatever their intervals.
const APART: f64 = 1.2;

/// So are those that lie further apart than so many times their spread, from this on: below it starts of a library differ.
const SPREADS: f64 = 3.0;
const STARTS: f64 = 1.05;

/// Times of one size that lie further apart are not of one box, mode or unit.
const NOT_OF_ONE: f64 = 3.0;

/// Sizes that are named in a line; of the rest their number is told.
const NAMED: usize = 3;

/// Half a 95% interval in standard deviations of a normal distribution.
const DEVIATIONS: f64 = 1.96;

/// The least and the greatest of several times of one size.
struct Repeated<'a> {
    least: &'a CurvePoint,
    most: &'a CurvePoint,
}

/// Why times of collectives cannot be of one curve: one size has two that lie further apart than a factor of 3, and whose intervals,
/// where both have one, do not meet; `None` where none does.
#[must_use]
pub fn not_one_curve(points: &[CurvePoint]) -> Option<String> {
    let mut all = repeated(points).into_iter();
    let found = all.find(|of| of.times() > NOT_OF_ONE && !of.overlap())?;
    Some(format!(
        "{}: no curve has both, so that one of them is of another box, setting or unit; give the one that is of these runs",
        found.words()
    ))
}

/// What is said of times that contradict each other at the number of ranks that is explained; `None` where none do.
pub(crate) fn contradicted(inputs: &Inputs) -> Option<String> {
    let points: Vec<CurvePoint> = inputs.usable_curve();
    let all = repeated(&points).into_iter();
    let said: Vec<String> = all
        .filter(|of| of.least.ranks == inputs.tp && of.is_said())
        .map(|of| of.words())
        .collect();
    let named = said.get(..NAMED).unwrap_or(&said).join("; ");
    let more = match said.len().saturating_sub(NAMED) {
        0 => String::new(),
        1 => "; and of 1 more size".to_owned(),
        more => format!("; and of {more} more sizes"),
    };
    (!said.is_empty()).then(|| {
        format!("times of one size contradict each other: {named}{more}; the interval holds both, measure again or leave one out")
    })
}

/// Sizes that were timed several times alike.
fn repeated(points: &[CurvePoint]) -> Vec<Repeated<'_>> {
    let mut found: Vec<Repeated<'_>> = Vec::new();
    for point in points.iter().filter(|point| point.is_above_zero()) {
        match found.iter_mut().find(|of| alike(of.least, point)) {
            Some(of) if point.us < of.least.us => of.least = point,
            Some(of) if point.us > of.most.us => of.most = point,
            Some(_) => {}
            None => found.push(Repeated {
                least: point,
                most: point,
            }),
        }
    }
    found.retain(|of| of.most.us > of.least.us);
    found
}

/// Whether two times are of one size of one curve. Ranks in host memory are no repeat of GPUs.
fn alike(a: &CurvePoint, b: &CurvePoint) -> bool {
    let of = |point: &CurvePoint| {
        let is_host = point.library.as_deref() == Some("host");
        (
            point.kind,
            point.ranks,
            point.bytes_per_rank,
            point.mode,
            is_host,
        )
    };
    of(a) == of(b) && a.engine == b.engine
}

impl Repeated<'_> {
    fn times(&self) -> f64 {
        self.most.us / self.least.us
    }

    /// Whether both have an interval and these meet.
    fn overlap(&self) -> bool {
        let ends = self.least.high.zip(self.most.low);
        ends.is_some_and(|(high, low)| low <= high)
    }

    fn is_said(&self) -> bool {
        let apart = self.times();
        let beyond = self
            .spread()
            .is_some_and(|spread| apart.ln() > SPREADS * spread);
        apart > APART || (apart > STARTS && beyond)
    }

    /// Standard deviation of the logarithm of their ratio, by both intervals; `None` where one has none.
    fn spread(&self) -> Option<f64> {
        let of = |point: &CurvePoint| {
            let (low, high) = point.low.zip(point.high)?;
            (low > 0.0 && high >= low).then(|| (high / low).ln() / (2.0 * DEVIATIONS))
        };
        Some(of(self.least)?.hypot(of(self.most)?))
    }

    fn words(&self) -> String {
        let Self { least, most } = self;
        let mode = least.mode.map_or(String::new(), |mode| format!(", {mode}"));
        let of_both = match least.origin == most.origin {
            true => format!(
                "{} and {} us in {}",
                told(least.us),
                told(most.us),
                least.origin
            ),
            false => format!(
                "{} us in {} and {} us in {}",
                told(least.us),
                least.origin,
                told(most.us),
                most.origin
            ),
        };
        format!(
            "{} of {} on {} ranks{mode}: {of_both}, {:.2} times",
            least.kind,
            ByteCount(least.bytes_per_rank),
            least.ranks,
            self.times()
        )
    }
}

/// A time with at most three decimals.
fn told(us: f64) -> String {
    let text = format!("{us:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use measure::record::{CallMode, CollectiveKind};

    use super::*;

    fn point(us: f64, half: Option<f64>, origin: &str) -> CurvePoint {
        CurvePoint {
            kind: CollectiveKind::AllReduce,
            ranks: 2,
            bytes_per_rank: 256 << 10,
            us,
            low: half.map(|half| us * (1.0 - half)),
            high: half.map(|half| us * (1.0 + half)),
            n: None,
            mode: Some(CallMode::Graph),
            library: None,
            engine: None,
            origin: origin.to_owned(),
            simulated: None,
        }
    }

    fn said(points: &[CurvePoint]) -> bool {
        repeated(points).iter().any(Repeated::is_said)
    }

    #[test]
    fn times_are_said_beyond_a_fifth_or_three_times_their_spread() {
        let two = |a: f64, b: f64, half| [point(a, half, "a"), point(b, half, "b")];
        // 1.19 and 1.21 without intervals.
        assert!(!said(&two(100.0, 119.0, None)));
        assert!(said(&two(100.0, 121.0, None)));
        // Intervals of 1%: ln(1.01 / 0.99) / 3.92 = 0.51% each, 0.72% together, three times that 2.2%: beyond from 5% on.
        assert!(!said(&two(100.0, 104.0, Some(0.01))));
        assert!(said(&two(100.0, 106.0, Some(0.01))));
        // Intervals of 5%: 2.55%, 3.6% together, 10.8%.
        assert!(!said(&two(100.0, 110.0, Some(0.05))));
        assert!(said(&two(100.0, 112.0, Some(0.05))));
        // Another mode, or ranks in host memory, is no repeat.
        let [one, mut other] = two(100.0, 300.0, None);
        other.mode = None;
        assert!(!said(&[one.clone(), other.clone()]));
        (other.mode, other.library) = (one.mode, Some("host".to_owned()));
        assert!(!said(&[one, other]));
    }

    #[test]
    fn beyond_a_factor_of_three_both_are_named_and_refused() {
        let pair = |us| [point(20.0, None, "a.csv"), point(us, None, "b.csv")];
        assert_eq!(not_one_curve(&pair(59.0)), None);
        // 62 / 20 = 3.1.
        let why = not_one_curve(&pair(62.0)).unwrap();
        assert!(
            why.starts_with(
                "all_reduce of 256 KiB on 2 ranks, graph: 20 us in a.csv and 62 us in b.csv, 3.10 times: no curve has both"
            ),
            "{why}"
        );
    }
}
