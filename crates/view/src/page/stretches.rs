//! Named stretches along the axis to the right, such as the boxes whose devices stand beside each other: a line where one ends and the next
//! begins, and the names that have room.
//!
//! What is drawn within them is the picture's own.

use crate::page::axes::Area;
use crate::page::scale::count;
use crate::page::svg::{Anchor, Drawing, cut};

/// A part of an axis that has a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stretch {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// Units that a character takes, and what is left free beside a name.
const CHARACTER: f64 = 7.0;
const FREE: f64 = 8.0;
/// Units that are left between two lines, at least; with less there are none.
const BETWEEN: f64 = 5.0;
/// Characters of a name that are shown.
const NAME: usize = 16;

/// Draws lines and names; `at` is the axis.
pub(crate) fn draw(
    drawing: &mut Drawing,
    area: Area,
    stretches: &[Stretch],
    at: impl Fn(f64) -> f64,
) {
    let width = |one: &Stretch| at(one.to) - at(one.from);
    let narrowest = stretches.iter().map(width).fold(f64::INFINITY, f64::min);
    if narrowest >= BETWEEN {
        for one in stretches {
            for x in [at(one.from), at(one.to)] {
                drawing.line("grid", (x, area.top), (x, area.bottom));
            }
        }
    }
    let mut free_from = f64::NEG_INFINITY;
    for one in stretches {
        let name = cut(&one.name, NAME + 1);
        let half = count(name.chars().count()) * CHARACTER / 2.0;
        // A name at the edge of the picture stays within it.
        let middle = f64::midpoint(at(one.from), at(one.to)).min(area.right - half);
        if middle - half >= free_from {
            free_from = middle + half + FREE;
            drawing.text("tick", (middle, area.bottom + 18.0), Anchor::Middle, &name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(stretches: &[Stretch]) -> String {
        let area = Area {
            left: 0.0,
            right: 100.0,
            top: 10.0,
            bottom: 50.0,
        };
        let mut drawing = Drawing::begin(100.0, 100.0, "t");
        draw(&mut drawing, area, stretches, |value| value);
        drawing.end()
    }

    fn boxes(width: f64, names: &[&str]) -> Vec<Stretch> {
        let named = names.iter().enumerate();
        named
            .map(|(index, name)| Stretch {
                name: (*name).to_owned(),
                from: count(index) * width,
                to: count(index + 1) * width,
            })
            .collect()
    }

    #[test]
    fn each_has_its_lines_and_its_name_in_its_middle() {
        let svg = drawn(&boxes(50.0, &["n1", "n2"]));
        // Each has a line on both sides; the middles are 25 and 75.
        assert_eq!(svg.matches("class=\"grid\"").count(), 4);
        assert!(svg.contains("x=\"25.0\" y=\"68.0\" text-anchor=\"middle\">n1<"));
        assert!(svg.contains("x=\"75.0\" y=\"68.0\" text-anchor=\"middle\">n2<"));
    }

    #[test]
    fn names_that_have_no_room_are_left_out_and_so_are_lines() {
        // Two characters take 14 and leave 8 free: of stretches of 4, one name every 22, which is each sixth; and no lines.
        let names: Vec<String> = (10..35).map(|index| index.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let svg = drawn(&boxes(4.0, &names));
        assert_eq!(svg.matches("class=\"grid\"").count(), 0);
        // Middles at 2, 26, 50 and 74; that at 98 stands at 93, which is 100 less half of 14, and begins at 86, no sooner than 74 + 7 + 8.
        let shown = ["10", "16", "22", "28"].map(|name| svg.contains(&format!(">{name}<")));
        assert_eq!(shown, [true; 4]);
        assert_eq!(svg.matches("<text").count(), 4, "{svg}");
    }
}
