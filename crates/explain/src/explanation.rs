//! The whole explanation as it is kept: inputs, gates, and what came of them.

use serde::{Deserialize, Serialize};

use crate::ablated::{Kept, timed_alone, would_raise};
use crate::advise::{Advice, Rule, advise};
use crate::attribute::{Attribution, Cause, Refusal, attribute};
use crate::bounded::{Bounded, bounded};
use crate::first_token::{FirstToken, first_token};
use crate::gates::{Gate, all_simulated, belong_together, gates};
use crate::inputs::{Inputs, MEASURED};
use crate::links::{Between, between};
use crate::next::{NextStep, next};
use crate::slope::{Slope, SlopeVerdict};
use crate::what_if::{Substitution, WhatIf, what_if};
use crate::words::number_of;

/// The version of this form; a reader refuses a higher one.
pub const SCHEMA: u32 = 1;

/// Why several GPUs are as fast as they are, as it is written to `explanation.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The soft box behind all inputs; `None` where all is measured, or where the case is refused because both were given.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// The tensor parallel size that is explained.
    pub tp: u32,
    /// The engine with its version and mode, in words; `None` where it is not known.
    pub engine: Option<String>,
    /// The box's name.
    pub box_name: Option<String>,
    /// The GPUs' name.
    pub gpu: Option<String>,
    /// Where each input came from.
    pub inputs: Vec<InputSource>,
    /// What whoever ran this says of it, such as a study of the sizes that it left out; empty where nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every gate.
    pub gates: Vec<Gate>,
    /// What came of it.
    pub outcome: Outcome,
    /// What a case that is refused still tells; empty where there is an attribution.
    #[serde(default)]
    pub bounded: Vec<Bounded>,
    /// What the time to first token is made of; `None` where more than one request was in flight, or nothing was streamed.
    #[serde(default)]
    pub first_token: Option<FirstToken>,
    /// The size that is explained against those between it and one GPU; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<Between>,
    /// Whether the step follows the link, where arms of an ablation were given.
    #[serde(default)]
    pub slope: Option<Slope>,
}

impl Explanation {
    /// With the slope test of an ablation's arms: where the step follows the link, a curve times its count is more than that.
    #[must_use]
    pub fn with_slope(mut self, slope: Slope) -> Self {
        let slope = slope.held_against(&self);
        let other = self.of_other_runs(&slope);
        let kept = self.kept_from_raising(&slope);
        if let Outcome::Attributed {
            attribution,
            next,
            advice,
            ..
        } = &mut self.outcome
        {
            match (&other, slope.evidence()) {
                (Some(other), _) => attribution.caveats.push(format!(
                    "the ablation is not of these runs and raises no grade: {other}"
                )),
                (None, Some(evidence)) => match &kept {
                    Some(why) => attribution.caveats.push(why.caveat()),
                    None => {
                        attribution.raise(&evidence);
                        // What led without the arms may not lead beside them.
                        let timed = timed_alone(attribution, &evidence);
                        let leads = attribution.leading_beside(timed.as_ref());
                        let by_work = leads.is_some_and(|of| of.bar.cause == Cause::NarrowGemm);
                        advice.retain(|of| by_work || of.rule != Rule::KernelsFirst);
                    }
                },
                (None, None) => {
                    if let Some(rival) = slope.against_half() {
                        attribution.contradict_half(rival);
                        attribution.caveats.push(
                            "the ablation and the half-width model contradict each other: the ablation raises no grade, and the model's bars are D"
                                .to_owned(),
                        );
                        advice.retain(|of| !of.rule.is_by_half());
                        let raises = would_raise(attribution, &self.gates);
                        for step in next.iter_mut().filter(|step| step.is_ablation()) {
                            step.raises = Some(raises.clone());
                        }
                    }
                }
            }
            // What was just given, and what it decided of this load and its links, is not asked for again.
            let is_decided = !matches!(slope.passes, SlopeVerdict::Undecided { .. });
            let is_another = matches!(kept, Some(Kept::OtherLoad { .. } | Kept::DelaysOnly));
            let is_open = attribution.is_half_contradicted();
            if other.is_none() && is_decided && !is_another && !is_open {
                next.retain(|step| !step.is_ablation());
            }
        }
        self.inputs.push(InputSource {
            origin: slope
                .origin
                .clone()
                .unwrap_or_else(|| "ablation".to_owned()),
            taken: taken(&slope),
        });
        self.slope = Some(slope);
        self
    }
}

