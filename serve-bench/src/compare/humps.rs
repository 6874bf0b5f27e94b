//! Whether the median of some values lies between two groups of them: in a closed loop those that prefill alone and those that wait
//! for others, for one.

/// Neighbours this far apart are of two groups.
const APART: f64 = 1.25;

/// Values beyond this part on either side of the median are not where it can fall.
const AROUND: usize = 10;

/// Whether two neighbours lie far apart within a tenth of the values on either side of the median.
pub(super) fn at_median(values: &[f64]) -> bool {
    let values = stats::sorted(values);
    let (middle, reach) = (values.len() / 2, values.len() / AROUND + 1);
    let near = middle.saturating_sub(reach)..(middle + reach).min(values.len());
    values[near]
        .windows(2)
        .any(|pair| pair[1] > pair[0] * APART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_between_two_groups_is_told_from_one_within_a_group() {
        // 20 values of 10 to 11.9 and as many three times as long: the median is between.
        let short: Vec<f64> = (0..20).map(|n| 10.0 + f64::from(n) / 10.0).collect();
        let long: Vec<f64> = short.iter().map(|value| value * 3.0).collect();
        let even = [short.clone(), long.clone()].concat();
        assert!(at_median(&even));
        // Five long ones among 25 are the last fifth.
        let few = [short.clone(), long[..5].to_vec()].concat();
        assert!(!at_median(&few) && !at_median(&short));
        assert!(!at_median(&[]) && !at_median(&[1.0]));
    }
}
