//! Whether the files that a prediction starts from agree with each other and with the load that is asked about.
//!
//! It reads no file, and what is missing is not its business.

use import::ServeRun;

use super::link::PredictInputs;
use super::result::PredictError;
use crate::checks::{TOLERANCE, findings, model_asked};
use crate::finding::Finding;
use crate::run_shape::RunShape;

pub(super) fn check(inputs: &PredictInputs) -> Result<Vec<Finding>, PredictError> {
    let of_one = inputs.base.at(1);
    let mut found = findings(&of_one);
    found.retain(|of| {
        !matches!(
            of,
            Finding::SizeMissing { .. }
                | Finding::ClocksNotWatched { .. }
                | Finding::TransportUnknown
                | Finding::WeightsTooLarge { .. }
        )
    });
    if let Some(finding) = found.iter().find(|of| of.refuses()) {
        let run = of_one.runs(1).next();
        return Err(PredictError::Refused {
            file: run.map_or_else(String::new, |run| run.origin.clone()),
            finding: Box::new(finding.clone()),
        });
    }
    found.extend(model_asked(&of_one));
    of_one.runs(1).try_for_each(|run| same_load(inputs, run))?;
    Ok(found)
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