/// What was taken from the arms.
fn taken(slope: &Slope) -> String {
    let launches: u32 = slope.arms.iter().map(|arm| arm.launches).sum();
    let marked = slope.simulated.as_ref().map_or("", |_| ", simulated");
    format!(
        "{} of an ablation, {}{marked}",
        number_of(slope.arms.len() as u64, "arm"),
        number_of(launches.into(), "launch")
    )
}

/// A file and what was taken from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSource {
    /// The file, or `built in`.
    pub origin: String,
    /// What was taken.
    pub taken: String,
}

/// What came of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    /// The time of a step is attributed.
    Attributed {
        /// To what.
        attribution: Box<Attribution>,
        /// What to do.
        advice: Vec<Advice>,
        /// What to measure.
        next: Vec<NextStep>,
        /// What was asked to be put in the place of the collectives, and what it would give.
        #[serde(default)]
        what_if: Vec<WhatIf>,
    },
    /// It is not.
    Refused {
        /// Why.
        refusal: Refusal,
    },
}

impl Outcome {
    /// The attribution; `None` where the case is refused.
    #[must_use]
    pub fn attribution(&self) -> Option<&Attribution> {
        match self {
            Self::Attributed { attribution, .. } => Some(attribution),
            Self::Refused { .. } => None,
        }
    }

    /// What to do; nothing where the case is refused.
    #[must_use]
    pub fn advice(&self) -> &[Advice] {
        match self {
            Self::Attributed { advice, .. } => advice,
            Self::Refused { .. } => &[],
        }
    }

    /// What to measure; nothing where the case is refused.
    #[must_use]
    pub fn to_measure(&self) -> &[NextStep] {
        match self {
            Self::Attributed { next, .. } => next,
            Self::Refused { .. } => &[],
        }
    }

    /// What was asked to be put in the place of the collectives; nothing where the case is refused.
    #[must_use]
    pub fn what_if(&self) -> &[WhatIf] {
        match self {
            Self::Attributed { what_if, .. } => what_if,
            Self::Refused { .. } => &[],
        }
    }
}

/// Gates, attribution, advice and next measurements of these inputs.
#[must_use]
pub fn explain(inputs: &Inputs, seed: u64, draws: u32) -> Explanation {
    explain_if(inputs, &[], seed, draws)
}

/// The same with what-ifs.
#[must_use]
pub fn explain_if(inputs: &Inputs, asked: &[Substitution], seed: u64, draws: u32) -> Explanation {
    let outcome = match attribute(inputs, seed, draws) {
        Ok(attribution) => Outcome::Attributed {
            advice: advise(inputs, &attribution),
            next: next(inputs, &attribution),
            what_if: what_if(inputs, &attribution, asked),
            attribution: Box::new(attribution),
        },
        Err(refusal) => Outcome::Refused { refusal },
    };
    let gates = gates(inputs);
    // Files that do not belong together tell nothing, not even a bound.
    let together = belong_together(&gates);
    let bounded = match &outcome {
        Outcome::Refused { .. } if together => bounded(inputs),
        _ => Vec::new(),
    };
    let first_token = first_token(inputs, seed, draws).ok();
    Explanation {
        schema: SCHEMA,
        simulated: all_simulated(inputs.simulated(), &gates),
        model: inputs.model.name.clone(),
        tp: inputs.tp,
        engine: inputs.engine(inputs.tp).map(tp_plan::EngineFacts::describe),
        box_name: inputs.known.name.clone(),
        gpu: inputs.known.gpu.clone(),
        inputs: sources(inputs),
        notes: Vec::new(),
        gates,
        outcome,
        bounded,
        first_token: first_token.filter(|_| together),
        between: between(inputs, seed, draws),
        slope: None,
    }
}

