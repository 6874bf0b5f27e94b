//! A straight line through points whose both coordinates have errors.
//!
//! York's fit (York et al., Am. J. Phys. 72, 367, 2004, with errors that do not go together), which is Deming's where the errors
//! of all points are in one ratio. A plain regression would read the slope too low, because the time of a collective is measured, too.

/// A point with the standard errors of its coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) x_error: f64,
    pub(super) y_error: f64,
}

/// The line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) intercept: f64,
    /// Standard error of the slope by the points' errors.
    pub(super) slope_error: f64,
    pub(super) intercept_error: f64,
}

impl Line {
    /// How far from it a point lies, in standard errors.
    pub(super) fn off(&self, of: &Point) -> f64 {
        (of.y - self.intercept - self.slope * of.x) * of.weight(self.slope).sqrt()
    }
}

/// More are never needed where the points have a slope at all.
const ROUNDS: u32 = 100;

impl Point {
    /// The weight of a point for a line of that slope.
    fn weight(&self, slope: f64) -> f64 {
        let variance = self.y_error.powi(2) + (slope * self.x_error).powi(2);
        1.0 / variance.max(f64::MIN_POSITIVE)
    }
}

/// The line of best fit; `None` for fewer than two places on the x axis.
pub(super) fn fit(points: &[Point]) -> Option<Line> {
    let mut slope = plain(points)?;
    for _ in 0..ROUNDS {
        let next = Round::new(points, slope).slope()?;
        let change = (next - slope).abs();
        slope = next;
        if change <= 1e-12 * slope.abs() {
            break;
        }
    }
    let round = Round::new(points, slope);
    let intercept = round.y - slope * round.x;
    let whole: f64 = points.iter().map(|of| of.weight(slope)).sum();
    let slope_error = round.information().powf(-0.5);
    let line = Line {
        slope,
        intercept,
        slope_error,
        intercept_error: whole.powf(-0.5).hypot(round.x * slope_error),
    };
    (line.slope.is_finite() && line.slope_error.is_finite()).then_some(line)
}

/// The slope of a regression that takes x as exact and all points alike, to begin with.
fn plain(points: &[Point]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "arms are few")]
    let n = points.len() as f64;
    let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|of| of.x), mean(|of| of.y));
    let over: f64 = points.iter().map(|of| (of.x - x) * (of.y - y)).sum();
    let under: f64 = points.iter().map(|of| (of.x - x).powi(2)).sum();
    (under > 0.0).then_some(over / under)
}

/// One round of York's iteration.
struct Round<'a> {
    points: &'a [Point],
    slope: f64,
    /// Weighted means.
    x: f64,
    y: f64,
}

impl<'a> Round<'a> {
    fn new(points: &'a [Point], slope: f64) -> Self {
        let whole: f64 = points.iter().map(|of| of.weight(slope)).sum();
        let mean = |coordinate: fn(&Point) -> f64| {
            let weighted = points.iter().map(|of| of.weight(slope) * coordinate(of));
            weighted.sum::<f64>() / whole
        };
        Self {
            points,
            slope,
            x: mean(|of| of.x),
            y: mean(|of| of.y),
        }
    }

    /// Where on the x axis a point most likely is, less the mean.
    fn along(&self, of: &Point) -> f64 {
        let (u, v) = (of.x - self.x, of.y - self.y);
        of.weight(self.slope) * (u * of.y_error.powi(2) + self.slope * v * of.x_error.powi(2))
    }

    fn slope(&self) -> Option<f64> {
        let sum = |coordinate: &dyn Fn(&Point) -> f64| -> f64 {
            let points = self.points.iter();
            points
                .map(|of| of.weight(self.slope) * self.along(of) * coordinate(of))
                .sum()
        };
        let slope = sum(&|of| of.y - self.y) / sum(&|of| of.x - self.x);
        slope.is_finite().then_some(slope)
    }

    /// One over the variance of the slope.
    fn information(&self) -> f64 {
        let weights: Vec<f64> = self.points.iter().map(|of| of.weight(self.slope)).collect();
        let places: Vec<f64> = self.points.iter().map(|of| self.along(of)).collect();
        let whole: f64 = weights.iter().sum();
        let pairs = || weights.iter().zip(&places);
        let mean = pairs().map(|(w, x)| w * x).sum::<f64>() / whole;
        pairs().map(|(w, x)| w * (x - mean).powi(2)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's data with York's weights, the test of such fits since 1966.
    const PEARSON: [[f64; 4]; 10] = [
        [0.0, 5.9, 1000.0, 1.0],
        [0.9, 5.4, 1000.0, 1.8],
        [1.8, 4.4, 500.0, 4.0],
        [2.6, 4.6, 800.0, 8.0],
        [3.3, 3.5, 200.0, 20.0],
        [4.4, 3.7, 80.0, 20.0],
        [5.2, 2.8, 60.0, 70.0],
        [6.1, 2.8, 20.0, 70.0],
        [6.5, 2.4, 1.8, 100.0],
        [7.4, 1.5, 1.0, 500.0],
    ];

    #[test]
    fn the_line_is_the_published_one() {
        let points = PEARSON.map(|[x, y, wx, wy]| Point {
            x,
            y,
            x_error: wx.powf(-0.5),
            y_error: wy.powf(-0.5),
        });
        let line = fit(&points).unwrap();
        // York et al., 2004, table II: slope -0.480533407, intercept 5.479910224, error of the slope 0.057985, S / 8 = 1.4833.
        assert!((line.slope + 0.480_533_407).abs() < 1e-8, "{line:?}");
        assert!((line.intercept - 5.479_910_224).abs() < 1e-7, "{line:?}");
        assert!((line.slope_error - 0.057_985).abs() < 1e-5, "{line:?}");
        let square = |of: &Point| line.off(of).powi(2);
        let squares: f64 = points.iter().map(square).sum();
        assert!((squares / 8.0 - 1.4833).abs() < 1e-3, "{line:?}");
    }

    #[test]
    fn points_above_each_other_have_no_slope() {
        let at = |x, y| Point {
            x,
            y,
            x_error: 0.1,
            y_error: 0.1,
        };
        assert_eq!(fit(&[at(1.0, 1.0), at(1.0, 2.0)]), None);
        assert_eq!(fit(&[at(1.0, 1.0)]), None);
        assert_eq!(fit(&[]), None);
    }
}
