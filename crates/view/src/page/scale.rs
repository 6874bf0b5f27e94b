//! From values to places: linear and logarithmic axes with round ticks, and what they have to reach.

/// A linear axis from `from` to `to`.
pub(crate) struct Linear {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Linear {
    /// An axis over these values, widened where they are all the same.
    pub(crate) fn over(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// Where a value stands.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values along the axis, five to ten of them.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 7.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..20)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|tick| *tick <= self.high + step * 1e-9)
            .collect()
    }
}

/// A logarithmic axis from `from` to `to`; values are positive.
pub(crate) struct Log {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Log {
    /// An axis over these positive values, widened where they are all the same.
    pub(crate) fn over(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low * 1.01 { high } else { low * 2.0 };
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// Where a value stands.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }

    /// Powers of `base` along the axis, thinned so that at most `most` are left.
    pub(crate) fn powers(&self, base: f64, most: usize) -> Vec<f64> {
        let first = (self.low.ln() / base.ln() - 1e-9).ceil();
        let all: Vec<f64> = (0..64)
            .map(|index| base.powf(first + f64::from(index)))
            .take_while(|tick| *tick <= self.high * (1.0 + 1e-9))
            .collect();
        let every = all.len().div_ceil(most.max(1)).max(1);
        all.into_iter().step_by(every).collect()
    }

    /// Round values along the axis: 1, 2 and 5 times powers of ten, or in even steps where too few of those lie on it.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let coarse = self.one_two_five();
        if coarse.len() >= 3 {
            return coarse;
        }
        Linear::over(self.low, self.high, self.from, self.to).ticks()
    }

    /// 1, 2 and 5 times powers of ten along the axis.
    fn one_two_five(&self) -> Vec<f64> {
        let first = self.low.log10().floor();
        (0..24)
            .flat_map(|index| {
                [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powf(first + f64::from(index)))
            })
            .filter(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick))
            .collect()
    }
}

/// The least and the largest of what is finite; `None` where nothing is.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |range: Option<(f64, f64)>, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
}

/// A number of rows or characters.
#[expect(
    clippy::cast_precision_loss,
    reason = "a picture has a handful of either"
)]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        // 0 to 61: a seventh is 8.7, the next round step 10.
        let axis = Linear::over(0.0, 61.0, 100.0, 710.0);
        assert_eq!(axis.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        // 30 of 61 units on 610 places after 100: 100 + 300 = 400.
        assert!((axis.at(30.0) - 400.0).abs() < 1e-9);
    }

    #[test]
    fn log_ticks_are_powers_inside() {
        let axis = Log::over(8192.0, 1_048_576.0, 0.0, 70.0);
        // 8 KiB to 1 MiB are seven doublings on 70 places: 64 KiB is the third.
        assert!((axis.at(65_536.0) - 30.0).abs() < 1e-9);
        assert_eq!(
            Log::over(9.0, 120.0, 0.0, 1.0).one_two_five(),
            [10.0, 20.0, 50.0, 100.0]
        );
    }

    #[test]
    fn a_short_logarithmic_axis_has_even_steps() {
        // 11 to 33 has 20 alone; a seventh of 22 is 3.1, the next round step 5.
        let axis = Log::over(11.0, 33.0, 0.0, 1.0);
        assert_eq!(axis.ticks(), [15.0, 20.0, 25.0, 30.0]);
    }

    #[test]
    fn an_axis_of_one_value_is_still_one() {
        assert!(Linear::over(3.0, 3.0, 0.0, 1.0).at(3.0).is_finite());
        assert!(Log::over(3.0, 3.0, 0.0, 1.0).at(3.0).is_finite());
    }

    #[test]
    fn what_has_no_place_widens_no_axis() {
        let values = [f64::NAN, -2.0, f64::INFINITY, 0.0, 7.0, 3.0];
        assert_eq!(range(values.into_iter()), Some((-2.0, 7.0)));
        assert_eq!(range([f64::NAN].into_iter()), None);
    }
}
