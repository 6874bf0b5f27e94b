//! What is said of a line: that the step follows the link, follows it less or more, or that the arms do not tell.

use measure::stats::Interval;

use super::arms::{Ablation, Change};
use super::fitted::Fitted;
use super::launches::{FEWEST, Measured, count};
use super::result::{DelayControl, NegativeControl, SlopeFit, SlopeVerdict};
use super::student::f99;

/// A slope that is off by less is as planned, however well it is known.
pub(super) const MARGIN: f64 = 0.02;

/// Half of a 95% interval, over the planned slope, beyond which nothing is decided.
const WIDEST: f64 = 0.25;

/// A step follows where its whole 90% interval lies within this part of the planned slope: 15% of overlap is no rarity.
const EQUAL: f64 = 0.15;

/// How far above the 99% point of F a mean squared distance from the line must lie, since it has errors of its own.
const BEYOND: f64 = 1.2;

/// Whether the interval holds the planned slope, within [`MARGIN`].
pub(super) fn holds(interval: &Interval, planned: f64) -> bool {
    interval.low <= planned * (1.0 + MARGIN) && planned * (1.0 - MARGIN) <= interval.high
}

pub(super) fn verdict(
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
    let limit = farthest(fit.arms.len(), fit.launches);
    if let Some(chi) = fit.residual.reduced_chi_square.filter(|chi| *chi > limit) {
        return undecided(format!(
            "the arms do not lie on one line (mean squared distance {chi:.0} times what launches differ by, beyond {limit:.0}, which chance reaches in less than one of a hundred): {} lies farthest off, so it changes more than the link or the engine took another path in it than was timed; run it again, or leave it out",
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

/// Mean squared distance from a line through so many arms, in standard errors, beyond which they do not lie on one. Few launches
/// tell their own spread so roughly that chance alone puts an arm far off: 6 for five arms of five launches, 17 for three of three.
fn farthest(arms: usize, launches: u32) -> f64 {
    let within = f64::from(launches) - count(arms);
    BEYOND * f99(count(arms) - 2.0, within)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewer_launches_the_farther_off_a_line_chance_puts_an_arm() {
        // 1.2 times the 99% points of F(3, 20), 4.94, and of F(1, 6), 13.7.
        assert!((farthest(5, 25) - 5.93).abs() < 0.2);
        assert!((farthest(3, 9) - 16.5).abs() < 0.5);
    }
}
