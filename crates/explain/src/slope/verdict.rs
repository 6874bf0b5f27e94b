//! The test: is the slope of the step over collective time the planned number of collectives?
//!
//! Arms are points. What launches of an arm differ by is one relative spread of all of them, and the line's errors follow from it
//! (York's fit) with Student's t for so many launches.

use super::line::{Line, Point, fit};
use super::result::{
    Ablation, Arm, ArmSummary, Change, DelayControl, Launch, Slope, SlopeFit, SlopeVerdict,
    Undecided,
};
use crate::range::{Range, count};

/// Fewer launches than this show no spread between launches.
pub const FEWEST: usize = 3;

/// A slope that is off by less is as planned, however well it is known.
const MARGIN: f64 = 0.02;

/// A step follows where its whole 90% interval lies within this part of the planned slope: 15% of overlap is no rarity.
const EQUAL: f64 = 0.15;

/// Microseconds of a millisecond: a slope in ms over us is so many times smaller than the number of collectives.
const US_OF_MS: f64 = 1e3;

/// Quantiles of the standard normal distribution: half of a 90%, 95% and 99.9% interval.
const Z90: f64 = 1.644_854;
const Z95: f64 = 1.959_964;
const Z999: f64 = 3.290_527;

/// The quantile of Student's t distribution that belongs to a normal quantile `z` (Abramowitz and Stegun, 26.7.5). At the 95% and
/// 97.5% points it is within 1% from 2 degrees of freedom on, which is what one arm of three launches has.
fn t(z: f64, degrees: f64) -> f64 {
    let n = degrees.max(1.0);
    let odd = |k: i32| z.powi(k);
    let first = (odd(3) + z) / 4.0;
    let second = (5.0 * odd(5) + 16.0 * odd(3) + 3.0 * z) / 96.0;
    let third = (3.0 * odd(7) + 19.0 * odd(5) + 17.0 * odd(3) - 15.0 * z) / 384.0;
    let fourth =
        (79.0 * odd(9) + 776.0 * odd(7) + 1482.0 * odd(5) - 1920.0 * odd(3) - 945.0 * z) / 92_160.0;
    z + first / n + second / n.powi(2) + third / n.powi(3) + fourth / n.powi(4)
}

/// A value with its standard error and the degrees of freedom behind that.
#[derive(Clone, Copy)]
struct Known {
    value: f64,
    error: f64,
    degrees: f64,
}

impl Known {
    fn half(&self, z: f64) -> f64 {
        t(z, self.degrees) * self.error
    }

    /// Its 90% interval.
    fn range(&self) -> Range {
        Range {
            low: self.value - self.half(Z90),
            mid: self.value,
            high: self.value + self.half(Z90),
        }
    }
}

/// A figure of each launch with its standard deviation within the launch.
type Timed = Vec<(f64, f64)>;

/// An arm's launches: us of a collective and ms of the step.
struct Measured<'a> {
    arm: &'a Arm,
    us: Timed,
    ms: Timed,
}

impl<'a> Measured<'a> {
    fn new(arm: &'a Arm) -> Self {
        let timed = |range: &Range| {
            let holds = range.low <= range.mid && range.mid <= range.high && range.mid > 0.0;
            let deviation = (range.high - range.low) / (2.0 * Z90);
            (holds && range.high.is_finite()).then_some((range.mid, deviation))
        };
        let (mut us, mut ms) = (Vec::new(), Vec::new());
        for launch in arm.launches.iter().filter(|of: &&Launch| !of.is_late()) {
            let collective = launch.collective_us.as_ref().and_then(timed);
            if let (Some(collective), Some((step, deviation))) =
                (collective, timed(&launch.step_ms))
            {
                us.push(collective);
                // A step that a busy machine played longer than it is, is known no better than that.
                ms.push((step, deviation.hypot(launch.late_ms.unwrap_or(0.0))));
            }
        }
        Self { arm, us, ms }
    }
}

fn mean(of: &Timed) -> f64 {
    of.iter().map(|(value, _)| value).sum::<f64>() / count(of.len() as u64)
}

