//! A metric over requests, or over the gaps of requests, with the intervals that its number of requests allows.

use serde::{Deserialize, Serialize};

use super::bootstrap::interval_of_ratio;
use super::median::{Interval, LEVEL, interval_of_ascending, of_ascending};
use super::percentile::interpolated;
use super::sorted;

/// A metric over requests (or over gaps).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// 95% interval of the mean by bootstrap over requests; `None` below six requests.
    pub mean_interval: Option<Interval>,
    /// Median.
    pub median: f64,
    /// 95% interval of the median: by order statistics, for gaps by bootstrap over requests; `None` below six requests.
    pub median_interval: Option<Interval>,
    /// Population standard deviation.
    pub std: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// 90th percentile, linear interpolation; `None` below 20 values.
    pub p90: Option<f64>,
    /// 95th percentile; `None` below 40 values.
    pub p95: Option<f64>,
    /// 99th percentile; `None` below 200 values.
    pub p99: Option<f64>,
}

/// The distribution of values that are independent of each other, one for each request.
///
/// `None` without values, or where one is not finite.
#[must_use]
pub fn distribution(values: &[f64]) -> Option<Distribution> {
    let ascending = finite_ascending(values)?;
    let units: Vec<(f64, f64)> = values.iter().map(|value| (*value, 1.0)).collect();
    described(
        &ascending,
        interval(interval_of_ratio(&units)),
        interval_of_ascending(&ascending),
    )
}

/// The distribution of values that come in groups, such as the gaps of each request, all pooled.
///
/// Values of one group resemble each other, so groups are resampled, not values: a thousand gaps of ten requests are ten
/// independent observations. `None` without values, or where one is not finite.
#[must_use]
pub fn distribution_pooled(groups: &[Vec<f64>]) -> Option<Distribution> {
    let ascending = finite_ascending(&groups.concat())?;
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let sums: Vec<(f64, f64)> = groups
        .iter()
        .map(|group| (group.iter().sum(), count(group.len())))
        .collect();
    let median = of_ascending(&ascending)?;
    described(
        &ascending,
        interval(interval_of_ratio(&sums)),
        median_interval_of_groups(&groups, &ascending, median),
    )
}

/// The interval of a pooled median: that of the share of values below it, read off the values themselves.
///
/// Resampling groups and sorting each resample would take minutes for a million gaps; the share below a fixed value is a
/// ratio of sums, and its interval maps to one of the median (Woodruff, Confidence Intervals for Medians, 1952).
fn median_interval_of_groups(
    groups: &[&Vec<f64>],
    ascending: &[f64],
    median: f64,
) -> Option<Interval> {
    let below = |group: &&Vec<f64>| {
        // A value that equals the median counts as half below it, so that ties do not tilt the share.
        let halves: f64 = group
            .iter()
            .map(|value| match value.total_cmp(&median) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 0.0,
            })
            .sum();
        (halves, count(group.len()))
    };
    let units: Vec<(f64, f64)> = groups.iter().map(below).collect();
    let (low, high) = interval_of_ratio(&units)?;
    let last = ascending.len() - 1;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the count, held within it"
    )]
    let index = |share: f64| (share * count(ascending.len())) as usize;
    interval(Some((
        ascending[index(low).min(last)].min(median),
        ascending[index(high).min(last)].max(median),
    )))
}

fn described(
    ascending: &[f64],
    mean_interval: Option<Interval>,
    median_interval: Option<Interval>,
) -> Option<Distribution> {
    let n = count(ascending.len());
    let mean = ascending.iter().sum::<f64>() / n;
    let squares: f64 = ascending.iter().map(|value| (value - mean).powi(2)).sum();
    Some(Distribution {
        n: ascending.len(),
        mean,
        mean_interval,
        median: of_ascending(ascending)?,
        median_interval,
        std: (squares / n).sqrt(),
        min: *ascending.first()?,
        max: *ascending.last()?,
        p90: interpolated(ascending, 0.9),
        p95: interpolated(ascending, 0.95),
        p99: interpolated(ascending, 0.99),
    })
}

