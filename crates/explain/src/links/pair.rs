//! A pair under comparison: its decode step and its time to first token, as measured, by curves, and by bytes over the wire.

use import::ServeRun;
use record::PlannedCollective;
use tp_plan::plan;

use super::measured::Measured;
use super::needed::needed;
use super::result::{Difference, LinkFigures, LinkVerdict, NotTold, TimeOf};
use super::sent::{Drawn, OnSide};
use super::side::LinkSide;
use super::starts;
use super::step::{RunTime, step_time};
use crate::attribute::{Collectives, StepFrom};
use crate::finding::Finding;
use crate::first_token::{alone, prefill_plan, prompt_tokens};
use crate::inputs::Inputs;
use crate::random::Random;
use crate::range::Range;
use crate::run_shape::RunShape;

/// A pair under comparison.
/// Collectives that take so many times the step are given in another unit.
pub(super) const WRONG_UNIT: f64 = 3.0;

pub(super) struct Pair<'a> {
    pub(super) a: &'a LinkSide,
    pub(super) b: &'a LinkSide,
    /// Sequences that decode in a step.
    pub(super) batch: u32,
    pub(super) seed: u64,
    pub(super) draws: u32,
}

/// Times of both sides and what they are of.
struct Times {
    of: TimeOf,
    step_from: Option<StepFrom>,
    a: Vec<RunTime>,
    b: Vec<RunTime>,
}

impl<'a> Pair<'a> {
    pub(super) fn new(a: &'a LinkSide, b: &'a LinkSide, seed: u64, draws: u32) -> Self {
        Self {
            a,
            b,
            batch: a.inputs.batch().unwrap_or(1),
            seed,
            draws: draws.max(1),
        }
    }

    pub(super) fn sides(&self) -> [&Inputs; 2] {
        [&self.a.inputs, &self.b.inputs]
    }

    /// The first run of the base, of whose load the other's is.
    pub(super) fn run(&self) -> Option<&ServeRun> {
        self.a.inputs.runs(self.a.inputs.tp).next()
    }

    pub(super) fn decode(&self, figures: &mut LinkFigures) -> Result<Difference, Finding> {
        let mode = self.step_mode().ok_or(Finding::NoStepTime)?;
        let from = mode.from;
        let [a, b] = self.sides().map(|inputs| {
            let runs = inputs.runs(inputs.tp);
            runs.filter_map(|run| step_time(&RunShape::new(run), run, from, mode.by_first))
                .collect()
        });
        if from == StepFrom::Latency {
            figures.caveats.push(Finding::NotStreamed);
        }
        let times = Times {
            of: TimeOf::DecodeStep,
            step_from: Some(from),
            a,
            b,
        };
        let planned = self.sides().map(|inputs| self.of_step(inputs));
        self.difference(figures, &times, &planned, |inputs, planned| {
            Collectives::of(inputs, inputs.is_eager(self.batch), planned)
        })
    }

    pub(super) fn first_token(&self, figures: &mut LinkFigures) -> Result<Difference, Finding> {
        let of = |inputs: &Inputs| -> Result<Vec<RunTime>, Finding> {
            let runs = inputs.runs(inputs.tp);
            runs.map(|run| alone(run).map(RunTime::from)).collect()
        };
        let times = Times {
            of: TimeOf::FirstToken,
            step_from: None,
            a: of(&self.a.inputs)?,
            b: of(&self.b.inputs)?,
        };
        let run = self.run().ok_or(Finding::NoStepTime)?;
        let tokens = prompt_tokens(run).ok_or(Finding::PromptLengthUnknown)?;
        let planned = self.sides().map(|inputs| of_prompt(inputs, tokens));
        figures.caveats.push(Finding::NoPrefixCacheAssumed);
        self.difference(figures, &times, &planned, Collectives::of_prefill)
    }

    pub(super) fn of_step(&self, inputs: &Inputs) -> Vec<PlannedCollective> {
        let engine = inputs.engine(inputs.tp);
        engine.map_or_else(Vec::new, |engine| {
            plan(&inputs.model, engine, self.batch, None).collectives
        })
    }

