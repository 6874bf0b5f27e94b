//! A pair under comparison: its decode step and its time to first token, as measured, by curves, and by bytes over the wire.

use measure::import::{ServeFormat, ServeRun};
use measure::record::PlannedCollective;
use tp_plan::plan;

use super::lacking::Lacking;
use super::measured::Measured;
use super::result::{Difference, LinkFigures, TimeOf, WireDifference};
use super::sent::{Drawn, OnSide, Planned, Prompts};
use super::side::LinkSide;
use super::starts;
use super::step::{RunTime, step_time};
use super::verdict::{LinkVerdict, on_own_links};
use super::wire::{Bytes, needed, wire};
use crate::attribute::{Collectives, StepFrom, WRONG_UNIT, wrong_unit};
use crate::first_token::{alone, prefill_plan, prompt_tokens};
use crate::gates::RunShape;
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;
use crate::range::Range;

/// A pair under comparison.
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

    /// What links reach of their raw rate.
    pub(super) fn share_of_raw(&self) -> Option<Prior> {
        self.a.inputs.prior("pcie_share_of_raw")
    }

    pub(super) fn decode(&self, figures: &mut LinkFigures) -> Result<Difference, String> {
        let mode = self.step_mode().ok_or(
            "a result has neither a time per token nor a latency with a count of output tokens",
        )?;
        let from = mode.from;
        figures.caveats.extend(mode.said);
        let [a, b] = self.sides().map(|inputs| {
            let runs = inputs.runs(inputs.tp);
            runs.filter_map(|run| step_time(&RunShape::new(run), run, from, mode.by_first))
                .collect()
        });
        if from == StepFrom::Latency {
            figures.caveats.push("replies were not streamed, so that no decode step was measured: the time of an output token is the latency over the output tokens and holds its part of the prompts; their collectives are counted in as far as no prefix cache holds them; run with a stream".to_owned());
        }
        let times = Times {
            of: TimeOf::DecodeStep,
            step_from: Some(from),
            a,
            b,
        };
        let planned = self.sides().map(|inputs| Planned {
            own: self.of_step(inputs),
            prompts: self.in_step(inputs),
        });
        self.difference(figures, &times, &planned, |inputs, planned| {
            Collectives::of(inputs, inputs.is_eager(self.batch), planned)
        })
    }

    pub(super) fn first_token(&self, figures: &mut LinkFigures) -> Result<Difference, String> {
        let of = |inputs: &Inputs| -> Result<Vec<RunTime>, String> {
            let runs = inputs.runs(inputs.tp);
            runs.map(|run| alone(run).map(RunTime::from)).collect()
        };
        let times = Times {
            of: TimeOf::FirstToken,
            step_from: None,
            a: of(&self.a.inputs)?,
            b: of(&self.b.inputs)?,
        };
        let run = self.run().ok_or("there is no run")?;
        let tokens = prompt_tokens(run).ok_or("the file does not say how long the prompts were")?;
        let planned = self.sides().map(|inputs| Planned {
            own: of_prompt(inputs, tokens),
            prompts: None,
        });
        figures
            .caveats
            .push("no prompt token is taken to come from the prefix cache".to_owned());
        self.difference(figures, &times, &planned, Collectives::of_prefill)
    }

    pub(super) fn of_step(&self, inputs: &Inputs) -> Vec<PlannedCollective> {
        let engine = inputs.engine(inputs.tp);
        engine.map_or_else(Vec::new, |engine| {
            plan(&inputs.model, engine, self.batch, None).collectives
        })
    }

    /// A latency holds the prompts of all requests that start together, and each output token bears its part of them.
    fn in_latency(&self, inputs: &Inputs) -> Option<Prompts> {
        let run = inputs.runs(inputs.tp).next()?;
        let tokens = prompt_tokens(run)?.saturating_mul(self.batch);
        let output = RunShape::new(run)
            .output()
            .filter(|output| *output >= 1.0)?;
        Some(Prompts {
            all: of_prompt(inputs, tokens),
            share: 1.0 / output,
        })
    }

    /// Whether every prompt differs from every other, so that no cache holds it.
    fn has_unique_prompts(&self) -> bool {
        let runs = self.sides().map(|inputs| inputs.runs(inputs.tp));
        let mut all = runs.into_iter().flatten();
        all.all(|run| run.format == ServeFormat::Tplens)
    }

    fn difference(
        &self,
        figures: &mut LinkFigures,
        times: &Times,
        planned: &[Planned; 2],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, String>,
    ) -> Result<Difference, String> {
        let (a, b) = (&times.a, &times.b);
        let start = starts::of_server(&self.a.inputs);
        let measured = Measured::new(&self.a.inputs, start, a, b).ok_or("a side has no time")?;
        if a.len() == 1 || b.len() == 1 {
            figures.caveats.push("one start of a server on a side: the spread between starts is assumed; repeat the runs, in turn".to_owned());
        }
        figures.priors.extend(measured.priors());
        let sent = self.sent(figures, planned, by);
        let why_not = sent.as_ref().err().cloned();
        let sent = sent.ok();
        if let Some(sent) = &sent {
            self.in_one_unit(sent, times)?;
        }
        let has_prompts = planned.iter().any(|of| of.prompts.is_some());
        let cached = (has_prompts && !self.has_unique_prompts())
            .then(|| self.a.inputs.prior("prefix_cache_share"))
            .flatten();
        if let Some(sent) = &sent {
            figures.priors.extend(cached.clone());
            let of_starts = sent.iter().filter_map(|side| side.start().cloned());
            let before = figures.priors.len();
            figures.priors.extend(of_starts);
            if figures.priors.len() > before {
                figures.caveats.push("a curve of fewer than 3 launches: what the server's own processes differ by from those that were timed is assumed; measure with allreduce-bench --launches 5".to_owned());
            }
        }
        let mut random = Random::new(self.seed);
        let mut drawn = Drawn::default();
        for _ in 0..self.draws {
            let (one, other) = measured.draw(&mut random);
            drawn.time(one, other);
            if let Some(sent) = &sent {
                let cached = cached
                    .as_ref()
                    .map_or(0.0, |prior| prior.at(random.uniform()));
                drawn.send(sent, 1.0 - cached, &mut random);
            }
        }
        let range =
            |draws: &[f64]| Range::of(draws).ok_or_else(|| "a time is not finite".to_owned());
        let seen = range(&drawn.measured)?;
        let predicted = match &sent {
            None => None,
            Some(sent) => Some(drawn.prediction(sent)?),
        };
        let wired = figures.wire.iter().find(|wire| wire.of == times.of);
        if let Some((by, wire)) = predicted.as_ref().zip(wired) {
            on_own_links(&seen, by, wire)?;
        }
        let verdict = match &predicted {
            Some(by) => LinkVerdict::by_curves(&seen, by, wired),
            None => LinkVerdict::by_bytes(&seen, wired, &why_not.unwrap_or_default()),
        };
        Ok(Difference {
            of: times.of,
            step_from: times.step_from,
            runs_of_a: a.len(),
            runs_of_b: b.len(),
            a: range(&drawn.a)?,
            b: range(&drawn.b)?,
            needed: needed((self.a, self.b), &seen, &planned[1].own),
            measured: seen,
            predicted,
            verdict,
        })
    }

    /// Both sides' collectives by their curves; the error, which stands in the caveats too, says what a curve lacks.
    fn sent(
        &self,
        figures: &mut LinkFigures,
        planned: &[Planned; 2],
        by: impl Fn(&Inputs, &[PlannedCollective]) -> Result<Collectives, String>,
    ) -> Result<[OnSide; 2], String> {
        let read = |[a, b]: [&Inputs; 2]| -> [Result<OnSide, String>; 2] {
            [
                OnSide::new(a, &planned[0], &by),
                OnSide::new(b, &planned[1], &by),
            ]
        };
        // Times of one mode on one side and of another on the other differ by more than the link.
        let common = self.in_common_modes().map(|[a, b]| read([&a, &b]));
        let both = match common {
            Some([Ok(a), Ok(b)]) => [Ok(a), Ok(b)],
            _ => read(self.sides()),
        };
        let mut sides = Vec::new();
        let mut lacking = Vec::new();
        for (side, found) in [self.a, self.b].into_iter().zip(both) {
            match found {
                Ok(on_side) => {
                    for found in on_side.found() {
                        figures.caveats.extend(found.caveats.iter().cloned());
                        figures.priors.extend(found.priors());
                    }
                    sides.push(on_side);
                }
                Err(why) => lacking.push(format!("{}: {why}", side.name)),
            }
        }
        figures.caveats.extend(lacking.iter().cloned());
        // Where a side has no curve at all, all sizes are lacking.
        let why = match self.sides().iter().all(|side| has_curve(side)) {
            true => lacking.join("; "),
            false => {
                let lacking = self.lacking();
                let words: Vec<String> = lacking.iter().map(Lacking::words).collect();
                words.join(" and ")
            }
        };
        sides.try_into().map_err(|_| why)
    }

    /// Whether the curves can be in the unit that they are read in.
    ///
    /// # Errors
    /// The collectives alone are far more than the whole time, in words.
    fn in_one_unit(&self, sent: &[OnSide; 2], times: &Times) -> Result<(), String> {
        let sides = [(self.a, &times.a), (self.b, &times.b)];
        for ((side, runs), sent) in sides.into_iter().zip(sent) {
            let slowest = runs.iter().map(|run| run.of.mean).fold(0.0, f64::max);
            let whole = sent.face_ms();
            if whole > WRONG_UNIT * slowest {
                let source = format!("{}'s curve ({})", side.name, sent.source());
                return Err(wrong_unit(&source, whole, slowest));
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

    /// Prompts in the time of a step, where that is taken from latencies.
    pub(super) fn in_step(&self, inputs: &Inputs) -> Option<Prompts> {
        let mode = self.step_mode();
        mode.is_some_and(|mode| mode.from == StepFrom::Latency)
            .then(|| self.in_latency(inputs))
            .flatten()
    }

    /// What bytes make of a decode step, of a prompt and of all prompts; empty where a link is not known.
    pub(super) fn wires(&self) -> Vec<WireDifference> {
        let Some((share, run)) = self.share_of_raw().zip(self.run()) else {
            return Vec::new();
        };
        let inputs = &self.a.inputs;
        let over =
            |of, words, bytes: &[Bytes<'_>]| wire((self.a, self.b), of, words, bytes, &share);
        let step = self.of_step(inputs);
        let prompts = self.in_step(inputs);
        let mut of_step = vec![Bytes::times(&step, 1.0)];
        let words = match &prompts {
            None => format!("a decode step of {} sequences", self.batch),
            Some(prompts) => {
                let least = match self.has_unique_prompts() {
                    true => prompts.share,
                    false => 0.0,
                };
                of_step.push(Bytes::between(&prompts.all, least, prompts.share));
                format!(
                    "an output token of {} sequences, with its part of their prompts as far as no prefix cache holds them",
                    self.batch
                )
            }
        };
        let mut found: Vec<WireDifference> = over(TimeOf::DecodeStep, words, &of_step)
            .into_iter()
            .collect();
        if let Some(tokens) = prompt_tokens(run) {
            let prompt = of_prompt(inputs, tokens);
            #[expect(clippy::cast_precision_loss, reason = "requests are far below 2^53")]
            let requests = run.completed as f64;
            for (of, words, times) in [
                (
                    TimeOf::FirstToken,
                    format!("a prompt of {tokens} tokens"),
                    1.0,
                ),
                (
                    TimeOf::WholeRun,
                    format!("the {} prompts of the run", run.completed),
                    requests,
                ),
            ] {
                found.extend(over(of, words, &[Bytes::times(&prompt, times)]));
            }
        }
        found
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
