//! A time read off a curve: at a measured size, between two neighbours, or beyond the curve's ends by a range of exponents.
//!
//! Which points make a curve stands in `points.rs`; whether a size is too far from it to be read at all is asked there, too.

use super::points::{Curve, Point, ratio};

/// Beyond a curve's end the time grows at least with this part of the last exponent: where the library changes its protocol
/// or algorithm the next octave is flatter. Of 286 steps from octave to octave on published curves 83% lie between half of the
/// exponent before and 1 (or that exponent, if it is more), 72% between all of it and 1.
const FLATTER: f64 = 0.5;

/// No time grows by more than this exponent of its size for long: published curves reach it where a protocol ends.
const STEEPEST: f64 = 1.5;

/// A time that was read off a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    pub(crate) us: f64,
    /// Standard deviation of its logarithm, as far as it is known.
    pub(crate) spread: f64,
    /// Whether a point behind it came without an interval, so that more has to be assumed.
    pub(crate) is_unstated: bool,
    /// Whether it is a measured size.
    pub(crate) is_exact: bool,
    /// `None` within the curve.
    pub(crate) beyond: Option<Beyond>,
}

/// How the time may go on beyond a curve's end: by which exponents of the size, every one alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beyond {
    /// Logarithm of the size over that of the end.
    along: f64,
    low: f64,
    high: f64,
}

impl Beyond {
    fn exponent(self, quantile: f64) -> f64 {
        self.low + (self.high - self.low) * quantile
    }

    /// The time at a quantile of the exponents, in 0..1, over that at their middle, which a [`Reading`] has.
    pub(crate) fn factor(self, quantile: f64) -> f64 {
        (self.along * (self.exponent(quantile) - self.exponent(0.5))).exp()
    }
}

impl Curve {
    /// The time at a size.
    pub(crate) fn at(&self, bytes: u64) -> Reading {
        let after = self.points.partition_point(|point| point.bytes < bytes);
        let above = self.points.get(after);
        let below = after
            .checked_sub(1)
            .and_then(|index| self.points.get(index));
        match (below, above) {
            (_, Some(point)) if point.bytes == bytes => reading(point, None),
            (Some(below), Some(above)) => {
                let along = ratio(bytes, below.bytes).ln() / ratio(above.bytes, below.bytes).ln();
                let us = below.us * (above.us / below.us).powf(along);
                Reading {
                    us,
                    spread: below.spread.max(above.spread),
                    is_unstated: below.is_unstated || above.is_unstated,
                    is_exact: false,
                    beyond: None,
                }
            }
            (None, Some(point)) => {
                let next = self.points.get(1);
                let beyond = Beyond {
                    along: ratio(bytes, point.bytes).ln(),
                    low: 0.0,
                    high: next
                        .map_or(1.0, |next| exponent(point, next))
                        .clamp(0.0, 1.0),
                };
                reading(point, Some(beyond))
            }
            (Some(point), None) => {
                let before = after
                    .checked_sub(2)
                    .and_then(|index| self.points.get(index));
                let last = before.map_or(0.0, |before| exponent(before, point));
                let beyond = Beyond {
                    along: ratio(bytes, point.bytes).ln(),
                    low: FLATTER * last.clamp(0.0, 1.0),
                    high: last.clamp(1.0, STEEPEST),
                };
                reading(point, Some(beyond))
            }
            (None, None) => Reading {
                us: 0.0,
                spread: 0.0,
                is_unstated: false,
                is_exact: true,
                beyond: None,
            },
        }
    }
}

/// By which exponent of the size the time goes from one point to the next.
fn exponent(from: &Point, to: &Point) -> f64 {
    (to.us / from.us).ln() / ratio(to.bytes, from.bytes).ln()
}

/// A point's time, beyond the curve's end scaled by the middle of the exponents.
fn reading(point: &Point, beyond: Option<Beyond>) -> Reading {
    let scale = beyond.map_or(1.0, |beyond| (beyond.along * beyond.exponent(0.5)).exp());
    Reading {
        us: point.us * scale,
        spread: point.spread,
        is_unstated: point.is_unstated,
        is_exact: beyond.is_none(),
        beyond,
    }
}

#[cfg(test)]
mod tests {
    use super::super::points::tests::{curve, point};

    #[test]
    fn between_neighbours_the_line_is_straight_in_logarithms() {
        let curve = curve(&[point(4096, 9.0), point(1024, 4.0)]);
        // Half way in the logarithm is 2048; sqrt(4 * 9) = 6.
        let middle = curve.at(2048);
        assert!((middle.us - 6.0).abs() < 1e-9, "{middle:?}");
        assert!(!middle.is_exact && curve.at(4096).is_exact);
    }

    #[test]
    fn beyond_its_ends_a_curve_goes_on_by_a_range_of_exponents() {
        let rising = curve(&[point(1024, 4.0), point(4096, 16.0)]);
        let ends = |bytes| {
            let got = rising.at(bytes);
            let beyond = got.beyond.unwrap();
            [0.0, 0.5, 1.0].map(|quantile| got.us * beyond.factor(quantile))
        };
        let near = |got: [f64; 3], is: [f64; 3]| {
            for (got, is) in got.iter().zip(is) {
                assert!((got - is).abs() < 1e-9, "{got} is not {is}");
            }
        };
        // ln(16 / 4) / ln(4096 / 1024) = 1. A quarter of the smallest size: 4 * (1/4)^(0, 1/2 and 1).
        near(ends(256), [4.0, 2.0, 1.0]);
        // Sixteen times the largest: 16 * 16^(1/2, 3/4 and 1).
        near(ends(65536), [64.0, 128.0, 256.0]);
        // A time that does not grow may go on flat; of a single size all is possible from flat to all bandwidth.
        let flat = curve(&[point(1024, 9.0), point(4096, 9.0)]).at(8192);
        let single = curve(&[point(4096, 9.0)]).at(8192);
        for got in [flat, single] {
            let beyond = got.beyond.unwrap();
            assert!((got.us * beyond.factor(0.0) - 9.0).abs() < 1e-9, "{got:?}");
            assert!((got.us * beyond.factor(1.0) - 18.0).abs() < 1e-9, "{got:?}");
        }
        assert_eq!(rising.at(4096).beyond, None);
    }
}
