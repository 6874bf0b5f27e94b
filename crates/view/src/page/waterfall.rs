//! The waterfall: from the step time of one GPU over its ideal part to that of several, one cause a row.

use crate::page::axes::number;
use crate::page::scale::{Linear, count};
use crate::page::svg::{Anchor, Drawing};

/// Rows of a waterfall, in order from the top.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waterfall {
    /// What the picture shows, one line.
    pub title: String,
    /// Unit of all numbers, such as `ms`.
    pub unit: String,
    /// Decimals of all numbers.
    pub decimals: usize,
    /// The rows.
    pub bars: Vec<Bar>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is.
    pub label: String,
    /// 5th percentile, median and 95th percentile.
    pub low_mid_high: (f64, f64, f64),
    /// Grade of evidence, A to D; empty for measured totals.
    pub grade: String,
    /// How it is drawn.
    pub kind: BarKind,
}

/// How a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarKind {
    /// From zero: a total.
    Total,
    /// From where the row above ended: a cause.
    Cause,
    /// As a cause, in the colour of what stays unexplained.
    Unexplained,
}

/// Where things stand in the picture.
struct Layout {
    /// The pages that show it.
    pages: &'static str,
    width: f64,
    /// The axis begins and ends here.
    axis: (f64, f64),
    /// Where the axis' unit stands.
    unit: (f64, Anchor),
    row: f64,
    top: f64,
    /// From a row's top to the middle of its bar.
    bar: f64,
    /// From a row's top to the line of its words.
    words: f64,
    label: (f64, Anchor),
    value: (f64, Anchor),
    /// Where the grade stands; `None` where it follows the value.
    grade: Option<f64>,
}

/// Words beside the bars.
const WIDE: Layout = Layout {
    pages: "wide",
    width: 900.0,
    axis: (250.0, 660.0),
    unit: (674.0, Anchor::Start),
    row: 34.0,
    top: 34.0,
    bar: 15.0,
    words: 20.0,
    label: (240.0, Anchor::End),
    value: (674.0, Anchor::Start),
    grade: Some(896.0),
};

/// Words above the bars, for a telephone.
const NARROW: Layout = Layout {
    pages: "narrow",
    width: 380.0,
    axis: (6.0, 344.0),
    unit: (376.0, Anchor::End),
    row: 52.0,
    top: 34.0,
    bar: 32.0,
    words: 14.0,
    label: (6.0, Anchor::Start),
    value: (374.0, Anchor::End),
    grade: None,
};

impl Waterfall {
    /// The picture as SVG elements: one for wide pages and one for narrow ones, of which a page shows one.
    #[must_use]
    pub fn svg(&self) -> String {
        [WIDE, NARROW].map(|layout| self.drawn(&layout)).concat()
    }

