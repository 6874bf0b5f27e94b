//! Gates on what is compared: that the runs differ in the number of GPUs and in nothing else.

use measure::import::ServeRun;

use super::gate::Gate;
use super::open::{Open, TOLERANCE};
use super::shape::RunShape;
use crate::advise::Commands;
use crate::inputs::Inputs;

/// What to run where batches differ, whatever is compared.
pub(super) const SAME_LOAD: &str =
    "run all in a closed loop with the same concurrency and number of requests";

pub(super) fn equal_batch(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "batch equal",
        format!(
            "as many requests in flight in all runs, within {:.0}%",
            TOLERANCE * 100.0
        ),
        SAME_LOAD,
    );
    let flights: Vec<f64> = compared(inputs)
        .filter_map(|run| RunShape::new(run).in_flight())
        .collect();
    if inputs.runs(1).count() == 0 || inputs.runs(inputs.tp).count() == 0 {
        return gate.not_judged("nothing to compare with");
    }
    if flights.len() < compared(inputs).count() {
        return gate.is(None, "a run has no latency");
    }
    let seen: Vec<String> = flights
        .iter()
        .zip(compared(inputs))
        .map(|(n, run)| format!("{n:.1} in flight in {}", run.origin))
        .collect();
    let gate = match (within(&flights), batch_again(inputs)) {
        (false, Some(again)) => gate.with_next(again),
        _ => gate,
    };
    gate.is(Some(within(&flights)), seen.join(" and "))
}

/// The batch of one GPU: as asked for, or else as its latencies show; `None` where there is none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 1 and a million"
)]
pub(super) fn batch_of_one(inputs: &Inputs) -> Option<u32> {
    let of_one = inputs.runs(1).find_map(wanted)?;
    Some(of_one.round().clamp(1.0, 1e6) as u32)
}

/// Requests in flight as asked for, or else as latencies show.
fn wanted(run: &ServeRun) -> Option<f64> {
    run.in_flight_wanted().or(RunShape::new(run).in_flight())
}

/// The run that makes batches equal, as a command: several GPUs at the batch of one. The half-width model only where it is the one
/// that differs.
fn batch_again(inputs: &Inputs) -> Option<String> {
    let batch = batch_of_one(inputs)?;
    let asked: Vec<f64> = used(inputs).filter_map(wanted).collect();
    let seen = used(inputs).filter_map(|run| RunShape::new(run).in_flight());
    let seen: Vec<f64> = seen.collect();
    let commands = Commands::new(inputs);
    let (how, command) = match (within(&asked), within(&seen)) {
        (false, _) => ("", commands.served_with(inputs.tp, batch, "")),
        (true, true) => ("", commands.half_model(batch).ok()?),
        // As many were asked for, so a last wave that was not full took them down, or a client that lagged.
        (true, false) => (
            ", and more requests, in whole waves",
            commands.served_for_longer(inputs.tp, batch),
        ),
    };
    Some(format!(
        "{SAME_LOAD}, {batch} in flight as on one GPU{how}: {command}"
    ))
}

pub(super) fn equal_length(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "lengths equal",
        format!(
            "prompts and outputs as long in all runs, within {:.0}%",
            TOLERANCE * 100.0
        ),
        "run all with the same prompts and output tokens",
    );
    if inputs.runs(1).count() == 0 || inputs.runs(inputs.tp).count() == 0 {
        return gate.not_judged("nothing to compare with");
    }
    let all = compared(inputs).count();
    let shapes: Vec<RunShape<'_>> = compared(inputs).map(RunShape::new).collect();
    let prompts: Vec<f64> = shapes.iter().filter_map(RunShape::input).collect();
    let outputs: Vec<f64> = shapes.iter().filter_map(RunShape::output).collect();
    let words = |values: &[f64]| {
        if values.is_empty() {
            return "unknown".to_owned();
        }
        let words: Vec<String> = values.iter().map(|n| format!("{n:.1}")).collect();
        words.join(" and ")
    };
    let seen = format!("{} in, {} out", words(&prompts), words(&outputs));
    let holds = within(&prompts) && within(&outputs);
    let complete = prompts.len() == all && outputs.len() == all;
    gate.is((complete || !holds).then_some(holds), seen)
}

/// Whether several GPUs are faster than one; files that were mixed up are the commonest reason where not.
pub(super) fn several_faster(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "several GPUs are not slower",
        "a decode step on several GPUs is shorter than on one",
        "check that the files are not mixed up",
    );
    let step = |tp: u32| {
        let steps: Vec<f64> = inputs
            .runs(tp)
            .filter_map(|run| RunShape::new(run).rough_step_ms())
            .collect();
        steps.into_iter().reduce(f64::min)
    };
    match (inputs.tp >= 2, step(1), step(inputs.tp)) {
        (true, Some(one), Some(several)) => gate.is(
            (several < one).then_some(true),
            format!("{several:.1} ms on {}, {one:.1} ms on one", inputs.tp),
        ),
        _ => gate.not_judged("nothing to compare"),
    }
}

/// The runs of the model itself that are compared.
pub(super) fn used(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    let several = inputs.tp;
    inputs
        .serve
        .iter()
        .filter(move |(tp, _)| *tp == 1 || *tp == several)
        .map(|(_, run)| run)
}

/// Those and the runs of its half-width model.
pub(super) fn compared(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    used(inputs).chain(&inputs.evidence.half)
}

fn within(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    values.is_empty() || most <= least * (1.0 + TOLERANCE)
}
