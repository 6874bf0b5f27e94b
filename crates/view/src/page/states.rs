//! States over time: a band for each thing, from when on it was in which state.

use crate::page::scale::Linear;
use crate::page::svg::{Anchor, Drawing, cut, digits};

/// Bands under each other on one axis of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct States {
    /// What the picture shows, one line.
    pub title: String,
    /// Seconds at which all bands end.
    pub until: f64,
    /// Whether the states are those of a simulated machine, which the picture says then.
    pub simulated: bool,
    /// The bands.
    pub rows: Vec<StatesRow>,
}

/// One band.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatesRow {
    /// What it is of.
    pub label: String,
    /// Seconds, ascending, and the state from then on.
    pub states: Vec<(f64, String)>,
}

const WIDTH: f64 = 640.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 622.0;
const ROW: f64 = 26.0;
const LINE: f64 = 18.0;
/// Units that a character of the legend takes.
const CHARACTER: f64 = 7.4;
/// States that can be distinguished; those beyond begin again.
const DISTINCT: usize = 6;
/// States that the legend names.
const NAMED: usize = 12;
/// Characters of a state and of a label that are shown.
const WORD: usize = 24;
const LABEL: usize = 11;

impl States {
    /// The picture as an SVG element; empty where there is no state to draw.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (_, state) in self.rows.iter().flat_map(|row| &row.states) {
            if !names.contains(&state.as_str()) && names.len() < NAMED {
                names.push(state);
            }
        }
        let is_drawn = self.until.is_finite() && self.until > 0.0;
        if names.is_empty() || !is_drawn {
            return String::new();
        }
        let places = legend(&names);
        let rows = places.last().map_or(0.0, |(_, row)| row + 1.0);
        let top = 14.0 + LINE * rows;
        let bottom = top + ROW * count(self.rows.len());
        let across = Linear::over(0.0, self.until, LEFT, RIGHT);
        let mut drawing = Drawing::begin(WIDTH, bottom + 44.0, &self.title);
        for (index, name) in names.iter().enumerate() {
            let (x, row) = places[index];
            let y = 14.0 + LINE * row;
            drawing.rectangle(&class(index), (x, y - 10.0), (14.0, 12.0));
            drawing.text("legend", (x + 20.0, y), Anchor::Start, &cut(name, WORD));
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = top + ROW * count(index);
            let label = (LEFT - 8.0, y + 18.0);
            drawing.text("legend", label, Anchor::End, &cut(&row.label, LABEL));
            for (place, (from, state)) in row.states.iter().enumerate() {
                let to = row.states.get(place + 1).map_or(self.until, |next| next.0);
                let inside = |at: f64| at.clamp(0.0, self.until);
                let (from, to) = (inside(*from), inside(to));
                let name = names.iter().position(|name| name == state);
                let class = name.map_or_else(|| "tone-open".to_owned(), class);
                let size = (across.at(to) - across.at(from), ROW - 6.0);
                drawing.rectangle(&class, (across.at(from), y + 3.0), size);
            }
        }
        for tick in across.ticks() {
            let x = across.at(tick);
            drawing.line("grid", (x, bottom), (x, bottom + 5.0));
            drawing.text("tick", (x, bottom + 18.0), Anchor::Middle, &digits(tick, 2));
        }
        let label = (RIGHT, bottom + 36.0);
        drawing.text("tick", label, Anchor::End, "seconds since the start");
        if self.simulated {
            let mark = (LEFT, bottom + 36.0);
            drawing.text("simulated", mark, Anchor::Start, "SIMULATED");
        }
        drawing.end()
    }
}

fn class(index: usize) -> String {
    format!("dot plot{}", index % DISTINCT)
}

/// Where each name of the legend begins, and its row.
fn legend(names: &[&str]) -> Vec<(f64, f64)> {
    let (mut x, mut row) = (LEFT, 0.0);
    let mut places = Vec::new();
    for name in names {
        let width = 20.0 + CHARACTER * count(cut(name, WORD).chars().count()) + 18.0;
        if x > LEFT && x + width > RIGHT {
            (x, row) = (LEFT, row + 1.0);
        }
        places.push((x, row));
        x += width;
    }
    places
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a picture has a handful of bands"
)]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_holds_until_the_next_and_the_last_one_to_the_end() {
        let state = |at: f64, word: &str| (at, word.to_owned());
        let states = States {
            title: "link <i>".to_owned(),
            until: 10.0,
            simulated: true,
            rows: vec![StatesRow {
                label: "GPU0".to_owned(),
                states: vec![
                    state(0.0, "Gen4 x16"),
                    state(2.5, "Gen1 x16"),
                    state(5.0, "Gen4 x16"),
                ],
            }],
        };
        let svg = states.svg();
        // 532 places for 10 s: 2.5 s are 133, the last 5 s 266.
        for (x, width) in [("90.0", "133.0"), ("223.0", "133.0"), ("356.0", "266.0")] {
            assert!(
                svg.contains(&format!("x=\"{x}\" y=\"35.0\" width=\"{width}\"")),
                "{x} in {svg}"
            );
        }
        // Two states: two in the legend, three bands.
        assert_eq!(svg.matches("class=\"dot plot0\"").count(), 3);
        assert_eq!(svg.matches("class=\"dot plot1\"").count(), 2);
        assert!(svg.contains("link &lt;i&gt;") && svg.contains(">SIMULATED<"));
    }

    #[test]
    fn without_states_or_time_there_is_no_picture() {
        assert_eq!(States::default().svg(), "");
        let rows = vec![StatesRow {
            label: String::new(),
            states: vec![(0.0, "x".to_owned())],
        }];
        assert_eq!(
            States {
                until: f64::NAN,
                rows,
                ..States::default()
            }
            .svg(),
            ""
        );
    }

    #[test]
    fn a_hostile_number_of_states_is_drawn_without_names() {
        let states = (0..100)
            .map(|at| (f64::from(at), format!("s{at}")))
            .collect();
        let rows = vec![StatesRow {
            label: String::new(),
            states,
        }];
        let svg = States {
            until: 100.0,
            rows,
            ..States::default()
        }
        .svg();
        assert_eq!(svg.matches("class=\"legend\"").count(), NAMED + 1);
        assert_eq!(svg.matches("class=\"tone-open\"").count(), 100 - NAMED);
    }
}
