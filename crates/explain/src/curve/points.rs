//! Collective times at sizes: this box's or published ones.
//!
//! How a time is read between the points and beyond them stands in `curve/reading.rs`. No model is fitted: alpha-beta fits err 20
//! to 50% between 8 KiB and 4 MiB on public curves, log-log lines between octaves 9 to 33%. Times of different modes never share
//! a curve.

use import::CurvePoint;
use record::{CallMode, CollectiveKind};

use crate::priors::PublishedCurve;

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
    /// Ascending by size, one a size, times above zero; never empty.
    pub(super) points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) bytes: u64,
    pub(super) us: f64,
    /// Standard deviation of the time's logarithm, as far as its interval and its repeats show it.
    pub(super) spread: f64,
    /// Whether there was no interval, so that more has to be assumed.
    pub(super) is_unstated: bool,
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
        let mut of: Vec<Point> = points
            .iter()
            .filter(|p| p.kind == kind && p.ranks == ranks && p.mode == mode)
            .filter(|p| p.engine.is_some() == by_engine)
            .filter(|p| p.is_above_zero() && p.bytes_per_rank > 0)
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
        let merged: Vec<Point> = of.chunk_by(|a, b| a.bytes == b.bytes).map(merge).collect();
        (!merged.is_empty()).then_some(Self {
            kind,
            ranks,
            points: merged,
        })
    }

    /// A published curve; the factor from box to box is so wide that it holds the spread of its points.
    pub(crate) fn of_published(curve: &PublishedCurve) -> Self {
        Self {
            kind: CollectiveKind::AllReduce,
            ranks: curve.ranks,
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
            bytes.saturating_mul(FAR) >= first.bytes && bytes <= last.bytes.saturating_mul(FAR)
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
    #[expect(clippy::cast_precision_loss, reason = "a handful of points")]
    let n = same.len() as f64;
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

#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
pub(super) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::curve) fn point(bytes: u64, us: f64) -> CurvePoint {
        CurvePoint {
            kind: CollectiveKind::AllReduce,
            ranks: 2,
            bytes_per_rank: bytes,
            us,
            low: None,
            high: None,
            n: None,
            mode: Some(CallMode::Graph),
            library: None,
            engine: None,
            origin: "test".to_owned(),
            simulated: None,
        }
    }

    pub(in crate::curve) fn curve(points: &[CurvePoint]) -> Curve {
        let mode = Some(CallMode::Graph);
        Curve::of_points(points, CollectiveKind::AllReduce, 2, mode, false).unwrap()
    }

    #[test]
    fn a_curve_reaches_to_twice_its_ends() {
        let curve = curve(&[point(1024, 4.0), point(4096, 9.0)]);
        assert_eq!(
            [511, 512, 8192, 8193].map(|bytes| curve.reaches(bytes)),
            [false, true, true, false]
        );
    }

    #[test]
    fn modes_and_ranks_are_not_mixed_and_repeats_widen_the_spread() {
        let mut other = point(1024, 50.0);
        other.mode = None;
        let mut four = point(1024, 80.0);
        four.ranks = 4;
        // Geometric mean of 4 and 9 is 6; each lies ln(1.5) = 0.405 from it.
        let got = curve(&[point(1024, 4.0), point(1024, 9.0), other, four]).at(1024);
        assert!(
            (got.us - 6.0).abs() < 1e-9 && (got.spread - 0.405).abs() < 1e-3,
            "{got:?}"
        );
    }

    #[test]
    fn one_time_of_many_that_lies_apart_is_held_too() {
        // Nine of 10 us and one of 20: the mean of the logarithm is ln 10 + 0.0693, from which ln 20 lies 0.624 away: over 1.645 0.379,
        // where the root mean square is 0.208.
        let mut points = vec![point(1024, 10.0); 9];
        points.push(point(1024, 20.0));
        let got = curve(&points).at(1024);
        assert!((got.spread - 0.379).abs() < 1e-3, "{got:?}");
        assert!(got.us * (1.645 * got.spread).exp() > 19.99, "{got:?}");
    }

    #[test]
    fn what_an_engine_did_is_no_time_of_the_library() {
        let mut own = point(1024, 2.0);
        own.engine = Some("vllm 0.13.0".to_owned());
        let points = [point(1024, 4.0), own];
        assert_eq!(curve(&points).at(1024).us, 4.0);
        let (kind, mode) = (CollectiveKind::AllReduce, Some(CallMode::Graph));
        let engine = Curve::of_points(&points, kind, 2, mode, true).unwrap();
        assert_eq!(engine.at(1024).us, 2.0);
        assert_eq!(Curve::of_points(&points[..1], kind, 2, mode, true), None);
    }

    #[test]
    fn an_interval_becomes_a_spread() {
        let mut wide = point(1024, 10.0);
        (wide.low, wide.high) = (Some(9.0), Some(11.0));
        // ln(11 / 9) / 3.92 = 0.2007 / 3.92 = 0.0512.
        let got = curve(&[wide]).at(1024);
        assert!(
            (got.spread - 0.0512).abs() < 1e-4 && !got.is_unstated,
            "{got:?}"
        );
        // Without one nothing is known of the spread, which is not the same as none; so between it and a neighbour.
        let both = curve(&[point(1024, 10.0), point(4096, 10.0)]);
        assert!(both.at(1024).is_unstated && both.at(2048).is_unstated);
    }

    #[test]
    fn a_time_whose_interval_reaches_zero_is_no_point() {
        let mut hidden = point(1024, 139.0);
        (hidden.low, hidden.high) = (Some(-500.0), Some(778.0));
        let (kind, mode) = (CollectiveKind::AllReduce, Some(CallMode::Graph));
        assert_eq!(
            Curve::of_points(&[hidden.clone()], kind, 2, mode, false),
            None
        );
        // What is left is read beyond its end: of one point the exponent is 0 to 1, in the middle 9 * (1/4)^(1/2).
        let got = curve(&[hidden, point(4096, 9.0)]).at(1024);
        assert!(!got.is_exact);
        assert!((got.us - 4.5).abs() < 1e-9, "{got:?}");
    }

    #[test]
    fn an_all_gather_counts_by_what_crosses_a_link() {
        // Two ranks: an all-gather of 1 MiB each moves 1 MiB, as does an all-reduce of 1 MiB (2 * 1/2).
        assert_eq!(all_reduce_as_large(1 << 20, 2), 1 << 20);
        // Eight: 7 MiB, and 2 * 7/8 * 4 MiB = 7 MiB.
        assert_eq!(all_reduce_as_large(1 << 20, 8), 4 << 20);
    }
}
