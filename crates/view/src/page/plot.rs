//! A number over another one: lines, steps or dots, intervals as bars, points with words; axes linear or logarithmic.
//!
//! Lines differ by dashes, not by colour only. The legend is text of the page, which wraps.

use std::fmt::Write as _;

use crate::page::markup::escape;

/// A picture of one or more series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plot {
    /// What it shows, one line.
    pub title: String,
    /// The axis to the right.
    pub across: Axis,
    /// The axis upwards.
    pub up: Axis,
    /// What is drawn.
    pub series: Vec<PlotSeries>,
}

/// An axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// What it is, with its unit.
    pub label: String,
    /// Whether equal distances are equal factors; values are above zero then, others are not drawn.
    pub logarithmic: bool,
    /// From and to at least; without it, from the least to the largest value, a linear one from zero.
    pub range: Option<(f64, f64)>,
}

/// One series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlotSeries {
    /// Its name in the legend.
    pub name: String,
    /// How its points are joined.
    pub shape: Shape,
    /// Its points in the order in which they are joined.
    pub points: Vec<PlotPoint>,
}

/// How points are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// By straight lines, with a dot at each.
    #[default]
    Dotted,
    /// By straight lines.
    Line,
    /// By steps: a value holds until the next.
    Steps,
    /// Not at all.
    Dots,
}

/// One point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlotPoint {
    /// Its place to the right.
    pub x: f64,
    /// Its place upwards.
    pub y: f64,
    /// The interval of its place upwards.
    pub interval: Option<(f64, f64)>,
    /// The interval of its place to the right.
    pub across: Option<(f64, f64)>,
    /// A word beside it.
    pub label: Option<String>,
}

/// A place of the picture, to the right and downwards.
type Place = (f64, f64);

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 622.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 254.0;

/// Part of a linear axis beyond the largest value.
const ROOM: f64 = 0.06;

/// Series that can be distinguished, by colour and by dashes.
const DISTINCT: usize = 6;

/// Units that a character of a word beside a point takes, and the most characters of one.
const CHARACTER: (f64, usize) = (7.0, 24);

impl Plot {
    /// The picture and its legend; empty where there is no point to draw.
    pub(crate) fn html(&self) -> String {
        let is_drawn = |point: &&PlotPoint| self.across.takes(point.x) && self.up.takes(point.y);
        let points = || {
            let all = self.series.iter().flat_map(|series| &series.points);
            all.filter(is_drawn)
        };
        let wide = points().flat_map(|point| ends(point.x, point.across));
        let high = points().flat_map(|point| ends(point.y, point.interval));
        let across = self.across.scale(wide, LEFT, RIGHT);
        let up = self.up.scale(high, BOTTOM, TOP);
        let (Some(across), Some(up)) = (across, up) else {
            return String::new();
        };
        if points().next().is_none() {
            return String::new();
        }
        let place = |point: &PlotPoint| (across.at(point.x), up.at(point.y));
        let mut drawing = Drawing::default();
        drawing.axes(self, &across, &up);
        let around = |(x, y): Place| [x - 5.0, x + 5.0, y - 5.0, y + 5.0];
        let mut taken: Vec<[f64; 4]> = points().map(|point| around(place(point))).collect();
        let mut legend = String::new();
        for (index, series) in self.series.iter().enumerate() {
            let class = format!("plot{}", index % DISTINCT);
            let own: Vec<&PlotPoint> = series.points.iter().filter(is_drawn).collect();
            let through: Vec<Place> = own.iter().map(|point| place(point)).collect();
            match series.shape {
                Shape::Dots => {}
                Shape::Steps => drawing.path(&class, &stairs(&through)),
                Shape::Line | Shape::Dotted => drawing.path(&class, &through),
            }
            for point in own {
                let (x, y) = place(point);
                if let Some((low, high)) = point.interval.filter(|(low, _)| self.up.takes(*low)) {
                    drawing.line("whisker", (x, up.at(low)), (x, up.at(high)));
                }
                if let Some((low, high)) = point.across.filter(|(low, _)| self.across.takes(*low)) {
                    drawing.line("whisker", (across.at(low), y), (across.at(high), y));
                }
                if matches!(series.shape, Shape::Dots | Shape::Dotted) {
                    drawing.dot(&class, (x, y));
                }
                let word = point.label.iter().flat_map(|label| label.chars());
                let word: String = word.take(CHARACTER.1).collect();
                if let Some(place) = beside(&mut taken, (x, y), &word) {
                    drawing.text("tick beside", place, "start", &word);
                }
            }
            let key = match series.shape {
                Shape::Dots => {
                    format!("<circle class=\"dot {class}\" cx=\"12\" cy=\"4\" r=\"3\"/>")
                }
                _ => format!("<line class=\"curve {class}\" x2=\"24\" y1=\"4\" y2=\"4\"/>"),
            };
            let name = escape(&series.name);
            let _ = write!(
                legend,
                "<span><svg class=\"key\" viewBox=\"0 0 24 8\">{key}</svg> {name}</span> "
            );
        }
        let (title, body) = (escape(&self.title), drawing.0);
        format!(
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">{body}</svg>\
             <p class=\"legend\">{legend}</p>"
        )
    }
}

