//! A straight line through points whose both coordinates have errors.
//!
//! York's fit (York et al., Am. J. Phys. 72, 367, 2004, with errors that do not go together), which is Deming's where the errors
//! of all points are in one ratio. A plain regression would read the slope too low, because the time of a collective is measured, too.

use crate::range::count;

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
        let (_, next) = round(points, slope);
        let change = (next - slope).abs();
        slope = next;
        if change <= 1e-12 * slope.abs() {
            break;
        }
    }
    let (line, _) = round(points, slope);
    (line.slope.is_finite() && line.slope_error.is_finite()).then_some(line)
}

/// The slope of a regression that takes x as exact and all points alike, to begin with.
fn plain(points: &[Point]) -> Option<f64> {
    let n = count(points.len() as u64);
    let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|of| of.x), mean(|of| of.y));
    let over: f64 = points.iter().map(|of| (of.x - x) * (of.y - y)).sum();
    let under: f64 = points.iter().map(|of| (of.x - x).powi(2)).sum();
    (under > 0.0).then_some(over / under)
}

/// The line of that slope with its errors, and the slope that York's iteration goes on with.
fn round(points: &[Point], slope: f64) -> (Line, f64) {
    let weighted = || points.iter().map(|of| (of, of.weight(slope)));
    let sum = |of: &dyn Fn(&Point) -> f64| -> f64 { weighted().map(|(p, w)| w * of(p)).sum() };
    let whole = sum(&|_| 1.0);
    let (x, y) = (sum(&|of| of.x) / whole, sum(&|of| of.y) / whole);
    // Where on the x axis a point most likely is, less the mean.
    let along = |of: &Point| {
        let (u, v) = (of.x - x, of.y - y);
        of.weight(slope) * (u * of.y_error.powi(2) + slope * v * of.x_error.powi(2))
    };
    let next = sum(&|of| along(of) * (of.y - y)) / sum(&|of| along(of) * (of.x - x));
    let mean = sum(&along) / whole;
    // One over the root of what all points tell of the slope.
    let slope_error = sum(&|of| (along(of) - mean).powi(2)).powf(-0.5);
    let line = Line {
        slope,
        intercept: y - slope * x,
        slope_error,
        intercept_error: whole.powf(-0.5).hypot(x * slope_error),
    };
    (line, next)
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
