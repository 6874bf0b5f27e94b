//! Whether the files that a prediction starts from agree with each other and with the load that is asked about.
//!
//! It reads no file, and what is missing is not its business.

use import::ServeRun;

use super::inputs::PredictInputs;
use super::result::PredictError;
use crate::checks::{TOLERANCE, findings, model_asked};
use crate::finding::Finding;
use crate::inputs::{Inputs, MEASURED};
use crate::run_shape::RunShape;

pub(super) fn check(inputs: &PredictInputs) -> Result<Vec<Finding>, PredictError> {
    let of_one = Inputs {
        tp: 1,
        ..inputs.base.clone()
    };
    let file = of_one
        .runs(1)
        .next()
        .map_or_else(String::new, |run| run.origin.clone());
    let mut found: Vec<Finding> = of_runs(&of_one, file)?;
    found.extend(model_asked(&of_one));
    for half in &inputs.half {
        let of_half = Inputs {
            serve: vec![(1, half.clone())],
            ..of_one.clone()
        };
        // What is known of the whole model does not hold of the shard, and the run's own findings do.
        let own = of_runs(&of_half, half.origin.clone())?;
        found.extend(own.into_iter().filter(|of| {
            !matches!(
                of,
                Finding::WeightsTooLarge { .. } | Finding::StepTooShort { .. }
            )
        }));
        let all = of_one.serve.iter().map(|(_, run)| run.simulated.as_deref());
        let curve = of_one.curve.iter().map(|point| point.simulated.as_deref());
        let own = half.simulated.as_deref().unwrap_or(MEASURED);
        let mut others = all.chain(curve).map(|of| of.unwrap_or(MEASURED));
        if let Some(other) = others.find(|other| *other != own) {
            let origins = vec![own.to_owned(), other.to_owned()];
            return Err(PredictError::Refused {
                file: half.origin.clone(),
                finding: Box::new(Finding::SimulatedMixed { origins }),
            });
        }
    }
    let mut runs = inputs.base.runs(1).chain(&inputs.half);
    runs.try_for_each(|run| same_load(inputs, run))?;
    let unnamed = inputs
        .base
        .runs(1)
        .chain(&inputs.half)
        .filter(|run| run.model.is_none());
    found.extend(unnamed.map(|run| Finding::ModelNotNamed {
        origin: run.origin.clone(),
    }));
    Ok(found)
}

/// What is found of one size by itself, which is all that a prediction starts from.
fn of_runs(inputs: &Inputs, file: String) -> Result<Vec<Finding>, PredictError> {
    let mut found = findings(inputs);
    found.retain(|of| {
        !matches!(
            of,
            Finding::SizeMissing { .. }
                | Finding::ClocksNotWatched { .. }
                | Finding::TransportUnknown
                | Finding::WeightsTooLarge { .. }
        )
    });
    match found.iter().find(|of| of.refuses()) {
        Some(finding) => Err(PredictError::Refused {
            file,
            finding: Box::new(finding.clone()),
        }),
        None => Ok(found),
    }
}

fn same_load(inputs: &PredictInputs, run: &ServeRun) -> Result<(), PredictError> {
    let shape = RunShape::new(run);
    let flight = run.in_flight_wanted().or_else(|| shape.in_flight());
    for (seen, asked, what) in [
        (flight, f64::from(inputs.batch), "in flight"),
        (shape.input(), inputs.input_tokens, "prompt tokens"),
        (shape.output(), inputs.output_tokens, "output tokens"),
    ] {
        let far = seen.filter(|seen| (seen / asked - 1.0).abs() > TOLERANCE);
        if let Some(seen) = far {
            return Err(PredictError::OtherLoad {
                file: run.origin.clone(),
                seen: format!("{seen:.1} {what}"),
                asked: format!("{asked:.1}"),
            });
        }
    }
    Ok(())
}
