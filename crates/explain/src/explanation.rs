//! The whole explanation as it is kept: inputs with what was taken of them, findings, and what came of them; and what an ablation
//! beside the runs is worth to it.

use serde::{Deserialize, Serialize};

use crate::advise::{Advice, advise};
use crate::attribute::{
    Attribution, By, Cause, Claim, Measure, StepFrom, WhatIf, attribute, what_if,
};
use crate::checks::findings;
use crate::finding::{Finding, Refusal, capped};
use crate::inputs::{Evidence, Inputs};
use crate::next::{NextStep, next};
use crate::range::{Grade, each_once};
use crate::slope::{EMBEDDED, Slope, SlopeFit};

/// The version of this form; a reader refuses a higher one.
pub const SCHEMA: u32 = 3;

/// Why several GPUs are as fast as they are, as it is written to `explanation.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The simulated machine behind all inputs; `None` where any is measured.
    pub simulated: Option<String>,
    /// The model.
    pub model: String,
    /// The tensor parallel size that is explained.
    pub tp: u32,
    /// The engine in words, as the plan takes it.
    pub engine: Option<String>,
    /// The machine.
    pub box_name: Option<String>,
    /// Its GPU.
    pub gpu: Option<String>,
    /// What was read.
    pub inputs: Vec<InputSource>,
    /// What whoever asked has to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was found of the files and runs, before anything was made of them.
    pub findings: Vec<Finding>,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the step followed the link in an ablation.
    pub slope: Option<Slope>,
}

/// What came of the attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    /// The step was attributed.
    Attributed {
        /// To what.
        attribution: Box<Attribution>,
        /// What to do, the largest effect first.
        advice: Vec<Advice>,
        /// What to measure next, what narrows most first.
        next: Vec<NextStep>,
        /// What was asked.
        what_if: Vec<WhatIf>,
    },
    /// It was not.
    Refused {
        /// Why.
        refusal: Refusal,
    },
}

impl Outcome {
    /// The attribution, where there is one.
    #[must_use]
    pub fn attribution(&self) -> Option<&Attribution> {
        match self {
            Self::Attributed { attribution, .. } => Some(attribution),
            Self::Refused { .. } => None,
        }
    }
}

impl Explanation {
    /// With the slope test of an ablation beside it: it raises the grade of all-reduces where its arms are of these runs.
    #[must_use]
    pub fn with_slope(mut self, slope: Slope) -> Self {
        if let Outcome::Attributed {
            attribution, next, ..
        } = &mut self.outcome
        {
            let engine = self.engine.as_deref();
            let is_of_these = is_of(&self.model, engine, &self.findings, attribution, &slope);
            match slope.evidence() {
                _ if !is_of_these => attribution.caveats.push(Finding::AblationNotUsed),
                Some(evidence) => {
                    attribution.raise(evidence);
                    next.retain(|step| step.measure != Measure::Ablation);
                }
                None => {}
            }
        }
        let origin = slope.origin.as_deref().unwrap_or_default();
        let arms = slope.arms.len();
        self.inputs
            .push(InputSource::of(origin, Taken::Ablation { arms }));
        self.slope = Some(slope);
        self
    }
}

/// Explains: what is found of the files, draws, bars, advice; and what the step would take with what is `asked` in place of its
/// collectives, each by what it is called.
#[must_use]
pub fn explain(inputs: &Inputs, asked: &[(String, By)], seed: u64, draws: u32) -> Explanation {
    let outcome = match attribute(inputs, seed, draws) {
        Ok(attribution) => Outcome::Attributed {
            advice: advise(inputs, &attribution),
            next: next(inputs, &attribution),
            what_if: asked
                .iter()
                .map(|(asked, by)| WhatIf {
                    asked: asked.clone(),
                    answer: what_if(inputs, &attribution, by),
                })
                .collect(),
            attribution: Box::new(attribution),
        },
        Err(refusal) => Outcome::Refused { refusal },
    };
    let findings = findings(inputs);
    let is_mixed = findings
        .iter()
        .any(|of| matches!(of, Finding::SimulatedMixed { .. }));
    Explanation {
        schema: SCHEMA,
        simulated: inputs.simulated().filter(|_| !is_mixed),
        model: inputs.model.name.clone(),
        tp: inputs.tp,
        engine: inputs.engine(inputs.tp).map(tp_plan::EngineFacts::describe),
        box_name: inputs.known.name.clone(),
        gpu: inputs.known.gpu.clone(),
        inputs: sources(inputs),
        notes: Vec::new(),
        findings,
        outcome,
        slope: None,
    }
}

/// Steps of the arm and of the results that are further apart are not of one load.
const SAME_LOAD: f64 = 0.03;