/// The relative standard deviation of launches over their arms' means, and its degrees of freedom; never less than what each launch
/// says of itself.
fn pooled<'a>(arms: impl Iterator<Item = &'a Timed>) -> (f64, f64) {
    let (mut squares, mut degrees, mut within, mut all) = (0.0, 0.0, 0.0, 0.0);
    for arm in arms.filter(|arm| !arm.is_empty()) {
        let mean = mean(arm);
        for (value, deviation) in arm {
            squares += (value / mean - 1.0).powi(2);
            within += (deviation / value).powi(2);
        }
        degrees += count(arm.len() as u64) - 1.0;
        all += count(arm.len() as u64);
    }
    // Without degrees of freedom there are no squares either.
    let (between, within) = (
        squares / f64::max(degrees, 1.0),
        within / f64::max(all, 1.0),
    );
    (between.max(within).sqrt(), degrees)
}

/// A line through some arms.
struct Fitted<'a> {
    arms: Vec<&'a Measured<'a>>,
    points: Vec<Point>,
    line: Line,
    degrees: f64,
}

impl<'a> Fitted<'a> {
    /// Through the arms that change one of these; `None` of fewer than two with enough launches, or without a slope.
    fn through(all: &'a [Measured<'a>], changes: &[Change]) -> Option<Self> {
        let fits = |of: &&Measured<'_>| changes.contains(&of.arm.change) && of.ms.len() >= FEWEST;
        let arms: Vec<&Measured<'_>> = all.iter().filter(fits).collect();
        if arms.len() < 2 {
            return None;
        }
        let (us, degrees) = pooled(arms.iter().map(|arm| &arm.us));
        let (ms, _) = pooled(arms.iter().map(|arm| &arm.ms));
        let point = |arm: &&Measured<'_>| {
            let root = count(arm.ms.len() as u64).sqrt();
            let (x, y) = (mean(&arm.us), mean(&arm.ms));
            Point {
                x,
                y,
                x_error: x * us / root,
                y_error: y * (ms / root).max(1e-9),
            }
        };
        let points: Vec<Point> = arms.iter().map(point).collect();
        Some(Self {
            line: fit(&points)?,
            arms,
            points,
            degrees,
        })
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

    /// Whether another line, of other launches but for the first arm's, has another slope beyond both intervals.
    fn differs(&self, other: &Self) -> bool {
        let (own, others) = (self.slope(), other.slope());
        let margin = MARGIN * own.value.abs().max(others.value.abs());
        let known = own.half(Z95).hypot(others.half(Z95));
        (own.value - others.value).abs() > known.max(margin)
    }

    fn result(&self) -> SlopeFit {
        let is_baseline = |arm: &&Measured<'_>| arm.arm.change == Change::Baseline;
        let at = self.arms.iter().position(is_baseline).unwrap_or(0);
        let (line, here) = (self.line, self.points[at]);
        let sent = (line.slope_error * here.x).hypot(line.slope * here.x_error);
        let names = self.arms.iter().map(|of| of.arm.name.clone());
        SlopeFit {
            arms: names.collect(),
            slope: self.slope().range(),
            intercept_ms: self.known(line.intercept, line.intercept_error).range(),
            at: self.arms[at].arm.name.clone(),
            collective_us: self.known(here.x, here.x_error).range(),
            communication_ms: self.known(line.slope * here.x, sent).range(),
        }
    }

    /// The arm that lies so far from the line as no launches' spread puts one in a thousand.
    fn off_the_line(&self) -> Option<&str> {
        let off = self.points.iter().map(|of| self.line.off(of).abs());
        let (off, arm) = off.zip(&self.arms).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let is_off = self.arms.len() > 2 && off > t(Z999, self.degrees);
        is_off.then_some(arm.arm.name.as_str())
    }

    fn verdict(&self, planned: f64) -> SlopeVerdict {
        let undecided = |why: Undecided| SlopeVerdict::Undecided { why };
        if let Some(arm) = self.off_the_line() {
            let arm = arm.to_owned();
            return undecided(Undecided::OffTheLine { arm });
        }
        let (known, slope) = (self.slope(), self.slope().range());
        let half_width = known.half(Z95) / planned;
        if holds(&known, planned) {
            // Not to be told from the plan is not to be equal to it.
            let is_equal =
                planned * (1.0 - EQUAL) <= slope.low && slope.high <= planned * (1.0 + EQUAL);
            return match is_equal {
                true => SlopeVerdict::Follows,
                false => undecided(Undecided::Rough { half_width }),
            };
        }
        let part = |slope: f64| 1.0 - slope / planned;
        match slope.mid < planned {
            true => SlopeVerdict::BelowPlan {
                hidden: Range {
                    low: part(slope.high),
                    mid: part(slope.mid),
                    high: part(slope.low),
                },
            },
            false => SlopeVerdict::AbovePlan,
        }
    }
}

