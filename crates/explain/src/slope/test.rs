//! The test: is the slope of the step over collective time the planned number of collectives?
//!
//! Arms are points, launches are what is drawn again (a cluster bootstrap): launches of one arm share its place on the axis, and
//! steps of one launch its clocks and placement. That errors of both axes go together within a launch is not assumed away: a launch
//! is drawn whole.

use measure::stats::Interval;

use super::arms::{Ablation, Change};
use super::controls;
use super::launches::{FEWEST, Means, Measured, Spreads, count};
use super::line::{Line, Point, fit, leverages};
use super::result::{
    ArmSummary, DelayControl, NegativeControl, Power, Residual, Slope, SlopeFit, SlopeVerdict,
};
use super::student::{Z90, Z95, t};
use crate::random::Random;
use crate::range::Range;

/// Microseconds of a millisecond: a slope in ms over us is so many times smaller than the number of collectives.
const US_OF_MS: f64 = 1e3;

/// A slope that is off by less is as planned, however well it is known.
const MARGIN: f64 = 0.02;

/// Half of a 95% interval, over the planned slope, beyond which nothing is decided.
const WIDEST: f64 = 0.25;

/// A step follows where its whole 90% interval lies within this part of the planned slope: 15% of overlap is no rarity.
const EQUAL: f64 = 0.15;

/// Mean squared distance from the line, in standard errors, beyond which arms do not lie on one: the 99% point of F for 3 and 20
/// degrees of freedom is 4.9, and the distance's own error makes it wider.
const NO_LINE: f64 = 6.0;

/// An arm whose name is this share of the slope bears it alone.
pub(super) const BEARS: f64 = 0.9;

/// Whether the step follows the link; the same ablation, seed and number of draws give the same result.
#[must_use]
pub fn slope(ablation: &Ablation, seed: u64, draws: u32) -> Slope {
    let measured: Vec<Measured<'_>> = ablation.arms.iter().map(Measured::new).collect();
    let mut caveats = left_out(&measured);
    let sample = Sample::draw(&measured, seed, draws.max(1));
    let of = |changes: &[Change]| -> Vec<usize> {
        let fits = |of: &Measured<'_>| changes.contains(&of.arm.change) && of.len() >= FEWEST;
        let arms = measured.iter().enumerate();
        arms.filter(|(_, arm)| fits(arm))
            .map(|(index, _)| index)
            .collect()
    };
    let planned = f64::from(ablation.planned);
    let all = of(&[Change::Baseline, Change::Link, Change::Delay]);
    let links = of(&[Change::Baseline, Change::Link]);
    let delays = of(&[Change::Baseline, Change::Delay]);
    let line = |arms: &[usize]| Fitted::new(&sample, arms, planned);
    let delay =
        line(&delays).filter(|_| delays.len() >= 2 && delays.len() > of(&[Change::Baseline]).len());
    // Where a delay and a link give two slopes, one line through both would be of neither.
    let apart = line(&links)
        .filter(|_| links.len() >= 2)
        .zip(delay.as_ref())
        .is_some_and(|(link, delay)| link.differs(delay));
    if apart {
        caveats.push(
            "arms that change the link and arms that add a delay give two slopes: the line is through the former"
                .to_owned(),
        );
    }
    let chosen = if apart { &links } else { &all };
    let fitted = line(chosen);
    let span = fitted.as_ref().map(|fitted| fitted.step_span_ms());
    let delay_control = delay.as_ref().map(|of| of.control(planned));
    let negative_control = controls::negative(&sample, span);
    let fit = fitted.as_ref().map(|of| of.result(planned));
    let passes = verdict(
        ablation,
        &measured,
        fitted.as_ref(),
        fit.as_ref(),
        delay_control.as_ref(),
        &negative_control,
    );
    if let Some(of) = &fit {
        if of.arms.len() == 2 {
            caveats.push("two arms: a line goes through any two points, so that nothing tells whether the step follows in proportion".to_owned());
        } else if of.leverage.1 >= BEARS {
            caveats.push(format!(
                "{:.0}% of the slope rests on the arm {}: another arm as far out would confirm it",
                of.leverage.1 * 100.0,
                of.leverage.0
            ));
        }
    }
    let summary = |(index, arm): (usize, &Measured<'_>)| ArmSummary {
        name: arm.arm.name.clone(),
        change: arm.arm.change,
        launches: u32::try_from(arm.len()).unwrap_or(u32::MAX),
        collective_us: sample.range(&[index], |means| means[index]?.us),
        step_ms: sample.range(&[index], |means| Some(means[index]?.ms)),
        fitted: fit.is_some() && chosen.contains(&index),
    };
    Slope {
        simulated: ablation.simulated.clone(),
        model: ablation.model.clone(),
        tp: ablation.tp,
        batch: ablation.batch,
        planned: ablation.planned,
        passes,
        negative_control,
        delay_control,
        beside: controls::beside(&sample, planned),
        arms: measured.iter().enumerate().map(summary).collect(),
        fit,
        caveats,
        seed,
        draws: draws.max(1),
    }
}

