//! What is laid beside the line: one GPU under the same variables, and arms that change more than the link.

use super::arms::Change;
use super::launches::Means;
use super::result::{Beside, NegativeControl};
use super::sample::Sample;
use super::student::{Z99, t};

/// A movement of one GPU below this part of what the fitted steps span does not bend the slope by more.
const MATTERS: f64 = 0.05;

/// A movement that is not known better than this part of it is not known.
const TELLS: f64 = 0.25;

/// The index of the control of each arm, by what it says, else by its name.
fn control_of(sample: &Sample<'_>, arm: usize) -> Option<usize> {
    let name = &sample.arms[arm].arm.name;
    controls(sample).find(|control| controlled(sample, *control) == Some(name))
}

/// Arms of one GPU.
fn controls(sample: &Sample<'_>) -> impl Iterator<Item = usize> {
    let arms = sample.arms.iter().enumerate();
    arms.filter(|(_, of)| of.arm.change == Change::NegativeControl && of.len() > 0)
        .map(|(index, _)| index)
}

/// The name of the arm that a control belongs to; the longest that its own name holds, where it does not say.
fn controlled<'a>(sample: &'a Sample<'_>, control: usize) -> Option<&'a String> {
    let own = &sample.arms[control].arm;
    let names = || {
        let others = sample.arms.iter().map(|of| of.arm);
        others.filter(|arm| arm.change != Change::NegativeControl)
    };
    if let Some(said) = &own.control_of {
        return names().map(|arm| &arm.name).find(|name| *name == said);
    }
    let held = names().filter(|arm| own.name.contains(&arm.name));
    held.map(|arm| &arm.name).max_by_key(|name| name.len())
}

fn baseline(sample: &Sample<'_>) -> Option<usize> {
    let is_baseline =
        |of: &super::launches::Measured<'_>| of.arm.change == Change::Baseline && of.len() > 0;
    sample.arms.iter().position(is_baseline)
}

fn ms_between(of: &[Option<Means>], arm: usize, base: usize) -> Option<f64> {
    Some(of[arm]?.ms - of[base]?.ms)
}

/// Whether one GPU stayed as fast; `span_ms` is what the fitted steps span. Controls of arms that change more than the link are
/// for those.
pub(super) fn negative(sample: &Sample<'_>, span_ms: Option<f64>) -> NegativeControl {
    let is_confounded = |control: &usize| {
        let name = controlled(sample, *control);
        let mut arms = sample.arms.iter().map(|of| of.arm);
        arms.any(|arm| arm.change == Change::Confounded && Some(&arm.name) == name)
    };
    let mut compared: Vec<usize> = controls(sample).filter(|of| !is_confounded(of)).collect();
    let own = baseline(sample).and_then(|arm| control_of(sample, arm));
    let Some(reference) = own.or(compared.first().copied()) else {
        return NegativeControl::NotRun;
    };
    compared.retain(|of| *of != reference);
    let (mut most, mut unclear) = (0.0f64, None);
    for control in &compared {
        let change = |means: &[Option<Means>]| ms_between(means, *control, reference);
        let arms = [*control, reference];
        let (Some((ms, error)), Some(range)) = (sample.error(change), sample.range(&arms, change))
        else {
            continue;
        };
        let arm = sample.arms[*control].arm.name.clone();
        let half = t(Z99, sample.degrees(&arms, change)) * error;
        let span = span_ms.unwrap_or(0.0);
        if ms.abs() > half && ms.abs() > MATTERS * span {
            return NegativeControl::Moved { arm, ms: range };
        }
        if half > TELLS * span || arms.iter().any(|index| sample.arms[*index].len() < 2) {
            unclear = Some(NegativeControl::Unclear { arm, ms: range });
        }
        most = most.max(ms.abs());
    }
    if compared.is_empty() {
        return NegativeControl::NotRun;
    }
    unclear.unwrap_or(NegativeControl::Still {
        arms: u32::try_from(compared.len() + 1).unwrap_or(u32::MAX),
        most_ms: most,
    })
}

/// Arms that change more than the link, against the box as it is.
pub(super) fn beside(sample: &Sample<'_>, planned: f64) -> Vec<Beside> {
    let Some(base) = baseline(sample) else {
        return Vec::new();
    };
    let one_of_base = control_of(sample, base);
    let confounded = |index: &usize| {
        let of = &sample.arms[*index];
        of.arm.change == Change::Confounded && of.len() > 0
    };
    let against = |arm: usize| {
        let step = |means: &[Option<Means>]| ms_between(means, arm, base);
        let collectives =
            |means: &[Option<Means>]| Some(planned * (means[arm]?.us? - means[base]?.us?) / 1e3);
        let ones = control_of(sample, arm).zip(one_of_base);
        let one = |means: &[Option<Means>]| {
            let (with, without) = ones?;
            ms_between(means, with, without)
        };
        let all: Vec<usize> = [
            Some(arm),
            Some(base),
            ones.map(|of| of.0),
            ones.map(|of| of.1),
        ]
        .into_iter()
        .flatten()
        .collect();
        Some(Beside {
            arm: sample.arms[arm].arm.name.clone(),
            step_ms: sample.range(&[arm, base], step)?,
            collectives_ms: sample.range(&[arm, base], collectives),
            one_gpu_ms: sample.range(&all, one),
            difference_ms: sample.range(&all, |means| Some(step(means)? - one(means)?)),
        })
    };
    let arms = (0..sample.arms.len()).filter(confounded);
    arms.filter_map(against).collect()
}
