//! What the points of `p2p-bw numa` say of near and far memory: how much of the near rate far memory loses, where far is faster, and
//! at which size the rate of a pageable copy changes.
//!
//! Only numbers whose memory and thread were proven where they were wanted take part.

use crate::record::{Numa, NumaPoint};
use crate::stats::{Ratio, ratio_of_medians};

/// Which way a far place differs from the near one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Far is slower, by more than is noticed.
    Slower,
    /// Far is faster, by more than is noticed: the inversion that nobody expects.
    Faster,
    /// The interval comes nearer to 1 than that.
    NotTold,
}

/// A difference is named where its whole interval lies farther from 1 than this at least: of many comparisons at 95%, some miss 1 by chance.
pub const NOTICED: f64 = 0.02;

/// The rate at a far place against the rate at the near one.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty<'a> {
    /// The near point: memory and thread on the device's node.
    pub near: &'a NumaPoint,
    /// The far one, of the same device, case and size.
    pub far: &'a NumaPoint,
    /// Far rate over near rate.
    pub ratio: Ratio,
    /// A difference is named where the ratio's whole interval lies farther from 1 than this: [`NOTICED`], or what the near place itself
    /// differed by when it was measured again, if that is more.
    pub noticed: f64,
}

impl Penalty<'_> {
    /// Which way it differs.
    #[must_use]
    pub fn difference(&self) -> Difference {
        let interval = self.ratio.interval;
        match (
            interval.high < 1.0 - self.noticed,
            interval.low > 1.0 + self.noticed,
        ) {
            (true, _) => Difference::Slower,
            (_, true) => Difference::Faster,
            _ => Difference::NotTold,
        }
    }
}

/// Every far place against the near one of its device, case and size, in the order of the points; of the size that places are compared by.
#[must_use]
pub fn penalties(numa: &Numa) -> Vec<Penalty<'_>> {
    let samples = |point: &NumaPoint| Some(point.proven("bandwidth")?.samples.clone());
    let penalty = |far| {
        let near = near_of(numa, far)?;
        let ratio = ratio_of_medians(&samples(far)?, &samples(near)?)?;
        let noticed = drift(numa, near).map_or(NOTICED, |drift| drift.max(NOTICED));
        Some(Penalty {
            near,
            far,
            ratio,
            noticed,
        })
    };
    numa.points
        .iter()
        .filter(|point| numa.copy_bytes == Some(point.bytes))
        .filter_map(penalty)
        .collect()
}

/// What a place differs by from itself when it was measured again: the end of the ratio's interval that lies farther from 1; `None` where
/// it was measured once.
#[must_use]
pub fn drift(numa: &Numa, first: &NumaPoint) -> Option<f64> {
    let is_same = |point: &&NumaPoint| {
        (point.device, &point.case, point.bytes) == (first.device, &first.case, first.bytes)
            && (point.memory_node, point.thread_node) == (first.memory_node, first.thread_node)
    };
    let again = numa.points.iter().rfind(is_same)?;
    if std::ptr::eq(again, first) {
        return None;
    }
    let samples = |point: &NumaPoint| Some(point.proven("bandwidth")?.samples.clone());
    let interval = ratio_of_medians(&samples(again)?, &samples(first)?)?.interval;
    Some((interval.low - 1.0).abs().max((interval.high - 1.0).abs()))
}

/// The near point of a far one.
fn near_of<'a>(numa: &'a Numa, far: &NumaPoint) -> Option<&'a NumaPoint> {
    let home = numa.devices.get(far.device)?.node?;
    let place = |point: &NumaPoint| (point.memory_node, point.thread_node);
    let near = (Some(home), Some(home));
    if place(far) == near {
        return None;
    }
    numa.points.iter().find(|point| {
        place(point) == near
            && (point.device, &point.case, point.bytes) == (far.device, &far.case, far.bytes)
    })
}

/// A copy that takes another time than the two sizes below it let expect.
#[derive(Debug, Clone, PartialEq)]
pub struct RateChange<'a> {
    /// The last size that fits.
    pub below: &'a NumaPoint,
    /// The size that does not.
    pub above: &'a NumaPoint,
    /// Time of the copy over the expected time, by medians.
    pub times_expected: f64,
}

