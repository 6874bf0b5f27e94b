//! Time over message size, both logarithmic, with the sizes that a model sends marked.

use measure::unit::ByteCount;

use crate::grid::grid;
use crate::scale::Log;
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

/// Where things stand in the picture.
struct Layout {
    /// The pages that show it.
    pages: &'static str,
    width: f64,
    left: f64,
    right: f64,
    /// Height of the plot.
    plot: f64,
}

const WIDE: Layout = Layout {
    pages: "wide",
    width: 900.0,
    left: 64.0,
    right: 880.0,
    plot: 300.0,
};

const NARROW: Layout = Layout {
    pages: "narrow",
    width: 380.0,
    left: 44.0,
    right: 370.0,
    plot: 260.0,
};

const LINE: f64 = 17.0;
/// Units that a character of a legend takes.
const CHARACTER: f64 = 6.6;

impl Curves {
    /// The picture as SVG elements, one for wide pages and one for narrow ones; empty where there is no point to draw.
    #[must_use]
    pub fn svg(&self) -> String {
        [WIDE, NARROW]
            .iter()
            .filter_map(|layout| self.drawn(layout))
            .collect()
    }

    fn drawn(&self, layout: &Layout) -> Option<String> {
        let &Layout { left, right, .. } = layout;
        let points = || self.series.iter().flat_map(|series| &series.points);
        #[expect(clippy::cast_precision_loss, reason = "places in a picture")]
        let sizes: Vec<f64> = points()
            .map(|point| point.bytes)
            .chain(self.marks.iter().map(|mark| mark.bytes))
            .map(|bytes| bytes.max(1) as f64)
            .collect();
        let times: Vec<f64> = points()
            .flat_map(|point| {
                let (low, high) = point
                    .interval
                    .unwrap_or((point.microseconds, point.microseconds));
                [low, point.microseconds, high]
            })
            .filter(|time| time.is_finite() && *time > 0.0)
            .collect();
        let ((least, most), (fastest, slowest)) = (range(&sizes)?, range(&times)?);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a picture has a handful of lines"
        )]
        let head = 24.0 + LINE * (self.series.len() + self.marks.len()) as f64;
        let (top, bottom) = (head, head + layout.plot);
        let mut drawing =
            Drawing::begin_for(layout.pages, layout.width, bottom + 46.0, &self.title);
        let across = Log::over(least / 1.2, most * 1.2, left, right);
        let up = Log::over(fastest / 1.25, slowest * 1.25, bottom, top);
        grid(&mut drawing, (&across, &up), (left, right), (top, bottom));
        drawing.text("tick", (left - 8.0, top - 8.0), Anchor::End, "us");
        drawing.text(
            "tick",
            (right, bottom + 38.0),
            Anchor::End,
            "bytes of each rank's message",
        );
        self.draw_marks(&mut drawing, layout, &across, (top, bottom));
        for (index, series) in self.series.iter().enumerate() {
            let class = format!("series{}", index % 4);
            #[expect(clippy::cast_precision_loss, reason = "places in a picture")]
            let place =
                |bytes: u64, time: f64| (across.at(bytes.max(1) as f64), up.at(time.max(fastest)));
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
            #[expect(
                clippy::cast_precision_loss,
                reason = "a picture has a handful of lines"
            )]
            let y = 14.0 + LINE * index as f64;
            drawing.line(
                &format!("curve {class}"),
                (left, y - 4.0),
                (left + 24.0, y - 4.0),
            );
            drawing.text("legend", (left + 32.0, y), Anchor::Start, &series.name);
        }
        Some(drawing.end())
    }

    /// A dashed line at each marked size, its label on a line of its own above the plot.
    fn draw_marks(
        &self,
        drawing: &mut Drawing,
        layout: &Layout,
        across: &Log,
        (top, bottom): (f64, f64),
    ) {
        for (index, mark) in self.marks.iter().enumerate() {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a picture has a handful of lines"
            )]
            let y = 14.0 + LINE * (self.series.len() + index) as f64;
            #[expect(clippy::cast_precision_loss, reason = "places in a picture")]
            let x = across.at(mark.bytes.max(1) as f64);
            let words = mark.words();
            #[expect(clippy::cast_precision_loss, reason = "words are short")]
            let length = words.chars().count() as f64 * CHARACTER;
            let fits = if x > f64::midpoint(layout.left, layout.right) {
                x - 6.0 - length >= 0.0
            } else {
                x + 6.0 + length <= layout.width
            };
            // Words that fit beside their line stand there; others stand above its end.
            let (at, anchor, from) = if fits {
                let (at, anchor) = SizeMark::beside(x, f64::midpoint(layout.left, layout.right));
                (at, anchor, y - 4.0)
            } else {
                (layout.right, Anchor::End, y + 5.0)
            };
            drawing.line("mark", (x, from), (x, bottom));
            drawing.text("legend", (at, y.min(top)), anchor, &words);
        }
    }
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(low, high), value| {
        (low.min(*value), high.max(*value))
    }))
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
