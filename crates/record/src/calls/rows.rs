//! Points of one series and size, put together over launches.

use crate::quantity::Quantity;
use crate::{CollectiveOutcome, CollectivePoint, Collectives, Verification};
use stats::{Interval, OverLaunches, over_launches, percentile};

use super::series::Series;

/// One size of a series.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// What the size is of.
    pub series: Series,
    /// As [`CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// Its points, one a launch, ascending; never empty.
    pub points: Vec<&'a CollectivePoint>,
    /// Whether its series was measured in several launches, so that a launch counts as one even where it is alone.
    pub by_launch: bool,
}

/// What a row's interval and number stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Samples of one launch.
    Samples,
    /// Launches, of each of which the median is one observation.
    Launches,
}

/// The time of a row in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowTime {
    /// The median, over launches the median of their medians.
    pub value: f64,
    /// Its 95% interval; `None` below six of what it is over.
    pub interval: Option<Interval>,
    /// How many of them.
    pub n: usize,
    /// What it is over.
    pub over: Over,
}

impl RowTime {
    /// As [`is_above_zero`].
    #[must_use]
    pub fn is_above_zero(&self) -> bool {
        is_above_zero(self.value, self.interval.map(|interval| interval.low))
    }
}

/// Whether a time with the lower end of its interval is told from none at all. What remains of an interleaved call once the work
/// around it was subtracted may reach zero or lie below: then it is no time that a bandwidth or a cost could be worked out from.
#[must_use]
pub fn is_above_zero(us: f64, low: Option<f64>) -> bool {
    us > 0.0 && us.is_finite() && low.is_none_or(|low| low > 0.0)
}

/// The rows of a record: series in the order of their first points, arms in the order given, sizes ascending.
#[must_use]
pub fn rows(collectives: &Collectives) -> Vec<Row<'_>> {
    let mut order: Vec<Series> = Vec::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for point in &collectives.points {
        let series = Series::of(point);
        if !order.contains(&series) {
            order.push(series.clone());
        }
        let same =
            |row: &&mut Row<'_>| row.bytes_per_rank == point.bytes_per_rank && row.series == series;
        match rows.iter_mut().find(same) {
            Some(row) => row.points.push(point),
            None => rows.push(Row {
                series,
                bytes_per_rank: point.bytes_per_rank,
                points: vec![point],
                by_launch: false,
            }),
        }
    }
    let relaunched: Vec<Series> = rows
        .iter()
        .filter(|row| row.points.iter().any(|point| point.launch > 0))
        .map(|row| row.series.clone())
        .collect();
    for row in &mut rows {
        row.points.sort_by_key(|point| point.launch);
        row.by_launch = relaunched.contains(&row.series);
    }
    rows.sort_by_cached_key(|row| {
        let at = order.iter().position(|known| *known == row.series);
        (at, row.bytes_per_rank)
    });
    rows
}

impl<'a> Row<'a> {
    /// The first launch's point.
    #[must_use]
    pub fn first(&self) -> &'a CollectivePoint {
        self.points[0]
    }

    /// The times that stand for something by launch; none at all where a launch gave wrong data.
    #[must_use]
    pub fn times(&self) -> Vec<(u32, &'a Quantity)> {
        let is_wrong = |point: &&CollectivePoint| {
            matches!(
                &point.outcome,
                CollectiveOutcome::Measured {
                    verification: Verification::WrongData { .. },
                    ..
                }
            )
        };
        if self.points.iter().any(is_wrong) {
            return Vec::new();
        }
        self.points
            .iter()
            .filter_map(|point| match &point.outcome {
                CollectiveOutcome::Measured { time, .. } => Some((point.launch, time.as_ref())),
                _ => None,
            })
            .collect()
    }

    /// Its time; `None` where none stands for something.
    #[must_use]
    pub fn time(&self) -> Option<RowTime> {
        let times = self.times();
        if let ([(_, time)], false) = (times.as_slice(), self.by_launch) {
            return Some(RowTime {
                value: time.value,
                interval: time.interval,
                n: time.n,
                over: Over::Samples,
            });
        }
        let OverLaunches { value, interval, n } = over_launches(&values(&times))?;
        Some(RowTime {
            value,
            interval,
            n,
            over: Over::Launches,
        })
    }

    /// A percentile such as 0.99, over launches the median of theirs; `None` where a launch has too few samples for it.
    #[must_use]
    pub fn percentile(&self, fraction: f64) -> Option<f64> {
        let of = |(_, time): &(u32, &Quantity)| percentile(&time.samples, fraction);
        let all: Option<Vec<f64>> = self.times().iter().map(of).collect();
        Some(over_launches(&all?)?.value)
    }

    /// The time of the work between two calls, over launches the median.
    #[must_use]
    pub fn gap(&self) -> Option<f64> {
        let gaps: Vec<f64> = self
            .points
            .iter()
            .filter_map(|point| match &point.outcome {
                CollectiveOutcome::Measured { gap, .. } => Some(gap.as_ref()?.value),
                _ => None,
            })
            .collect();
        Some(over_launches(&gaps)?.value)
    }
}