impl Axis {
    /// Whether a value has a place on it.
    fn takes(&self, value: f64) -> bool {
        value.is_finite() && (!self.logarithmic || value > 0.0)
    }

    fn scale(&self, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Scale> {
        let asked = self.range.into_iter().flat_map(|(low, high)| [low, high]);
        let all = values.chain(asked).filter(|value| self.takes(*value));
        let all: Vec<f64> = all.collect();
        let least = all.iter().copied().reduce(f64::min)?;
        let most = all.iter().copied().fold(least, f64::max);
        let (low, high) = match self.range {
            _ if self.logarithmic => (least / 1.15, most * 1.15),
            Some(_) => (least, most),
            None => (least.min(0.0), most + (most - least.min(0.0)) * ROOM),
        };
        Some(Scale {
            logarithmic: self.logarithmic,
            low,
            // Nothing but zeros is drawn at the bottom.
            high: if high > low { high } else { low + 1.0 },
            from,
            to,
        })
    }
}

/// An axis with its place in the picture.
struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Where a value stands.
    fn at(&self, value: f64) -> f64 {
        let of = |value: f64| if self.logarithmic { value.ln() } else { value };
        let part = (of(value) - of(self.low)) / (of(self.high) - of(self.low));
        self.from + part * (self.to - self.from)
    }

    /// Round values along it: 1, 2 and 5 times powers of ten where three of them lie on a logarithmic axis, else five to ten in
    /// even steps.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let first = self.low.log10().floor();
            let powers = (0..24).map(|index| 10f64.powf(first + f64::from(index)));
            let round = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * power));
            let within = self.low * 0.999..=self.high * 1.001;
            let round: Vec<f64> = round.filter(|tick| within.contains(tick)).collect();
            if round.len() >= 3 {
                return round;
            }
        }
        let rough = (self.high - self.low) / 7.0;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
        let step = steps.into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..20)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|tick| *tick <= self.high + step * 1e-9)
            .collect()
    }
}

/// What is drawn so far. Writing to a String cannot fail.
#[derive(Default)]
struct Drawing(String);

impl Drawing {
    /// The lines and words behind what is drawn.
    fn axes(&mut self, plot: &Plot, across: &Scale, up: &Scale) {
        for value in up.ticks() {
            let y = up.at(value);
            self.line("grid", (LEFT, y), (RIGHT, y));
            self.text("tick", (LEFT - 8.0, y + 4.0), "end", &digits(value));
        }
        for value in across.ticks() {
            let x = across.at(value);
            self.line("grid", (x, TOP), (x, BOTTOM));
            self.text("tick", (x, BOTTOM + 18.0), "middle", &digits(value));
        }
        self.text("tick", (4.0, TOP - 8.0), "start", &plot.up.label);
        let below = (RIGHT, BOTTOM + 38.0);
        self.text("tick", below, "end", &plot.across.label);
    }

