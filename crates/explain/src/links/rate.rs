//! How fast more GPUs are against fewer: the one figure of two sizes that needs no curve. It says nothing of why.

use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::step::{RunTime, step_time};
use crate::advise::{Advice, files_mixed_up};
use crate::attribute::{StepFrom, step_from};
use crate::gates::{RunShape, failed, pair_gates};
use crate::inputs::Inputs;
use crate::random::Random;
use crate::range::Range;
use crate::text::not_faster_than;

/// The steps of two sizes and their ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeRate {
    /// The step on fewer GPUs, ms.
    pub step_of_fewer: Range,
    /// The step on more, ms.
    pub step_of_more: Range,
    /// Speed-up of a step.
    pub speed_up: Range,
}

/// The largest size against one between it and the smallest, whose result has no other part in an explanation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// The tensor parallel size between.
    pub size: u32,
    /// The largest.
    pub to: u32,
    /// How fast the largest is against it; `None` where the two are not compared.
    pub rate: Option<SizeRate>,
    /// Why they are not; empty where they are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_not: String,
}

impl std::fmt::Display for Between {
    /// In a sentence.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { size, to, .. } = self;
        match &self.rate {
            Some(rate) => write!(
                f,
                "{}, whose result has no other part in this.",
                how_fast(&rate.speed_up, *size, *to)
            ),
            None => write!(
                f,
                "The result of TP{size} has no part in this: it is not compared with TP{to} ({}).",
                self.why_not
            ),
        }
    }
}

/// How fast more GPUs are, with what stands before it where they are not faster than fewer, or not told from as fast.
pub(super) fn how_fast(speed_up: &Range, fewer: u32, more: u32) -> String {
    let before = match (speed_up.low <= 1.0, speed_up.high <= 1.0) {
        (_, true) => not_faster_than(&format!("TP{fewer}")),
        (true, false) => format!("Not told apart from as fast as TP{fewer}: "),
        (false, false) => String::new(),
    };
    format!(
        "{before}{more} GPUs decode {} times as fast as {fewer}",
        speed_up.with_decimals(2)
    )
}

/// The inputs of one of several sizes.
pub(super) fn of_size(inputs: &Inputs, tp: u32) -> Inputs {
    Inputs {
        tp,
        serve: inputs.runs(tp).cloned().map(|run| (tp, run)).collect(),
        ..inputs.clone()
    }
}

/// What both sizes' steps are taken from; in words why nothing tells them.
pub(super) fn steps_from(fewer: &Inputs, more: &Inputs) -> Result<StepFrom, String> {
    let all: Vec<_> = fewer.runs(fewer.tp).chain(more.runs(more.tp)).collect();
    step_from(&all)
        .filter(|from| *from != StepFrom::Latency)
        .ok_or_else(|| "a result has no time per token of a stream, and a latency does not tell two sizes apart: run with a stream".to_owned())
}

/// Times of a step of one size.
pub(super) fn times(inputs: &Inputs, from: StepFrom) -> Vec<RunTime> {
    let runs = inputs.runs(inputs.tp);
    runs.filter_map(|run| step_time(&RunShape::new(run), run, from, false))
        .collect()
}

/// Draws of both sizes' steps; in words why there are none.
pub(super) fn measured(fewer: &Inputs, more: &Inputs) -> Result<(StepFrom, Measured), String> {
    let from = steps_from(fewer, more)?;
    let start = match more.is_on_cpus() {
        true => "start_to_start_on_cpus",
        false => "start_to_start",
    };
    Measured::new(more, start, &times(fewer, from), &times(more, from))
        .map(|measured| (from, measured))
        .ok_or_else(|| "a size has no time of a step".to_owned())
}

/// How fast more GPUs are against fewer; in words why that is not told.
pub(super) fn rate(
    fewer: &Inputs,
    more: &Inputs,
    seed: u64,
    draws: u32,
) -> Result<SizeRate, String> {
    let (_, measured) = measured(fewer, more)?;
    let mut random = Random::new(seed);
    let drawn: Vec<(f64, f64)> = (0..draws.max(1))
        .map(|_| measured.draw(&mut random))
        .collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = drawn.iter().map(of).collect();
        Range::of(&values).ok_or_else(|| "a time is not finite".to_owned())
    };
    Ok(SizeRate {
        step_of_fewer: range(|(fewer, _)| *fewer)?,
        step_of_more: range(|(_, more)| *more)?,
        speed_up: range(|(fewer, more)| fewer / more)?,
    })
}

/// The largest size against each between it and the smallest: the same inputs, seed and number of draws give the same.
pub(crate) fn between(inputs: &Inputs, seed: u64, draws: u32) -> Vec<Between> {
    let to = inputs.tp;
    let mut sizes: Vec<u32> = inputs.serve.iter().map(|(tp, _)| *tp).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let inner = sizes.into_iter().skip(1).filter(|size| *size < to);
    inner
        .map(|size| {
            let (fewer, more) = (of_size(inputs, size), of_size(inputs, to));
            let gates = pair_gates((&format!("TP{size}"), &fewer), (&format!("TP{to}"), &more));
            let first = failed(&gates).next();
            let refused = first.map(|gate| format!("{}: {}", gate.name, gate.seen));
            let found = match refused {
                Some(reason) => Err(reason),
                None => rate(&fewer, &more, seed, draws),
            };
            Between {
                size,
                to,
                rate: found.as_ref().ok().copied(),
                why_not: found.err().unwrap_or_default(),
            }
        })
        .collect()
}

/// To look whether the files were swapped, where more GPUs are slower and no file says which it is of.
pub(super) fn mixed_up(inputs: &Inputs, from: u32, rate: &SizeRate) -> Vec<Advice> {
    match rate.speed_up.high <= 1.0 {
        true => files_mixed_up(
            inputs,
            (from, rate.step_of_fewer.mid),
            (inputs.tp, rate.step_of_more.mid),
        )
        .into_iter()
        .collect(),
        false => Vec::new(),
    }
}
