//! The line through some arms, with everything that was drawn of it, and what such a design can tell.

use stats::Interval;

use super::arms::Change;
use super::launches::{FEWEST, Means, Measured, Spreads, count};
use super::line::{Line, Point, fit, leverages};
use super::result::{DelayControl, Power, Residual, SlopeFit};
use super::sample::{Sample, ninety, ninety_five};
use super::student::{Z95, t};
use super::verdict::{MARGIN, holds};
use crate::range::Range;

/// Microseconds of a millisecond: a slope in ms over us is so many times smaller than the number of collectives.
const US_OF_MS: f64 = 1e3;

/// A line through some arms with all that was drawn of it.
pub(super) struct Fitted<'a> {
    sample: &'a Sample<'a>,
    arms: Vec<usize>,
    pub(super) points: Vec<Point>,
    line: Line,
    lines: Vec<(Line, f64)>,
    spreads: Spreads,
    /// The place of the arm in `points` that communication is told of.
    at: usize,
    slope: Range,
    slope_95: Interval,
}

impl<'a> Fitted<'a> {
    pub(super) fn new(sample: &'a Sample<'a>, arms: &[usize], planned: f64) -> Option<Self> {
        if arms.len() < 2 {
            return None;
        }
        let measured: Vec<&Measured<'_>> = arms.iter().map(|index| &sample.arms[*index]).collect();
        let spreads = Spreads::of(&measured);
        let of_means = points(&sample.means, sample, arms, spreads)?;
        let line = fit(&of_means)?;
        let is_baseline = |index: &usize| sample.arms[*index].arm.change == Change::Baseline;
        let at = arms.iter().position(is_baseline).unwrap_or(0);
        let line_of = |means: &[Option<Means>]| line_of(means, sample, (arms, at), spreads);
        let again = sample.again.iter();
        let lines: Vec<(Line, f64)> = again.filter_map(|means| line_of(means)).collect();
        // Draws without a line would narrow what is left.
        if lines.len() * 10 < sample.again.len() * 9 || planned <= 0.0 {
            return None;
        }
        let slopes: Vec<f64> = lines
            .iter()
            .map(|(line, _)| line.slope * US_OF_MS)
            .collect();
        let degrees = sample.degrees(arms, |means| Some(line_of(means)?.0.slope));
        let own = line.slope * US_OF_MS;
        Some(Self {
            slope: ninety(own, &slopes, degrees)?,
            slope_95: ninety_five(own, &slopes, degrees)?,
            sample,
            arms: arms.to_vec(),
            points: of_means,
            line,
            lines,
            spreads,
            at,
        })
    }

    fn name(&self, place: usize) -> String {
        self.sample.arms[self.arms[place]].arm.name.clone()
    }

    /// From the shortest to the longest mean step of its arms.
    pub(super) fn step_span_ms(&self) -> f64 {
        let ms = || self.points.iter().map(|of| of.y);
        ms().fold(f64::MIN, f64::max) - ms().fold(f64::MAX, f64::min)
    }

    /// Whether another line, of other launches but for the first arm's, has another slope beyond both intervals.
    pub(super) fn differs(&self, other: &Self) -> bool {
        let half = |of: &Interval| (of.high - of.low) / 2.0;
        let apart = (self.slope.mid - other.slope.mid).abs();
        let margin = MARGIN * self.slope.mid.abs().max(other.slope.mid.abs());
        apart
            > half(&self.slope_95)
                .hypot(half(&other.slope_95))
                .max(margin)
    }

    pub(super) fn control(&self, planned: f64) -> DelayControl {
        DelayControl {
            slope: self.slope,
            slope_95: self.slope_95,
            follows: holds(&self.slope_95, planned),
        }
    }