/// Whether the arms are of the runs of this attribution, by `engine`, and nothing stands against them.
fn is_of(
    model: &str,
    engine: Option<&str>,
    findings: &[Finding],
    attribution: &Attribution,
    slope: &Slope,
) -> bool {
    let counted = attribution.all_reduces();
    let engines = engine.zip(slope.engine.as_deref());
    let is_engine = engines.is_none_or(|(runs, arms)| {
        let (runs, arms) = (engine_name(runs), engine_name(arms));
        runs.eq_ignore_ascii_case(arms)
    });
    let of = (model, attribution.tp, attribution.batch);
    let of_arms = (slope.model.as_str(), slope.tp, slope.batch);
    let of_runs = attribution.step_of_several.mid;
    let step = slope.step_of_fit();
    let is_load = step.is_none_or(|step| (step.mid / of_runs - 1.0).abs() <= SAME_LOAD);
    let is_consistent = slope.evidence().is_none_or(|fit| {
        let told = fit.communication_ms.low;
        let bar = attribution.bar(Cause::Communication);
        let bar =
            bar.filter(|_| attribution.claim == Claim::Estimated && !attribution.is_by_published());
        let within = bar.is_none_or(|bar| told <= bar.ms.high);
        slope.varied_link() && within && told <= attribution.remainder.high
    });
    of == of_arms
        && [0, slope.planned].contains(&counted)
        && is_engine
        && is_load
        && capped(findings).is_none()
        && is_consistent
}

fn engine_name(described: &str) -> &str {
    let acted = described.strip_prefix(EMBEDDED).unwrap_or(described);
    acted.split([' ', ';', ',']).next().unwrap_or(acted)
}

impl Attribution {
    /// With what an ablation that followed the link of the same runs gives: all-reduces by this machine's curve are B, and where nothing
    /// could be told of communication, free links are those of the arms.
    fn raise(&mut self, evidence: &SlopeFit) {
        for bar in &mut self.bars {
            if (bar.cause, bar.grade) == (Cause::AllReduce, Some(Grade::C)) {
                bar.grade = Some(Grade::B);
            }
        }
        if self.claim == Claim::None && self.misfit().is_none() {
            self.free_links_by_arms = Some(self.step_of_one.over(&evidence.intercept_ms));
        }
    }
}

/// A file and what was taken of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSource {
    /// Its name.
    pub origin: String,
    /// What was taken.
    pub taken: Taken,
}

/// What was taken of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum Taken {
    /// The step of a run; `tp` is `None` of a shard run.
    Run {
        tp: Option<u32>,
        from: Option<StepFrom>,
        requests: u64,
        found: Vec<String>,
    },
    /// Times of collectives.
    Collectives { points: usize },
    /// A server's log.
    Log { tp: u32, engine: String },
    /// Kernel sums.
    Trace,
    /// GPUs, links and peer access.
    Links,
    /// The rate of a link.
    LinkRate,
    /// Arms of an ablation.
    Ablation { arms: usize },
}

impl InputSource {
    pub(crate) fn of(origin: &str, taken: Taken) -> Self {
        let origin = origin.to_owned();
        Self { origin, taken }
    }
}

/// All that these inputs were read from.
pub(crate) fn sources(inputs: &Inputs) -> Vec<InputSource> {
    let Evidence {
        half,
        trace,
        found,
        logs,
        ..
    } = &inputs.evidence;
    let served = inputs.serve.iter().map(|(tp, run)| (Some(*tp), run));
    let halves = half.iter().map(|run| (None, run));
    let runs = served.chain(halves).map(|(tp, run)| {
        let found = found.iter().filter(|(of, _)| *of == run.origin);
        let taken = Taken::Run {
            tp,
            from: StepFrom::common(&[run]),
            requests: run.completed,
            found: found.map(|(_, words)| words.clone()).collect(),
        };
        InputSource::of(&run.origin, taken)
    });
    let curves = each_once(inputs.curve.iter().map(|point| &point.origin)).into_iter();
    let curves = curves.map(|origin| {
        let of = inputs.curve.iter().filter(|of| of.origin == origin);
        let points = of.count();
        InputSource::of(&origin, Taken::Collectives { points })
    });
    let logs = logs.iter().map(|log| {
        let (tp, engine) = (log.tp, log.engine.clone());
        InputSource::of(&log.origin, Taken::Log { tp, engine })
    });
    let trace = trace
        .iter()
        .map(|trace| InputSource::of(&trace.origin, Taken::Trace));
    let boxes = inputs.known.origins.iter();
    let boxes = boxes.map(|origin| InputSource::of(origin, Taken::Links));
    let all: Vec<InputSource> = runs
        .chain(curves)
        .chain(logs)
        .chain(trace)
        .chain(boxes)
        .collect();
    each_once(&all)
}
