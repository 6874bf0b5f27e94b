//! Figures as bars, each with its interval and the lines beyond which it is bad or looked at.
//!
//! Which side is bad and what a figure came to is the caller's word; the colour only repeats what stands beside the bar.

use crate::page::scale::Linear;
use crate::page::svg::{Anchor, Drawing, cut, digits};

/// Bars of one unit under each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitBars {
    /// What the picture shows, one line.
    pub title: String,
    /// Unit of all figures and limits.
    pub unit: String,
    /// Whether the numbers are those of a simulated machine, which the picture says then.
    pub simulated: bool,
    /// The bars.
    pub rows: Vec<LimitBar>,
}

/// One bar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitBar {
    /// What it is of.
    pub label: String,
    /// Its length, zero or more.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// The line beyond which it is bad.
    pub fail: Option<f64>,
    /// The line beyond which it is looked at.
    pub warn: Option<f64>,
    /// What it came to.
    pub tone: Tone,
    /// The figure and what it came to, in words.
    pub words: String,
}

/// What a figure came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// It is good.
    Good,
    /// It is looked at.
    Warning,
    /// It is bad.
    Bad,
    /// It is unknown.
    #[default]
    Open,
}

// So narrow that all of it is seen on a telephone.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 104.0;
const RIGHT: f64 = 330.0;
/// Pixels that it is made larger to.
const MOST: f64 = 720.0;
const ROW: f64 = 26.0;
const BAR: f64 = 14.0;
/// Part of the axis beyond the largest value.
const ROOM: f64 = 1.06;
/// Characters of a label and of the words that have room.
const LABEL: usize = 13;
const WORDS: usize = 18;

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "tone-good",
            Self::Warning => "tone-warning",
            Self::Bad => "tone-bad",
            Self::Open => "tone-open",
        }
    }
}

impl LimitBars {
    /// The picture as an SVG element; empty where there is no bar to draw.
    #[must_use]
    pub fn svg(&self) -> String {
        let rows: Vec<&LimitBar> = self
            .rows
            .iter()
            .filter(|row| row.value.is_finite() && row.value >= 0.0)
            .collect();
        let ends = rows.iter().flat_map(|row| {
            let high = row.interval.map(|(_, high)| high);
            [Some(row.value), high, row.fail, row.warn]
        });
        let most = ends.flatten().filter(|end| end.is_finite());
        let most = most.fold(0.0, f64::max);
        if rows.is_empty() {
            return String::new();
        }
        let most = if most > 0.0 { most } else { 1.0 };
        let across = Linear::over(0.0, most * ROOM, LEFT, RIGHT);
        let top = 34.0;
        let bottom = top + ROW * count(rows.len());
        let mut drawing = Drawing::begin_at_most(MOST, (WIDTH, bottom + 40.0), &self.title);
        self.legend(&mut drawing);
        for tick in across.ticks() {
            let x = across.at(tick);
            drawing.line("grid", (x, top), (x, bottom));
            drawing.text("tick", (x, bottom + 18.0), Anchor::Middle, &digits(tick, 4));
        }
        drawing.text(
            "tick",
            (RIGHT + 14.0, bottom + 18.0),
            Anchor::Start,
            &self.unit,
        );
        for (index, row) in rows.into_iter().enumerate() {
            draw(&mut drawing, &across, row, top + ROW * count(index));
        }
        drawing.end()
    }

    fn legend(&self, drawing: &mut Drawing) {
        drawing.line("limit", (LEFT, 6.0), (LEFT, 20.0));
        drawing.text("tick", (LEFT + 8.0, 18.0), Anchor::Start, "fails beyond");
        drawing.line("limit-warn", (LEFT + 110.0, 6.0), (LEFT + 110.0, 20.0));
        drawing.text("tick", (LEFT + 118.0, 18.0), Anchor::Start, "warns beyond");
        if self.simulated {
            drawing.text("simulated", (WIDTH - 8.0, 18.0), Anchor::End, "SIMULATED");
        }
    }
}

fn draw(drawing: &mut Drawing, across: &Linear, row: &LimitBar, y: f64) {
    let middle = y + ROW / 2.0;
    let word = middle + 5.0;
    drawing.text(
        "legend",
        (LEFT - 8.0, word),
        Anchor::End,
        &cut(&row.label, LABEL),
    );
    let class = row.tone.class();
    let bar = (across.at(row.value) - LEFT, BAR);
    drawing.rectangle(class, (LEFT, middle - BAR / 2.0), bar);
    if let Some((low, high)) = row
        .interval
        .filter(|(low, high)| low.is_finite() && high.is_finite())
    {
        let ends = (
            (across.at(low.max(0.0)), middle),
            (across.at(high.max(0.0)), middle),
        );
        drawing.line("whisker", ends.0, ends.1);
    }
    for (class, limit) in [("limit", row.fail), ("limit-warn", row.warn)] {
        if let Some(limit) = limit.filter(|limit| limit.is_finite() && *limit >= 0.0) {
            let x = across.at(limit);
            drawing.line(class, (x, y), (x, y + ROW));
        }
    }
    drawing.text(
        "legend",
        (RIGHT + 14.0, word),
        Anchor::Start,
        &cut(&row.words, WORDS),
    );
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a picture has a handful of bars"
)]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(value: f64, tone: Tone) -> LimitBar {
        LimitBar {
            label: "GPU0 <b>".to_owned(),
            value,
            interval: Some((value * 0.9, value * 1.1)),
            fail: Some(23.0),
            warn: Some(25.3),
            tone,
            words: format!("{value} GB/s"),
        }
    }

    #[test]
    fn a_bar_has_its_interval_and_both_lines() {
        let bars = LimitBars {
            title: "h2d".to_owned(),
            unit: "GB/s".to_owned(),
            simulated: true,
            rows: vec![bar(25.5, Tone::Good), bar(12.0, Tone::Bad)],
        };
        let svg = bars.svg();
        // One of each line a bar, and one in the legend.
        assert_eq!(svg.matches("class=\"limit\"").count(), 3);
        assert_eq!(svg.matches("class=\"limit-warn\"").count(), 3);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 2);
        // The axis ends at 28.05 (the widest interval) times 1.06, 29.733, on 226 places: 12 lies at 226 x 12 / 29.733 = 91.2.
        assert!(
            svg.contains("class=\"tone-bad\" x=\"104.0\" y=\"66.0\" width=\"91.2\""),
            "{svg}"
        );
        assert!(svg.contains("GPU0 &lt;b&gt;") && svg.contains(">SIMULATED<"));
    }

    #[test]
    fn what_has_no_length_is_not_drawn() {
        assert_eq!(LimitBars::default().svg(), "");
        let mut rows = vec![bar(f64::NAN, Tone::Open), bar(-1.0, Tone::Open)];
        let picture = |rows| {
            LimitBars {
                rows,
                ..LimitBars::default()
            }
            .svg()
        };
        assert_eq!(picture(rows.clone()), "");
        rows.push(LimitBar {
            fail: Some(f64::INFINITY),
            ..bar(0.0, Tone::Open)
        });
        let svg = picture(rows);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
