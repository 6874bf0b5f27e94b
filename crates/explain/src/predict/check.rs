//! Whether the files that a prediction starts from agree with each other and with the load that is asked about.
//!
//! It reads no file, and what is missing is not its business.

use measure::import::ServeRun;

use super::inputs::PredictInputs;
use super::result::PredictError;
use crate::gates::{
    BOTH_RUNS, CURVE_GROWS, ENGINE_ASKED, Gate, MODEL_ASKED, ONE_TOKEN, PURE_DECODE, RunShape,
    failed, gates, reservations,
};
use crate::inputs::{Inputs, MEASURED};

/// How far a result's load may lie from the one that is asked about.
const TOLERANCE: f64 = 0.05;

/// What the gates leave in doubt that a prediction rests on, a sentence each.
///
/// # Errors
/// The files contradict each other or what is asked.
pub(super) fn check(inputs: &PredictInputs) -> Result<Vec<String>, PredictError> {
    let of_one = Inputs {
        tp: 1,
        ..inputs.base.clone()
    };
    let broken = |reasons: Vec<String>, file: &str| match reasons.is_empty() {
        true => Ok(()),
        false => Err(PredictError::Refused {
            file: file.to_owned(),
            reason: reasons.join("; "),
        }),
    };
    let told = |gate: &Gate| format!("{}: {}", gate.name, gate.seen);
    let all = gates(&of_one);
    // A prediction starts from one size on purpose.
    let reasons = failed(&all).filter(|gate| gate.name != BOTH_RUNS);
    let file = of_one
        .runs(1)
        .next()
        .map_or("these files", |run| &run.origin);
    broken(reasons.map(told).collect(), file)?;
    let mut doubts: Vec<String> = in_doubt(
        all,
        &[
            MODEL_ASKED,
            ENGINE_ASKED,
            CURVE_GROWS,
            ONE_TOKEN,
            PURE_DECODE,
        ],
    );
    for half in &inputs.half {
        // What is known of the whole model does not hold of the half, and the run's own gates do.
        let of_half = Inputs {
            serve: vec![(1, half.clone())],
            ..of_one.clone()
        };
        let all = gates(&of_half);
        let of_run = |gate: &&Gate| gate.name == ENGINE_ASKED || gate.name.contains(", TP1");
        let reasons = failed(&all).filter(of_run);
        broken(reasons.map(told).collect(), &half.origin)?;
        doubts.extend(in_doubt(
            all,
            &[ENGINE_ASKED, CURVE_GROWS, ONE_TOKEN, PURE_DECODE],
        ));
        let soft = half.simulated.as_deref().unwrap_or(MEASURED);
        let others = of_one.serve.iter().map(|(_, run)| run.simulated.as_deref());
        let curve = of_one.curve.iter().map(|point| point.simulated.as_deref());
        let mut others = others.chain(curve).map(|of| of.unwrap_or(MEASURED));
        if let Some(other) = others.find(|other| *other != soft) {
            let reason = format!("it is of {soft}, and another file of {other}");
            broken(vec![reason], &half.origin)?;
        }
    }
    let mut runs = inputs.base.runs(1).chain(&inputs.half);
    runs.try_for_each(|run| same_load(inputs, run))?;
    doubts.extend(unnamed(inputs));
    Ok(doubts)
}

/// What is assumed of results that do not say which model they are of, a sentence each.
fn unnamed(inputs: &PredictInputs) -> impl Iterator<Item = String> {
    let asked = &inputs.base.model.name;
    let whole = inputs.base.runs(1).map(|run| (run, ""));
    let half = inputs.half.iter().map(|run| (run, "a rank's share of "));
    let unnamed = whole.chain(half).filter(|(run, _)| run.model.is_none());
    unnamed.map(move |(run, part)| {
        format!(
            "{} names no model: assumed to be of {part}{asked}, which nothing here checks",
            run.origin
        )
    })
}

/// The doubts of those of these gates that a prediction rests on as much as an explanation.
fn in_doubt(mut all: Vec<Gate>, names: &[&str]) -> Vec<String> {
    // The name of a gate on a run ends in the run.
    all.retain(|gate| names.iter().any(|name| gate.name.starts_with(name)));
    reservations(&all).collect()
}

/// Whether a result is of the load that is asked about.
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