fn finite_ascending(values: &[f64]) -> Option<Vec<f64>> {
    (!values.is_empty() && values.iter().all(|value| value.is_finite())).then(|| sorted(values))
}

fn interval(ends: Option<(f64, f64)>) -> Option<Interval> {
    ends.map(|(low, high)| Interval {
        low,
        high,
        level: LEVEL,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of values are far below 2^53"
)]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_median_and_spread_are_those_of_the_values() {
        // Mean (2+4+4+4+5+5+7+9)/8 = 5; squares 9+1+1+1+0+0+4+16 = 32, 32/8 = 4, root 2; median (4+5)/2 = 4.5.
        let got = distribution(&[9.0, 2.0, 4.0, 5.0, 4.0, 5.0, 4.0, 7.0]).unwrap();
        assert_eq!(
            (got.n, got.mean, got.std, got.median, got.min, got.max),
            (8, 5.0, 2.0, 4.5, 2.0, 9.0)
        );
        let mean = got.mean_interval.unwrap();
        assert!(mean.low < 5.0 && 5.0 < mean.high, "{mean:?}");
        // Ranks 1 and 8 of eight cover the median in 99.2%; ranks 2 and 7 in 93% only.
        assert_eq!(
            got.median_interval.map(|i| (i.low, i.high)),
            Some((2.0, 9.0))
        );
        assert_eq!((got.p90, got.p95, got.p99), (None, None, None));
    }

    #[test]
    fn too_few_values_have_no_interval_and_none_have_no_distribution() {
        let five = distribution(&[1.0; 5]).unwrap();
        assert_eq!((five.mean_interval, five.median_interval), (None, None));
        assert_eq!(distribution(&[]), None);
        assert_eq!(distribution(&[1.0, f64::NAN]), None);
        assert_eq!(distribution_pooled(&[vec![], vec![]]), None);
    }

    #[test]
    fn groups_are_resampled_whole() {
        // Ten requests, every gap of a request the same: five at 10 ms, five at 20 ms. A mean of n independent values
        // has a 95% half-width of about t * 5 / sqrt(n - 1): 2.26 * 5 / 3 = 3.8 for 10 requests, and would have
        // 1.96 * 5 / sqrt(999) = 0.31 if the 1000 gaps counted.
        let groups: Vec<Vec<f64>> = (0..10)
            .map(|request| vec![if request % 2 == 0 { 10.0 } else { 20.0 }; 100])
            .collect();
        let pooled = distribution_pooled(&groups).unwrap();
        assert_eq!((pooled.n, pooled.mean), (1000, 15.0));
        let mean = pooled.mean_interval.unwrap();
        assert!(
            (2.5..=5.0).contains(&(mean.high - 15.0)) && (2.5..=5.0).contains(&(15.0 - mean.low)),
            "{mean:?}"
        );
        // The median lies between the two kinds of request, and ten requests cannot say which.
        assert_eq!(
            pooled.median_interval.map(|i| (i.low, i.high)),
            Some((10.0, 20.0))
        );
        assert_eq!(
            distribution(&groups.concat()).unwrap().median,
            pooled.median
        );
    }

    #[test]
    fn equal_groups_have_a_narrow_pooled_median() {
        // Every request has the gaps 1..=101, so the share below the median 51 is (50 + 0.5) / 101 = 0.5 in each.
        let groups = vec![(1..=101).map(f64::from).collect::<Vec<f64>>(); 8];
        let pooled = distribution_pooled(&groups).unwrap();
        assert_eq!(pooled.median, 51.0);
        assert_eq!(
            pooled.median_interval.map(|i| (i.low, i.high)),
            Some((51.0, 51.0))
        );
        // 808 values: position 0.9 * 807 = 726.3, the 727th of eight each is 91 (8 * 90 = 720 < 727 <= 728).
        assert_eq!(pooled.p90, Some(91.0));
    }

    #[test]
    fn the_same_values_give_the_same_interval() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * i % 17)).collect();
        assert_eq!(distribution(&values), distribution(&values));
    }
}
