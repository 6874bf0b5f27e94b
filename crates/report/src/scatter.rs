//! Points with intervals on both axes and straight lines: whether one number follows another as it should.

use crate::axes::{Area, Axes, BELOW, NARROW, Paper, ROW, WIDE, key, number, row, ticks};
use crate::beside::Labels;
use crate::scale::{Linear, count, range};
use crate::svg::{Drawing, cut};

/// Points and lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scatter {
    /// What the picture shows, one line.
    pub title: String,
    /// The axis to the right, with its unit.
    pub across: String,
    /// The axis upwards, with its unit.
    pub up: String,
    /// The points.
    pub points: Vec<ScatterPoint>,
    /// The lines.
    pub lines: Vec<ScatterLine>,
}

/// One point. Numbers are its lower end, its middle and its upper end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScatterPoint {
    /// A word beside it.
    pub label: String,
    /// Its place to the right.
    pub x: (f64, f64, f64),
    /// Its place upwards.
    pub y: (f64, f64, f64),
    /// Whether lines are of it; others are drawn in another colour.
    pub counts: bool,
}

/// A straight line over the whole width.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScatterLine {
    /// Its name in the legend.
    pub name: String,
    /// A point on it.
    pub through: (f64, f64),
    /// What it rises by for each unit to the right.
    pub slope: f64,
}

/// The pages that show it, with the plot's height.
const PAGES: [(Paper, f64); 2] = [(WIDE, 280.0), (NARROW, 240.0)];

/// Part of the span of the values that is left free beyond them.
const ROOM: f64 = 0.08;
/// Characters of a label that are shown.
const LABEL: usize = 24;

impl Scatter {
    /// The picture as SVG elements, one for wide pages and one for narrow ones; empty where there is no point.
    #[must_use]
    pub fn svg(&self) -> String {
        PAGES
            .iter()
            .filter_map(|(paper, height)| self.drawn(paper, *height))
            .collect()
    }

    fn drawn(&self, paper: &Paper, height: f64) -> Option<String> {
        let drawn = || self.points.iter().filter(|point| is_finite(point));
        let top = 24.0 + ROW * count(self.lines.len()) + 14.0;
        let area = Area {
            left: paper.left,
            right: paper.right,
            top,
            bottom: top + height,
        };
        let across = axis(drawn().map(|point| point.x), (area.left, area.right))?;
        let up = axis(drawn().map(|point| point.y), (area.bottom, area.top))?;
        let mut drawing =
            Drawing::begin_for(paper.pages, paper.width, area.bottom + BELOW, &self.title);
        let along = |axis: &Linear| ticks(axis.ticks(), |at| axis.at(at), number);
        let axes = Axes {
            across: (&self.across, along(&across)),
            up: (&self.up, along(&up)),
        };
        axes.draw(&mut drawing, area);
        for (index, line) in self.lines.iter().enumerate() {
            let class = format!("curve plot{index}");
            if let Some([from, to]) = across.within(&up, line.through, line.slope) {
                let place = |(x, y): (f64, f64)| (across.at(x), up.at(y));
                drawing.path(&class, &[place(from), place(to)]);
            }
            let y = row(count(index));
            key(
                &mut drawing,
                &class,
                (paper.names, y),
                (&line.name, paper.right),
            );
        }
        for point in drawn() {
            let (x, y) = (across.at(point.x.1), up.at(point.y.1));
            let ends = |axis: &Linear, of: (f64, f64, f64)| (axis.at(of.0), axis.at(of.2));
            let (low, high) = ends(&across, point.x);
            drawing.line("whisker", (low, y), (high, y));
            let (low, high) = ends(&up, point.y);
            drawing.line("whisker", (x, low), (x, high));
            let class = if point.counts {
                "dot plot0"
            } else {
                "dot plot5"
            };
            drawing.dot(class, (x, y));
        }
        // Words come last, so that they lie above all lines.
        let dots = || drawn().map(|point| (across.at(point.x.1), up.at(point.y.1)));
        let mut labels = Labels::beside(dots(), (area.left, area.right));
        for (dot, point) in dots().zip(drawn()) {
            let label = cut(&point.label, LABEL + 1);
            if let Some((place, anchor)) = labels.place(dot, &label) {
                drawing.text("tick beside", place, anchor, &label);
            }
        }
        Some(drawing.end())
    }
}

