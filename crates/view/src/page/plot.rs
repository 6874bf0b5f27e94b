//! A number over another one: lines, steps or dots, intervals as bars, values that are marked; axes linear or logarithmic.
//!
//! Lines differ by dashes, not by colour only. It is drawn narrower than other pictures, so that its words can still be read on
//! a telephone.

use crate::page::axes::{
    Area, Axes, BELOW, ROW, class_of, key, key_dot, number, row, sizes, ticks,
};
use crate::page::beside::Labels;
use crate::page::scale::{Linear, Log, count, range};
use crate::page::svg::{Anchor, Drawing, cut};

/// A picture of one or more series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plot {
    /// What it shows, one line.
    pub title: String,
    /// The axis to the right.
    pub across: Axis,
    /// The axis upwards.
    pub up: Axis,
    /// What is drawn.
    pub series: Vec<PlotSeries>,
    /// Whether the numbers are those of a simulated machine, which the picture says then.
    pub simulated: bool,
}

/// An axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// What it is, with its unit.
    pub label: String,
    /// Whether equal distances are equal factors; values are above zero then, others are not drawn.
    pub logarithmic: bool,
    /// Whether its values are bytes, which stand there as powers of two; of a logarithmic axis to the right.
    pub bytes: bool,
    /// From and to at least; without it, from the least to the largest value, a linear one from zero.
    pub range: Option<(f64, f64)>,
}

/// One series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlotSeries {
    /// Its name in the legend.
    pub name: String,
    /// How its points are joined.
    pub shape: Shape,
    /// Its points in the order in which they are joined.
    pub points: Vec<PlotPoint>,
}

/// How points are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// By straight lines, with a dot at each.
    #[default]
    Dotted,
    /// By straight lines.
    Line,
    /// By steps: a value holds until the next.
    Steps,
    /// Not at all.
    Dots,
}

/// One point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlotPoint {
    /// Its place to the right.
    pub x: f64,
    /// Its place upwards.
    pub y: f64,
    /// The interval of its place upwards.
    pub interval: Option<(f64, f64)>,
    /// The interval of its place to the right.
    pub across: Option<(f64, f64)>,
    /// A word beside it.
    pub label: Option<String>,
}

const WIDTH: f64 = 640.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 622.0;
const PLOT: f64 = 220.0;
/// Part of a linear axis beyond the largest value.
const ROOM: f64 = 0.06;
/// Units that a character of the legend takes.
const CHARACTER: f64 = 7.4;
/// Characters of a name that are shown.
const NAME: usize = 70;
/// Characters of a word beside a point that are shown.
const LABEL: usize = 24;

enum Scale {
    Linear(Linear),
    Log(Log),
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        match self {
            Self::Linear(axis) => axis.at(value),
            Self::Log(axis) => axis.at(value),
        }
    }

    fn ticks(&self) -> Vec<f64> {
        match self {
            Self::Linear(axis) => axis.ticks(),
            Self::Log(axis) => axis.ticks(),
        }
    }
}

impl Axis {
    /// Whether a value has a place on it.
    fn takes(&self, value: f64) -> bool {
        value.is_finite() && (!self.logarithmic || value > 0.0)
    }

