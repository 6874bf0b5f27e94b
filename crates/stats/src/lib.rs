//! Statistics of repeated measurements, without assumptions about their distribution.

#![forbid(unsafe_code)]

mod bootstrap;
mod distribution;
mod median;
mod outlier;
mod percentile;
mod random;
mod ratio;
mod rounds;
mod successive;
mod verdict;

pub use distribution::{Distribution, distribution, distribution_pooled};
pub use median::{Interval, LEVEL, MIN_FOR_INTERVAL, median, median_interval};
pub use outlier::outliers;
pub use percentile::of_any as percentile_of_any;
pub use percentile::percentile;
pub use random::SplitMix;
pub use ratio::{Ratio, ratio_of_means, ratio_of_medians};
pub use rounds::rounds;
pub use successive::{blocks, distribution_of_successive};
pub use verdict::{Threshold, Verdict, judge_by};

/// The values in ascending order; not-a-number must not occur.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    // Values that compare equal are the same bits, so their order does not matter.
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
