//! What the points of `p2p-bw numa` say of near and far memory: how much of the near rate far memory loses, where far is faster, and
//! at which size the rate of a pageable copy changes.
//!
//! Only numbers whose memory and thread were proven where they were wanted take part.

use crate::record::{Numa, NumaPoint};
use crate::stats::{Ratio, ratio_of_medians};

/// Which way a far place differs from the near one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Far is slower, by more than [`NOTICED`].
    Slower,
    /// Far is faster, by more than [`NOTICED`]: the inversion that nobody expects.
    Faster,
    /// The interval comes within [`NOTICED`] of 1.
    NotTold,
}

/// A difference is named where its whole interval lies farther from 1 than this: of many comparisons at 95%, some miss 1 by chance.
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
}

impl Penalty<'_> {
    /// Which way it differs.
    #[must_use]
    pub fn difference(&self) -> Difference {
        let interval = self.ratio.interval;
        match (interval.high < 1.0 - NOTICED, interval.low > 1.0 + NOTICED) {
            (true, _) => Difference::Slower,
            (_, true) => Difference::Faster,
            _ => Difference::NotTold,
        }
    }
}

/// Every far place against the near one of its device, case and size, in the order of the points; of the size that places are compared by.
#[must_use]
pub fn penalties(numa: &Numa) -> Vec<Penalty<'_>> {
    let penalty = |far| {
        let near = near_of(numa, far)?;
        let samples = |point: &NumaPoint| Some(point.proven("bandwidth")?.samples.clone());
        let ratio = ratio_of_medians(&samples(far)?, &samples(near)?)?;
        Some(Penalty { near, far, ratio })
    };
    numa.points
        .iter()
        .filter(|point| numa.copy_bytes == Some(point.bytes))
        .filter_map(penalty)
        .collect()
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
/// interval lies outside of what the intervals of the two let expect, by more than a tenth.
#[must_use]
pub fn rate_changes(numa: &Numa) -> Vec<RateChange<'_>> {
    let mut changes: Vec<RateChange<'_>> = Vec::new();
    let points = || numa.points.iter();
    for above in points() {
        let is_sibling = |point: &&NumaPoint| {
            (point.device, &point.case) == (above.device, &above.case)
                && (point.memory_node, point.thread_node) == (above.memory_node, above.thread_node)
                && point.bytes < above.bytes
                && time(point).is_some()
        };
        let mut smaller: Vec<&NumaPoint> = points().filter(is_sibling).collect();
        smaller.sort_by_key(|point| std::cmp::Reverse(point.bytes));
        let [below, first, ..] = smaller[..] else {
            continue;
        };
        let (Some(c), Some(b), Some(a)) = (time(above), time(below), time(first)) else {
            continue;
        };
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
        }
    }
    changes
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
    let rate = point.number("bandwidth")?;
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
        let series = |rates: [f64; 3]| {
            let sizes = [1 << 20, 2 << 20, 4 << 20];
            let points = sizes.iter().zip(rates);
            numa(
                points
                    .map(|(bytes, rate)| point(*bytes, 0, 0, Some(0), rate))
                    .collect(),
            )
        };
        let fits = [1 << 20, 2 << 20, 4 << 20].map(smooth);
        assert_eq!(rate_changes(&series(fits)), []);
        // The last one half as fast, and half as fast again: 2 and 2/3 of the expected time.
        for part in [0.5, 1.5] {
            let numa = series([fits[0], fits[1], fits[2] * part]);
            let changes = rate_changes(&numa);
            assert_eq!(changes.len(), 1);
            assert_eq!(
                (changes[0].below.bytes, changes[0].above.bytes),
                (2 << 20, 4 << 20)
            );
            let off = changes[0].times_expected - 1.0 / part;
            assert!(off.abs() < 1e-9, "{}", changes[0].times_expected);
        }
    }
}