fn values(times: &[(u32, &Quantity)]) -> Vec<f64> {
    times.iter().map(|(_, time)| time.value).collect()
}

/// Sizes of one series that take less time than a smaller size, their intervals apart: the smaller row and the larger.
#[must_use]
pub fn faster_though_larger<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<(&'r Row<'a>, &'r Row<'a>)> {
    let interval = |row: &Row<'_>| row.time().and_then(|time| time.interval);
    let mut found = Vec::new();
    for (at, larger) in rows.iter().enumerate() {
        let Some(of_larger) = interval(larger) else {
            continue;
        };
        let slower = rows[..at].iter().rev().find(|smaller| {
            smaller.bytes_per_rank < larger.bytes_per_rank
                && interval(smaller).is_some_and(|of_smaller| of_smaller.low > of_larger.high)
        });
        found.extend(slower.map(|smaller| (smaller, larger)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::StopReason;
    use crate::quantity::{Gate, TimeSource, Timing, Unit};
    use crate::{BufferCache, BufferPlacement, CallMode, CollectiveKind, ElementType};

    fn point(bytes: u64, launch: u32, samples: &[f64]) -> CollectivePoint {
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        let samples = samples.to_vec();
        let time =
            Quantity::from_samples(samples, Unit::Microseconds, timing, StopReason::MaxSamples);
        CollectivePoint {
            kind: CollectiveKind::AllReduce,
            element: ElementType::Bf16,
            bytes_per_rank: bytes,
            ranks: 2,
            mode: CallMode::Graph,
            placement: BufferPlacement::OutOfPlace,
            cache: BufferCache::Hot,
            engine: None,
            arm: None,
            launch,
            outcome: CollectiveOutcome::Measured {
                time: Box::new(time.unwrap()),
                verification: Verification::Passed,
                gap: None,
            },
            caveats: Vec::new(),
        }
    }

    fn of(points: Vec<CollectivePoint>) -> Collectives {
        Collectives {
            points,
            ..Collectives::default()
        }
    }

    #[test]
    fn over_launches_each_launch_is_one_observation() {
        // Medians 10, 12 and 20 of three samples each: their median is 12, of n = 3, which has no interval.
        let medians = [(0, 10.0), (2, 20.0), (1, 12.0)];
        let points = medians.map(|(n, us)| point(8, n, &[us, us, us + 1.0]));
        let record = of(points.to_vec());
        let all = rows(&record);
        assert_eq!(all.len(), 1);
        let time = all[0].time().unwrap();
        assert_eq!(
            (time.value, time.interval, time.n, time.over),
            (12.0, None, 3, Over::Launches)
        );
        let one = of(vec![point(8, 0, &[7.0; 6])]);
        let time = rows(&one)[0].time().unwrap();
        assert_eq!((time.n, time.over), (6, Over::Samples));
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

    #[test]
    fn one_wrong_launch_takes_the_number_from_all() {
        let mut wrong = point(8, 1, &[1.0; 6]);
        if let CollectiveOutcome::Measured { verification, .. } = &mut wrong.outcome {
            *verification = Verification::WrongData {
                seen: "0".to_owned(),
            };
        }
        let record = of(vec![point(8, 0, &[1.0; 6]), wrong]);
        assert_eq!(rows(&record)[0].time(), None);
    }

    #[test]
    fn a_launch_that_failed_is_not_counted_and_the_rest_is_over_launches() {
        let mut failed = point(8, 1, &[1.0; 6]);
        failed.outcome = CollectiveOutcome::Failed {
            reason: "lost".into(),
        };
        let record = of(vec![point(8, 0, &[3.0; 6]), failed]);
        let time = rows(&record)[0].time().unwrap();
        // Six samples have an interval; one launch has none.
        assert_eq!(
            (time.n, time.interval, time.over),
            (1, None, Over::Launches)
        );
    }

    #[test]
    fn a_larger_message_that_is_faster_is_found_by_intervals_that_are_apart() {
        // Six samples: the interval is their range. 9..11, 19..21, 18..20 touches that, 12..14 does not.
        let range = |bytes, us: f64| point(bytes, 0, &[us - 1.0, us, us, us, us, us + 1.0]);
        let points = [(1, 10.0), (2, 20.0), (3, 19.0), (4, 13.0)];
        let record = of(points.map(|(bytes, us)| range(bytes, us)).to_vec());
        let all = rows(&record);
        let found: Vec<_> = faster_though_larger(&all)
            .iter()
            .map(|(smaller, larger)| (smaller.bytes_per_rank, larger.bytes_per_rank))
            .collect();
        assert_eq!(found, [(3, 4)]);
    }
}
