//! Numbers over process launches: what differs from launch to launch is larger than what differs within one, so a launch is one
//! observation, whatever the samples in it.

use serde::{Deserialize, Serialize};

use super::median::{Interval, median, median_interval};

/// A number over launches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OverLaunches {
    /// The median of the launches' numbers.
    pub value: f64,
    /// Its 95% interval over launches; `None` below six of them.
    pub interval: Option<Interval>,
    /// Number of launches.
    pub n: usize,
}

/// The median of one number from each launch; `None` without launches, or where one is not finite.
#[must_use]
pub fn over_launches(medians: &[f64]) -> Option<OverLaunches> {
    if medians.iter().any(|median| !median.is_finite()) {
        return None;
    }
    Some(OverLaunches {
        value: median(medians)?,
        interval: median_interval(medians),
        n: medians.len(),
    })
}

/// The ratio of two numbers by launch, each by the launch's number; launches that only one side has are left out.
///
/// The ratio is taken within a launch and its median over them, so that what both sides share, such as the machine's warmth,
/// falls out. `None` where no launch has both.
#[must_use]
pub fn ratio_by_launch(top: &[(u32, f64)], bottom: &[(u32, f64)]) -> Option<OverLaunches> {
    let ratios: Vec<f64> = top
        .iter()
        .filter_map(|(launch, value)| {
            let (_, base) = bottom.iter().find(|(other, _)| other == launch)?;
            (*base > 0.0).then(|| value / base)
        })
        .collect();
    over_launches(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_launches_have_an_interval_and_five_have_none() {
        // Of six the whole range covers the median in 96.9% of cases; the median lies between 12 and 13.
        let six = over_launches(&[11.0, 15.0, 12.0, 13.0, 10.0, 14.0]).unwrap();
        let ends = six.interval.map(|interval| (interval.low, interval.high));
        assert_eq!((six.value, six.n, ends), (12.5, 6, Some((10.0, 15.0))));
        let five = over_launches(&[1.0; 5]).unwrap();
        assert_eq!((five.value, five.n, five.interval), (1.0, 5, None));
        assert_eq!(over_launches(&[]), None);
        assert_eq!(over_launches(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn a_ratio_is_taken_within_each_launch_that_has_both() {
        // 20 / 10, 33 / 30 and 42 / 40 are 2, 1.1 and 1.05, whose median is 1.1; the medians alone would give 33 / 30 too, but
        // launch 3 has no base and launch 9 nothing over it.
        let top = [(0, 20.0), (1, 33.0), (2, 42.0), (3, 99.0)];
        let bottom = [(9, 1.0), (2, 40.0), (0, 10.0), (1, 30.0)];
        let ratio = ratio_by_launch(&top, &bottom).unwrap();
        assert!(
            (ratio.value - 1.1).abs() < 1e-12 && ratio.n == 3,
            "{ratio:?}"
        );
        assert_eq!(ratio.interval, None);
        assert_eq!(ratio_by_launch(&top, &[(9, 1.0), (0, 0.0)]), None);
    }

    #[test]
    fn what_both_sides_share_widens_no_ratio() {
        // The machine halves its speed from launch to launch, and one side takes 1.5 times the other's time in each.
        let base: Vec<(u32, f64)> = (0..6u32).map(|n| (n, f64::from(1 << n))).collect();
        let top: Vec<(u32, f64)> = base.iter().map(|(n, us)| (*n, us * 1.5)).collect();
        let ratio = ratio_by_launch(&top, &base).unwrap();
        let ends = ratio.interval.map(|interval| (interval.low, interval.high));
        assert_eq!((ratio.value, ends), (1.5, Some((1.5, 1.5))));
    }
}
