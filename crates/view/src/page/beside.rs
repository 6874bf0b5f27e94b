//! Words beside points, none of them over another.

use crate::page::svg::Anchor;

/// Units that a character takes.
const CHARACTER: f64 = 7.0;

/// From the baseline to the top of a line.
const HEIGHT: f64 = 12.0;

/// From a point to its words.
const GAP: f64 = 6.0;

/// From a dot's middle to what is free of it.
const DOT: f64 = 5.0;

/// Baselines below a point, the best first: above it, below it, further away.
const BASELINES: [f64; 6] = [-6.0, 15.0, -19.0, 28.0, -32.0, 41.0];

/// Left, right, top and bottom.
type Area = (f64, f64, f64, f64);

/// What is taken by words.
#[derive(Debug)]
pub(crate) struct Labels {
    taken: Vec<Area>,
    left: f64,
    right: f64,
}

impl Labels {
    /// None yet, in a picture whose words stand between `left` and `right` and on none of its dots.
    pub(crate) fn beside(
        dots: impl Iterator<Item = (f64, f64)>,
        (left, right): (f64, f64),
    ) -> Self {
        Self {
            taken: dots
                .map(|(x, y)| (x - DOT, x + DOT, y - DOT, y + DOT))
                .collect(),
            left,
            right,
        }
    }

    /// Where a word stands beside a point; nowhere, where there is no room.
    pub(crate) fn place(&mut self, (x, y): (f64, f64), word: &str) -> Option<((f64, f64), Anchor)> {
        #[expect(clippy::cast_precision_loss, reason = "words are short")]
        let width = word.chars().count() as f64 * CHARACTER;
        let at = |below: f64| [(x + GAP, y + below, true), (x - GAP, y + below, false)];
        for (x, y, is_right) in BASELINES.into_iter().flat_map(at) {
            let left = if is_right { x } else { x - width };
            let area = (left, left + width, y - HEIGHT, y);
            let is_inside = area.0 >= self.left && area.1 <= self.right;
            if is_inside && !self.taken.iter().any(|other| is_over(area, *other)) {
                self.taken.push(area);
                let anchor = if is_right { Anchor::Start } else { Anchor::End };
                return Some(((x, y), anchor));
            }
        }
        None
    }
}

fn is_over(one: Area, other: Area) -> bool {
    one.0 < other.1 && other.0 < one.1 && one.2 < other.3 && other.2 < one.3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_points_at_one_place_stand_apart() {
        let mut labels = Labels::beside(std::iter::empty(), (60.0, 622.0));
        let places: Vec<(f64, f64)> = (0..12)
            .filter_map(|_| Some(labels.place((300.0, 200.0), "16")?.0))
            .collect();
        // Six baselines on two sides.
        assert_eq!(places.len(), 12);
        assert_eq!(places[..2], [(306.0, 194.0), (294.0, 194.0)]);
        assert_eq!(
            labels.place((300.0, 200.0), "16").map(|found| found.0),
            None
        );
        // At the right edge a word stands to the left.
        let (at, anchor) = labels.place((620.0, 100.0), "128").unwrap();
        assert_eq!(at, (614.0, 94.0));
        assert!(matches!(anchor, Anchor::End));
    }

    #[test]
    fn no_word_stands_on_a_dot() {
        // Right above lies another dot, 15 units to the right and 10 up: the word goes to the left.
        let dots = [(300.0, 200.0), (315.0, 190.0)];
        let mut labels = Labels::beside(dots.into_iter(), (60.0, 622.0));
        let (at, anchor) = labels.place(dots[0], "p2p-off").unwrap();
        assert_eq!(at, (294.0, 194.0));
        assert!(matches!(anchor, Anchor::End));
    }
}
