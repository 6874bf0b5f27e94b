//! What the points of `tplens numa` say of near and far memory: how much of the near rate far memory loses, where far is faster, and
//! at which size the rate of a pageable copy changes.
//!
//! Only numbers whose memory and thread were proven where they were wanted take part.

use crate::{Numa, NumaPoint};
use stats::{Ratio, ratio_of_medians};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::StopReason;
    use crate::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
    use crate::{LinkUse, NamedQuantity, Outcome, Placement, Verification};

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
}