    fn scale(&self, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Scale> {
        let asked = self.range.into_iter().flat_map(|(low, high)| [low, high]);
        let (low, high) = range(values.chain(asked).filter(|value| self.takes(*value)))?;
        Some(if self.logarithmic {
            Scale::Log(Log::over(low / 1.15, high * 1.15, from, to))
        } else if self.range.is_some() {
            Scale::Linear(Linear::over(low, high, from, to))
        } else {
            let low = low.min(0.0);
            // Nothing but zeros is drawn at the bottom, and the largest value has room above it.
            let high = if high > low { high } else { low + 1.0 };
            Scale::Linear(Linear::over(low, high + (high - low) * ROOM, from, to))
        })
    }
}

impl Plot {
    /// The picture as an SVG element; empty where there is no point to draw.
    #[must_use]
    pub fn svg(&self) -> String {
        let drawn = |point: &&PlotPoint| self.across.takes(point.x) && self.up.takes(point.y);
        let points = || {
            let all = self.series.iter().flat_map(|series| &series.points);
            all.filter(drawn)
        };
        if points().next().is_none() {
            return String::new();
        }
        let places = self.legend();
        let rows = places.last().map_or(0.0, |(_, row)| row + 1.0);
        let top = 34.0 + ROW * rows;
        let bottom = top + PLOT;
        let ends = |point: &PlotPoint| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [low, point.y, high]
        };
        let wide = points().flat_map(|point| {
            let (low, high) = point.across.unwrap_or((point.x, point.x));
            [low, point.x, high]
        });
        let across = self.across.scale(wide, LEFT, RIGHT);
        let up = self.up.scale(points().flat_map(ends), bottom, top);
        let (Some(across), Some(up)) = (across, up) else {
            return String::new();
        };
        let mut drawing = Drawing::begin_for("sideways", WIDTH, bottom + BELOW, &self.title);
        let area = Area {
            left: LEFT,
            right: RIGHT,
            top,
            bottom,
        };
        let along = |axis: &Scale| ticks(axis.ticks(), |at| axis.at(at), digits);
        let numbers = match &across {
            Scale::Log(axis) if self.across.bytes => sizes(axis, area),
            axis => along(axis),
        };
        let axes = Axes {
            across: (&self.across.label, numbers),
            up: (&self.up.label, along(&up)),
        };
        axes.draw(&mut drawing, area);
        if self.simulated {
            let above = (RIGHT, top - 8.0);
            drawing.text("simulated", above, Anchor::End, "SIMULATED");
        }
        let dots = points().map(|point| (across.at(point.x), up.at(point.y)));
        let mut labels = Labels::beside(dots, (LEFT, RIGHT));
        for (index, series) in self.series.iter().enumerate() {
            let class = class_of(index);
            let own: Vec<&PlotPoint> = series.points.iter().filter(drawn).collect();
            let place = |point: &PlotPoint| (across.at(point.x), up.at(point.y));
            let through: Vec<(f64, f64)> = own.iter().map(|point| place(point)).collect();
            match series.shape {
                Shape::Dots => {}
                Shape::Steps => drawing.path(&format!("curve {class}"), &stairs(&through)),
                Shape::Line | Shape::Dotted => drawing.path(&format!("curve {class}"), &through),
            }
            for point in own {
                let (x, y) = place(point);
                if let Some((low, high)) = point.interval.filter(|(low, _)| self.up.takes(*low)) {
                    drawing.line("whisker", (x, up.at(low)), (x, up.at(high)));
                }
                if let Some((low, high)) = point.across.filter(|(low, _)| self.across.takes(*low)) {
                    drawing.line("whisker", (across.at(low), y), (across.at(high), y));
                }
                if matches!(series.shape, Shape::Dots | Shape::Dotted) {
                    drawing.dot(&format!("dot {class}"), (x, y));
                }
                if let Some(label) = &point.label
                    && let Some((place, anchor)) = labels.place((x, y), &cut(label, LABEL + 1))
                {
                    drawing.text("tick beside", place, anchor, &cut(label, LABEL + 1));
                }
            }
            let (x, index) = places[index];
            let (at, name) = ((x, row(index)), cut(&series.name, NAME + 1));
            match series.shape {
                Shape::Dots => key_dot(&mut drawing, &format!("dot {class}"), at, (&name, WIDTH)),
                _ => key(&mut drawing, &format!("curve {class}"), at, (&name, WIDTH)),
            }
        }
        drawing.end()
    }

    /// Where each name of the legend begins, and its row.
    fn legend(&self) -> Vec<(f64, f64)> {
        let (mut x, mut index) = (LEFT, 0.0);
        let mut places = Vec::new();
        for series in &self.series {
            let width =
                30.0 + CHARACTER * count(cut(&series.name, NAME + 1).chars().count()) + 22.0;
            if x > LEFT && x + width > RIGHT {
                (x, index) = (LEFT, index + 1.0);
            }
            places.push((x, index));
            x += width;
        }
        places
    }
}

/// The corners of stairs: each value holds until the next.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(points.len() * 2);
    for &(x, y) in points {
        if let Some(&(_, before)) = corners.last() {
            corners.push((x, before));
        }
        corners.push((x, y));
    }
    corners
}

