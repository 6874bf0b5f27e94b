//! The ratio of two means over requests, with its interval: requests are resampled whole, those of both results apart.

use stats::{Interval, LEVEL, MIN_FOR_INTERVAL, SplitMix, sorted};

/// How often requests are resampled.
const RESAMPLES: usize = 2000;

/// The generator's seed: the same files give the same interval.
const SEED: u64 = 0x7365_7276_6563_6d70;

/// The 95% percentile-bootstrap interval of B's mean over A's; one group of values for each request. `None` below six requests
/// on a side.
///
/// Values of one request resemble each other, so requests are drawn and not values. Requests of one run share batches and are not
/// independent either: the interval covers what varies between requests, and nothing that varies from run to run.
pub(crate) fn interval(a: &[Vec<f64>], b: &[Vec<f64>]) -> Option<Interval> {
    if a.len() < MIN_FOR_INTERVAL || b.len() < MIN_FOR_INTERVAL {
        return None;
    }
    let (a, b) = (sums(a), sums(b));
    let mut random = SplitMix::new(SEED);
    let draws: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let (base, new) = (mean(&mut random, &a), mean(&mut random, &b));
            (base > 0.0).then_some(new / base)
        })
        .collect();
    let draws = sorted(&draws);
    // 2.5% of the draws lie beyond each end.
    let tail = RESAMPLES / 40;
    Some(Interval {
        low: *draws.get(tail)?,
        high: *draws.get(draws.len().checked_sub(tail + 1)?)?,
        level: LEVEL,
    })
}

/// B's mean over A's.
pub(super) fn of_means(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let mean = |groups: &[Vec<f64>]| {
        let (sum, count) = sums(groups)
            .into_iter()
            .fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        sum / count
    };
    mean(b) / mean(a)
}

/// Sum and count of each request's values.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn sums(groups: &[Vec<f64>]) -> Vec<(f64, f64)> {
    groups
        .iter()
        .map(|group| (group.iter().sum(), group.len() as f64))
        .collect()
}

/// The mean over as many requests as there are, drawn with replacement.
fn mean(random: &mut SplitMix, units: &[(f64, f64)]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in units {
        let unit = units[random.below(units.len())];
        sum += unit.0;
        count += unit.1;
    }
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_requests_leave_no_doubt_and_few_leave_no_interval() {
        // 30 / 20 = 1.5 in every resample.
        let of = |value: f64, n: usize| vec![vec![value; 3]; n];
        let interval = |n| {
            let found = super::interval(&of(20.0, n), &of(30.0, 8));
            found.map(|found| (found.low, found.high))
        };
        assert_eq!(interval(8), Some((1.5, 1.5)));
        assert_eq!(interval(5), None);
    }

    #[test]
    fn requests_are_drawn_and_not_their_values() {
        // Six requests of 100 equal gaps each, half of 10 and half of 30 ms: mean 20. Were 600 gaps independent, the mean would be
        // known to 10 / sqrt(600) = 0.4 ms; six requests give 10 / sqrt(6) = 4.1 ms, so that 95% are about 12 to 28.
        let base = vec![vec![20.0; 100]; 6];
        let halves: Vec<Vec<f64>> = [10.0, 30.0]
            .iter()
            .flat_map(|gap| vec![vec![*gap; 100]; 3])
            .collect();
        let found = interval(&base, &halves).unwrap();
        assert!(found.low < 0.75 && found.high > 1.25, "{found:?}");
    }
}
