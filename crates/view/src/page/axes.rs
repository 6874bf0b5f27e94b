//! The axes of a picture: the lines and words behind what is drawn, and the rows of a legend.
//!
//! What is drawn between the axes is each picture's own.

use record::unit::ByteCount;

use crate::page::scale::Log;
use crate::page::svg::{Anchor, Drawing, cut};

/// From one row of a legend to the next.
pub(crate) const ROW: f64 = 18.0;

/// The first row's baseline.
const FIRST_ROW: f64 = 14.0;

/// Room below the plot for the words of the axis to the right.
pub(crate) const BELOW: f64 = 46.0;

/// Units that a size below the picture takes, with what is left free beside it.
const SIZE: f64 = 67.0;

/// Units that a character takes.
const CHARACTER: f64 = 7.0;

/// What lies between the axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

/// A place on an axis, and what stands at it.
pub(crate) type Tick = (f64, String);

/// Both axes with their ticks and their names, which say the unit.
pub(crate) struct Axes<'a> {
    pub(crate) across: (&'a str, Vec<Tick>),
    pub(crate) up: (&'a str, Vec<Tick>),
}

impl Axes<'_> {
    /// Draws them behind what comes later.
    pub(crate) fn draw(&self, drawing: &mut Drawing, area: Area) {
        let beside = area.left - 8.0;
        for (y, words) in &self.up.1 {
            drawing.line("grid", (area.left, *y), (area.right, *y));
            drawing.text("tick", (beside, y + 4.0), Anchor::End, words);
        }
        for (x, words) in &self.across.1 {
            drawing.line("grid", (*x, area.top), (*x, area.bottom));
            drawing.text("tick", (*x, area.bottom + 18.0), Anchor::Middle, words);
        }
        // A name that fits stands above the numbers, a longer one begins at the edge.
        let (name, above) = (self.up.0, area.top - 8.0);
        #[expect(clippy::cast_precision_loss, reason = "words are short")]
        let length = name.chars().count() as f64 * CHARACTER;
        match length <= beside {
            true => drawing.text("tick", (beside, above), Anchor::End, name),
            false => drawing.text("tick", (4.0, above), Anchor::Start, name),
        }
        let below = (area.right, area.bottom + 38.0);
        drawing.text("tick", below, Anchor::End, self.across.0);
    }
}

/// Values with their places, each in these words.
pub(crate) fn ticks(
    values: Vec<f64>,
    at: impl Fn(f64) -> f64,
    words: impl Fn(f64) -> String,
) -> Vec<Tick> {
    let tick = |value| (at(value), words(value));
    values.into_iter().map(tick).collect()
}

/// Powers of two along an axis of bytes, as many as have room.
pub(crate) fn sizes(axis: &Log, area: Area) -> Vec<Tick> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a picture is some hundred units wide"
    )]
    let most = ((area.right - area.left) / SIZE) as usize;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a power of two within the sizes drawn"
    )]
    let words = |bytes: f64| ByteCount(bytes.round() as u64).to_string();
    ticks(axis.powers(2.0, most), |bytes| axis.at(bytes), words)
}

/// A number without zeros at its end, nor the last digits of its binary form.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// The baseline of a row of the legend, the first being 0.
pub(crate) fn row(index: f64) -> f64 {
    FIRST_ROW + ROW * index
}

/// How many series can be distinguished, by colour and by dashes.
pub const DISTINCT_SERIES: usize = 6;

/// The class of a series by its place among all.
pub(crate) fn class_of(index: usize) -> String {
    format!("plot{}", index % DISTINCT_SERIES)
}

/// A line of this class and its name, as much of it as has room before `end`: a row of the legend, or a part of one.
pub(crate) fn key(
    drawing: &mut Drawing,
    class: &str,
    (x, y): (f64, f64),
    (name, end): (&str, f64),
) {
    drawing.path(class, &[(x, y - 4.0), (x + 24.0, y - 4.0)]);
    key_name(drawing, (x, y), (name, end));
}

/// The same of a series that is drawn in dots.
pub(crate) fn key_dot(drawing: &mut Drawing, class: &str, at: (f64, f64), named: (&str, f64)) {
    drawing.text(class, (at.0 + 12.0, at.1), Anchor::Middle, "●");
    key_name(drawing, at, named);
}

fn key_name(drawing: &mut Drawing, (x, y): (f64, f64), (name, end): (&str, f64)) {
    let from = x + 30.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a picture is some hundred units wide"
    )]
    let room = ((end - from) / CHARACTER) as usize;
    drawing.text("legend", (from, y), Anchor::Start, &cut(name, room + 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_crumbs() {
        let shown = [0.30000000000000004, 20.0, 0.000_001, -0.0, 1e5].map(number);
        assert_eq!(shown, ["0.3", "20", "0.000001", "0", "100000"]);
    }

    #[test]
    fn a_name_stands_above_its_numbers_where_it_fits() {
        let area = Area {
            left: 44.0,
            right: 370.0,
            top: 50.0,
            bottom: 290.0,
        };
        let drawn = |name| {
            let axes = Axes {
                across: ("us", Vec::new()),
                up: (name, Vec::new()),
            };
            let mut drawing = Drawing::begin(380.0, 336.0, "t");
            axes.draw(&mut drawing, area);
            drawing.end()
        };
        // Left of 44 - 8 = 36 there is room for five characters of 7.
        assert!(drawn("12345").contains("x=\"36.0\" y=\"42.0\" text-anchor=\"end\">12345<"));
        assert!(drawn("123456").contains("x=\"4.0\" y=\"42.0\" text-anchor=\"start\">123456<"));
    }
}
