//! Time over message size, both logarithmic, with the sizes that a model sends marked.

use measure::unit::ByteCount;

use crate::axes::{
    Area, Axes, BELOW, NARROW, Paper, ROW, WIDE, class_of, key, number, row, sizes, ticks,
};
use crate::scale::{Log, count, range_above_zero, size};
use crate::svg::{Anchor, Drawing};

/// Curves of one collective.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// What the picture shows, one line.
    pub title: String,
    /// The curves.
    pub series: Vec<CurveSeries>,
    /// Sizes to mark.
    pub marks: Vec<SizeMark>,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CurveSeries {
    /// Its name in the legend.
    pub name: String,
    /// Its points, ascending by size.
    pub points: Vec<CurvePoint>,
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Bytes of the message, above zero.
    pub bytes: u64,
    /// Time in microseconds, above zero.
    pub microseconds: f64,
    /// Its interval, where there is one.
    pub interval: Option<(f64, f64)>,
}

/// A size that a model sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeMark {
    /// Bytes, above zero.
    pub bytes: u64,
    /// What it is, such as `161 a step at batch 16`.
    pub label: String,
}

impl SizeMark {
    /// Size and label.
    pub(crate) fn words(&self) -> String {
        format!("{}: {}", ByteCount(self.bytes), self.label)
    }

    /// Where the words stand beside a line: on the side that has room.
    pub(crate) fn beside(x: f64, middle: f64) -> (f64, Anchor) {
        if x > middle {
            (x - 6.0, Anchor::End)
        } else {
            (x + 6.0, Anchor::Start)
        }
    }
}

/// The pages that show it, with the plot's height.
const PAGES: [(Paper, f64); 2] = [(WIDE, 300.0), (NARROW, 260.0)];

/// Units that a character of a legend takes.
const CHARACTER: f64 = 6.6;

impl Curves {
    /// The picture as SVG elements, one for wide pages and one for narrow ones; empty where there is no point to draw.
    #[must_use]
    pub fn svg(&self) -> String {
        PAGES
            .iter()
            .filter_map(|(paper, height)| self.drawn(paper, *height))
            .collect()
    }

    fn drawn(&self, paper: &Paper, height: f64) -> Option<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let marked = self.marks.iter().map(|mark| mark.bytes);
        let bytes = points().map(|point| point.bytes).chain(marked).map(size);
        let times = points().flat_map(|point| {
            let time = point.microseconds;
            let (low, high) = point.interval.unwrap_or((time, time));
            [low, time, high]
        });
        let (least, most) = range_above_zero(bytes)?;
        let (fastest, slowest) = range_above_zero(times)?;
        let top = 24.0 + ROW * count(self.series.len() + self.marks.len());
        let area = Area {
            left: paper.left,
            right: paper.right,
            top,
            bottom: top + height,
        };
        let mut drawing =
            Drawing::begin_for(paper.pages, paper.width, area.bottom + BELOW, &self.title);
        let across = Log::over(least / 1.2, most * 1.2, area.left, area.right);
        let up = Log::over(fastest / 1.25, slowest * 1.25, area.bottom, area.top);
        let axes = Axes {
            across: ("bytes of each rank's message", sizes(&across, area)),
            up: ("us", ticks(up.ticks(), |at| up.at(at), number)),
        };
        axes.draw(&mut drawing, area);
        self.draw_marks(&mut drawing, (paper, area), &across);
        for (index, series) in self.series.iter().enumerate() {
            let class = class_of(index);
            let place = |bytes: u64, time: f64| (across.at(size(bytes)), up.at(time.max(fastest)));
            let through: Vec<(f64, f64)> = series
                .points
                .iter()
                .map(|point| place(point.bytes, point.microseconds))
                .collect();
            drawing.path(&format!("curve {class}"), &through);
            for point in &series.points {
                if let Some((low, high)) = point.interval {
                    drawing.line("whisker", place(point.bytes, low), place(point.bytes, high));
                }
                drawing.dot(
                    &format!("dot {class}"),
                    place(point.bytes, point.microseconds),
                );
            }
            let at = (paper.names, row(count(index)));
            let name = (series.name.as_str(), paper.right);
            key(&mut drawing, &format!("curve {class}"), at, name);
        }
        Some(drawing.end())
    }

    /// A dashed line at each marked size, its label on a line of its own above the plot.
    fn draw_marks(&self, drawing: &mut Drawing, (paper, area): (&Paper, Area), across: &Log) {
        let middle = f64::midpoint(area.left, area.right);
        for (index, mark) in self.marks.iter().enumerate() {
            let y = row(count(self.series.len() + index));
            let x = across.at(size(mark.bytes));
            let words = mark.words();
            let length = count(words.chars().count()) * CHARACTER;
            let fits = if x > middle {
                x - 6.0 - length >= 0.0
            } else {
                x + 6.0 + length <= paper.width
            };
            // Words that fit beside their line stand there; others stand above its end.
            let (at, anchor, from) = if fits {
                let (at, anchor) = SizeMark::beside(x, middle);
                (at, anchor, y - 4.0)
            } else {
                (area.right, Anchor::End, y + 5.0)
            };
            drawing.line("mark", (x, from), (x, area.bottom));
            drawing.text("legend", (at, y.min(area.top)), anchor, &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: Vec<CurvePoint>) -> Curves {
        Curves {
            title: "t".to_owned(),
            series: vec![CurveSeries {
                name: "nccl, graph".to_owned(),
                points,
            }],
            marks: vec![SizeMark {
                bytes: 262_144,
                label: "161 a step".to_owned(),
            }],
        }
    }

    #[test]
    fn a_curve_shows_its_points_and_the_marked_size() {
        let point = |bytes, microseconds| CurvePoint {
            bytes,
            microseconds,
            interval: Some((microseconds * 0.9, microseconds * 1.1)),
        };
        let svg = curves(vec![
            point(8192, 19.1),
            point(262_144, 39.3),
            point(8 << 20, 567.0),
        ])
        .svg();
        // Two pictures, of which a page shows one.
        assert_eq!(svg.matches("<circle").count(), 6);
        assert!(svg.contains("class=\"wide\"") && svg.contains("class=\"narrow\""));
        assert!(
            svg.contains("256 KiB: 161 a step") && svg.contains(">100<"),
            "{svg}"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn without_a_point_there_is_no_picture() {
        assert_eq!(curves(Vec::new()).svg(), "");
    }
}
