//! The three-way test: a figure with its 95% interval lies on the good side of a line, on the bad side, or across it.
//!
//! Nothing here knows what the figure is of.

use stats::{median, median_interval};

use crate::report::{Evidence, Limit, ReasonCode, Side, Verdict};

/// A figure with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// The median, or what was worked out of medians.
    pub(super) value: f64,
    /// The ends of its 95% interval; `None` where there were too few samples for one.
    pub(super) ends: Option<(f64, f64)>,
    /// Samples behind it; of a figure that is worked out of several, those of the one that has fewest.
    pub(super) n: usize,
    /// The samples; empty for a figure that is worked out.
    pub(super) samples: Vec<f64>,
}

/// Where a figure lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lies {
    Good,
    Bad,
    Across,
}

impl Figure {
    /// The median of samples with its order-statistic interval; `None` without samples.
    pub(super) fn of(samples: Vec<f64>) -> Option<Self> {
        let ends = median_interval(&samples).map(|interval| (interval.low, interval.high));
        Some(Self {
            value: median(&samples)?,
            ends,
            n: samples.len(),
            samples,
        })
    }

    /// This over another one. Its interval goes from the lower end over the other's upper end to the reverse, which holds the
    /// ratio at least as often as both intervals hold theirs, and so is rather too wide than too narrow.
    pub(super) fn over(&self, other: &Self) -> Option<Self> {
        let ends = self.ends.zip(other.ends);
        let ends = ends.filter(|(_, other)| other.0 > 0.0);
        (other.value > 0.0).then(|| Self {
            value: self.value / other.value,
            ends: ends
                .map(|((low, high), (other_low, other_high))| (low / other_high, high / other_low)),
            n: self.n.min(other.n),
            samples: Vec::new(),
        })
    }

    /// How much is missing to one: 0.06 of a figure that is 0.94.
    pub(super) fn missing_to_one(&self) -> Self {
        Self {
            value: 1.0 - self.value,
            ends: self.ends.map(|(low, high)| (1.0 - high, 1.0 - low)),
            n: self.n,
            samples: Vec::new(),
        }
    }

    /// The middle of several figures: the median of their values, and of the ends of their intervals.
    pub(super) fn middle(figures: &[&Self]) -> Option<Self> {
        let of = |pick: &dyn Fn(&Self) -> Option<f64>| {
            let all: Option<Vec<f64>> = figures.iter().map(|figure| pick(figure)).collect();
            median(&all?)
        };
        let low = of(&|figure| figure.ends.map(|ends| ends.0));
        let high = of(&|figure| figure.ends.map(|ends| ends.1));
        Some(Self {
            value: of(&|figure| Some(figure.value))?,
            ends: low.zip(high),
            n: figures.iter().map(|figure| figure.n).min()?,
            samples: Vec::new(),
        })
    }

    /// The sum of several, with the sums of the ends of their intervals.
    pub(super) fn sum(figures: &[Self]) -> Option<Self> {
        let ends: Option<Vec<(f64, f64)>> = figures.iter().map(|figure| figure.ends).collect();
        let sum = |ends: &[(f64, f64)]| {
            let lows: f64 = ends.iter().map(|ends| ends.0).sum();
            (lows, ends.iter().map(|ends| ends.1).sum())
        };
        Some(Self {
            value: figures.iter().map(|figure| figure.value).sum(),
            ends: ends.map(|ends| sum(&ends)),
            n: figures.iter().map(|figure| figure.n).min()?,
            samples: Vec::new(),
        })
    }

    /// Where it lies; only for one that has an interval.
    fn lies(ends: (f64, f64), good: Side, line: f64) -> Lies {
        let (low, high) = ends;
        match good {
            Side::AtLeast if low >= line => Lies::Good,
            Side::AtLeast if high < line => Lies::Bad,
            Side::AtMost if high <= line => Lies::Good,
            Side::AtMost if low > line => Lies::Bad,
            _ => Lies::Across,
        }
    }

