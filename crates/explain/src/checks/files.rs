//! Whether the files belong together: one model, one machine, all measured or all simulated, both sizes.

use super::compared::{compared, used};
use super::names::{differ, differs_from};
use crate::finding::{Condition, Finding};
use crate::inputs::{Inputs, MEASURED};
use crate::run_shape::RunShape;

/// No GPU reads its memory faster, GB/s.
const FASTEST_MEMORY: f64 = 12_000.0;

pub(super) fn of_files(inputs: &Inputs) -> Vec<Finding> {
    let checks = [
        one_origin(inputs),
        collectives_right(inputs),
        both_sizes(inputs),
        same_model(inputs),
        model_asked(inputs),
        weights_fit(inputs),
        weights_read(inputs),
    ];
    checks.into_iter().flatten().collect()
}

/// Whether measured and simulated files were mixed, or files of two simulated machines.
fn one_origin(inputs: &Inputs) -> Option<Finding> {
    let runs = compared(inputs).map(|run| run.simulated.as_deref());
    let points = inputs.curve.iter().map(|point| point.simulated.as_deref());
    // Nothing simulates a trace.
    let measured = inputs.evidence.trace.iter().map(|_| MEASURED);
    let mut origins: Vec<&str> = runs
        .chain(points)
        .map(|simulated| simulated.unwrap_or(MEASURED))
        .chain(inputs.known.links_of.as_deref())
        .chain(measured)
        .collect();
    origins.sort_unstable();
    origins.dedup();
    let is_measured = origins.contains(&MEASURED);
    let origins: Vec<String> = origins.iter().map(|of| (*of).to_owned()).collect();
    match (origins.len() > 1, is_measured) {
        (false, _) => None,
        (true, true) => Some(Finding::SimulatedMixed { origins }),
        (true, false) => Some(Finding::ConditionsDiffer {
            what: Condition::Machine,
            values: origins,
        }),
    }
}

fn collectives_right(inputs: &Inputs) -> Option<Finding> {
    let wrong = inputs
        .troubles
        .iter()
        .find(|trouble| trouble.is_wrong_data());
    let told = wrong.or(inputs.troubles.first())?;
    Some(Finding::CollectiveTrouble {
        wrong_data: told.is_wrong_data(),
        detail: told.to_string(),
        more: inputs.troubles.len() - 1,
    })
}

fn both_sizes(inputs: &Inputs) -> Option<Finding> {
    let tp = inputs.tp;
    let (one, several) = (inputs.runs(inputs.from()).count(), inputs.runs(tp).count());
    (tp < 2 || one == 0 || several == 0).then_some(Finding::SizeMissing {
        tp,
        runs_of_one: one,
        runs_of_several: if tp < 2 { 0 } else { several },
    })
}

fn same_model(inputs: &Inputs) -> Option<Finding> {
    let mut names: Vec<&str> = used(inputs)
        .filter_map(|run| run.model.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    let (first, others) = names.split_first()?;
    let other = others.iter().any(|other| differ(first, other));
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    other.then_some(Finding::ModelDiffers { names })
}

/// Where a file is of another model than was asked about.
pub(crate) fn model_asked(inputs: &Inputs) -> Option<Finding> {
    let mut names = used(inputs).filter_map(|run| run.model.as_deref());
    let other = names.find(|name| differs_from(&inputs.model, name))?;
    Some(Finding::ModelDiffers {
        names: vec![inputs.model.name.clone(), other.to_owned()],
    })
}

fn weights_fit(inputs: &Inputs) -> Option<Finding> {
    let memory_bytes = inputs.around.memory_bytes?;
    let is_off = inputs.runs(1).count() > 0 && inputs.weights_fit(1) == Some(false);
    let weight_bytes = inputs.model.weight_bytes;
    is_off.then_some(Finding::WeightsTooLarge {
        weight_bytes,
        memory_bytes,
    })
}

fn weights_read(inputs: &Inputs) -> Option<Finding> {
    let bytes = inputs.model.weight_bytes_read(inputs.batch()?);
    let rates = [inputs.from(), inputs.tp].into_iter().flat_map(|tp| {
        let steps = inputs
            .runs(tp)
            .filter_map(|run| RunShape::new(run).rough_step_ms());
        steps.map(move |step| bytes / f64::from(tp) / step / 1e6)
    });
    let gb_per_s = rates.reduce(f64::max)?;
    (gb_per_s >= FASTEST_MEMORY).then_some(Finding::StepTooShort { gb_per_s })
}