/// A number without zeros at its end, thousands as `k` and millions as `M`.
fn digits(value: f64) -> String {
    let (value, unit) = match value.abs() {
        n if n >= 1e6 => (value / 1e6, "M"),
        n if n >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    number(value) + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> PlotPoint {
        PlotPoint {
            x,
            y,
            ..PlotPoint::default()
        }
    }

    fn plot(points: Vec<PlotPoint>, shape: Shape, logarithmic: bool) -> Plot {
        Plot {
            title: "t <i>".to_owned(),
            across: Axis {
                label: "ms".to_owned(),
                logarithmic,
                ..Axis::default()
            },
            up: Axis {
                label: "part".to_owned(),
                ..Axis::default()
            },
            series: vec![PlotSeries {
                name: "TTFT <b>".to_owned(),
                shape,
                points,
            }],
            simulated: true,
        }
    }

    #[test]
    fn a_point_has_bars_on_both_axes_and_sizes_are_powers_of_two() {
        let mut sizes = plot(
            vec![point(8192.0, 19.0), point(8e6, 567.0)],
            Shape::Dotted,
            true,
        );
        sizes.across.bytes = true;
        sizes.series[0].points[0].across = Some((8000.0, 9000.0));
        sizes.series[0].points[0].interval = Some((18.0, 20.0));
        let svg = sizes.svg();
        assert_eq!(svg.matches("class=\"whisker\"").count(), 2);
        assert!(svg.contains(" KiB<"), "{svg}");
    }

    #[test]
    fn steps_hold_a_value_until_the_next() {
        assert_eq!(
            stairs(&[(0.0, 1.0), (2.0, 5.0), (3.0, 4.0)]),
            [(0.0, 1.0), (2.0, 1.0), (2.0, 5.0), (3.0, 5.0), (3.0, 4.0)]
        );
        assert_eq!(stairs(&[]), []);
    }

    #[test]
    fn points_have_dots_bars_and_labels_and_names_are_no_markup() {
        let mut labelled = point(2.0, 3.0);
        labelled.interval = Some((2.5, 3.5));
        labelled.label = Some("16 <u>".to_owned());
        let svg = plot(vec![point(1.0, 2.0), labelled], Shape::Dotted, false).svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 1);
        assert!(svg.contains("16 &lt;u&gt;") && svg.contains("TTFT &lt;b&gt;"));
        assert!(svg.contains(">SIMULATED<") && !svg.contains("<b>") && !svg.contains("<i>"));
    }

    #[test]
    fn what_has_no_place_is_not_drawn() {
        assert_eq!(Plot::default().svg(), "");
        assert_eq!(plot(vec![point(0.0, 1.0)], Shape::Dots, true).svg(), "");
        let svg = plot(
            vec![
                point(-1.0, 1.0),
                point(f64::NAN, 1.0),
                point(10.0, f64::INFINITY),
                point(10.0, 1.0),
            ],
            Shape::Dots,
            true,
        )
        .svg();
        assert_eq!(svg.matches("<circle").count(), 1);
        // What is drawn in dots has no line in the legend.
        assert!(svg.contains(">●<") && !svg.contains("<polyline"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn values_of_zero_alone_have_an_axis() {
        let svg = plot(vec![point(0.0, 0.0), point(1.0, 0.0)], Shape::Line, false).svg();
        assert!(svg.contains("<polyline") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn a_long_legend_breaks_into_rows() {
        let mut two = plot(vec![point(1.0, 1.0)], Shape::Dots, false);
        two.series[0].name = "x".repeat(60);
        two.series.push(two.series[0].clone());
        // 60 x 7.4 + 52 = 496 of 562: one a row.
        assert_eq!(two.legend(), [(LEFT, 0.0), (LEFT, 1.0)]);
        assert_eq!(cut(&"y".repeat(99), NAME + 1).chars().count(), 71);
        assert_eq!(
            [digits(25_000.0), digits(0.5), digits(3.0), digits(2e6)],
            ["25k", "0.5", "3", "2M"]
        );
    }
}
