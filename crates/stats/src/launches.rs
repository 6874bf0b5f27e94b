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
}
