//! Labels of samples that lie far from the rest; nothing is dropped.

use super::median;

/// Modified z-scores above this are labelled (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993).
const LIMIT: f64 = 3.5;

/// The normal distribution's third quartile, which makes the median absolute deviation a standard deviation.
const QUARTILE: f64 = 0.6745;

/// The indexes of samples whose modified z-score exceeds 3.5; empty where the deviation is zero.
#[must_use]
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(center) = median(values) else {
        return Vec::new();
    };
    let deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    match median(&deviations) {
        Some(spread) if spread > 0.0 => {
            let far = |deviation: f64| QUARTILE * deviation / spread > LIMIT;
            (0..values.len()).filter(|i| far(deviations[*i])).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_far_sample_is_labelled() {
        // Median 10.0; deviations 0.1 0.1 0 0.2 5: their median is 0.1; 0.6745 * 5 / 0.1 = 33.7 > 3.5.
        assert_eq!(outliers(&[10.1, 9.9, 10.0, 10.2, 15.0]), [4]);
    }

    #[test]
    fn equal_samples_have_none() {
        assert!(outliers(&[1.0, 1.0, 1.0, 2.0]).is_empty());
        assert!(outliers(&[]).is_empty());
    }
}
