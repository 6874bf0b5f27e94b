//! A heat map: devices by devices, a number in each cell, darker where it is larger, hatched where there is none.
//!
//! One hue from light to dark, so that it reads the same without colours; the number stands in every cell in any case.

use crate::page::scale::{Linear, count};
use crate::page::svg::{Anchor, Drawing};

/// A number for each pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatMap {
    /// What it shows, one line.
    pub title: String,
    /// Further lines below the title, such as what rows and columns are.
    pub notes: Vec<String>,
    /// The unit of the numbers.
    pub unit: String,
    /// The simulated machine behind it.
    pub simulated: Option<String>,
    /// What the rows are, such as `from`.
    pub row_axis: String,
    /// What the columns are, such as `to`.
    pub column_axis: String,
    /// The rows' labels.
    pub rows: Vec<String>,
    /// The columns' labels.
    pub columns: Vec<String>,
    /// Cells by row; a row that is too short is filled with absent ones.
    pub cells: Vec<Vec<HeatCell>>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum HeatCell {
    /// There is nothing to measure.
    #[default]
    Absent,
    /// A number of zero or more.
    Value(f64),
    /// No number, for the reason in a word, such as `FAILED`.
    Word(String),
}

const LABEL: f64 = 96.0;
const CELL: (f64, f64) = (92.0, 46.0);
const LINE: f64 = 18.0;
/// Shades from light to dark; more are not distinguished in print.
const SHADES: usize = 9;
/// From this shade on, text is white.
const DARK: usize = 5;
const LEGEND: f64 = 270.0;

impl HeatMap {
    /// The picture as an SVG element of a page, which has its title below it; empty where it has no cell.
    #[must_use]
    pub fn svg(&self) -> String {
        let top = 16.0 + LINE * (count(self.notes.len()) + 2.0);
        let Some((width, height)) = self.size(top) else {
            return String::new();
        };
        let mut drawing = Drawing::begin_at_most(width, (width, height), &self.title);
        let mark = self.simulated.iter().map(|_| ("simulated", "SIMULATED"));
        let notes = self.notes.iter().map(|note| ("legend", note.as_str()));
        for (index, (class, text)) in mark.chain(notes).enumerate() {
            let y = 18.0 + LINE * count(index);
            drawing.text(class, (16.0, y), Anchor::Start, text);
        }
        self.draw(&mut drawing, top);
        drawing.end()
    }

    /// Units of the picture whose cells begin at `top`; `None` where it has no cell.
    fn size(&self, top: f64) -> Option<(f64, f64)> {
        if self.rows.is_empty() || self.columns.is_empty() {
            return None;
        }
        let (across, down) = (count(self.columns.len()), count(self.rows.len()));
        let width = LABEL + CELL.0 * across + 24.0;
        Some((width.max(LABEL + LEGEND + 60.0), top + CELL.1 * down + 96.0))
    }

    /// Labels, cells and legend.
    fn draw(&self, drawing: &mut Drawing, top: f64) {
        let most = self
            .cells
            .iter()
            .flatten()
            .filter_map(|cell| match cell {
                HeatCell::Value(value) if value.is_finite() => Some(*value),
                _ => None,
            })
            .fold(0.0, f64::max);
        let axes = format!("{} \\ {}", self.row_axis, self.column_axis);
        drawing.text("tick", (LABEL - 10.0, top - 8.0), Anchor::End, &axes);
        for (column, label) in self.columns.iter().enumerate() {
            let x = LABEL + CELL.0 * (count(column) + 0.5);
            drawing.text("tick", (x, top - 8.0), Anchor::Middle, label);
        }
        for (row, label) in self.rows.iter().enumerate() {
            let y = top + CELL.1 * count(row);
            let middle = y + CELL.1 / 2.0 + 5.0;
            drawing.text("tick", (LABEL - 10.0, middle), Anchor::End, label);
            for column in 0..self.columns.len() {
                let x = LABEL + CELL.0 * count(column);
                let cell = self.cells.get(row).and_then(|cells| cells.get(column));
                self.draw_cell(drawing, (x, y), cell.unwrap_or(&HeatCell::Absent), most);
            }
        }
        let bottom = top + CELL.1 * count(self.rows.len());
        self.draw_legend(drawing, bottom + 24.0, most);
    }

