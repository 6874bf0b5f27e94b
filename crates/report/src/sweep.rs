//! A number over the size of a copy, both logarithmic, intervals as bars; lines differ by dashes and marks, not by colour only.

use crate::axes::{Area, Axes, number, sizes, ticks};
use crate::curves::SizeMark;
use crate::scale::{Log, count, range_above_zero, size};
use crate::svg::{Anchor, Drawing};

/// Curves of one case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    /// What it shows, one line.
    pub title: String,
    /// Further lines below the title.
    pub notes: Vec<String>,
    /// The unit of the numbers.
    pub unit: String,
    /// What the sizes are of, such as `bytes of one copy`.
    pub axis: String,
    /// The soft box behind it.
    pub simulated: Option<String>,
    /// The curves.
    pub series: Vec<SweepSeries>,
    /// Sizes to mark.
    pub marks: Vec<SizeMark>,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SweepSeries {
    /// Its name in the legend; one without a name is drawn thin and stands for others like it.
    pub name: Option<String>,
    /// Its points, ascending by size.
    pub points: Vec<SweepPoint>,
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint {
    /// Bytes of one copy, above zero.
    pub bytes: u64,
    /// The number, above zero.
    pub value: f64,
    /// Its interval, where there is one.
    pub interval: Option<(f64, f64)>,
}

/// How many curves can be told apart.
pub const DISTINCT_CURVES: usize = 6;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 880.0;
const PLOT: f64 = 340.0;
const LINE: f64 = 18.0;

impl Sweep {
    /// The picture as a file of its own; empty where there is no point to draw.
    #[must_use]
    pub fn svg_file(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let ends = |point: &SweepPoint| point.interval.unwrap_or((point.value, point.value));
        let marked = self.marks.iter().map(|mark| size(mark.bytes));
        let reached = range_above_zero(points().map(|point| size(point.bytes)).chain(marked));
        let values = range_above_zero(points().flat_map(|point| {
            let (low, high) = ends(point);
            [low, point.value, high]
        }));
        let (Some((least, most)), Some((low, high))) = (reached, values) else {
            return String::new();
        };
        let mark = self
            .simulated
            .as_ref()
            .map(|name| format!("SIMULATED on soft box {name}: arithmetic, not a measurement"));
        let named: Vec<&SweepSeries> = self
            .series
            .iter()
            .filter(|series| series.name.is_some())
            .collect();
        let heads = 1 + usize::from(mark.is_some()) + self.notes.len();
        let top = 20.0 + LINE * count(heads + named.len() + self.marks.len()) + 20.0;
        let bottom = top + PLOT;
        let mut drawing = Drawing::file(WIDTH, bottom + 48.0, &self.title);
        drawing.text("head", (16.0, 24.0), Anchor::Start, &self.title);
        let mut y = 24.0;
        for (class, text) in mark
            .iter()
            .map(|mark| ("warn", mark))
            .chain(self.notes.iter().map(|note| ("legend", note)))
        {
            y += LINE;
            drawing.text(class, (16.0, y), Anchor::Start, text);
        }
        let across = Log::over(least / 1.2, most * 1.2, LEFT, RIGHT);
        let up = Log::over(low / 1.25, high * 1.25, bottom, top);
        let area = Area {
            left: LEFT,
            right: RIGHT,
            top,
            bottom,
        };
        let axes = Axes {
            across: (&self.axis, sizes(&across, area)),
            up: (&self.unit, ticks(up.ticks(), |at| up.at(at), number)),
        };
        axes.draw(&mut drawing, area);
        // Thin ones first, so that named ones lie above them.
        let thin = self.series.iter().filter(|series| series.name.is_none());
        let all = thin.map(|series| (None, series));
        let all = all.chain(
            named
                .iter()
                .enumerate()
                .map(|(at, series)| (Some(at), *series)),
        );
        for (index, series) in all {
            let class = index.map_or_else(
                || "thin".to_owned(),
                |index| format!("sweep{}", index % DISTINCT_CURVES),
            );
            let at = |bytes: u64, value: f64| (across.at(size(bytes)), up.at(value.max(low)));
            let through: Vec<(f64, f64)> = series
                .points
                .iter()
                .map(|point| at(point.bytes, point.value))
                .collect();
            drawing.path(&format!("curve {class}"), &through);
            for point in series.points.iter().filter(|_| index.is_some()) {
                let (low, high) = ends(point);
                drawing.line("whisker", at(point.bytes, low), at(point.bytes, high));
                drawing.dot(&format!("dot {class}"), at(point.bytes, point.value));
            }
            if let Some(name) = &series.name {
                y += LINE;
                drawing.path(
                    &format!("curve {class}"),
                    &[(16.0, y - 4.0), (56.0, y - 4.0)],
                );
                drawing.dot(&format!("dot {class}"), (36.0, y - 4.0));
                drawing.text("legend", (66.0, y), Anchor::Start, name);
            }
        }
        for mark in &self.marks {
            y += LINE;
            let at = across.at(size(mark.bytes));
            drawing.line("mark", (at, y - 4.0), (at, bottom));
            let (place, anchor) = SizeMark::beside(at, f64::midpoint(LEFT, RIGHT));
            drawing.text("legend", (place, y), anchor, &mark.words());
        }
        drawing.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep() -> Sweep {
        let point = |bytes, value| SweepPoint {
            bytes,
            value,
            interval: Some((value * 0.9, value * 1.1)),
        };
        let points = vec![
            point(65_536, 9.0),
            point(1 << 20, 21.0),
            point(64 << 20, 26.0),
        ];
        Sweep {
            title: "h2d & back".to_owned(),
            unit: "GB/s".to_owned(),
            series: vec![
                SweepSeries {
                    name: Some("host to GPU0".to_owned()),
                    points: points.clone(),
                },
                SweepSeries { name: None, points },
            ],
            ..Sweep::default()
        }
    }

    #[test]
    fn a_named_curve_has_dots_and_bars_and_a_nameless_one_a_line() {
        let svg = sweep().svg_file();
        // Three points and one in the legend; a bar for each point; two curves and a line in the legend.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 3);
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert!(svg.contains("host to GPU0") && svg.contains("h2d &amp; back"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn without_a_point_there_is_no_picture() {
        assert_eq!(Sweep::default().svg_file(), "");
    }
}
