//! Points with intervals on both axes and straight lines: whether one number follows another as it should.

use crate::beside::Labels;
use crate::scale::Linear;
use crate::svg::{Anchor, Drawing};

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

/// Where things stand in the picture.
struct Layout {
    pages: &'static str,
    width: f64,
    left: f64,
    right: f64,
    height: f64,
}

const WIDE: Layout = Layout {
    pages: "wide",
    width: 900.0,
    left: 64.0,
    right: 880.0,
    height: 280.0,
};

const NARROW: Layout = Layout {
    pages: "narrow",
    width: 380.0,
    left: 44.0,
    right: 370.0,
    height: 240.0,
};

const LINE: f64 = 18.0;
/// Part of the span of the values that is left free beyond them.
const ROOM: f64 = 0.08;
/// Characters of a label that are shown.
const LABEL: usize = 24;

impl Scatter {
    /// The picture as SVG elements, one for wide pages and one for narrow ones; empty where there is no point.
    #[must_use]
    pub fn svg(&self) -> String {
        [WIDE, NARROW]
            .iter()
            .filter_map(|layout| self.drawn(layout))
            .collect()
    }

    fn drawn(&self, layout: &Layout) -> Option<String> {
        let drawn = || self.points.iter().filter(|point| is_finite(point));
        #[expect(clippy::cast_precision_loss, reason = "a handful of lines")]
        let top = 24.0 + LINE * self.lines.len() as f64 + 14.0;
        let bottom = top + layout.height;
        let across = axis(drawn().map(|point| point.x), layout.left, layout.right)?;
        let up = axis(drawn().map(|point| point.y), bottom, top)?;
        let mut drawing =
            Drawing::begin_for(layout.pages, layout.width, bottom + 44.0, &self.title);
        self.frame(&mut drawing, layout, (&across, &up), (top, bottom));
        for (index, line) in self.lines.iter().enumerate() {
            let class = format!("curve plot{index}");
            if let Some([from, to]) = across.within(&up, line.through, line.slope) {
                let place = |(x, y): (f64, f64)| (across.at(x), up.at(y));
                drawing.path(&class, &[place(from), place(to)]);
            }
            #[expect(clippy::cast_precision_loss, reason = "a handful of lines")]
            let y = 14.0 + LINE * index as f64;
            let left = layout.left;
            drawing.path(&class, &[(left, y - 4.0), (left + 24.0, y - 4.0)]);
            drawing.text("legend", (left + 30.0, y), Anchor::Start, &line.name);
        }
        let mut labels = Labels::between(layout.left, layout.right);
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
            let label = shown(&point.label);
            if let Some((place, anchor)) = labels.place((x, y), &label) {
                drawing.text("tick", place, anchor, &label);
            }
        }
        Some(drawing.end())
    }

    /// The lines and words behind the points.
    fn frame(
        &self,
        drawing: &mut Drawing,
        layout: &Layout,
        (across, up): (&Linear, &Linear),
        (top, bottom): (f64, f64),
    ) {
        for tick in up.ticks() {
            let y = up.at(tick);
            drawing.line("grid", (layout.left, y), (layout.right, y));
            let at = (layout.left - 6.0, y + 4.0);
            drawing.text("tick", at, Anchor::End, &digits(tick));
        }
        for tick in across.ticks() {
            let x = across.at(tick);
            drawing.line("grid", (x, top), (x, bottom));
            drawing.text("tick", (x, bottom + 17.0), Anchor::Middle, &digits(tick));
        }
        drawing.text("tick", (4.0, top - 8.0), Anchor::Start, &self.up);
        let at = (layout.right, bottom + 36.0);
        drawing.text("tick", at, Anchor::End, &self.across);
    }
}

fn is_finite(point: &ScatterPoint) -> bool {
    let all = [
        point.x.0, point.x.1, point.x.2, point.y.0, point.y.1, point.y.2,
    ];
    all.iter().all(|value| value.is_finite())
}

/// An axis over values with their intervals, and some room; `None` where there is none.
fn axis(values: impl Iterator<Item = (f64, f64, f64)>, from: f64, to: f64) -> Option<Linear> {
    let (low, high) = values.flat_map(|(low, mid, high)| [low, mid, high]).fold(
        None,
        |range: Option<(f64, f64)>, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        },
    )?;
    let room = (high - low) * ROOM;
    Some(Linear::over(low - room, high + room, from, to))
}

/// A label that is not longer than there is room for.
fn shown(label: &str) -> String {
    match label.chars().count() <= LABEL {
        true => label.to_owned(),
        false => label.chars().take(LABEL).chain(['…']).collect(),
    }
}

/// A tick without zeros at its end.
fn digits(tick: f64) -> String {
    let text = format!("{tick:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
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
