//! What is laid beside the line: one GPU under the same variables, and arms that change more than the link.

use super::arms::Change;
use super::launches::{Known, Measured};
use super::result::{Beside, NegativeControl};
use super::student::{Z99, t};

/// A move of one GPU by less of the span of the fitted steps than this matters to nobody.
const MATTERS: f64 = 0.05;

/// Known to less of it than this a control tells.
const TELLS: f64 = 0.25;

/// The one-GPU arm that controls another one.
fn control_of<'a>(all: &'a [Measured<'a>], arm: &Measured<'_>) -> Option<&'a Measured<'a>> {
    controls(all).find(|control| controlled(all, control) == Some(&arm.arm.name))
}

fn controls<'a>(all: &'a [Measured<'a>]) -> impl Iterator<Item = &'a Measured<'a>> {
    all.iter()
        .filter(|of| of.arm.change == Change::NegativeControl && of.len() > 0)
}

/// The arm that a one-GPU arm controls: the one it says, else the longest name that its own holds.
fn controlled<'a>(all: &'a [Measured<'a>], control: &Measured<'_>) -> Option<&'a String> {
    let mut names = all
        .iter()
        .map(|of| of.arm)
        .filter(|arm| arm.change != Change::NegativeControl)
        .map(|arm| &arm.name);
    if let Some(said) = &control.arm.control_of {
        return names.find(|name| *name == said);
    }
    let held = names.filter(|name| control.arm.name.contains(*name));
    held.max_by_key(|name| name.len())
}

fn baseline<'a>(all: &'a [Measured<'a>]) -> Option<&'a Measured<'a>> {
    all.iter()
        .find(|of| of.arm.change == Change::Baseline && of.len() > 0)
}

/// Whether one GPU, which sends nothing, stands still under the variables of the arms. `span_ms` is that of the fitted steps.
pub(super) fn negative(all: &[Measured<'_>], span_ms: Option<f64>) -> NegativeControl {
    let is_confounded = |control: &&Measured<'_>| {
        let name = controlled(all, control);
        all.iter()
            .any(|of| of.arm.change == Change::Confounded && Some(&of.arm.name) == name)
    };
    let mut compared: Vec<&Measured<'_>> = controls(all).filter(|of| !is_confounded(of)).collect();
    let own = baseline(all).and_then(|arm| control_of(all, arm));
    let Some(reference) = own.or(compared.first().copied()) else {
        return NegativeControl::NotRun;
    };
    compared.retain(|of| of.arm.name != reference.arm.name);
    let (mut most_ms, mut unclear) = (0.0f64, None);
    for control in &compared {
        let Some(moved) = Known::sum(&[(1.0, &control.ms), (-1.0, &reference.ms)]) else {
            continue;
        };
        let (arm, ms) = (control.arm.name.clone(), moved.range());
        let half = t(Z99, moved.degrees) * moved.error;
        let (by, span) = (moved.value.abs(), span_ms.unwrap_or(0.0));
        if by > half && by > MATTERS * span {
            return NegativeControl::Moved { arm, ms };
        }
        if half > TELLS * span || control.len().min(reference.len()) < 2 {
            unclear = Some(NegativeControl::Unclear { arm, ms });
        }
        most_ms = most_ms.max(by);
    }
    if compared.is_empty() {
        return NegativeControl::NotRun;
    }
    unclear.unwrap_or(NegativeControl::Still {
        arms: u32::try_from(compared.len() + 1).unwrap_or(u32::MAX),
        most_ms,
    })
}

/// Arms that change more than the link, against the baseline, with what one GPU has of it taken off.
pub(super) fn beside(all: &[Measured<'_>], planned: f64) -> Vec<Beside> {
    let Some(base) = baseline(all) else {
        return Vec::new();
    };
    let one_of_base = control_of(all, base);
    let against = |arm: &Measured<'_>| {
        let step = [(1.0, &arm.ms[..]), (-1.0, &base.ms)];
        let each = planned / 1e3;
        let collectives = Known::sum(&[(each, &arm.us), (-each, &base.us)]);
        let ones = control_of(all, arm).zip(one_of_base);
        let one = ones.map(|(with, without)| [(1.0, &with.ms[..]), (-1.0, &without.ms)]);
        let difference = one.and_then(|[with, without]| {
            Known::sum(&[step[0], step[1], (-1.0, with.1), (1.0, without.1)])
        });
        Some(Beside {
            arm: arm.arm.name.clone(),
            step_ms: Known::sum(&step)?.range(),
            collectives_ms: collectives.map(|of| of.range()),
            one_gpu_ms: one.and_then(|one| Known::sum(&one)).map(|of| of.range()),
            difference_ms: difference.map(|of| of.range()),
        })
    };
    all.iter()
        .filter(|of| of.arm.change == Change::Confounded && of.len() > 0)
        .filter_map(against)
        .collect()
}
