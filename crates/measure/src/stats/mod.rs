//! Statistics of repeated measurements, without assumptions about their distribution.

mod median;
mod outlier;
mod percentile;
mod ratio;

pub use median::{Interval, LEVEL, MIN_FOR_INTERVAL, median, median_interval};
pub use outlier::outliers;
pub use percentile::percentile;
pub use ratio::{Ratio, ratio_of_medians};

/// The values in ascending order; not-a-number must not occur.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
