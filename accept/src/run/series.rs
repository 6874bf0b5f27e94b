//! What a monitor's lines show over time, for the report: temperature, power and clocks as points, links as states.

use std::collections::BTreeMap;

use measure::record::{MonitorLine, MonitorValues};

use crate::report::Series;

/// Points of one series at most: a picture is not wider.
const MOST: usize = 600;

/// Values over time: key, unit, and where a reading has it.
type Value = (
    &'static str,
    &'static str,
    fn(&MonitorValues) -> Option<f64>,
);

const VALUES: [Value; 3] = [
    ("temperature_c", "degrees Celsius", |values| {
        values.temperature_c.map(f64::from)
    }),
    ("power_w", "W", |values| values.power_w),
    ("sm_clock_mhz", "MHz", |values| {
        values.sm_clock_mhz.map(f64::from)
    }),
];

/// The series of all devices. The lines of one monitor follow those of another where a run was gone on with: each begins at 0 again,
/// behind the end of the one before.
pub(crate) fn of(lines: &[MonitorLine]) -> Vec<Series> {
    let mut labels: Vec<String> = Vec::new();
    let mut points: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let mut states: BTreeMap<usize, Vec<(f64, String)>> = BTreeMap::new();
    let (mut zero, mut latest) = (0.0, 0.0_f64);
    for line in lines {
        match line {
            MonitorLine::Header(header) => {
                labels = header
                    .devices
                    .iter()
                    .map(|device| device.label.clone())
                    .collect();
                zero = latest;
            }
            MonitorLine::Sample(sample) => {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "nanoseconds of a run are far below 2^53"
                )]
                let at = zero + sample.answered_ns as f64 * 1e-9;
                latest = latest.max(at);
                for (index, (_, _, value)) in VALUES.iter().enumerate() {
                    if let Some(value) = value(&sample.values) {
                        points
                            .entry((sample.device, index))
                            .or_default()
                            .push((at, value));
                    }
                }
                if let Some(link) = sample.values.slot_link {
                    let states = states.entry(sample.device).or_default();
                    let link = link.to_string();
                    if states.last().is_none_or(|(_, last)| *last != link) {
                        states.push((at, link));
                    }
                }
            }
            _ => {}
        }
    }
    let label = |device: usize| {
        labels
            .get(device)
            .cloned()
            .unwrap_or_else(|| device.to_string())
    };
    let mut all: Vec<Series> = points
        .into_iter()
        .map(|((device, index), points)| Series {
            device: label(device),
            key: VALUES[index].0.to_owned(),
            unit: VALUES[index].1.to_owned(),
            points: thinned(points),
            states: Vec::new(),
        })
        .collect();
    all.extend(states.into_iter().map(|(device, states)| Series {
        device: label(device),
        key: "slot_link".to_owned(),
        unit: "generation and lanes".to_owned(),
        points: Vec::new(),
        states: states.into_iter().take(MOST).collect(),
    }));
    all
}

/// Of each of so many stretches the largest value: what is hot or draws much is not passed over.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MOST {
        return points;
    }
    let stretch = points.len().div_ceil(MOST);
    let largest = |part: &[(f64, f64)]| {
        part.iter()
            .copied()
            .reduce(|a, b| if b.1 > a.1 { b } else { a })
    };
    points.chunks(stretch).filter_map(largest).collect()
}

#[cfg(test)]
mod tests {
    use measure::record::MonitorSample;
    use topology::PcieLink;

    use super::*;

    fn sample(at_s: u64, temperature: u32, width: u8) -> MonitorLine {
        MonitorLine::Sample(Box::new(MonitorSample {
            device: 0,
            asked_ns: 0,
            answered_ns: at_s * 1_000_000_000,
            values: MonitorValues {
                temperature_c: Some(temperature),
                slot_link: PcieLink::new(4, width).ok(),
                ..MonitorValues::default()
            },
            missing: BTreeMap::new(),
        }))
    }

    #[test]
    fn points_are_kept_and_states_where_they_change() {
        let all = of(&[sample(1, 40, 16), sample(2, 41, 16), sample(3, 42, 8)]);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].points, [(1.0, 40.0), (2.0, 41.0), (3.0, 42.0)]);
        let states: Vec<f64> = all[1].states.iter().map(|(at, _)| *at).collect();
        assert_eq!(states, [1.0, 3.0]);
    }

    #[test]
    fn of_many_points_the_largest_of_each_stretch_is_kept() {
        // 1200 points are 600 stretches of two: the hot one at 7 stays.
        let points: Vec<(f64, f64)> = (0..1200)
            .map(|at| (f64::from(at), if at == 7 { 90.0 } else { 40.0 }))
            .collect();
        let kept = thinned(points);
        assert_eq!(kept.len(), 600);
        assert_eq!(kept[3], (7.0, 90.0));
    }
}
