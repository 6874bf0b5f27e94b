//! Collective times at sizes: this box's or published ones.
//!
//! A time is read off at a measured size, between two neighbours, or beyond the curve's ends by a range of exponents. No model is fitted: alpha-beta fits err 20
//! to 50% between 8 KiB and 4 MiB on public curves, log-log lines between octaves 9 to 33%. Times of different modes never share
//! a curve.

use crate::priors::PublishedCurve;
use crate::range::count;
use import::CurvePoint;
use record::{CallMode, CollectiveKind};

/// Up to this size the time of a message hardly depends on it, so that smaller ones take about as long.
const LATENCY_BOUND: u64 = 16 << 10;

/// Beyond this many times its last size, and below its first over this, a curve says nothing of an all-reduce.
const FAR: u64 = 2;

/// From this size on a message gets the bandwidth of larger ones to a quarter, on public curves of two GPUs.
const SHOWS_BANDWIDTH: u64 = 1 << 20;

/// Half a 95% interval in standard deviations of a normal distribution.
const DEVIATIONS: f64 = 1.96;

/// The same of a 90% interval.
const HOLDS: f64 = 1.645;

/// Time over size of one operation at one number of ranks in one mode.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    pub(crate) kind: CollectiveKind,
    pub(crate) ranks: u32,
    /// Where its first point comes from.
    pub(crate) origin: String,
    /// Ascending by size, one a size, times above zero; never empty.
    points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    bytes: u64,
    us: f64,
    /// Standard deviation of the time's logarithm, as far as its interval and its repeats show it.
    spread: f64,
    /// Whether there was no interval, so that more has to be assumed.
    is_unstated: bool,
}

impl Curve {
    /// The library's points of that operation, number of ranks and mode, or those of what an engine's own code did: they never mix;
    /// `None` where there are none.
    pub(crate) fn of_points(
        points: &[CurvePoint],
        kind: CollectiveKind,
        ranks: u32,
        mode: Option<CallMode>,
        by_engine: bool,
    ) -> Option<Self> {
        let of_these = |p: &&CurvePoint| {
            let its = (p.kind, p.ranks, p.mode, p.engine.is_some());
            its == (kind, ranks, mode, by_engine) && p.is_above_zero() && p.bytes_per_rank > 0
        };
        let points = points.iter().filter(of_these);
        let origin = points.clone().next()?.origin.clone();
        let mut of: Vec<Point> = points
            .map(|p| {
                let stated = p.low.zip(p.high).filter(|(low, high)| high >= low);
                Point {
                    bytes: p.bytes_per_rank,
                    us: p.us,
                    spread: stated
                        .map_or(0.0, |(low, high)| (high / low).ln() / (2.0 * DEVIATIONS)),
                    is_unstated: stated.is_none(),
                }
            })
            .collect();
        of.sort_by_key(|point| point.bytes);
        Some(Self {
            kind,
            ranks,
            origin,
            points: of.chunk_by(|a, b| a.bytes == b.bytes).map(merge).collect(),
        })
    }

    /// A published curve; the factor from box to box is so wide that it holds the spread of its points.
    pub(crate) fn of_published(curve: &PublishedCurve) -> Self {
        Self {
            kind: CollectiveKind::AllReduce,
            ranks: curve.ranks,
            origin: curve.source.clone(),
            points: curve
                .points
                .iter()
                .map(|(bytes, us)| Point {
                    bytes: *bytes,
                    us: *us,
                    spread: 0.0,
                    is_unstated: false,
                })
                .collect(),
        }
    }

    /// The largest size.
    pub(crate) fn largest(&self) -> u64 {
        self.points.last().map_or(0, |point| point.bytes)
    }

    /// Whether a size lies within the curve, or so near that a line from its end still holds.
    pub(crate) fn reaches(&self, bytes: u64) -> bool {
        let ends = self.points.first().zip(self.points.last());
        ends.is_some_and(|(first, last)| {
            (bytes.saturating_mul(FAR) >= first.bytes || first.bytes <= LATENCY_BOUND)
                && bytes <= last.bytes.saturating_mul(FAR)
        })
    }

    /// The least and the most share of the time at a size that its bytes take, 0 to 1; `None` where the curve shows no bandwidth.
    ///
    /// At least what the bytes take at the largest size's bandwidth; at most all above the smallest time, since protocols for
    /// small messages move their bytes more slowly.
    pub(crate) fn on_the_wire(&self, bytes: u64) -> Option<(f64, f64)> {
        let last = self.points.last()?;
        if last.bytes < SHOWS_BANDWIDTH {
            return None;
        }
        let us = self.at(bytes).us;
        let least = (ratio(bytes, last.bytes) * last.us / us).min(1.0);
        let smallest = self.points.iter().map(|point| point.us);
        let latency = smallest.fold(f64::INFINITY, f64::min);
        Some((least, (1.0 - latency / us).max(least)))
    }
}

/// The message of an all-reduce that moves as much over each link as an all-gather of that contribution: the former moves
/// 2(n-1)/n of its message, the latter n-1 contributions. On public curves of 2 to 8 GPUs (aiconfigurator l40s,
/// rtx_pro_6000_server, h200_sxm, 4 MiB) the two times differ by 2 to 18%.
pub(crate) fn all_reduce_as_large(contribution: u64, ranks: u32) -> u64 {
    contribution.saturating_mul(u64::from(ranks)) / 2
}

/// Several measurements of one size: their geometric mean, with what they differ by in the spread, so that 90% hold every one.
fn merge(same: &[Point]) -> Point {
    if let [one] = same {
        return *one;
    }
    let n = count(same.len() as u64);
    let mean = same.iter().map(|p| p.us.ln()).sum::<f64>() / n;
    let away = || same.iter().map(|p| (p.us.ln() - mean).powi(2));
    let farthest = away().fold(0.0, f64::max) / HOLDS.powi(2);
    let apart = (away().sum::<f64>() / n).max(farthest);
    let own = same.iter().map(|p| p.spread).fold(0.0, f64::max);
    Point {
        bytes: same.first().map_or(0, |p| p.bytes),
        us: mean.exp(),
        spread: (apart + own * own).sqrt(),
        is_unstated: same.iter().any(|p| p.is_unstated),
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    count(a) / count(b)
}

/// Beyond a curve's end the time grows at least with this part of the last exponent: where the library changes its protocol
/// or algorithm the next octave is flatter. Of 286 steps from octave to octave on published curves 83% lie between half of the
/// exponent before and 1 (or that exponent, if it is more), 72% between all of it and 1.
const FLATTER: f64 = 0.5;

/// No time grows by more than this exponent of its size for long: published curves reach it where a protocol ends.
const STEEPEST: f64 = 1.5;

/// A time that was read off a curve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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
            (None, None) => Reading::default(),
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
mod tests;
