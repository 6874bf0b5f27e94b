//! The line through some arms, and what such a design can tell.

use stats::Interval;

use super::arms::Change;
use super::launches::{FEWEST, Known, Measured, count, mean, pooled};
use super::line::{Line, Point, fit, leverages};
use super::result::{DelayControl, Power, Residual, SlopeFit};
use super::student::{Z95, t};
use super::verdict::{MARGIN, holds};

/// Microseconds of a millisecond: a slope in ms over us is so many times smaller than the number of collectives.
const US_OF_MS: f64 = 1e3;

/// A line through some arms.
pub(super) struct Fitted<'a> {
    arms: Vec<&'a Measured<'a>>,
    points: Vec<Point>,
    line: Line,
    /// Degrees of freedom of what launches differ by.
    degrees: f64,
    /// The place of the arm in `points` that communication is told of.
    at: usize,
}

impl<'a> Fitted<'a> {
    /// `None` of fewer than two arms, or of arms without a slope.
    pub(super) fn new(arms: &[&'a Measured<'a>]) -> Option<Self> {
        if arms.len() < 2 {
            return None;
        }
        let (us, degrees) = pooled(arms.iter().map(|arm| &arm.us[..]));
        let (ms, _) = pooled(arms.iter().map(|arm| &arm.ms[..]));
        let point = |arm: &&Measured<'_>| {
            let root = count(arm.len()).sqrt();
            let (x, y) = (mean(&arm.us)?, mean(&arm.ms)?);
            Some(Point {
                x,
                y,
                x_error: x * us / root,
                y_error: y * (ms / root).max(1e-9),
            })
        };
        let points: Vec<Point> = arms.iter().map(point).collect::<Option<_>>()?;
        let is_baseline = |arm: &&Measured<'_>| arm.arm.change == Change::Baseline;
        Some(Self {
            arms: arms.to_vec(),
            line: fit(&points)?,
            points,
            degrees,
            at: arms.iter().position(is_baseline).unwrap_or(0),
        })
    }

    fn name(&self, place: usize) -> String {
        self.arms[place].arm.name.clone()
    }

    fn known(&self, value: f64, error: f64) -> Known {
        Known {
            value,
            error,
            degrees: self.degrees,
        }
    }

    /// The slope in collectives.
    fn slope(&self) -> Known {
        let Line {
            slope, slope_error, ..
        } = self.line;
        self.known(slope * US_OF_MS, slope_error * US_OF_MS)
    }

    /// Half of its 95% interval.
    fn half(&self) -> f64 {
        t(Z95, self.degrees) * self.slope().error
    }

    fn slope_95(&self) -> Interval {
        let (middle, half) = (self.slope().value, self.half());
        Interval {
            low: middle - half,
            high: middle + half,
            level: 0.95,
        }
    }

    /// From the shortest to the longest mean step of its arms.
    pub(super) fn step_span_ms(&self) -> f64 {
        let ms = || self.points.iter().map(|of| of.y);
        ms().fold(f64::MIN, f64::max) - ms().fold(f64::MAX, f64::min)
    }

    /// Whether another line, of other launches but for the first arm's, has another slope beyond both intervals.
    pub(super) fn differs(&self, other: &Self) -> bool {
        let (own, others) = (self.slope().value, other.slope().value);
        let margin = MARGIN * own.abs().max(others.abs());
        (own - others).abs() > self.half().hypot(other.half()).max(margin)
    }

    pub(super) fn control(&self, planned: f64) -> DelayControl {
        DelayControl {
            slope: self.slope().range(),
            slope_95: self.slope_95(),
            follows: holds(&self.slope_95(), planned),
        }
    }

    pub(super) fn result(&self, planned: f64) -> SlopeFit {
        let Line {
            slope,
            slope_error,
            intercept,
            ..
        } = self.line;
        let weights: Vec<f64> = self.points.iter().map(|of| of.weight(slope)).collect();
        let whole: f64 = weights.iter().sum();
        let pairs = weights.iter().zip(&self.points);
        let middle = pairs.map(|(w, of)| w * of.x).sum::<f64>() / whole;
        let here = self.points[self.at];
        let sent = (slope_error * here.x).hypot(slope * here.x_error);
        let shares = leverages(&self.points, slope);
        let most = shares
            .iter()
            .copied()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let (most, share) = most.unwrap_or((0, 1.0));
        let launches: usize = self.arms.iter().map(|arm| arm.len()).sum();
        let intercept_error = whole.powf(-0.5).hypot(middle * slope_error);
        SlopeFit {
            arms: (0..self.arms.len()).map(|place| self.name(place)).collect(),
            launches: u32::try_from(launches).unwrap_or(u32::MAX),
            slope: self.slope().range(),
            slope_95: self.slope_95(),
            intercept_ms: self.known(intercept, intercept_error).range(),
            at: self.name(self.at),
            collective_us: self.known(here.x, here.x_error).range(),
            communication_ms: self.known(slope * here.x, sent).range(),
            residual: self.residual(),
            leverage: (self.name(most), share),
            power: self.power(planned),
        }
    }

    fn residual(&self) -> Residual {
        let off = |of: &Point| {
            let ms = of.y - self.line.intercept - self.line.slope * of.x;
            ms.abs() * of.weight(self.line.slope).sqrt()
        };
        let n = self.points.len();
        let worst = (0..n).max_by(|a, b| off(&self.points[*a]).total_cmp(&off(&self.points[*b])));
        Residual {
            reduced_chi_square: (n > 2).then(|| self.line.chi_square / (count(n) - 2.0)),
            worst: self.name(worst.unwrap_or(0)),
        }
    }

    /// What these launches can tell of a slope as planned.
    fn power(&self, planned: f64) -> Power {
        let expected = planned / US_OF_MS;
        let weights: Vec<f64> = self.points.iter().map(|of| of.weight(expected)).collect();
        let whole: f64 = weights.iter().sum();
        let pairs = || weights.iter().zip(&self.points);
        let mean = pairs().map(|(w, of)| w * of.x).sum::<f64>() / whole;
        let information: f64 = pairs().map(|(w, of)| w * (of.x - mean).powi(2)).sum();
        let half_width = t(Z95, self.degrees) * information.powf(-0.5) / expected;
        let all: f64 = self.arms.iter().map(|arm| count(arm.len())).sum();
        let each = all / count(self.arms.len());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "held between 3 and ten thousand"
        )]
        let launches = (each * (half_width / 0.1).powi(2))
            .ceil()
            .clamp(count(FEWEST), 10_000.0) as u32;
        Power {
            half_width,
            launches_for_tenth: launches,
        }
    }
}