/// What is to be said of a curve of these ranks where none of them is explained; else nothing.
fn of_other_ranks(inputs: &Inputs, ranks: impl Iterator<Item = u32>) -> String {
    // Without a run of one GPU the fewest are what the most are compared with, and their collectives are taken out.
    let fewest = inputs.serve.iter().map(|(tp, _)| *tp).min();
    let is_used = |ranks: u32| ranks == inputs.tp || Some(ranks) == fewest;
    let mut ranks: Vec<u32> = ranks.collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.iter().any(|ranks| is_used(*ranks)) {
        return String::new();
    }
    let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
    format!(
        ", not used: of {} ranks and not of {}",
        ranks.join(" and "),
        inputs.tp
    )
}

/// Findings of a result that are told; the rest are counted.
const FOUND: usize = 2;

/// What reading a serving result found, to stand behind what was taken from it; empty where nothing was.
fn found(inputs: &Inputs, origin: &str) -> String {
    let all = inputs.evidence.found.iter();
    let words: Vec<&str> = all
        .filter(|(of, _)| of == origin)
        // What else there is to say of each, serve-bench show tells.
        .map(|(_, words)| words.split("; ").next().unwrap_or(words))
        .collect();
    if words.is_empty() {
        return String::new();
    }
    let told = words.get(..FOUND).unwrap_or(&words);
    let more = match words.len() - told.len() {
        0 => String::new(),
        more => format!("; and {more} more, which serve-bench show tells"),
    };
    format!("; found in reading it: {}{more}", told.join("; "))
}

pub(crate) fn sources(inputs: &Inputs) -> Vec<InputSource> {
    let mut sources: Vec<InputSource> = Vec::new();
    let mut add = |origin: &str, taken: String| {
        let source = InputSource {
            origin: origin.to_owned(),
            taken,
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    };
    let served = inputs.serve.iter();
    let served = served.map(|(tp, run)| (format!("TP{tp}"), run));
    let halves = inputs.evidence.half.iter();
    let halves = halves.map(|run| (format!("half-width model for TP{}", inputs.tp), run));
    for (what, run) in served.chain(halves) {
        let taken = if crate::gates::RunShape::new(run).decode_gap().is_some() {
            "gaps between tokens while every slot decodes"
        } else if run.streamed && run.tpot_ms.is_some() {
            "time per output token"
        } else {
            "latency and output tokens"
        };
        let marked = run.simulated.as_ref().map_or("", |_| ", simulated");
        add(
            &run.origin,
            format!(
                "{what}: {taken} of {}{marked}{}",
                number_of(run.completed, "request"),
                found(inputs, &run.origin)
            ),
        );
    }
    for origin in inputs.curve.iter().map(|point| point.origin.as_str()) {
        let points = inputs.curve.iter().filter(|point| point.origin == origin);
        let marked = points.clone().find_map(|point| point.simulated.as_ref());
        let stands = inputs.curve_of_gpus().any(|point| point.origin == origin);
        let marked = match (marked, stands) {
            (Some(_), _) => ", simulated",
            (None, false) => " of host memory, not used",
            (None, true) if inputs.is_on_cpus() => ", of the engine on CPUs",
            (None, true) => "",
        };
        let ranks = match stands {
            true => of_other_ranks(inputs, points.clone().map(|point| point.ranks)),
            false => String::new(),
        };
        add(
            origin,
            format!(
                "collective times at {} points{marked}{ranks}",
                points.count()
            ),
        );
    }
    for log in &inputs.evidence.logs {
        add(
            &log.origin,
            format!("the server's log of TP{}: {}", log.tp, log.taken),
        );
    }
    if let Some(trace) = &inputs.evidence.trace {
        add(&trace.origin, "kernel sums of traced steps".to_owned());
    }
    if let Some(gemm) = &inputs.evidence.gemm {
        let points: usize = gemm.series.iter().map(|series| series.points.len()).sum();
        add(&gemm.origin, format!("{points} times of matrix products"));
    }
    let soft = inputs
        .known
        .links_of
        .as_deref()
        .is_some_and(|of| of != MEASURED);
    let marked = if soft { ", simulated" } else { "" };
    for origin in &inputs.known.origins {
        add(origin, format!("GPUs, their links and peer access{marked}"));
    }
    add(
        "built in",
        "ranges and published curves where nothing was measured, each with its source".to_owned(),
    );
    sources
}
