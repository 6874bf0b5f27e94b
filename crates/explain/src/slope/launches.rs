//! Launches of an arm as numbers: their means, what they differ by, and what sums of such means are known to.

use super::arms::{Arm, Change};
use super::student::{Z90, t};
use crate::range::Range;

/// Fewer launches than this show no spread between launches.
pub const FEWEST: usize = 3;

/// An arm's launches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured<'a> {
    pub(super) arm: &'a Arm,
    /// Microseconds of a collective, of those launches that have it.
    pub(super) us: Vec<Timed>,
    /// Milliseconds of the step.
    pub(super) ms: Vec<Timed>,
    /// Launches whose figures are none.
    pub(super) unusable: usize,
    /// Launches of a simulated machine that this machine was too busy to play.
    pub(super) late: usize,
}

/// A figure of a launch with its standard deviation within the launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timed {
    value: f64,
    deviation: f64,
}

impl Timed {
    fn of(range: &Range) -> Option<Self> {
        let holds = range.low <= range.mid && range.mid <= range.high && range.mid > 0.0;
        (holds && range.high.is_finite()).then(|| Self {
            value: range.mid,
            deviation: (range.high - range.low) / (2.0 * Z90),
        })
    }

    /// A step that a busy machine played longer than it is, is known no better than that.
    fn late_by(self, late: Option<f64>) -> Self {
        Self {
            deviation: self.deviation.hypot(late.unwrap_or(0.0)),
            ..self
        }
    }
}

impl<'a> Measured<'a> {
    pub(super) fn new(arm: &'a Arm) -> Self {
        let needs_collective = arm.change != Change::NegativeControl;
        let mut of = Self {
            arm,
            us: Vec::new(),
            ms: Vec::new(),
            unusable: 0,
            late: 0,
        };
        for launch in &arm.launches {
            let us = launch.collective_us.as_ref().and_then(Timed::of);
            let ms = Timed::of(&launch.step_ms).map(|ms| ms.late_by(launch.late_ms));
            match ms {
                _ if launch.is_late() => of.late += 1,
                Some(ms) if us.is_some() || !needs_collective => {
                    of.us.extend(us);
                    of.ms.push(ms);
                }
                _ => of.unusable += 1,
            }
        }
        of
    }

    pub(super) fn len(&self) -> usize {
        self.ms.len()
    }
}

/// A sum of means with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    pub(super) value: f64,
    pub(super) error: f64,
    pub(super) degrees: f64,
}

impl Known {
    /// Means of series of launches, each times its factor, added up; their relative spread is one, of all of them. `None` where a series
    /// has no launch.
    pub(super) fn sum(series: &[(f64, &[Timed])]) -> Option<Self> {
        let (spread, degrees) = pooled(series.iter().map(|(_, of)| *of));
        let (mut value, mut variance) = (0.0, 0.0);
        for (factor, of) in series {
            let part = factor * mean(of)?;
            value += part;
            variance += (part * spread).powi(2) / count(of.len());
        }
        Some(Self {
            value,
            error: variance.sqrt(),
            degrees,
        })
    }

    /// Its 90% interval.
    pub(super) fn range(&self) -> Range {
        let half = t(Z90, self.degrees) * self.error;
        Range {
            low: self.value - half,
            mid: self.value,
            high: self.value + half,
        }
    }
}

/// The relative standard deviation of launches over their arms' means, and its degrees of freedom; never less than what each launch
/// says of itself.
pub(super) fn pooled<'a>(arms: impl Iterator<Item = &'a [Timed]>) -> (f64, f64) {
    let (mut squares, mut degrees, mut within, mut all) = (0.0, 0.0, 0.0, 0.0);
    for arm in arms {
        let Some(mean) = mean(arm) else { continue };
        let off = |of: &Timed| (of.value / mean - 1.0).powi(2);
        squares += arm.iter().map(off).sum::<f64>();
        degrees += count(arm.len()) - 1.0;
        let own = |of: &Timed| (of.deviation / of.value).powi(2);
        within += arm.iter().map(own).sum::<f64>();
        all += count(arm.len());
    }
    let between: f64 = if degrees > 0.0 {
        squares / degrees
    } else {
        0.0
    };
    let within: f64 = if all > 0.0 { within / all } else { 0.0 };
    (between.max(within).sqrt(), degrees)
}

pub(super) fn mean(of: &[Timed]) -> Option<f64> {
    let sum: f64 = of.iter().map(|of| of.value).sum();
    (!of.is_empty()).then(|| sum / count(of.len()))
}

#[expect(clippy::cast_precision_loss, reason = "arms and launches are few")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}
