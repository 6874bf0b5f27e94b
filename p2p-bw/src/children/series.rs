//! Samples of lanes, and what their times say: bandwidths, a latency, or the times of small copies.

use device::{Backend, Result};
use record::plan::StopReason;
use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use record::unit::gb_per_s;
use record::{LinkUse, NamedQuantity, Outcome, Placement, Verification};

use super::bench::Bench;
use super::lanes::{Lanes, Sample};
use crate::cases::Measures;
use crate::messages::WorkerReply;

/// The host's time to issue a small copy; all else is timed by events.
const ISSUE: &str = "issue";

/// The samples of one quantity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// Its name in the record.
    pub(super) name: String,
    pub(super) unit: Unit,
    /// The clock behind it.
    pub(super) source: TimeSource,
    pub(super) samples: Vec<f64>,
}

/// Samples of a job.
pub(super) struct Sampled {
    pub(super) series: Vec<Series>,
    /// The part of the longest lane's time in which the shortest ran, of each sample.
    pub(super) overlaps: Vec<f64>,
    pub(super) timing: Timing,
    pub(super) stopped: StopReason,
}

/// Takes samples of so many copies of `bytes` a lane, or steps, after so many to warm up, until `stop` says that there are enough in each
/// series; where a gate gave up, what it held before is not mixed with what nothing holds.
pub(super) fn sampled<B: Backend>(
    bench: &mut Bench<B>,
    lanes: &mut Lanes<B::Device>,
    (measures, names): (Measures, Vec<String>),
    (bytes, copies, warmup_copies): (u64, u32, u32),
    stop: impl Fn(&[&[f64]]) -> Option<StopReason>,
) -> Result<Sampled> {
    let mut timing = Timing {
        source: bench.backend.time_source(),
        gate: Gate::None,
        copies_per_sample: copies,
        warmup_copies,
    };
    let (mut series, mut overlaps) = (Vec::<Series>::new(), Vec::new());
    loop {
        if !bench.is_quiet {
            bench.tell(&WorkerReply::Timing(overlaps.len()));
        }
        let sample = lanes.run(copies)?;
        if timing.gate != sample.gate {
            timing.gate = sample.gate;
            overlaps.clear();
            series.clear();
        }
        let lanes = || sample.lanes.iter().copied();
        let shortest = lanes().fold(f64::INFINITY, f64::min);
        overlaps.push(shortest / lanes().fold(0.0, f64::max));
        let values = values((measures, &names), (bytes, copies), &sample);
        for (at, (name, unit, value)) in values.into_iter().enumerate() {
            if at == series.len() {
                series.push(Series {
                    source: match name == ISSUE {
                        true => TimeSource::HostMonotonic,
                        false => timing.source,
                    },
                    name,
                    unit,
                    samples: Vec::new(),
                });
            }
            series[at].samples.push(value);
        }
        let watched: Vec<&[f64]> = series.iter().map(|one| &one.samples[..]).collect();
        if let Some(stopped) = stop(&watched) {
            return Ok(Sampled {
                series,
                overlaps,
                timing,
                stopped,
            });
        }
    }
}

/// What a sample of so many copies a lane, or steps, says of each quantity of a case whose streams have these names.
fn values(
    (measures, names): (Measures, &[String]),
    (bytes, copies): (u64, u32),
    sample: &Sample,
) -> Vec<(String, Unit, f64)> {
    let each = f64::from(copies);
    let lanes = sample.lanes.iter();
    match measures {
        Measures::Bandwidth => {
            let moved = bytes * u64::from(copies);
            let of = |name: &str, value| (name.to_owned(), Unit::GbPerS, value);
            let total = gb_per_s(moved * lanes.len() as u64, sample.total);
            let total = (lanes.len() > 1).then(|| of("total", total));
            let shares = names.iter().zip(lanes);
            let shares = shares.map(|(name, lane)| of(name, gb_per_s(moved, *lane)));
            shares.chain(total).collect()
        }
        Measures::Latency => {
            let latency = lanes.map(|lane| ("latency".to_owned(), Unit::Nanoseconds, lane / each));
            latency.collect()
        }
        Measures::SmallCopies => {
            let of = |name: &str, value| (name.to_owned(), Unit::Microseconds, value);
            let issue = of(ISSUE, sample.issuing.as_secs_f64() * 1e6 / each);
            let pace = lanes.map(|lane| of("pace", lane / each / 1e3));
            [issue].into_iter().chain(pace).collect()
        }
    }
}

impl Sampled {
    /// The quantities of the series, in their order, that were timed alike but for the clock of each.
    pub(super) fn measured(
        self,
        verification: Verification,
        placement: Option<Placement>,
    ) -> Outcome {
        let quantity = |series: Series| {
            let source = series.source;
            let timing = Timing {
                source,
                ..self.timing
            };
            let Series { samples, unit, .. } = series;
            Some(NamedQuantity {
                quantity: Quantity::from_samples(samples, unit, timing, self.stopped)?,
                name: series.name,
            })
        };
        match self.series.into_iter().map(quantity).collect() {
            Some(quantities) => Outcome::Measured {
                quantities,
                verification,
                link: LinkUse::default(),
                placement,
            },
            None => Outcome::Failed {
                reason: "a time was zero or not a number; use larger --sizes".into(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 100 copies of 1 MB say that took 300 us of the host's time.
    fn of(measures: Measures, lanes: &[f64], total: f64) -> Vec<f64> {
        let sample = Sample {
            lanes: lanes.to_vec(),
            total,
            issuing: std::time::Duration::from_micros(300),
            gate: Gate::None,
        };
        let names = ["forward", "back"].map(str::to_owned);
        let values = values((measures, &names), (1_000_000, 100), &sample);
        values.into_iter().map(|(.., value)| value).collect()
    }

    #[test]
    fn shares_are_each_lanes_and_the_total_is_of_all_bytes_in_all_of_the_time() {
        // 100 MB a lane: in 10 ms 10 GB/s, in 20 ms 5; 200 MB in 20 ms are 10.
        let shares = of(Measures::Bandwidth, &[10e6, 20e6], 20e6);
        assert_eq!(shares, [10.0, 5.0, 10.0]);
        assert_eq!(of(Measures::Bandwidth, &[10e6], 11e6), [10.0]);
        // 3 us of the host's time each, 2.5 of the stream's.
        assert_eq!(of(Measures::SmallCopies, &[250e3], 250e3), [3.0, 2.5]);
    }
}