/// Sizes at which copies of one case and place take another time than the two sizes below let expect, so that something else happens
/// there: another way through the driver, or a cache that is outgrown.
///
/// A copy of s bytes with a fixed cost t and a rate r takes t + s/r, which two sizes fix. A size counts as a change where its 95%
/// interval lies outside of what the intervals of the two let expect, by more than a tenth. From there on it begins anew: sizes before a
/// change say nothing of those behind it. `None` where fewer than three sizes have a proven place and an interval.
#[must_use]
pub fn rate_changes<'a>(series: &[&'a NumaPoint]) -> Option<Vec<RateChange<'a>>> {
    let timed = series
        .iter()
        .filter_map(|point| Some((*point, time(point)?)));
    let mut all: Vec<(&NumaPoint, Time)> = timed.collect();
    all.sort_by_key(|(point, _)| point.bytes);
    all.dedup_by_key(|(point, _)| point.bytes);
    if all.len() < 3 {
        return None;
    }
    let (mut changes, mut since) = (Vec::new(), 0);
    for at in 2..all.len() {
        if at < since + 2 {
            continue;
        }
        let [(first, a), (below, b), (above, c)] = [&all[at - 2], &all[at - 1], &all[at]];
        let ahead = (above.bytes - below.bytes) as f64 / (below.bytes - first.bytes) as f64;
        let expect = |b: f64, a: f64| b + (b - a).max(0.0) * ahead;
        // Time grows least from the largest first to the smallest second.
        let (least, most) = (expect(b.low, a.high), expect(b.high, a.low));
        if c.high < least * (1.0 - TOLERANCE) || c.low > most * (1.0 + TOLERANCE) {
            changes.push(RateChange {
                below,
                above,
                times_expected: c.median / expect(b.median, a.median),
            });
            since = at;
        }
    }
    Some(changes)
}

/// What a size's time may differ without a word.
const TOLERANCE: f64 = 0.1;

/// Nanoseconds of one copy: the median and its interval.
struct Time {
    low: f64,
    median: f64,
    high: f64,
}

