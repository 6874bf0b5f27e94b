//! From values to series of a picture: distributions as steps, and few enough points for a page.

use report::{Axis, Plot, PlotPoint, PlotSeries, Shape};

/// Points of a series at most: more are not told apart at the width of a page.
const MOST: usize = 400;

/// The largest value over the least from which on an axis has equal factors at equal distances.
const WIDE: f64 = 20.0;

/// A point without interval and word.
pub(super) fn point(x: f64, y: f64) -> PlotPoint {
    PlotPoint {
        x,
        y,
        ..PlotPoint::default()
    }
}

/// An axis from zero, or with equal factors where the values reach far.
pub(super) fn axis(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    let range =
        values
            .filter(|value| *value > 0.0)
            .fold(None, |range: Option<(f64, f64)>, value| {
                let (low, high) = range.unwrap_or((value, value));
                Some((low.min(value), high.max(value)))
            });
    Axis {
        label: label.to_owned(),
        logarithmic: range.is_some_and(|(low, high)| high > low * WIDE),
        ..Axis::default()
    }
}

/// The part of values up to each value, 0 to 1; `None` without values.
pub(super) fn ecdf(title: &str, name: &str, mut values: Vec<f64>, simulated: bool) -> Option<Plot> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let n = values.len() as f64;
    let step = values.len().div_ceil(MOST);
    let mut points = vec![point(values[0], 0.0)];
    let kept = (0..=last).filter(|index| (index + 1) % step == 0 || *index == last);
    points.extend(kept.map(|index| point(values[index], (index + 1) as f64 / n)));
    Some(Plot {
        title: title.to_owned(),
        across: axis(&format!("{name} (ms)"), values.iter().copied()),
        up: Axis {
            label: "part of the requests".to_owned(),
            range: Some((0.0, 1.0)),
            ..Axis::default()
        },
        series: vec![PlotSeries {
            name: format!("{name}, n={}", values.len()),
            shape: Shape::Steps,
            points,
        }],
        simulated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_at_one_and_rises_by_its_share() {
        let plot = ecdf("t", "TTFT", vec![30.0, 10.0, 20.0, 20.0], false).unwrap();
        let points: Vec<(f64, f64)> = plot.series[0].points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(
            points,
            [
                (10.0, 0.0),
                (10.0, 0.25),
                (20.0, 0.5),
                (20.0, 0.75),
                (30.0, 1.0)
            ]
        );
        assert!(!plot.across.logarithmic);
        assert_eq!(ecdf("t", "TTFT", Vec::new(), false), None);
    }

    #[test]
    fn many_values_are_few_points_with_both_ends() {
        let values: Vec<f64> = (1..=100_001).map(f64::from).collect();
        let plot = ecdf("t", "TTFT", values, false).unwrap();
        let points = &plot.series[0].points;
        assert!(points.len() <= MOST + 2, "{}", points.len());
        let last = points.last().unwrap();
        assert_eq!((points[0].x, last.x, last.y), (1.0, 100_001.0, 1.0));
        assert!(plot.across.logarithmic);
    }
}