fn left_out(measured: &[Measured<'_>]) -> Vec<String> {
    let mut words = Vec::new();
    for of in measured {
        let name = &of.arm.name;
        if of.unusable > 0 {
            words.push(format!(
                "{} launches of the arm {name} have no usable time: left out",
                of.unusable
            ));
        }
        let is_point = matches!(
            of.arm.change,
            Change::Baseline | Change::Link | Change::Delay
        );
        if is_point && of.len() < FEWEST {
            words.push(format!(
                "the arm {name} has {} usable launches and is left out: {FEWEST} or more show what launches differ by",
                of.len()
            ));
        }
    }
    words
}

/// Means of every arm as measured, and as often as asked drawn again.
pub(super) struct Sample<'a> {
    pub(super) arms: &'a [Measured<'a>],
    pub(super) means: Vec<Option<Means>>,
    again: Vec<Vec<Option<Means>>>,
}

impl<'a> Sample<'a> {
    fn draw(arms: &'a [Measured<'a>], seed: u64, draws: u32) -> Self {
        let mut random = Random::new(seed);
        Self {
            arms,
            means: arms.iter().map(Measured::means).collect(),
            again: (0..draws)
                .map(|_| arms.iter().map(|arm| arm.again(&mut random)).collect())
                .collect(),
        }
    }

    /// Launches of these arms less one each, which is what their spread is known by.
    pub(super) fn degrees(&self, arms: &[usize]) -> f64 {
        let each = arms
            .iter()
            .map(|index| count(self.arms[*index].len()) - 1.0);
        each.sum::<f64>().max(1.0)
    }

    /// A quantity as measured, and of every draw.
    fn values(&self, of: impl Fn(&[Option<Means>]) -> Option<f64>) -> Option<(f64, Vec<f64>)> {
        let own = of(&self.means)?;
        let values: Vec<f64> = self.again.iter().filter_map(|means| of(means)).collect();
        (values.len() * 10 >= self.again.len() * 9).then_some((own, values))
    }

    /// A quantity of the means of these arms.
    pub(super) fn range(
        &self,
        arms: &[usize],
        of: impl Fn(&[Option<Means>]) -> Option<f64>,
    ) -> Option<Range> {
        let (own, values) = self.values(of)?;
        ninety(own, &values, self.degrees(arms))
    }

    /// A difference and its standard error, ms or us.
    pub(super) fn error(&self, of: impl Fn(&[Option<Means>]) -> Option<f64>) -> Option<(f64, f64)> {
        let (own, values) = self.values(of)?;
        let squares: f64 = values.iter().map(|value| (value - own).powi(2)).sum();
        Some((own, (squares / count(values.len())).sqrt()))
    }
}

/// The 5% and 95% quantiles around what was measured, widened by what few launches do not show of their own spread.
fn ninety(own: f64, values: &[f64], degrees: f64) -> Option<Range> {
    let of = Range::of(values)?;
    let wider = t(Z90, degrees) / Z90;
    Some(Range {
        low: own + (of.low - own) * wider,
        mid: own,
        high: own + (of.high - own) * wider,
    })
}

/// The 2.5% and 97.5% quantiles, likewise.
fn ninety_five(own: f64, values: &[f64], degrees: f64) -> Option<Interval> {
    let quantile = |fraction| measure::stats::percentile(values, fraction);
    let wider = t(Z95, degrees) / Z95;
    let at = |value: f64| own + (value - own) * wider;
    Some(Interval {
        low: at(quantile(0.025)?),
        high: at(quantile(0.975)?),
        level: 0.95,
    })
}