    fn line(&mut self, class: &str, (x1, y1): Place, (x2, y2): Place) {
        let _ = write!(
            self.0,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    fn path(&mut self, class: &str, points: &[Place]) {
        let through = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        let through = through.collect::<Vec<_>>().join(" ");
        let _ = write!(
            self.0,
            "<polyline class=\"curve {class}\" points=\"{through}\"/>"
        );
    }

    fn dot(&mut self, class: &str, (x, y): Place) {
        let _ = write!(
            self.0,
            "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
        );
    }

    fn text(&mut self, class: &str, (x, y): Place, anchor: &str, text: &str) {
        let text = escape(text);
        let _ = write!(
            self.0,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }
}

/// A value and the ends of its interval.
fn ends(value: f64, interval: Option<(f64, f64)>) -> [f64; 3] {
    let (low, high) = interval.unwrap_or((value, value));
    [low, value, high]
}

/// Where a word stands beside a point, over no dot and no other word; nowhere without room. What is taken is left, right, top and
/// bottom of each.
fn beside(taken: &mut Vec<[f64; 4]>, (x, y): Place, word: &str) -> Option<Place> {
    #[expect(clippy::cast_precision_loss, reason = "words are short")]
    let width = word.chars().count() as f64 * CHARACTER.0;
    // Above it, below it, further away; to the right, to the left.
    let baselines = [-6.0, 15.0, -19.0, 28.0].map(|below| y + below);
    let mut places = baselines
        .into_iter()
        .flat_map(|y| [(x + 6.0, y), (x - 6.0 - width, y)]);
    let area = |(left, base): Place| [left, left + width, base - 12.0, base];
    let place = places.find(|place| {
        let [left, right, top, bottom] = area(*place);
        let is_over =
            |of: &[f64; 4]| left < of[1] && of[0] < right && top < of[3] && of[2] < bottom;
        left >= LEFT && right <= RIGHT && !taken.iter().any(is_over)
    })?;
    taken.push(area(place));
    Some(place)
}

/// The corners of stairs: each value holds until the next.
fn stairs(points: &[Place]) -> Vec<Place> {
    let mut corners: Vec<Place> = Vec::with_capacity(points.len() * 2);
    for &(x, y) in points {
        corners.extend(corners.last().map(|&(_, before)| (x, before)));
        corners.push((x, y));
    }
    corners
}

/// A number without zeros at its end, thousands as `k` and millions as `M`.
fn digits(value: f64) -> String {
    let (value, unit) = match value.abs() {
        n if n >= 1e6 => (value / 1e6, "M"),
        n if n >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned() + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> PlotPoint {
        PlotPoint {
            x,
            y,
            ..PlotPoint::default()
        }
    }

    fn plot(points: Vec<PlotPoint>, shape: Shape, logarithmic: bool) -> Plot {
        Plot {
            title: "t <i>".to_owned(),
            across: Axis {
                label: "ms".to_owned(),
                logarithmic,
                ..Axis::default()
            },
            series: vec![PlotSeries {
                name: "TTFT <b>".to_owned(),
                shape,
                points,
            }],
            ..Plot::default()
        }
    }

    fn scale(logarithmic: bool, low: f64, high: f64, to: f64) -> Scale {
        Scale {
            logarithmic,
            low,
            high,
            from: 0.0,
            to,
        }
    }

    #[test]
    fn ticks_are_round_and_stand_at_their_values() {
        // 0 to 61: a seventh is 8.7, the next round step 10; 30 of 61 on 610 places are 300.
        let axis = scale(false, 0.0, 61.0, 610.0);
        assert_eq!(axis.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert!((axis.at(30.0) - 300.0).abs() < 1e-9);
        // 8 KiB to 1 MiB are seven doublings on 70 places: 64 KiB is the third.
        let axis = scale(true, 8192.0, 1_048_576.0, 70.0);
        assert!((axis.at(65_536.0) - 30.0).abs() < 1e-9);
        let round = scale(true, 9.0, 120.0, 1.0).ticks();
        assert_eq!(round, [10.0, 20.0, 50.0, 100.0]);
        // 11 to 33 has 20 alone; a seventh of 22 is 3.1, the next round step 5.
        let even = scale(true, 11.0, 33.0, 1.0).ticks();
        assert_eq!(even, [15.0, 20.0, 25.0, 30.0]);
        assert_eq!(
            [25_000.0, 0.1 + 0.2, -0.0, 2e6].map(digits),
            ["25k", "0.3", "0", "2M"]
        );
    }

    #[test]
    fn steps_hold_a_value_until_the_next() {
        assert_eq!(
            stairs(&[(0.0, 1.0), (2.0, 5.0), (3.0, 4.0)]),
            [(0.0, 1.0), (2.0, 1.0), (2.0, 5.0), (3.0, 5.0), (3.0, 4.0)]
        );
        assert_eq!(stairs(&[]), []);
    }

    #[test]
    fn points_have_dots_bars_and_labels_and_names_are_no_markup() {
        let mut labelled = point(2.0, 3.0);
        labelled.interval = Some((2.5, 3.5));
        labelled.across = Some((1.5, 2.5));
        labelled.label = Some("16 <u>".to_owned());
        let html = plot(vec![point(1.0, 2.0), labelled], Shape::Dotted, false).html();
        assert_eq!(html.matches("<circle").count(), 2);
        assert_eq!(html.matches("class=\"whisker\"").count(), 2);
        assert!(html.contains("16 &lt;u&gt;") && html.contains("TTFT &lt;b&gt;"));
        assert!(!html.contains("<b>") && !html.contains("<i>"));
    }

    #[test]
    fn what_has_no_place_is_not_drawn() {
        assert_eq!(Plot::default().html(), "");
        assert_eq!(plot(vec![point(0.0, 1.0)], Shape::Dots, true).html(), "");
        let points = vec![
            point(-1.0, 1.0),
            point(f64::NAN, 1.0),
            point(10.0, f64::INFINITY),
            point(10.0, 1.0),
        ];
        let html = plot(points, Shape::Dots, true).html();
        // A dot, and one in the legend.
        assert_eq!(html.matches("<circle").count(), 2);
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        let zeros = vec![point(0.0, 0.0), point(1.0, 0.0)];
        let html = plot(zeros, Shape::Line, false).html();
        assert!(
            html.contains("<polyline") && !html.contains("NaN"),
            "{html}"
        );
    }

    #[test]
    fn no_word_stands_on_a_dot_or_another_word() {
        // Right above lies another dot, 15 units to the right and 10 up: the word goes to the left.
        let mut taken = vec![[310.0, 320.0, 185.0, 195.0]];
        let mut place = || beside(&mut taken, (300.0, 200.0), "ab");
        assert_eq!(place(), Some((280.0, 194.0)));
        // Four baselines on two sides are eight places, of which the dot takes one.
        let rest: Vec<Place> = std::iter::from_fn(place).collect();
        assert_eq!(rest.len(), 6, "{rest:?}");
    }
}
