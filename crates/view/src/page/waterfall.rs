//! The waterfall: from the step time of one GPU over its ideal part to that of several, one cause a row.

use std::fmt::Write as _;

use crate::page::markup::escape;

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

impl Waterfall {
    /// The picture as a table, which a narrow page wraps and paper takes: a bar with its whisker in each row.
    pub(crate) fn html(&self) -> String {
        let placed = self.placed();
        let reach = placed.iter().flat_map(|(bar, from)| {
            let (low, mid, high) = bar.low_mid_high;
            [low, mid, high].map(|to| from + to)
        });
        let (least, most) = reach.fold((0.0_f64, f64::MIN_POSITIVE), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        // Percents of the bars' width.
        let at = |value: f64| (value - least) / (most - least) * 100.0;
        let drawn = |class: &str, one: f64, other: f64| {
            let (left, right) = (at(one.min(other)), at(one.max(other)));
            let width = right - left;
            format!("<div class=\"{class}\" style=\"left:{left:.2}%;width:{width:.2}%\"></div>")
        };
        let mut html = format!(
            "<table class=\"waterfall\"><tr><th></th><th></th><th>{}, median [5%, 95%]</th><th>evidence</th></tr>",
            escape(&self.unit)
        );
        for (bar, from) in placed {
            let (low, mid, high) = bar.low_mid_high;
            let class = match bar.kind {
                BarKind::Total => "bar total",
                BarKind::Cause => "bar cause",
                BarKind::Unexplained => "bar unexplained",
            };
            let _ = write!(
                html,
                "<tr><td>{}</td><td><div class=\"bars\">{}{}</div></td><td>{}</td><td>{}</td></tr>",
                escape(&bar.label),
                drawn(class, from, from + mid),
                drawn("whisker", from + low, from + high),
                bar.value(self.decimals),
                escape(&bar.grade)
            );
        }
        html + "</table>"
    }

    /// Each row and where it begins.
    fn placed(&self) -> Vec<(&Bar, f64)> {
        let mut reached = 0.0;
        let bars = self.bars.iter();
        bars.map(|bar| {
            let is_total = bar.kind == BarKind::Total;
            let from = if is_total { 0.0 } else { reached };
            reached = from + bar.low_mid_high.1;
            (bar, from)
        })
        .collect()
    }
}

impl Bar {
    /// Its number with the interval where there is one, causes with their sign.
    fn value(&self, decimals: usize) -> String {
        let (low, mid, high) = self.low_mid_high;
        // What rounds to zero has no sign.
        let half = 0.5 / 10f64.powf(decimals as f64);
        let decimal = |value: f64| match value.abs() < half {
            true => format!("{:.decimals$}", 0.0),
            false => format!("{value:.decimals$}"),
        };
        let sign = match self.kind != BarKind::Total && mid >= half {
            true => "+",
            false => "",
        };
        let shown = decimal(mid);
        match (high - low).abs() < 5e-4 {
            true => format!("{sign}{shown}"),
            false => format!("{sign}{shown} [{}, {}]", decimal(low), decimal(high)),
        }
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
                bar(BarKind::Cause, 10.0),
                bar(BarKind::Unexplained, -2.0),
                bar(BarKind::Total, 38.0),
            ],
        };
        let from = waterfall.placed().into_iter().map(|(_, from)| from);
        assert_eq!(from.collect::<Vec<_>>(), [0.0, 30.0, 40.0, 0.0]);
        let html = waterfall.html();
        assert!(
            html.contains("a &lt;b&gt;") && !html.contains("<b>"),
            "{html}"
        );
        assert!(html.contains("+10.0 [9.0, 11.0]") && html.contains("-2.0 [-3.0, -1.0]"));
        // The whiskers reach 41 at most: the cause begins at 30 / 41 = 73.17%, and what is unexplained goes from 40 down to 38.
        assert!(
            html.contains("bar cause\" style=\"left:73.17%;width:24.39%"),
            "{html}"
        );
        assert!(
            html.contains("bar unexplained\" style=\"left:92.68%;width:4.88%"),
            "{html}"
        );
        let nothing = Waterfall {
            bars: vec![Bar {
                low_mid_high: (0.0, 0.0, 0.0),
                ..bar(BarKind::Total, 0.0)
            }],
            ..waterfall
        };
        assert!(!nothing.html().contains("NaN"));
    }
}