    fn draw_cell(&self, drawing: &mut Drawing, (x, y): (f64, f64), cell: &HeatCell, most: f64) {
        let middle = x + CELL.0 / 2.0;
        let class = match cell {
            HeatCell::Value(value) => format!("cell shade{}", shade(*value, most)),
            HeatCell::Absent => "cell absent".to_owned(),
            HeatCell::Word(_) => "cell broken".to_owned(),
        };
        drawing.rectangle(&class, (x, y), CELL);
        match cell {
            HeatCell::Value(value) => {
                let class = if shade(*value, most) >= DARK {
                    " light"
                } else {
                    ""
                };
                let number = format!("number{class}");
                let unit = format!("unit{class}");
                drawing.text(&number, (middle, y + 21.0), Anchor::Middle, &shown(*value));
                drawing.text(&unit, (middle, y + 37.0), Anchor::Middle, &self.unit);
            }
            HeatCell::Word(word) => {
                drawing.text("number word", (middle, y + 28.0), Anchor::Middle, word);
            }
            HeatCell::Absent => {}
        }
    }

    /// The shades with the numbers at both ends and in the middle.
    fn draw_legend(&self, drawing: &mut Drawing, y: f64, most: f64) {
        let across = Linear::over(0.0, count(SHADES), LABEL, LABEL + LEGEND);
        for step in 0..SHADES {
            let (from, to) = (across.at(count(step)), across.at(count(step) + 1.0));
            let class = format!("cell shade{step}");
            drawing.rectangle(&class, (from, y), (to - from, 14.0));
        }
        for (part, anchor) in [
            (0.0, Anchor::Middle),
            (0.5, Anchor::Middle),
            (1.0, Anchor::Middle),
        ] {
            let x = across.at(count(SHADES) * part);
            drawing.text("tick", (x, y + 30.0), anchor, &shown(most * part));
        }
        let right = LABEL + LEGEND + 28.0;
        drawing.text("tick", (right, y + 30.0), Anchor::Start, &self.unit);
        drawing.rectangle("cell absent", (LABEL, y + 42.0), (28.0, 14.0));
        let hatched = (LABEL + 36.0, y + 53.0);
        drawing.text("tick", hatched, Anchor::Start, "nothing to measure");
    }
}

/// Which shade a number has, from 0 to the largest number.
fn shade(value: f64, most: f64) -> usize {
    if most <= 0.0 || !value.is_finite() {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number of zero or more"
    )]
    let step = (value.max(0.0) / most * count(SHADES)) as usize;
    step.min(SHADES - 1)
}

/// A number with three or four digits.
fn shown(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> HeatMap {
        let cells = vec![
            vec![HeatCell::Absent, HeatCell::Value(24.5)],
            vec![HeatCell::Word("HANG".to_owned())],
        ];
        HeatMap {
            title: "d2d <write>".to_owned(),
            unit: "GB/s".to_owned(),
            rows: vec!["GPU0".to_owned(), "GPU1".to_owned()],
            columns: vec!["GPU0".to_owned(), "GPU1".to_owned()],
            cells,
            ..HeatMap::default()
        }
    }

    #[test]
    fn on_a_page_the_title_stands_below_and_the_style_is_the_page_s() {
        let mut map = map();
        map.simulated = Some("l40x4".to_owned());
        let svg = map.svg();
        assert!(
            svg.contains(">24.50<") && svg.contains(">SIMULATED<"),
            "{svg}"
        );
        assert!(
            !svg.contains("<style>") && !svg.contains("url(") && !svg.contains("class=\"head\"")
        );
        // 96 + 2 x 92 + 24 = 304, and 96 + 270 + 60 = 426 for the legend.
        assert!(svg.contains("max-width:426px"), "{svg}");
        assert_eq!(HeatMap::default().svg(), "");
    }

    #[test]
    fn shades_go_from_nothing_to_the_largest() {
        // Nine shades of 0 to 90: ten each; the largest number has the last one.
        assert_eq!(
            [0.0, 9.9, 10.0, 89.0, 90.0].map(|v| shade(v, 90.0)),
            [0, 0, 1, 8, 8]
        );
        assert_eq!(shade(1.0, 0.0), 0);
    }
}