/// Whether the 95% interval holds the planned slope, within [`MARGIN`].
fn holds(slope: &Known, planned: f64) -> bool {
    (slope.value - planned).abs() <= slope.half(Z95) + MARGIN * planned
}

/// Whether the step follows the link.
#[must_use]
pub fn slope(ablation: &Ablation) -> Slope {
    let measured: Vec<Measured<'_>> = ablation.arms.iter().map(Measured::new).collect();
    let planned = f64::from(ablation.planned);
    let through = |changes: &[Change]| {
        let fitted = Fitted::through(&measured, changes);
        fitted.filter(|_| planned > 0.0)
    };
    let links = through(&[Change::Baseline, Change::Link]);
    let delay = through(&[Change::Baseline, Change::Delay]);
    // Where a delay and a link give two slopes, one line through both would be of neither.
    let apart = links.as_ref().zip(delay.as_ref());
    let apart = apart.is_some_and(|(link, delay)| link.differs(delay));
    let fitted = match apart {
        true => links,
        false => through(&[Change::Baseline, Change::Link, Change::Delay]),
    };
    let fit = fitted.as_ref().map(Fitted::result);
    let passes = match &fitted {
        Some(fitted) => fitted.verdict(planned),
        None => SlopeVerdict::Undecided {
            why: no_line(ablation, &measured),
        },
    };
    let few = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let range = |of: &Timed| {
        let (spread, degrees) = pooled(std::iter::once(of));
        let (value, root) = (mean(of), count(of.len() as u64).sqrt());
        let known = Known {
            value,
            error: value * spread / root,
            degrees,
        };
        (!of.is_empty()).then(|| known.range())
    };
    let summary = |of: &Measured<'_>| ArmSummary {
        name: of.arm.name.clone(),
        change: of.arm.change,
        launches: few(of.ms.len()),
        left_out: few(of.arm.launches.len() - of.ms.len()),
        collective_us: range(&of.us),
        step_ms: range(&of.ms),
        fitted: fit
            .as_ref()
            .is_some_and(|fit| fit.arms.contains(&of.arm.name)),
    };
    Slope {
        origin: None,
        engine: ablation.engine.clone(),
        simulated: ablation.simulated.clone(),
        model: ablation.model.clone(),
        tp: ablation.tp,
        batch: ablation.batch,
        planned: ablation.planned,
        passes,
        delay_control: delay.map(|of| DelayControl {
            slope: of.slope().range(),
            follows: holds(&of.slope(), planned),
        }),
        arms: measured.iter().map(summary).collect(),
        fit,
    }
}

fn no_line(ablation: &Ablation, measured: &[Measured<'_>]) -> Undecided {
    if ablation.planned == 0 {
        return Undecided::NothingPlanned;
    }
    let points = measured.iter();
    let points = points.filter(|of| of.arm.change != Change::Other);
    let usable = points.clone().filter(|of| of.ms.len() >= FEWEST).count();
    Undecided::FewArms {
        usable,
        of: points.count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Table of the t distribution: 95% and 97.5% points.
        for (z, degrees, is) in [(Z90, 2.0, 2.920), (Z95, 4.0, 2.776), (Z95, 20.0, 2.086)] {
            let got = t(z, degrees);
            assert!((got / is - 1.0).abs() < 0.01, "{z} {degrees}: {got}");
        }
    }
}
