//! The whole explanation as it is kept: inputs, findings, and what came of them.

use serde::{Deserialize, Serialize};

use crate::ablated::is_of;
use crate::advise::{Advice, advise};
use crate::attribute::{Attribution, attribute};
use crate::checks::findings;
use crate::finding::{Finding, Refusal};
use crate::inputs::Inputs;
use crate::next::{Measure, NextStep, next};
use crate::slope::Slope;
use crate::sources::{InputSource, Taken, sources};
use crate::what_if::{Substitution, WhatIf, what_if};

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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
        #[serde(default)]
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
        self.inputs.push(InputSource {
            origin: slope.origin.clone().unwrap_or_default(),
            taken: Taken::Ablation {
                arms: slope.arms.len(),
            },
        });
        self.slope = Some(slope);
        self
    }
}

/// Explains: what is found of the files, draws, bars, advice.
#[must_use]
pub fn explain(inputs: &Inputs, seed: u64, draws: u32) -> Explanation {
    explain_if(inputs, &[], seed, draws)
}

/// As [`explain`], with what the step would take with something else in place of its collectives.
#[must_use]
pub fn explain_if(inputs: &Inputs, asked: &[Substitution], seed: u64, draws: u32) -> Explanation {
    let outcome = match attribute(inputs, seed, draws) {
        Ok(attribution) => Outcome::Attributed {
            // Both are of one GPU against several.
            advice: match attribution.from {
                1 => advise(inputs, &attribution),
                _ => Vec::new(),
            },
            next: match attribution.from {
                1 => next(inputs, &attribution),
                _ => Vec::new(),
            },
            what_if: what_if(inputs, &attribution, asked),
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
