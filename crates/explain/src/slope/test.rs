//! The test: is the slope of the step over collective time the planned number of collectives?
//!
//! Arms are points, launches are what is drawn again (a cluster bootstrap): launches of one arm share its place on the axis, and
//! steps of one launch its clocks and placement. That errors of both axes go together within a launch is not assumed away: a launch
//! is drawn whole.

use super::arms::{Ablation, Change};
use super::controls;
use super::fitted::Fitted;
use super::launches::{FEWEST, Measured};
use super::result::{ArmSummary, LateLaunches, Slope, SlopeCaveat};
use super::sample::Sample;
use super::verdict::verdict;

/// An arm whose name is this share of the slope bears it alone.
const BEARS: f64 = 0.9;

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
        caveats.push(SlopeCaveat::TwoSlopes);
    }
    let chosen = if apart { &links } else { &all };
    let fitted = line(chosen);
    let span = fitted.as_ref().map(|fitted| fitted.step_span_ms());
    let delay_control = delay.as_ref().map(|of| of.control(planned));
    let negative_control = controls::negative(&sample, span);
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
    let summary = |(index, arm): (usize, &Measured<'_>)| ArmSummary {
        name: arm.arm.name.clone(),
        change: arm.arm.change,
        launches: u32::try_from(arm.len()).unwrap_or(u32::MAX),
        collective_us: sample.range(&[index], |means| means[index]?.us),
        step_ms: sample.range(&[index], |means| Some(means[index]?.ms)),
        fitted: fit.is_some() && chosen.contains(&index),
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
        beside: controls::beside(&sample, planned),
        arms: measured.iter().enumerate().map(summary).collect(),
        fit,
        caveats,
        late: (late.left_out > 0).then_some(late),
        seed,
        draws: draws.max(1),
    }
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
