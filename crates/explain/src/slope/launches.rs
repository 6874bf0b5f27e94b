//! Launches of an arm as numbers: their means, what they differ by, and how they are drawn again.

use super::arms::{Arm, Change};
use super::student::Z90;
use crate::random::Random;
use crate::range::Range;

/// Fewer launches than this show no spread between launches.
pub const FEWEST: usize = 3;

/// An arm's launches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured<'a> {
    pub(super) arm: &'a Arm,
    /// Microseconds of a collective, of those launches that have it, and milliseconds of the step.
    steps: Vec<(Option<Timed>, Timed)>,
    /// Launches whose figures are none.
    pub(super) unusable: usize,
    /// Launches of a simulated machine that this machine was too busy to play.
    pub(super) late: usize,
}

/// A figure of a launch with its standard deviation within the launch.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Timed {
    value: f64,
    deviation: f64,
}

/// Mean collective time, us, and mean step, ms, of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Means {
    pub(super) us: Option<f64>,
    pub(super) ms: f64,
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
        let in_time = || arm.launches.iter().filter(|launch| !launch.is_late());
        let steps: Vec<(Option<Timed>, Timed)> = in_time()
            .filter_map(|launch| {
                let us = launch.collective_us.as_ref().and_then(Timed::of);
                let ms = Timed::of(&launch.step_ms)?.late_by(launch.late_ms);
                (us.is_some() || !needs_collective).then_some((us, ms))
            })
            .collect();
        Self {
            arm,
            unusable: in_time().count() - steps.len(),
            late: arm.launches.len() - in_time().count(),
            steps,
        }
    }

    /// Usable launches.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    fn us(&self) -> impl Iterator<Item = Timed> {
        self.steps.iter().filter_map(|(us, _)| *us)
    }

    fn ms(&self) -> impl Iterator<Item = Timed> {
        self.steps.iter().map(|(_, ms)| *ms)
    }

    /// `None` without a usable launch.
    pub(super) fn means(&self) -> Option<Means> {
        Some(Means {
            us: mean(self.us().map(|of| of.value)),
            ms: mean(self.ms().map(|of| of.value))?,
        })
    }

    /// Means without one launch: what that launch has in them. `None` where it is the only one.
    pub(super) fn without(&self, left: usize) -> Option<Means> {
        let kept = || {
            let all = self.steps.iter().enumerate();
            all.filter(|(place, _)| *place != left).map(|(_, of)| of)
        };
        Some(Means {
            us: mean(kept().filter_map(|(us, _)| Some(us.as_ref()?.value))),
            ms: mean(kept().map(|(_, ms)| ms.value))?,
        })
    }

    /// Means of as many launches drawn again, their distance from the arm's means widened by what the mean of n launches hides of
    /// their spread: sqrt(n / (n - 1)).
    pub(super) fn again(&self, random: &mut Random) -> Option<Means> {
        let own = self.means()?;
        let n = self.len();
        let widened = if n > 1 {
            (count(n) / count(n - 1)).sqrt()
        } else {
            1.0
        };
        let drawn: Vec<&(Option<Timed>, Timed)> = (0..n)
            .map(|_| &self.steps[index(random.uniform(), n)])
            .collect();
        let us = mean(drawn.iter().filter_map(|(us, _)| Some(us.as_ref()?.value)));
        let ms = mean(drawn.iter().map(|(_, ms)| ms.value))?;
        Some(Means {
            us: own
                .us
                .zip(us)
                .map(|(own, us)| (own + widened * (us - own)).max(f64::MIN_POSITIVE)),
            ms: own.ms + widened * (ms - own.ms),
        })
    }
}

/// What launches of one arm differ by, relative, from all arms together: one arm alone has too few to tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spreads {
    /// Coefficient of variation of the collective time from launch to launch.
    pub(super) us: f64,
    /// Of the step.
    pub(super) ms: f64,
}

impl Spreads {
    pub(super) fn of(arms: &[&Measured<'_>]) -> Self {
        let us: Vec<Vec<Timed>> = arms.iter().map(|arm| arm.us().collect()).collect();
        let ms: Vec<Vec<Timed>> = arms.iter().map(|arm| arm.ms().collect()).collect();
        Self {
            us: pooled(&us),
            ms: pooled(&ms),
        }
    }
}

/// Between launches, but not less than launches have within themselves.
fn pooled(arms: &[Vec<Timed>]) -> f64 {
    let (mut squares, mut degrees, mut within, mut all) = (0.0, 0.0, 0.0, 0.0);
    for arm in arms {
        let Some(mean) = mean(arm.iter().map(|of| of.value)) else {
            continue;
        };
        squares += arm
            .iter()
            .map(|of| (of.value / mean - 1.0).powi(2))
            .sum::<f64>();
        degrees += count(arm.len()) - 1.0;
        within += arm
            .iter()
            .map(|of| (of.deviation / of.value).powi(2))
            .sum::<f64>();
        all += count(arm.len());
    }
    let between: f64 = if degrees > 0.0 {
        squares / degrees
    } else {
        0.0
    };
    let within: f64 = if all > 0.0 { within / all } else { 0.0 };
    between.max(within).sqrt()
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then_some(sum / n)
}

#[expect(clippy::cast_precision_loss, reason = "arms and launches are few")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "uniform in 0..1, never 1"
)]
fn index(uniform: f64, len: usize) -> usize {
    ((uniform * count(len)) as usize).min(len - 1)
}
