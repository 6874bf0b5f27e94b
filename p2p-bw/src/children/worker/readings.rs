//! What the times of samples say: bandwidths, a latency, or the times of small copies.

use std::time::Duration;

use device::Backend;
use record::quantity::{TimeSource, Unit};
use record::unit::gb_per_s;

use crate::cases::Measures;
use crate::children::lanes::{Lanes, Sample};
use crate::children::series::Series;

/// The samples of a job, a series for each quantity.
pub(super) struct Readings {
    measures: Measures,
    bytes: u64,
    series: Vec<Series>,
}

impl Readings {
    /// No samples yet, of these lanes.
    pub(super) fn new<B: Backend>(
        measures: Measures,
        lanes: &Lanes<B>,
        bytes: u64,
        source: TimeSource,
    ) -> Self {
        let names = lanes.transfers().map(|transfer| transfer.name.clone());
        Self::of(measures, names.collect(), bytes, source)
    }

    fn of(measures: Measures, names: Vec<String>, bytes: u64, source: TimeSource) -> Self {
        let one = |name: &str, unit, source| Series {
            name: name.to_owned(),
            unit,
            source,
            samples: Vec::new(),
        };
        let series = match measures {
            Measures::Bandwidth => {
                let several = names.len() > 1;
                let total = several.then(|| "total".to_owned());
                let names = names.into_iter().chain(total);
                names.map(|name| one(&name, Unit::GbPerS, source)).collect()
            }
            Measures::Latency => vec![one("latency", Unit::Nanoseconds, source)],
            Measures::SmallCopies => vec![
                one("issue", Unit::Microseconds, TimeSource::HostMonotonic),
                one("pace", Unit::Microseconds, source),
            ],
        };
        Self {
            measures,
            bytes,
            series,
        }
    }

    /// Takes a sample of so many copies a lane, or steps.
    pub(super) fn take(&mut self, sample: &Sample, copies: u32) {
        self.add(&sample.lanes, sample.total, sample.issuing, copies);
    }

    fn add(&mut self, lanes: &[f64], total: f64, issuing: Duration, copies: u32) {
        let each = f64::from(copies);
        let values: Vec<f64> = match self.measures {
            Measures::Bandwidth => {
                let moved = self.bytes * u64::from(copies);
                let shares = lanes.iter().map(|lane| gb_per_s(moved, *lane));
                let total = gb_per_s(moved * lanes.len() as u64, total);
                shares.chain((lanes.len() > 1).then_some(total)).collect()
            }
            Measures::Latency => lanes.iter().map(|lane| lane / each).collect(),
            Measures::SmallCopies => {
                let pace = lanes.iter().map(|lane| lane / each / 1e3);
                let issue = issuing.as_secs_f64() * 1e6 / each;
                [issue].into_iter().chain(pace).collect()
            }
        };
        for (series, value) in self.series.iter_mut().zip(values) {
            series.samples.push(value);
        }
    }

    /// Forgets all samples.
    pub(super) fn clear(&mut self) {
        self.series
            .iter_mut()
            .for_each(|series| series.samples.clear());
    }

    /// How many samples were taken.
    pub(super) fn samples(&self) -> usize {
        self.series.first().map_or(0, |series| series.samples.len())
    }

    /// The samples that decide on when there are enough.
    pub(super) fn watched(&self) -> Vec<&[f64]> {
        let samples = self.series.iter().map(|series| series.samples.as_slice());
        samples.collect()
    }

    /// All samples.
    pub(super) fn into_series(self) -> Vec<Series> {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(measures: Measures, names: &[&str], lanes: &[f64], total: f64) -> Vec<(String, f64)> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut readings = Readings::of(measures, names, 1_000_000, TimeSource::DeviceEvent);
        readings.add(lanes, total, Duration::from_micros(300), 100);
        assert_eq!(readings.samples(), 1);
        let series = readings.into_series().into_iter();
        series
            .map(|series| (series.name, series.samples[0]))
            .collect()
    }

    #[test]
    fn what_is_cleared_is_no_sample() {
        let names = vec!["bandwidth".to_owned()];
        let source = TimeSource::DeviceEvent;
        let mut readings = Readings::of(Measures::Bandwidth, names, 1_000_000, source);
        readings.add(&[1e6], 1e6, Duration::ZERO, 1);
        readings.clear();
        readings.add(&[2e6], 2e6, Duration::ZERO, 1);
        // 1 MB in 2 ms; that in 1 ms is gone.
        assert_eq!(readings.watched(), [[0.5]]);
    }

    fn named(name: &str, value: f64) -> (String, f64) {
        (name.to_owned(), value)
    }

    #[test]
    fn shares_are_each_lanes_and_the_total_is_of_all_bytes_in_all_of_the_time() {
        // 100 copies of 1 MB are 100 MB a lane: in 10 ms 10 GB/s, in 20 ms 5; 200 MB in 20 ms are 10.
        assert_eq!(
            values(
                Measures::Bandwidth,
                &["share_0", "share_1"],
                &[10e6, 20e6],
                20e6
            ),
            [
                named("share_0", 10.0),
                named("share_1", 5.0),
                named("total", 10.0)
            ]
        );
        assert_eq!(
            values(Measures::Bandwidth, &["bandwidth"], &[10e6], 11e6),
            [named("bandwidth", 10.0)]
        );
    }

    #[test]
    fn a_small_copy_has_the_hosts_time_and_the_streams() {
        // 100 copies: 300 us of the host's time, 250 us of the stream's.
        assert_eq!(
            values(Measures::SmallCopies, &["bandwidth"], &[250e3], 250e3),
            [named("issue", 3.0), named("pace", 2.5)]
        );
    }
}
