//! What is said of a line: that the step follows the link, follows it less or more, or that the arms do not tell.

use stats::Interval;

use super::arms::{Ablation, Change};
use super::launches::{FEWEST, Measured, count};
use super::result::{BelowCause, DelayControl, NegativeControl, SlopeFit, SlopeVerdict, Undecided};
use super::student::f99;
use crate::range::Range;

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
    fit: Option<&SlopeFit>,
    delay: Option<&DelayControl>,
    negative: &NegativeControl,
) -> SlopeVerdict {
    let undecided = |why: Undecided| SlopeVerdict::Undecided { why };
    let Some(fit) = fit else {
        return undecided(no_line(ablation, measured));
    };
    if let NegativeControl::Moved { arm, ms } = negative {
        return undecided(Undecided::OneGpuMoved {
            arm: arm.clone(),
            ms: *ms,
        });
    }
    let planned = f64::from(ablation.planned);
    let ratio = fit.slope.mid / planned;
    let limit = farthest(fit.arms.len(), fit.launches);
    if let Some(chi_square) = fit.residual.reduced_chi_square.filter(|chi| *chi > limit) {
        return undecided(Undecided::OffTheLine {
            arm: fit.residual.worst.clone(),
            chi_square,
        });
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
        return undecided(Undecided::Rough {
            half_width: fit.power.half_width,
            launches: fit.power.launches_for_tenth,
        });
    }
    let slope = fit.slope;
    if ratio < 1.0 {
        let part = |slope: f64| 1.0 - slope / planned;
        SlopeVerdict::BelowPlan {
            cause: match delay {
                Some(delay) if delay.follows => BelowCause::OtherPath,
                Some(_) => BelowCause::Overlap,
                None => BelowCause::OverlapOrOtherPath,
            },
            hidden: Range {
                low: part(slope.high),
                mid: part(slope.mid),
                high: part(slope.low),
            },
        }
    } else {
        SlopeVerdict::AbovePlan {
            is_of_several: matches!(negative, NegativeControl::Still { .. }),
            extra: Range {
                low: slope.low - planned,
                mid: slope.mid - planned,
                high: slope.high - planned,
            },
        }
    }
}

/// Mean squared distance from a line through so many arms, in standard errors, beyond which they do not lie on one. Few launches
/// tell their own spread so roughly that chance alone puts an arm far off: 6 for five arms of five launches, 17 for three of three.
fn farthest(arms: usize, launches: u32) -> f64 {
    let within = f64::from(launches) - count(arms);
    BEYOND * f99(count(arms) - 2.0, within)
}

fn no_line(ablation: &Ablation, measured: &[Measured<'_>]) -> Undecided {
    if ablation.planned == 0 {
        return Undecided::NothingPlanned;
    }
    let is_point = |of: &&Measured<'_>| {
        matches!(
            of.arm.change,
            Change::Baseline | Change::Link | Change::Delay
        )
    };
    let of = measured.iter().filter(is_point).count();
    let usable = measured
        .iter()
        .filter(is_point)
        .filter(|of| of.len() >= FEWEST)
        .count();
    match usable < 2 {
        true => Undecided::FewArms { usable, of },
        false => Undecided::SameTimes,
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