    /// What the figure comes to against a limit.
    pub(super) fn against(&self, limit: &Limit) -> Came {
        let Some(ends) = self.ends else {
            return Came::TooFew;
        };
        let lies =
            |line: Option<f64>| line.map_or(Lies::Good, |line| Self::lies(ends, limit.good, line));
        match (lies(limit.fail), lies(limit.warn)) {
            (Lies::Bad, _) => Came::Failed,
            (Lies::Across, _) => Came::AcrossFail,
            (Lies::Good, Lies::Bad) => Came::Warned,
            (Lies::Good, Lies::Across) => Came::AcrossWarn,
            (Lies::Good, Lies::Good) => Came::Good,
        }
    }

    /// The figure as evidence.
    pub(super) fn evidence(&self, what: impl Into<String>, unit: &str, source: &str) -> Evidence {
        Evidence::Measured {
            what: what.into(),
            value: self.value,
            unit: unit.to_owned(),
            n: self.n,
            low: self.ends.map(|ends| ends.0),
            high: self.ends.map(|ends| ends.1),
            samples: self.samples.clone(),
            source: source.to_owned(),
        }
    }
}

/// What a figure came to against a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// Beyond neither line, interval included.
    Good,
    /// Beyond the line that warns, and not beyond that which fails.
    Warned,
    /// Across the line that warns: it accepts the box on either side, so that it counts as a warning in the end.
    AcrossWarn,
    /// Beyond the line that fails.
    Failed,
    /// Across the line that fails.
    AcrossFail,
    /// Without an interval.
    TooFew,
}

impl Came {
    /// The verdict and its reason.
    pub(super) fn verdict(self) -> (Verdict, ReasonCode) {
        match self {
            Self::Good => (Verdict::Pass, ReasonCode::AsExpected),
            Self::Warned | Self::AcrossWarn => (Verdict::Warn, ReasonCode::BeyondLimit),
            Self::Failed => (Verdict::Fail, ReasonCode::BeyondLimit),
            Self::AcrossFail | Self::TooFew => (Verdict::Inconclusive, ReasonCode::Noisy),
        }
    }

    /// Whether more samples could change it from one that is not settled to one that is.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::AcrossWarn | Self::AcrossFail | Self::TooFew)
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
    fn figure() -> Figure {
        Figure::of((1..=10).map(|step| 9.0 + f64::from(step) / 10.0).collect()).unwrap()
    }

    #[test]
    fn the_whole_interval_decides() {
        for (fail, warn, expected) in [
            (9.0, 9.2, Came::Good),
            (9.0, 9.3, Came::AcrossWarn),
            (9.0, 9.95, Came::Warned),
            (9.3, 9.4, Came::AcrossFail),
            (9.95, 12.0, Came::Failed),
        ] {
            assert_eq!(
                figure().against(&at_least(fail, warn)),
                expected,
                "{fail} {warn}"
            );
        }
        let at_most = Limit {
            good: Side::AtMost,
            ..at_least(9.1, 9.0)
        };
        assert_eq!(figure().against(&at_most), Came::Failed);
    }

    #[test]
    fn five_samples_settle_nothing() {
        let few = Figure::of(vec![100.0; 5]).unwrap();
        assert_eq!(few.against(&at_least(1.0, 2.0)), Came::TooFew);
        assert_eq!(Figure::of(vec![]), None);
    }

    #[test]
    fn a_ratio_has_the_ends_that_are_farthest_apart() {
        // 9.55 / 9.55 = 1; 9.2 / 9.9 = 0.929, 9.9 / 9.2 = 1.076; what is missing to one lies between -0.076 and 0.071.
        let ratio = figure().over(&figure()).unwrap();
        let (low, high) = ratio.ends.unwrap();
        assert!(
            (low - 0.9293).abs() < 1e-4 && (high - 1.0761).abs() < 1e-4,
            "{low} {high}"
        );
        let (low, high) = ratio.missing_to_one().ends.unwrap();
        assert!(
            (low + 0.0761).abs() < 1e-4 && (high - 0.0707).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn the_middle_of_three_is_the_second() {
        let constant = |value: f64| Figure::of(vec![value; 6]).unwrap();
        let (a, b, c) = (constant(1.0), constant(5.0), constant(2.0));
        let middle = Figure::middle(&[&a, &b, &c]).unwrap();
        assert_eq!((middle.value, middle.ends), (2.0, Some((2.0, 2.0))));
    }
}