fn time(point: &NumaPoint) -> Option<Time> {
    let rate = point.proven("bandwidth")?;
    let interval = rate.interval?;
    // Bytes over GB/s are nanoseconds; the largest rate is the shortest time.
    let of = |rate: f64| point.bytes as f64 / rate;
    Some(Time {
        low: of(interval.high),
        median: of(rate.value),
        high: of(interval.low),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::StopReason;
    use crate::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
    use crate::record::{LinkUse, NamedQuantity, Outcome, Placement, Verification};

    fn point(bytes: u64, memory: u32, thread: u32, proven: Option<u32>, rate: f64) -> NumaPoint {
        let place = |wanted, proven| Placement {
            wanted: Some(wanted),
            proven,
            basis: "a test".to_owned(),
        };
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        // Samples within 0.5% of the rate, the same for every point.
        let samples = [-0.005, -0.003, -0.001, 0.0, 0.001, 0.003, 0.005];
        let samples = samples.map(|part: f64| rate * (1.0 + part)).to_vec();
        let quantity =
            Quantity::from_samples(samples, Unit::GbPerS, timing, StopReason::MaxSamples);
        NumaPoint {
            case: "h2d_pageable_ce".to_owned(),
            device: 0,
            memory_node: Some(memory),
            thread_node: Some(thread),
            bytes,
            outcome: Outcome::Measured {
                quantities: vec![NamedQuantity {
                    name: "bandwidth".to_owned(),
                    quantity: quantity.unwrap(),
                }],
                verification: Verification::Passed,
                link: LinkUse::default(),
                placement: Some(place(memory, proven)),
            },
            thread: Some(place(thread, Some(thread))),
            caveats: Vec::new(),
        }
    }

    fn numa(points: Vec<NumaPoint>) -> Numa {
        let device = serde_json::from_value(serde_json::json!({
            "label": "GPU0", "ordinal": 0, "name": "a device", "node": 0, "max_payload_bytes": null
        }));
        Numa {
            devices: vec![device.unwrap()],
            copy_bytes: Some(64),
            points,
            ..Numa::default()
        }
    }

    #[test]
    fn a_penalty_is_the_far_rate_over_the_near_one_of_the_same_case_and_size() {
        let points = vec![
            point(64, 0, 0, Some(0), 10.0),
            point(64, 1, 0, Some(1), 8.0),
            point(64, 0, 1, Some(0), 10.001),
            point(64, 1, 1, Some(1), 12.0),
            point(32, 1, 1, Some(1), 12.0),
        ];
        let numa = numa(points);
        let found = penalties(&numa);
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.far.memory_node, one.far.thread_node, one.difference()))
            .collect();
        assert_eq!(
            told,
            [
                (Some(1), Some(0), Difference::Slower),
                (Some(0), Some(1), Difference::NotTold),
                (Some(1), Some(1), Difference::Faster),
            ]
        );
        // 8 / 10.
        assert!((found[0].ratio.value - 0.8).abs() < 1e-9);
    }

    #[test]
    fn a_difference_that_time_alone_makes_is_not_named() {
        // Near memory gave 10 and, measured again, 8: far at 8.5 is nothing, far at 5 is.
        let of = |far: f64| {
            let points = vec![
                point(64, 0, 0, Some(0), 10.0),
                point(64, 1, 0, Some(1), far),
                point(64, 0, 0, Some(0), 8.0),
            ];
            let numa = numa(points);
            let found = penalties(&numa);
            (found.len(), found[0].difference())
        };
        assert_eq!(of(8.5), (1, Difference::NotTold));
        assert_eq!(of(5.0), (1, Difference::Slower));
    }

    #[test]
    fn memory_that_is_not_proven_where_it_was_wanted_takes_no_part() {
        for elsewhere in [None, Some(0)] {
            let points = vec![
                point(64, 0, 0, Some(0), 10.0),
                point(64, 1, 0, elsewhere, 8.0),
            ];
            assert_eq!(penalties(&numa(points)), []);
        }
    }

    #[test]
    fn a_size_that_the_two_below_do_not_let_expect_is_a_change() {
        // 10 us and 10 GB/s: 1 MiB takes 10 + 104.86 us, 2 MiB 10 + 209.72, 4 MiB 10 + 419.43.
        let smooth = |bytes: u64| bytes as f64 / (10_000.0 + bytes as f64 / 10.0);
        let series = |rates: [f64; 3]| -> Vec<NumaPoint> {
            let points = [1 << 20, 2 << 20, 4 << 20].into_iter().zip(rates);
            points
                .map(|(bytes, rate)| point(bytes, 0, 0, Some(0), rate))
                .collect()
        };
        let fits = [1 << 20, 2 << 20, 4 << 20].map(smooth);
        let changes_of = |points: &[NumaPoint]| {
            let all: Vec<&NumaPoint> = points.iter().collect();
            let changes = rate_changes(&all)?;
            let told = changes
                .iter()
                .map(|one| (one.below.bytes, one.above.bytes, one.times_expected));
            Some(told.collect::<Vec<_>>())
        };
        assert_eq!(changes_of(&series(fits)), Some(Vec::new()));
        // The last one half as fast, and half as fast again: 2 and 2/3 of the expected time.
        for part in [0.5, 1.5] {
            let changes = changes_of(&series([fits[0], fits[1], fits[2] * part])).unwrap();
            let [(below, above, times)] = changes[..] else {
                panic!("{changes:?}");
            };
            assert_eq!((below, above), (2 << 20, 4 << 20));
            assert!((times - 1.0 / part).abs() < 1e-9, "{times}");
        }
        // Two sizes fix a line and test nothing; nor do numbers of another place.
        assert_eq!(changes_of(&series(fits)[..2]), None);
        let elsewhere = [1 << 20, 2 << 20, 4 << 20].map(|bytes| point(bytes, 0, 0, Some(1), 5.0));
        assert_eq!(changes_of(&elsewhere), None);
    }

    #[test]
    fn a_step_is_one_change_and_what_follows_it_none() {
        // Up to 1 MiB at 6 GB/s, from 2 MiB on at 11, each with 5 us: the step is between 1 and 2 MiB alone.
        let rate = |bytes: u64| {
            let gbps = if bytes <= 1 << 20 { 6.0 } else { 11.0 };
            bytes as f64 / (5_000.0 + bytes as f64 / gbps)
        };
        let sizes = (16..=26).map(|power| 1_u64 << power);
        let points: Vec<NumaPoint> = sizes
            .map(|bytes| point(bytes, 0, 0, Some(0), rate(bytes)))
            .collect();
        let all: Vec<&NumaPoint> = points.iter().collect();
        let changes = rate_changes(&all).unwrap();
        let told: Vec<_> = changes
            .iter()
            .map(|one| (one.below.bytes, one.above.bytes))
            .collect();
        assert_eq!(told, [(1 << 20, 2 << 20)]);
    }
}