/// A line through some arms with all that was drawn of it.
struct Fitted<'a> {
    sample: &'a Sample<'a>,
    arms: Vec<usize>,
    points: Vec<Point>,
    line: Line,
    lines: Vec<(Line, f64)>,
    spreads: Spreads,
    /// The place of the arm in `points` that communication is told of.
    at: usize,
    slope: Range,
    slope_95: Interval,
}

impl<'a> Fitted<'a> {
    fn new(sample: &'a Sample<'a>, arms: &[usize], planned: f64) -> Option<Self> {
        if arms.len() < 2 {
            return None;
        }
        let measured: Vec<&Measured<'_>> = arms.iter().map(|index| &sample.arms[*index]).collect();
        let spreads = Spreads::of(&measured);
        let own = points(&sample.means, sample, arms, spreads)?;
        let line = fit(&own)?;
        let is_baseline = |index: &usize| sample.arms[*index].arm.change == Change::Baseline;
        let at = arms.iter().position(is_baseline).unwrap_or(0);
        let again = sample.again.iter().filter_map(|means| {
            let points = points(means, sample, arms, spreads)?;
            Some((fit(&points)?, points[at].x))
        });
        let lines: Vec<(Line, f64)> = again.collect();
        let slopes: Vec<f64> = lines
            .iter()
            .map(|(line, _)| line.slope * US_OF_MS)
            .collect();
        let (own_slope, degrees) = (line.slope * US_OF_MS, sample.degrees(arms));
        // Draws without a line would narrow what is left.
        if lines.len() * 10 < sample.again.len() * 9 || planned <= 0.0 {
            return None;
        }
        Some(Self {
            slope: ninety(own_slope, &slopes, degrees)?,
            slope_95: ninety_five(own_slope, &slopes, degrees)?,
            sample,
            arms: arms.to_vec(),
            points: own,
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
    fn step_span_ms(&self) -> f64 {
        let ms = || self.points.iter().map(|of| of.y);
        ms().fold(f64::MIN, f64::max) - ms().fold(f64::MAX, f64::min)
    }

    /// Whether another line, of other launches but for the first arm's, has another slope beyond both intervals.
    fn differs(&self, other: &Self) -> bool {
        let half = |of: &Interval| (of.high - of.low) / 2.0;
        let apart = (self.slope.mid - other.slope.mid).abs();
        let margin = MARGIN * self.slope.mid.abs().max(other.slope.mid.abs());
        apart
            > half(&self.slope_95)
                .hypot(half(&other.slope_95))
                .max(margin)
    }

    fn control(&self, planned: f64) -> DelayControl {
        DelayControl {
            slope: self.slope,
            slope_95: self.slope_95,
            follows: holds(&self.slope_95, planned),
        }
    }

    fn result(&self, planned: f64) -> SlopeFit {
        let degrees = self.sample.degrees(&self.arms);
        let range = |own: f64, of: &dyn Fn(&(Line, f64)) -> f64| {
            let values: Vec<f64> = self.lines.iter().map(of).collect();
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
            power: self.power(planned, degrees),
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
    fn power(&self, planned: f64, degrees: f64) -> Power {
        let expected = planned / US_OF_MS;
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

/// Whether the interval holds the planned slope, within [`MARGIN`].
fn holds(interval: &Interval, planned: f64) -> bool {
    interval.low <= planned * (1.0 + MARGIN) && planned * (1.0 - MARGIN) <= interval.high
}

fn verdict(
    ablation: &Ablation,
    measured: &[Measured<'_>],
    fitted: Option<&Fitted<'_>>,
    fit: Option<&SlopeFit>,
    delay: Option<&DelayControl>,
    negative: &NegativeControl,
) -> SlopeVerdict {
    let undecided = |why: String| SlopeVerdict::Undecided { why };
    let (Some(fitted), Some(fit)) = (fitted, fit) else {
        return undecided(no_line(ablation, measured));
    };
    if let NegativeControl::Moved { arm, ms } = negative {
        return undecided(format!(
            "one GPU, which has no collectives, moved by {} ms in the arm {arm}: its variables change more than the link, so that no slope is owed to links; find arms that leave one GPU alone",
            ms.with_decimals(2)
        ));
    }
    let planned = f64::from(ablation.planned);
    let ratio = fit.slope.mid / planned;
    if let Some(chi) = fit.residual.reduced_chi_square.filter(|chi| *chi > NO_LINE) {
        return undecided(format!(
            "the arms do not lie on one line (mean squared distance {chi:.0} times what launches differ by): {} lies farthest off, so it changes more than the link or the engine took another path in it than was timed; run it again, or leave it out",
            fit.residual.worst
        ));
    }
    let is_wide = fit.power.half_width > WIDEST
        || fit.slope_95.high - fit.slope_95.low > 2.0 * WIDEST * planned;
    if holds(&fit.slope_95, planned) {
        // Not to be told from the plan is not to be equal to it.
        let is_equal =
            planned * (1.0 - EQUAL) <= fit.slope.low && fit.slope.high <= planned * (1.0 + EQUAL);
        if is_equal && !is_wide {
            return SlopeVerdict::Follows;
        }
        let xs = || fitted.points.iter().map(|of| of.x);
        return undecided(format!(
            "arms whose collectives take {:.1} to {:.1} us tell the slope to {:.0}% only: choose arms farther apart, such as a delay, or run {} launches an arm",
            xs().fold(f64::MAX, f64::min),
            xs().fold(f64::MIN, f64::max),
            fit.power.half_width * 100.0,
            fit.power.launches_for_tenth
        ));
    }
    if ratio < 1.0 {
        SlopeVerdict::BelowPlan {
            why: below(fit, planned, delay),
        }
    } else {
        SlopeVerdict::AbovePlan {
            why: above(fit, planned, negative),
        }
    }
}

fn no_line(ablation: &Ablation, measured: &[Measured<'_>]) -> String {
    if ablation.planned == 0 {
        return "the plan has no all-reduce: there is nothing to follow".to_owned();
    }
    let is_point = |of: &&Measured<'_>| {
        matches!(
            of.arm.change,
            Change::Baseline | Change::Link | Change::Delay
        )
    };
    let all = measured.iter().filter(is_point).count();
    let usable = measured.iter().filter(is_point);
    let usable = usable.filter(|of| of.len() >= FEWEST).count();
    if usable < 2 {
        return format!(
            "{usable} of {all} arms that change only the link have {FEWEST} usable launches or more: run two or more such arms, 5 launches each"
        );
    }
    "all arms have the same collective time: choose arms that change it, such as another GPU pair or a delay".to_owned()
}

fn below(fit: &SlopeFit, planned: f64, delay: Option<&DelayControl>) -> String {
    let part = |slope: f64| (1.0 - slope / planned) * 100.0;
    let hidden = format!(
        "{:.0}% [{:.0}, {:.0}]",
        part(fit.slope.mid),
        part(fit.slope.high),
        part(fit.slope.low)
    );
    match delay {
        Some(delay) if delay.follows => format!(
            "another path than the bench timed: the step pays a known delay in full, and {hidden} less than the link's collectives differ by; look which path the engine takes in each arm"
        ),
        Some(_) => format!(
            "overlap: {hidden} of what collectives take longer is hidden behind other work, and of a known delay, too"
        ),
        None => format!(
            "overlap, or another path than the bench timed: {hidden} of what collectives take longer does not show in the step; an arm with a delay tells which"
        ),
    }
}

fn above(fit: &SlopeFit, planned: f64, negative: &NegativeControl) -> String {
    let extra = format!(
        "{:.0} us [{:.0}, {:.0}] of step for each microsecond of a collective beyond the {planned:.0} that are planned",
        fit.slope.mid - planned,
        fit.slope.low - planned,
        fit.slope.high - planned
    );
    match negative {
        NegativeControl::Still { .. } => format!(
            "skew between ranks, or a confounder that needs several GPUs: {extra}, while one GPU did not move"
        ),
        _ => format!(
            "a confounder: the host (NUMA placement, launches) or skew between ranks changes with the link, {extra}; run the arms with one GPU as a negative control"
        ),
    }
}