    pub(super) fn result(&self, planned: f64) -> SlopeFit {
        let line_of = |means: &[Option<Means>]| {
            line_of(means, self.sample, (&self.arms, self.at), self.spreads)
        };
        let range = |own: f64, of: &dyn Fn(&(Line, f64)) -> f64| {
            let values: Vec<f64> = self.lines.iter().map(of).collect();
            let degrees = self
                .sample
                .degrees(&self.arms, |means| Some(of(&line_of(means)?)));
            ninety(own, &values, degrees).unwrap_or(Range {
                low: own,
                mid: own,
                high: own,
            })
        };
        let here = self.points[self.at].x;
        let launches: usize = self.arms.iter().map(|i| self.sample.arms[*i].len()).sum();
        let shares = leverages(&self.points, self.line.slope);
        let most = shares
            .iter()
            .copied()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let (most, share) = most.unwrap_or((0, 1.0));
        SlopeFit {
            arms: (0..self.arms.len()).map(|place| self.name(place)).collect(),
            launches: u32::try_from(launches).unwrap_or(u32::MAX),
            slope: self.slope,
            slope_95: self.slope_95,
            intercept_ms: range(self.line.intercept, &|(line, _)| line.intercept),
            at: self.name(self.at),
            collective_us: range(here, &|(_, us)| *us),
            communication_ms: range(self.line.slope * here, &|(line, us)| line.slope * us),
            residual: self.residual(),
            leverage: (self.name(most), share),
            power: self.power(planned),
        }
    }

    fn residual(&self) -> Residual {
        let off = |of: &Point| of.y - self.line.intercept - self.line.slope * of.x;
        let n = count(self.points.len());
        let squares: f64 = self.points.iter().map(|of| off(of).powi(2)).sum();
        let by_error = |of: &Point| off(of).abs() * of.weight(self.line.slope).sqrt();
        let worst = (0..self.points.len())
            .max_by(|a, b| by_error(&self.points[*a]).total_cmp(&by_error(&self.points[*b])));
        Residual {
            ms: (squares / n).sqrt(),
            reduced_chi_square: (self.points.len() > 2).then(|| self.line.chi_square / (n - 2.0)),
            worst: self.name(worst.unwrap_or(0)),
        }
    }

    /// By the fit's own errors at the planned slope, so that it is a property of the design and not of what came out.
    fn power(&self, planned: f64) -> Power {
        let expected = planned / US_OF_MS;
        let shares = leverages(&self.points, expected);
        // Satterthwaite's, with the parts that the design gives each arm.
        let parts = shares.iter().zip(&self.arms);
        let part = |(share, arm): (&f64, &usize)| share.powi(2) / self.sample.degrees_of(*arm);
        let degrees = parts.map(part).sum::<f64>().recip();
        let weights: Vec<f64> = self.points.iter().map(|of| of.weight(expected)).collect();
        let whole: f64 = weights.iter().sum();
        let pairs = || weights.iter().zip(&self.points);
        let mean = pairs().map(|(w, of)| w * of.x).sum::<f64>() / whole;
        let information: f64 = pairs().map(|(w, of)| w * (of.x - mean).powi(2)).sum();
        let half_width = t(Z95, degrees) * information.powf(-0.5) / expected;
        let each = count(self.arms.len()).recip()
            * self
                .arms
                .iter()
                .map(|index| count(self.sample.arms[*index].len()))
                .sum::<f64>();
        Power {
            half_width,
            step_cv: self.spreads.ms,
            collective_cv: self.spreads.us,
            launches_for_tenth: whole_number(each * (half_width / 0.1).powi(2)),
        }
    }
}

/// The line through the means of these arms, and the collective time of the arm at that place.
fn line_of(
    means: &[Option<Means>],
    sample: &Sample<'_>,
    (arms, at): (&[usize], usize),
    spreads: Spreads,
) -> Option<(Line, f64)> {
    let points = points(means, sample, arms, spreads)?;
    Some((fit(&points)?, points[at].x))
}

/// Launches that are needed, [`FEWEST`] at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 3 and ten thousand"
)]
fn whole_number(launches: f64) -> u32 {
    launches.ceil().clamp(count(FEWEST), 10_000.0) as u32
}

/// The arms as points, with the standard errors of their means.
fn points(
    means: &[Option<Means>],
    sample: &Sample<'_>,
    arms: &[usize],
    spreads: Spreads,
) -> Option<Vec<Point>> {
    let point = |index: &usize| {
        let means = means[*index]?;
        let root = count(sample.arms[*index].len()).sqrt();
        let x = means.us?;
        Some(Point {
            x,
            y: means.ms,
            x_error: x * spreads.us / root,
            // A virtual engine without noise repeats itself exactly, and a weight must stay finite.
            y_error: means.ms * (spreads.ms / root).max(1e-9),
        })
    };
    arms.iter().map(point).collect()
}