    fn difference(
        &self,
        figures: &mut LinkFigures,
        times: &Times,
        planned: &[Vec<PlannedCollective>; 2],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, Finding>,
    ) -> Result<Difference, Finding> {
        let (a, b) = (&times.a, &times.b);
        let start = starts::of_server(&self.a.inputs);
        let measured = Measured::new(&self.a.inputs, start, a, b).ok_or(Finding::NoStepTime)?;
        if a.len() == 1 || b.len() == 1 {
            figures.caveats.push(Finding::SingleStart);
        }
        figures.priors.extend(measured.priors());
        let sent = self.sent(figures, planned, by);
        self.in_one_unit(sent.as_ref(), times)?;
        let of_starts = sent.iter().flatten().filter_map(|side| side.start.clone());
        figures.priors.extend(of_starts);
        let mut random = Random::new(self.seed);
        let mut drawn = Drawn::default();
        for _ in 0..self.draws {
            let (one, other) = measured.draw(&mut random);
            drawn.time(one, other);
            if let Some(sent) = &sent {
                drawn.send(sent, &mut random);
            }
        }
        let range = |draws: &[f64]| Range::of(draws).ok_or(Finding::NoStepTime);
        let seen = range(&drawn.measured)?;
        let predicted = match &sent {
            None => None,
            Some(sent) => Some(drawn.prediction(sent)?),
        };
        // Prompts of a latency send, too, and no curve takes that out.
        let by_latency = times.step_from == Some(StepFrom::Latency);
        let verdict = match LinkVerdict::of(&seen, predicted.as_ref()) {
            LinkVerdict::MoreThanLink { .. } | LinkVerdict::LessThanLink { .. } if by_latency => {
                LinkVerdict::NotTold {
                    why: NotTold::RunsTooRough,
                }
            }
            verdict => verdict,
        };
        Ok(Difference {
            of: times.of,
            step_from: times.step_from,
            runs_of_a: a.len(),
            runs_of_b: b.len(),
            a: range(&drawn.a)?,
            b: range(&drawn.b)?,
            needed: needed((self.a, self.b), &seen, &planned[1]),
            measured: seen,
            predicted,
            verdict,
        })
    }

    /// Both sides' collectives by their curves; the error, which stands in the caveats too, says what a curve lacks.
    fn sent(
        &self,
        figures: &mut LinkFigures,
        planned: &[Vec<PlannedCollective>; 2],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, Finding>,
    ) -> Option<[OnSide; 2]> {
        let mut sides = Vec::new();
        for (inputs, planned) in self.sides().into_iter().zip(planned) {
            match OnSide::new(inputs, planned, &by) {
                Ok(on_side) => {
                    if let Some(found) = on_side.sent() {
                        figures.caveats.extend(found.caveats.iter().cloned());
                        figures.priors.extend(found.priors());
                    }
                    sides.push(on_side);
                }
                Err(why) => figures.caveats.push(why),
            }
        }
        sides.try_into().ok()
    }

    /// Whether the curves can be in the unit that they are read in.
    ///
    /// # Errors
    /// The collectives alone are far more than the whole time, in words.
    /// Times of collectives that are several times the step they are in are of another unit.
    fn in_one_unit(&self, sent: Option<&[OnSide; 2]>, times: &Times) -> Result<(), Finding> {
        let sides = [&times.a, &times.b]
            .into_iter()
            .zip(sent.into_iter().flatten());
        for (runs, sent) in sides {
            let step_ms = runs.iter().map(|run| run.of.mean).fold(0.0, f64::max);
            let collectives_ms = sent.face_ms();
            if collectives_ms > WRONG_UNIT * step_ms {
                return Err(Finding::CurveUnit {
                    collectives_ms,
                    step_ms,
                });
            }
        }
        Ok(())
    }

    /// Tokens of the largest chunk of prompts that is in the times under comparison; `None` where the file does not tell.
    pub(super) fn chunk(&self) -> Option<u32> {
        let inputs = &self.a.inputs;
        let tokens = self.run().and_then(prompt_tokens)?;
        let together = match self.step_mode().map(|mode| mode.from) {
            Some(StepFrom::Latency) => tokens.saturating_mul(self.batch),
            _ => tokens,
        };
        let most = inputs.engine(inputs.tp).map(|of| of.max_batched_tokens);
        Some(together.min(most.unwrap_or(together)))
    }
}

/// Whether there are times of collectives at this size of the comparison.
pub(super) fn has_curve(inputs: &Inputs) -> bool {
    let points = inputs.usable_curve();
    inputs.tp == 1 || points.iter().any(|point| point.ranks == inputs.tp)
}

/// Collectives of a prompt's chunks.
pub(super) fn of_prompt(inputs: &Inputs, tokens: u32) -> Vec<PlannedCollective> {
    let engine = inputs.engine(inputs.tp);
    engine.map_or_else(Vec::new, |engine| {
        prefill_plan(&inputs.model, engine, tokens)
    })
}