fn is_finite(point: &ScatterPoint) -> bool {
    let all = [
        point.x.0, point.x.1, point.x.2, point.y.0, point.y.1, point.y.2,
    ];
    all.iter().all(|value| value.is_finite())
}

/// An axis over values with their intervals, and some room; `None` where there is none.
fn axis(values: impl Iterator<Item = (f64, f64, f64)>, (from, to): (f64, f64)) -> Option<Linear> {
    let (low, high) = range(values.flat_map(|(low, mid, high)| [low, mid, high]))?;
    let room = (high - low) * ROOM;
    Some(Linear::over(low - room, high + room, from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(label: &str, x: f64, y: f64) -> ScatterPoint {
        ScatterPoint {
            label: label.to_owned(),
            x: (x - 1.0, x, x + 1.0),
            y: (y - 0.1, y, y + 0.1),
            counts: true,
        }
    }

    fn scatter(points: Vec<ScatterPoint>, slope: f64) -> Scatter {
        Scatter {
            title: "t <i>".to_owned(),
            across: "us".to_owned(),
            up: "ms".to_owned(),
            points,
            lines: vec![ScatterLine {
                name: "fitted <b>".to_owned(),
                through: (20.0, 14.0),
                slope,
            }],
        }
    }

    #[test]
    fn points_have_bars_on_both_axes_and_names_are_no_markup() {
        let svg = scatter(
            vec![point("base", 20.0, 14.0), point("off", 60.0, 17.0)],
            0.075,
        )
        .svg();
        // Two pictures, of which a page shows one: two dots and four bars each.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 8);
        assert!(
            svg.contains("fitted &lt;b&gt;") && !svg.contains("<i>"),
            "{svg}"
        );
        assert!(svg.contains("class=\"wide\"") && svg.contains("class=\"narrow\""));
    }

    #[test]
    fn a_line_ends_where_the_picture_ends() {
        let across = Linear::over(0.0, 10.0, 0.0, 100.0);
        let up = Linear::over(0.0, 10.0, 100.0, 0.0);
        // y = 4 x leaves the top at x = 2.5; y = 5 - x the bottom at x = 5; y = 20 + x is never in it.
        let ends = |through, slope| across.within(&up, through, slope);
        assert_eq!(ends((0.0, 0.0), 4.0), Some([(0.0, 0.0), (2.5, 10.0)]));
        assert_eq!(ends((0.0, 5.0), -1.0), Some([(0.0, 5.0), (5.0, 0.0)]));
        assert_eq!(ends((0.0, 5.0), 0.0), Some([(0.0, 5.0), (10.0, 5.0)]));
        assert_eq!(ends((0.0, 20.0), 1.0), None);
        assert_eq!(ends((0.0, 20.0), 0.0), None);
        assert_eq!(ends((0.0, f64::NAN), 1.0), None);
    }

    #[test]
    fn without_a_point_there_is_no_picture_and_a_long_name_is_cut() {
        assert_eq!(scatter(vec![], 1.0).svg(), "");
        let mut odd = point("odd", f64::NAN, 1.0);
        assert_eq!(scatter(vec![odd.clone()], 1.0).svg(), "");
        odd = point(&"x".repeat(300), 20.0, 14.0);
        let svg = scatter(vec![odd], 1.0).svg();
        assert!(svg.contains(&format!("{}…", "x".repeat(24))) && !svg.contains("NaN"));
        assert!(!svg.contains(&"x".repeat(25)), "{svg}");
    }
}
