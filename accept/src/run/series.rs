//! The monitor's readings over time, for the page: temperature, power and clock, of each stretch the largest.

use std::collections::BTreeMap;

use record::{MonitorLine, MonitorValues};

use crate::report::Series;

/// Points of a curve, at most.
const MOST: usize = 600;

type Value = fn(&MonitorValues) -> Option<f64>;

const VALUES: [(&str, &str, Value); 3] = [
    ("temperature_c", "degrees Celsius", |values| {
        values.temperature_c.map(f64::from)
    }),
    ("power_w", "W", |values| values.power_w),
    ("sm_clock_mhz", "MHz", |values| {
        values.sm_clock_mhz.map(f64::from)
    }),
];

/// One for each device and value that was read. A monitor that was started anew goes on behind the one before.
pub(crate) fn of(lines: &[MonitorLine]) -> Vec<Series> {
    let mut labels: Vec<String> = Vec::new();
    let mut points: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let (mut zero, mut latest) = (0.0, 0.0_f64);
    for line in lines {
        match line {
            MonitorLine::Header(header) => {
                let devices = header.devices.iter();
                labels = devices.map(|device| device.label.clone()).collect();
                zero = latest;
            }
            MonitorLine::Sample(sample) => {
                #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
                let at = zero + sample.answered_ns as f64 * 1e-9;
                latest = latest.max(at);
                for (index, (_, _, value)) in VALUES.iter().enumerate() {
                    if let Some(value) = value(&sample.values) {
                        let curve = points.entry((sample.device, index)).or_default();
                        curve.push((at, value));
                    }
                }
            }
            _ => {}
        }
    }
    let series = |((device, index), points): ((usize, usize), Vec<(f64, f64)>)| Series {
        device: labels.get(device).cloned().unwrap_or_default(),
        key: VALUES[index].0.to_owned(),
        unit: VALUES[index].1.to_owned(),
        points: thinned(&points),
    };
    points.into_iter().map(series).collect()
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let stretch = points.len().div_ceil(MOST).max(1);
    let larger = |a: (f64, f64), b: (f64, f64)| if b.1 > a.1 { b } else { a };
    let stretches = points.chunks(stretch);
    stretches
        .filter_map(|part| part.iter().copied().reduce(larger))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_points_the_largest_of_each_stretch_is_kept() {
        // 1200 points are 600 stretches of two: the hot one at 7 stays.
        let points: Vec<(f64, f64)> = (0..1200)
            .map(|at| (f64::from(at), if at == 7 { 90.0 } else { 40.0 }))
            .collect();
        let kept = thinned(&points);
        assert_eq!((kept.len(), kept[3]), (600, (7.0, 90.0)));
        assert_eq!(thinned(&points[..3]).len(), 3);
    }
}
