//! The three-way test: a figure with its 95% interval lies on the good side of a line, on the bad side, or across it.
//!
//! Nothing here knows what the figure is of.

use stats::{median, median_interval};

use crate::report::{Limit, Measured, ReasonCode, Side, Verdict};

impl Measured {
    /// The median of samples with its order-statistic interval; `None` without samples.
    pub(super) fn of(samples: Vec<f64>) -> Option<Self> {
        let ends = median_interval(&samples).map(|interval| (interval.low, interval.high));
        let out = Self::out_of(median(&samples)?, ends, samples.len());
        Some(Self { samples, ..out })
    }

    /// A figure that is worked out, a ratio unless it is called something else.
    pub(crate) fn out_of(value: f64, ends: Option<(f64, f64)>, n: usize) -> Self {
        Self {
            value,
            unit: "1".to_owned(),
            n,
            low: ends.map(|ends| ends.0),
            high: ends.map(|ends| ends.1),
            ..Self::default()
        }
    }

    /// The same by a name.
    pub(crate) fn named(self, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { what, ..self }
    }

    /// The same in a unit, from a source.
    pub(crate) fn in_unit(mut self, unit: &str, source: impl Into<String>) -> Self {
        unit.clone_into(&mut self.unit);
        self.source = source.into();
        self
    }

    /// The ends of its interval; `None` where there were too few samples for one.
    pub(super) fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// This over another one. Its interval goes from the lower end over the other's upper end to the reverse, which holds the
    /// ratio at least as often as both intervals hold theirs, and so is rather too wide than too narrow.
    pub(super) fn over(&self, other: &Self) -> Option<Self> {
        let ends = self.ends().zip(other.ends());
        let ends = ends.filter(|(_, other)| other.0 > 0.0);
        let ends = ends.map(|(own, other)| (own.0 / other.1, own.1 / other.0));
        let ratio = Self::out_of(self.value / other.value, ends, self.n.min(other.n));
        (other.value > 0.0).then(|| ratio.in_unit("1", &*self.source))
    }

    /// How much is missing to one: 0.06 of a figure that is 0.94.
    pub(super) fn missing_to_one(&self) -> Self {
        let ends = self.ends().map(|(low, high)| (1.0 - high, 1.0 - low));
        Self::out_of(1.0 - self.value, ends, self.n).in_unit("1", &*self.source)
    }

    /// The median of several figures' values and of the ends of their intervals, or the sum of each.
    fn joined(figures: &[&Self], join: fn(&[f64]) -> Option<f64>) -> Option<Self> {
        let of = |pick: fn(&Self) -> Option<f64>| {
            let all: Option<Vec<f64>> = figures.iter().map(|figure| pick(figure)).collect();
            join(&all?)
        };
        let ends = of(|figure| figure.low).zip(of(|figure| figure.high));
        let n = figures.iter().map(|figure| figure.n).min()?;
        Some(Self::out_of(of(|figure| Some(figure.value))?, ends, n))
    }

    /// The middle of several.
    pub(super) fn middle(figures: &[&Self]) -> Option<Self> {
        Self::joined(figures, median)
    }

    /// The sum of several.
    pub(super) fn sum(figures: &[&Self]) -> Option<Self> {
        Self::joined(figures, |all| Some(all.iter().sum()))
    }

    /// What the figure comes to against a limit, and whether more samples may change that.
    pub(super) fn against(&self, limit: &Limit) -> (Verdict, ReasonCode, bool) {
        let Some((low, high)) = self.ends() else {
            return (Verdict::Inconclusive, ReasonCode::Noisy, true);
        };
        // Whether it lies beyond a line, and whether it lies across it.
        let lies = |line: Option<f64>| match (limit.good, line) {
            (_, None) => (false, false),
            (Side::AtLeast, Some(line)) => (high < line, low < line),
            (Side::AtMost, Some(line)) => (low > line, high > line),
        };
        match (lies(limit.fail), lies(limit.warn)) {
            ((true, _), _) => (Verdict::Fail, ReasonCode::BeyondLimit, false),
            ((_, true), _) => (Verdict::Inconclusive, ReasonCode::Noisy, true),
            // The box is accepted on either side, so that across counts as a warning.
            (_, (is_beyond, true)) => (Verdict::Warn, ReasonCode::BeyondLimit, !is_beyond),
            _ => (Verdict::Pass, ReasonCode::AsExpected, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_least(fail: f64, warn: f64) -> Limit {
        Limit {
            good: Side::AtLeast,
            fail: Some(fail),
            warn: Some(warn),
            unit: "GB/s".to_owned(),
            ..Limit::default()
        }
    }

    /// Ten samples from 9.1 to 10.0 in steps of 0.1: the interval of the median is that of ranks 2 and 9, 9.2 to 9.9.
    fn figure() -> Measured {
        Measured::of((1..=10).map(|step| 9.0 + f64::from(step) / 10.0).collect()).unwrap()
    }

    #[test]
    fn the_whole_interval_decides() {
        for (fail, warn, expected) in [
            (9.0, 9.2, (Verdict::Pass, false)),
            (9.0, 9.3, (Verdict::Warn, true)),
            (9.0, 9.95, (Verdict::Warn, false)),
            (9.3, 9.4, (Verdict::Inconclusive, true)),
            (9.95, 12.0, (Verdict::Fail, false)),
        ] {
            let (verdict, _, is_open) = figure().against(&at_least(fail, warn));
            assert_eq!((verdict, is_open), expected, "{fail} {warn}");
        }
        let at_most = Limit {
            good: Side::AtMost,
            ..at_least(9.1, 9.0)
        };
        assert_eq!(figure().against(&at_most).0, Verdict::Fail);
    }

    #[test]
    fn five_samples_settle_nothing() {
        let few = Measured::of(vec![100.0; 5]).unwrap();
        let open = (Verdict::Inconclusive, ReasonCode::Noisy, true);
        assert_eq!(few.against(&at_least(1.0, 2.0)), open);
        assert_eq!(Measured::of(vec![]), None);
    }

    #[test]
    fn a_ratio_has_the_ends_that_are_farthest_apart() {
        // 9.55 / 9.55 = 1; 9.2 / 9.9 = 0.929, 9.9 / 9.2 = 1.076; what is missing to one lies between -0.076 and 0.071.
        let ratio = figure().over(&figure()).unwrap();
        let (low, high) = ratio.ends().unwrap();
        assert!(
            (low - 0.9293).abs() < 1e-4 && (high - 1.0761).abs() < 1e-4,
            "{low} {high}"
        );
        let (low, high) = ratio.missing_to_one().ends().unwrap();
        assert!(
            (low + 0.0761).abs() < 1e-4 && (high - 0.0707).abs() < 1e-4,
            "{low} {high}"
        );
    }
}
