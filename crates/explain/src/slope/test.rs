//! The test: is the slope of the step over collective time the planned number of collectives?
//!
//! Arms are points. What launches of an arm differ by is one relative spread of all of them, and the line's errors follow from it
//! (York's fit) with Student's t for so many launches.

use super::arms::{Ablation, Change};
use super::controls;
use super::fitted::Fitted;
use super::launches::{FEWEST, Known, Measured, Timed};
use super::result::{ArmSummary, LateLaunches, Slope, SlopeCaveat};
use super::verdict::verdict;

/// An arm whose name is this share of the slope bears it alone.
const BEARS: f64 = 0.9;

/// Whether the step follows the link.
#[must_use]
pub fn slope(ablation: &Ablation) -> Slope {
    let measured: Vec<Measured<'_>> = ablation.arms.iter().map(Measured::new).collect();
    let mut caveats = left_out(&measured);
    let of = |changes: &[Change]| -> Vec<&Measured<'_>> {
        let fits = |of: &&Measured<'_>| changes.contains(&of.arm.change) && of.len() >= FEWEST;
        measured.iter().filter(fits).collect()
    };
    let planned = f64::from(ablation.planned);
    let all = of(&[Change::Baseline, Change::Link, Change::Delay]);
    let links = of(&[Change::Baseline, Change::Link]);
    let delays = of(&[Change::Baseline, Change::Delay]);
    let delay = line(&delays, planned).filter(|_| delays.len() > of(&[Change::Baseline]).len());
    // Where a delay and a link give two slopes, one line through both would be of neither.
    let apart = line(&links, planned)
        .zip(delay.as_ref())
        .is_some_and(|(link, delay)| link.differs(delay));
    if apart {
        caveats.push(SlopeCaveat::TwoSlopes);
    }
    let chosen = if apart { &links } else { &all };
    let fitted = line(chosen, planned);
    let span = fitted.as_ref().map(|fitted| fitted.step_span_ms());
    let delay_control = delay.as_ref().map(|of| of.control(planned));
    let negative_control = controls::negative(&measured, span);
    let fit = fitted.as_ref().map(|of| of.result(planned));
    let late = LateLaunches {
        left_out: measured.iter().map(|of| of.late).sum(),
        of: ablation.arms.iter().map(|arm| arm.launches.len()).sum(),
    };
    let passes = verdict(
        ablation,
        &measured,
        fit.as_ref(),
        delay_control.as_ref(),
        &negative_control,
    );
    if let Some(of) = &fit {
        if of.arms.len() == 2 {
            caveats.push(SlopeCaveat::TwoArms);
        } else if of.leverage.1 >= BEARS {
            let (arm, share) = of.leverage.clone();
            caveats.push(SlopeCaveat::OneArmBears { arm, share });
        }
    }
    let range = |of: &[Timed]| Known::sum(&[(1.0, of)]).map(|of| of.range());
    let summary = |of: &Measured<'_>| ArmSummary {
        name: of.arm.name.clone(),
        change: of.arm.change,
        launches: u32::try_from(of.len()).unwrap_or(u32::MAX),
        collective_us: range(&of.us),
        step_ms: range(&of.ms),
        fitted: fit.is_some() && chosen.iter().any(|arm| arm.arm.name == of.arm.name),
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
        negative_control,
        delay_control,
        beside: controls::beside(&measured, planned),
        arms: measured.iter().map(summary).collect(),
        fit,
        caveats,
        late: (late.left_out > 0).then_some(late),
    }
}

fn line<'a>(arms: &[&'a Measured<'a>], planned: f64) -> Option<Fitted<'a>> {
    Fitted::new(arms).filter(|_| planned > 0.0)
}

fn left_out(measured: &[Measured<'_>]) -> Vec<SlopeCaveat> {
    let mut caveats = Vec::new();
    for of in measured {
        let arm = || of.arm.name.clone();
        if of.late > 0 {
            caveats.push(SlopeCaveat::LateLaunches {
                arm: arm(),
                launches: of.late,
            });
        }
        if of.unusable > 0 {
            caveats.push(SlopeCaveat::UnusableLaunches {
                arm: arm(),
                launches: of.unusable,
            });
        }
        let is_point = matches!(
            of.arm.change,
            Change::Baseline | Change::Link | Change::Delay
        );
        if is_point && of.len() < FEWEST {
            caveats.push(SlopeCaveat::FewLaunches {
                arm: arm(),
                launches: of.len(),
            });
        }
    }
    caveats
}
