//! What to measure next: what narrows the interval of communication as it is reported by the most ms a minute first; then
//! what would give communication a figure of its own whose width nothing tells beforehand.
//!
//! Reported is the bar of communication where there is one, whatever its grade, else all that the other causes leave. What was
//! given already is not asked for.

use serde::{Deserialize, Serialize};

use crate::attribute::{Attribution, Cause, Claim, Measure, StepFrom};
use crate::commands::{Command, Commands};
use crate::inputs::Inputs;
use crate::range::{Grade, count};

/// A measurement that would narrow an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What to measure.
    pub measure: Measure,
    /// The command; `None` where there is none for it.
    pub command: Option<String>,
    /// What it takes, minutes: a server's start is taken for 5, on a simulated machine for a few seconds.
    pub minutes: f64,
    /// How wide the interval of communication is that is reported, from 5% to 95%, ms.
    pub now_ms: f64,
    /// How wide it would be; `None` where it would give another figure instead.
    pub after_ms: Option<f64>,
}

/// A run that leaves more than this part of the width is not worth its time.
const WORTH: f64 = 0.95;

/// Starts of each server that show the spread between starts.
const STARTS: f64 = 5.0;

/// Minutes that a server takes from its start to its first request, and the collectives of a plan: on real GPUs a model is loaded and
/// its graphs are captured; on a simulated machine tplens allreduce keeps to its budget of half a minute.
const REAL: (f64, f64) = (5.0, 3.0);
const SOFT: (f64, f64) = (0.1, 0.5);

/// Measurements, where one GPU is compared with several, by how much they narrow the reported interval a minute; behind them those that would give communication a figure of its
/// own, the cheapest first.
#[must_use]
pub fn next(inputs: &Inputs, attribution: &Attribution) -> Vec<NextStep> {
    if attribution.from > 1 {
        return Vec::new();
    }
    let (batch, commands) = (attribution.batch, Commands::new(inputs));
    let (start, curve) = if commands.is_soft() { SOFT } else { REAL };
    let run = start + run_minutes(inputs);
    let bar = attribution.bar(Cause::Communication);
    let bar = bar.filter(|_| attribution.claim == Claim::Estimated);
    let reported = bar.map_or(attribution.remainder, |bar| bar.ms);
    let now_ms = reported.high - reported.low;
    let left = |width: f64, settled: f64| width * (1.0 - settled.clamp(0.0, 1.0)).sqrt();
    let settled = |of: Measure| {
        let share = attribution.shares.iter().find(|one| one.measure == of)?;
        let part = match bar {
            Some(_) => share.of_communication.unwrap_or(0.0),
            None => share.of_remainder,
        };
        Some((left(now_ms, part), share.of_remainder))
    };
    let by_share = |of| settled(of).map(|(width, _)| width);
    let mut all: Vec<NextStep> = Vec::new();
    let mut add = |measure, command: Option<Command>, minutes: f64, after_ms: Option<f64>| {
        let is_worth_it = after_ms.is_none_or(|after| after <= WORTH * now_ms);
        all.extend(is_worth_it.then_some(NextStep {
            measure,
            command: command.and_then(|of| of.quoted()),
            minutes,
            now_ms,
            after_ms,
        }));
    };
    let is_again = attribution.is_half_contradicted();
    if (inputs.evidence.half.is_empty() || is_again)
        && let Ok(command) = commands.half_model(batch)
    {
        // All that is left is communication where the other losses are known.
        let remainder = attribution.remainder.high - attribution.remainder.low;
        let of = settled(Measure::Shard).filter(|_| !is_again);
        let width = of.map(|(width, part)| left(remainder, part).min(width));
        add(Measure::Shard, Some(command), run, width);
    }
    if attribution.step_from == StepFrom::Latency {
        let width = by_share(Measure::Stream);
        add(Measure::Stream, None, 2.0 * run, width);
    } else if attribution.prompts_ms.is_some() {
        add(Measure::Stream, None, 2.0 * run, None);
    }
    let starts = |tp| count(inputs.runs(tp).count() as u64);
    if starts(1).min(starts(inputs.tp)) < STARTS {
        let (minutes, width) = (2.0 * STARTS * run, by_share(Measure::Repeats));
        add(Measure::Repeats, None, minutes, width);
    }
    // Three arms of five starts, each with its collectives timed anew.
    let (ablate, minutes) = (commands.ablate(batch, ""), 3.0 * 5.0 * (run + curve));
    add(Measure::Ablation, Some(ablate), minutes, None);
    let is_poor = bar.is_some_and(|bar| bar.grade == Some(Grade::D))
        && attribution.timed_alone_ms().is_none();
    if inputs.usable_curve().is_empty() || is_poor {
        // As wide as the factor from a curve to the engine makes it where communication is about as large as it is reported.
        let spread = inputs
            .prior("in_situ")
            .map(|prior| (prior.at(0.95) - prior.at(0.05)) / prior.at(0.5));
        let width = spread.map(|spread| reported.mid.max(0.0) * spread);
        let width = width.filter(|width| *width > 0.0 && *width < WORTH * now_ms);
        add(
            Measure::Curve,
            Some(commands.collectives(batch)),
            curve,
            width,
        );
    }
    all.sort_by(|a, b| {
        let pace = |of: &NextStep| {
            of.after_ms
                .map_or(0.0, |after| (now_ms - after) / of.minutes)
        };
        let by_pace = pace(b).total_cmp(&pace(a));
        by_pace.then(a.minutes.total_cmp(&b.minutes))
    });
    all
}

/// Mean length of the runs, minutes.
fn run_minutes(inputs: &Inputs) -> f64 {
    let seconds: f64 = inputs.serve.iter().map(|(_, run)| run.duration_s).sum();
    seconds / 60.0 / count(inputs.serve.len().max(1) as u64)
}