    fn drawn(&self, layout: &Layout) -> String {
        let height = layout.top + layout.row * count(self.bars.len()) + 34.0;
        let mut drawing = Drawing::begin_for(layout.pages, layout.width, height, &self.title);
        let placed = self.placed();
        let reach = placed
            .iter()
            .flat_map(|row| [row.whisker.0, row.whisker.1, row.from, row.to]);
        let (low, high) = reach.fold((0.0_f64, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let axis = Linear::over(low, high * 1.02, layout.axis.0, layout.axis.1);
        let bottom = height - 28.0;
        for tick in axis.ticks() {
            let x = axis.at(tick);
            drawing.line("grid", (x, layout.top - 8.0), (x, bottom));
            drawing.text("tick", (x, bottom + 16.0), Anchor::Middle, &number(tick));
        }
        let (x, anchor) = layout.unit;
        drawing.text("tick", (x, bottom + 16.0), anchor, &self.unit);
        let (x, anchor) = layout.value;
        let head = layout.top - 14.0;
        match layout.grade {
            Some(grade) => {
                drawing.text("tick", (x, head), anchor, "median [5%, 95%]");
                drawing.text("tick", (grade, head), Anchor::End, "evidence");
            }
            None => drawing.text("tick", (x, head), anchor, "median [5%, 95%], evidence"),
        }
        for (index, (bar, row)) in self.bars.iter().zip(&placed).enumerate() {
            let y = layout.top + layout.row * count(index);
            let (middle, words) = (y + layout.bar, y + layout.words);
            let (left, right) = (axis.at(row.from.min(row.to)), axis.at(row.from.max(row.to)));
            drawing.rectangle(class(bar.kind), (left, middle - 10.0), (right - left, 20.0));
            let (low, high) = (axis.at(row.whisker.0), axis.at(row.whisker.1));
            drawing.line("whisker", (low, middle), (high, middle));
            for end in [low, high] {
                drawing.line("whisker", (end, middle - 5.0), (end, middle + 5.0));
            }
            let (label, anchor) = layout.label;
            drawing.text("label", (label, words), anchor, &bar.label);
            let (x, anchor) = layout.value;
            match layout.grade {
                Some(grade) => {
                    drawing.text("value", (x, words), anchor, &bar.value(self.decimals));
                    drawing.text("value", (grade, words), Anchor::End, &bar.grade);
                }
                None => {
                    let both = format!("{} {}", bar.value(self.decimals), bar.grade);
                    drawing.text("value", (x, words), anchor, both.trim_end());
                }
            }
        }
        drawing.end()
    }

    /// Where each row begins and ends, and its whisker.
    fn placed(&self) -> Vec<Placed> {
        let mut reached = 0.0;
        let mut placed = Vec::new();
        for bar in &self.bars {
            let (low, mid, high) = bar.low_mid_high;
            let from = if bar.kind == BarKind::Total {
                0.0
            } else {
                reached
            };
            placed.push(Placed {
                from,
                to: from + mid,
                whisker: (from + low, from + high),
            });
            reached = from + mid;
        }
        placed
    }
}

impl Bar {
    /// Its number with the interval where there is one, causes with their sign.
    fn value(&self, decimals: usize) -> String {
        let (low, mid, high) = self.low_mid_high;
        let decimal = |value: f64| {
            let text = format!("{value:.decimals$}");
            // What rounds to zero has no sign.
            let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
            let kept = if is_zero {
                text.trim_start_matches('-')
            } else {
                &text
            };
            kept.to_owned()
        };
        let shown = decimal(mid);
        let sign = if self.kind == BarKind::Total || mid <= 0.0 || shown == decimal(0.0) {
            ""
        } else {
            "+"
        };
        if (high - low).abs() < 5e-4 {
            format!("{sign}{shown}")
        } else {
            format!("{sign}{shown} [{}, {}]", decimal(low), decimal(high))
        }
    }
}

struct Placed {
    from: f64,
    to: f64,
    whisker: (f64, f64),
}

fn class(kind: BarKind) -> &'static str {
    match kind {
        BarKind::Total => "bar total",
        BarKind::Cause => "bar cause",
        BarKind::Unexplained => "bar unexplained",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(kind: BarKind, mid: f64) -> Bar {
        Bar {
            label: "a <b>".to_owned(),
            low_mid_high: (mid - 1.0, mid, mid + 1.0),
            grade: "C".to_owned(),
            kind,
        }
    }

    #[test]
    fn a_number_that_rounds_to_zero_has_no_sign() {
        let small = |mid| Bar {
            low_mid_high: (-0.04, mid, 0.06),
            ..bar(BarKind::Unexplained, 0.0)
        };
        assert_eq!(small(-0.01).value(1), "0.0 [0.0, 0.1]");
        assert_eq!(small(0.01).value(1), "0.0 [0.0, 0.1]");
        assert_eq!(small(0.01).value(2), "+0.01 [-0.04, 0.06]");
    }

    #[test]
    fn causes_stand_on_each_other_and_totals_on_the_ground() {
        let waterfall = Waterfall {
            title: "t".to_owned(),
            unit: "ms".to_owned(),
            decimals: 1,
            bars: vec![
                bar(BarKind::Total, 30.0),
                bar(BarKind::Cause, 5.0),
                bar(BarKind::Unexplained, -2.0),
                bar(BarKind::Total, 33.0),
            ],
        };
        let placed: Vec<(f64, f64)> = waterfall
            .placed()
            .iter()
            .map(|row| (row.from, row.to))
            .collect();
        // 30 + 5 = 35, 35 - 2 = 33, and the last total from 0 to 33.
        assert_eq!(
            placed,
            [(0.0, 30.0), (30.0, 35.0), (35.0, 33.0), (0.0, 33.0)]
        );
        let svg = waterfall.svg();
        assert!(svg.contains("a &lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert!(svg.contains("+5.0 [4.0, 6.0]") && svg.contains("-2.0 [-3.0, -1.0]"));
        assert!(!svg.contains("NaN"));
        // A page shows one of the two by its width.
        assert!(svg.contains("<svg class=\"wide\" ") && svg.contains("<svg class=\"narrow\" "));
        let style = include_str!("style.css");
        assert!(style.contains("svg.narrow") && style.contains("svg.wide"));
    }
}
