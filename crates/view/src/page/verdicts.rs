//! Statistics as parts of their limits over load, both logarithmic, each with its interval, and the verdict on each load.

use crate::page::axes::{ROW, class_of, key, number, row};
use crate::page::scale::{Log, count, range_above_zero};
use crate::page::svg::{Anchor, Drawing};

/// The curve of a search for the largest load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdicts {
    /// What the picture shows, one line.
    pub title: String,
    /// The load's unit.
    pub axis: String,
    /// One for each objective.
    pub series: Vec<VerdictSeries>,
    /// Each load that was tried, above zero, with the verdict on it.
    pub loads: Vec<(f64, String)>,
    /// The largest load that is met.
    pub met: Option<f64>,
}

/// The statistic of one objective.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerdictSeries {
    /// The objective.
    pub name: String,
    /// Load, and the statistic as a part of its limit with its interval, ascending by load; all above zero.
    pub points: Vec<VerdictPoint>,
}

/// A load, a statistic as a part of its limit, and the interval of that part.
pub type VerdictPoint = (f64, f64, Option<(f64, f64)>);

const WIDTH: f64 = 900.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 880.0;
const PLOT: f64 = 280.0;
/// Loads are shown to so many parts of one.
const PARTS: f64 = 1e4;

impl Verdicts {
    /// The picture as an SVG element; empty where there is no load to draw.
    #[must_use]
    pub fn svg(&self) -> String {
        let loads = self.loads.iter().map(|(load, _)| *load);
        let parts = self.series.iter().flat_map(|series| &series.points);
        let parts = parts.flat_map(|(_, part, interval)| {
            let (low, high) = interval.unwrap_or((*part, *part));
            [low, *part, high]
        });
        // The limit itself is always in the picture.
        let (Some((least, most)), Some((low, high))) = (
            range_above_zero(loads),
            range_above_zero(parts.chain([1.0])),
        ) else {
            return String::new();
        };
        let top = 30.0 + ROW * count(self.series.len());
        let bottom = top + PLOT;
        let mut drawing = Drawing::begin(WIDTH, bottom + 130.0, &self.title);
        let across = Log::over(least / 1.2, most * 1.2, LEFT, RIGHT);
        let up = Log::over(low / 1.3, high * 1.3, bottom, top);
        for tick in up.ticks() {
            drawing.line("grid", (LEFT, up.at(tick)), (RIGHT, up.at(tick)));
            let label = (LEFT - 8.0, up.at(tick) + 4.0);
            drawing.text("tick", label, Anchor::End, &number(tick));
        }
        drawing.line("whisker", (LEFT, up.at(1.0)), (RIGHT, up.at(1.0)));
        let limit = (RIGHT, up.at(1.0) - 5.0);
        drawing.text("legend", limit, Anchor::End, "limit");
        if let Some(met) = self.met {
            drawing.line("mark", (across.at(met), top), (across.at(met), bottom));
        }
        for (index, series) in self.series.iter().enumerate() {
            let class = class_of(index);
            let place = |load: f64, part: f64| (across.at(load), up.at(part.max(low)));
            let through: Vec<(f64, f64)> = series
                .points
                .iter()
                .map(|(load, part, _)| place(*load, *part))
                .collect();
            drawing.path(&format!("curve {class}"), &through);
            for (load, part, interval) in &series.points {
                if let Some((low, high)) = interval {
                    drawing.line("whisker", place(*load, *low), place(*load, *high));
                }
                drawing.dot(&format!("dot {class}"), place(*load, *part));
            }
            let name = format!("{}, as a part of its limit", series.name);
            let at = (LEFT, row(count(index)));
            key(&mut drawing, &format!("curve {class}"), at, (&name, RIGHT));
        }
        // Loads near the answer lie close together, so their words take turns on four lines.
        let mut sorted: Vec<&(f64, String)> = self.loads.iter().collect();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (index, (load, verdict)) in sorted.into_iter().enumerate() {
            let y = bottom + 20.0 + 22.0 * count(index % 4);
            drawing.line(
                "grid",
                (across.at(*load), top),
                (across.at(*load), y - 12.0),
            );
            let words = format!("{} {verdict}", number((load * PARTS).round() / PARTS));
            drawing.text("tick", (across.at(*load), y), Anchor::Middle, &words);
        }
        drawing.text("tick", (RIGHT, bottom + 120.0), Anchor::End, &self.axis);
        drawing.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_load_has_its_verdict_and_each_statistic_its_dot() {
        let verdicts = Verdicts {
            title: "t".to_owned(),
            axis: "requests/s".to_owned(),
            series: vec![VerdictSeries {
                name: "p99_ttft <= 5000 ms".to_owned(),
                points: vec![(1.0, 0.2, Some((0.1, 0.3))), (2.0, 3.0, None)],
            }],
            loads: vec![(1.0, "met".to_owned()), (2.0, "missed".to_owned())],
            met: Some(1.0),
        };
        let svg = verdicts.svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("1 met") && svg.contains("2 missed"), "{svg}");
        assert!(svg.contains("p99_ttft &lt;= 5000 ms"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn without_a_load_there_is_no_picture() {
        assert_eq!(Verdicts::default().svg(), "");
    }
}
