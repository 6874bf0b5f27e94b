//! One measured number: value, unit, n, interval, how it was timed, and its raw samples.

use serde::{Deserialize, Serialize};

use crate::plan::StopReason;
use stats::{Interval, median, median_interval, outliers};

/// The unit of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Decimal gigabytes (1e9 bytes) per second.
    #[serde(rename = "GB/s")]
    GbPerS,
    /// Decimal teraflops (1e12 operations) per second, a multiply-add counted as two.
    #[serde(rename = "TFLOP/s")]
    TflopPerS,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl Unit {
    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::GbPerS | Self::TflopPerS)
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::GbPerS => "GB/s",
            Self::TflopPerS => "TFLOP/s",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        })
    }
}

/// Which clock stood behind the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// Events that the device itself stamped in its stream.
    DeviceEvent,
    /// The host's monotonic clock, read by the worker thread that moved the bytes.
    HostMonotonic,
    /// A simulated machine: arithmetic, not a measurement.
    #[serde(rename = "virtual_clock")]
    Simulated,
}

/// What held the streams back until all work was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Nothing: the cost of issuing the first copies can lie inside the timed window.
    None,
    /// A kernel that spins on a host flag.
    SpinKernel,
    /// The worker held its queue until all work was in it.
    HeldQueue,
}

/// How a quantity was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The clock.
    pub source: TimeSource,
    /// What held the start.
    pub gate: Gate,
    /// Copies in one timed sample.
    pub copies_per_sample: u32,
    /// Untimed copies before the first sample.
    pub warmup_copies: u32,
}

/// A number with everything that is needed to believe it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The median of the samples.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Number of samples.
    pub n: usize,
    /// 95% order-statistic interval of the median; `None` below six samples, which have no such interval.
    pub interval: Option<Interval>,
    /// How it was timed.
    pub timing: Timing,
    /// Why sampling ended.
    pub stopped: StopReason,
    /// Every sample in the order it was taken, in `unit`.
    pub samples: Vec<f64>,
    /// Indexes of samples that lie far from the rest; they are kept in the median.
    pub outliers: Vec<usize>,
}

impl Quantity {
    /// The quantity of these samples, or `None` where there are none or one is not finite.
    #[must_use]
    pub fn from_samples(
        samples: Vec<f64>,
        unit: Unit,
        timing: Timing,
        stopped: StopReason,
    ) -> Option<Self> {
        if samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        Some(Self {
            value: median(&samples)?,
            unit,
            n: samples.len(),
            interval: median_interval(&samples),
            timing,
            stopped,
            outliers: outliers(&samples),
            samples,
        })
    }

    /// As the function [`is_above_zero`].
    #[must_use]
    pub fn is_above_zero(&self) -> bool {
        is_above_zero(self.value, self.interval.map(|interval| interval.low))
    }

    /// The wider side of the interval relative to the value; `None` without an interval.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval
            .and_then(|interval| interval.relative_half_width(self.value))
    }
}

/// Whether a time with the lower end of its interval is told from none at all. What remains of an interleaved call once the work
/// around it was subtracted may reach zero or lie below: then it is no time that a bandwidth or a cost could be worked out from.
#[must_use]
pub fn is_above_zero(us: f64, low: Option<f64>) -> bool {
    us > 0.0 && us.is_finite() && low.is_none_or(|low| low > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        source: TimeSource::DeviceEvent,
        gate: Gate::None,
        copies_per_sample: 1,
        warmup_copies: 2,
    };

    #[test]
    fn samples_that_are_not_finite_make_no_quantity() {
        let make =
            |samples| Quantity::from_samples(samples, Unit::GbPerS, TIMING, StopReason::MaxSamples);
        assert_eq!(make(vec![1.0, f64::INFINITY]), None);
        assert_eq!(make(vec![]), None);
        let quantity = make(vec![2.0, 1.0, 3.0]).unwrap();
        assert_eq!(
            (quantity.value, quantity.n, quantity.interval),
            (2.0, 3, None)
        );
    }

    #[test]
    fn a_time_whose_interval_reaches_zero_is_not_told_from_none() {
        assert!(is_above_zero(139.0, None));
        assert!(is_above_zero(139.0, Some(0.1)));
        assert!(!is_above_zero(139.0, Some(0.0)));
        assert!(!is_above_zero(139.0, Some(-500.0)));
        assert!(!is_above_zero(-3.0, None));
        assert!(!is_above_zero(f64::NAN, None));
    }
}
