//! What one size is drawn from: the level, the curve with its collectives, and the priors; and whether the files that a prediction
//! starts from agree with each other and with the load that is asked about.

use import::{CurvePoint, ServeRun};
use tp_plan::{StepModel, plan};

use super::link::{DESCRIBED, PredictInputs};
use super::parts::Size;
use super::result::{Level, PredictError, cache, cache_holds, weights};
use crate::attribute::cost::{Sent, prefill, settle};
use crate::attribute::deck::{Deck, Knob};
use crate::attribute::step::{Side, StepTime};
use crate::attribute::{StepFrom, TimeSource};
use crate::checks::{TOLERANCE, findings, model_asked, unused};
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::peaks::Peak;
use crate::priors::{Basis, Prior};
use crate::range::Grade;
use crate::run_shape::RunShape;

/// What one size is drawn from.
pub(super) struct Prepared<'a> {
    pub(super) size: Size<'a>,
    pub(super) deck: Deck,
    /// Sequences whose cache goes into the GPUs.
    pub(super) cache_holds: Option<u32>,
    pub(super) caveats: Vec<Finding>,
}

/// What the size `tp` is drawn from.
pub(super) fn prepare(inputs: &PredictInputs, tp: u32) -> Result<Prepared<'_>, PredictError> {
    let model = &inputs.base.model;
    model.check_tp(tp)?;
    let of_tp = inputs.base.at(tp);
    if let Some(why) = weights(inputs, tp) {
        return Err(PredictError::NoRoom(why));
    }
    let engine = of_tp
        .engine(tp)
        .ok_or_else(|| lacks(&format!("the engine's facts for TP{tp}")))?;
    let chunk = f64::from(engine.max_batched_tokens.max(1));
    let prior = |name: &str| {
        of_tp
            .prior(name)
            .ok_or_else(|| lacks(&format!("the prior {name}")))
    };
    let eager = of_tp.is_eager(inputs.batch);
    let mut deck = Deck::new(&of_tp, eager).ok_or_else(|| lacks("priors of a step"))?;
    let mut caveats: Vec<Finding> = Vec::new();

    let runs: Vec<&ServeRun> = of_tp.runs(1).collect();
    let steps = |from: StepFrom| {
        let (runs, active) = (runs.iter().copied(), model.active_parameters());
        StepTime::new(runs, from, Side::few(1), inputs.batch, active)
    };
    let step_from = StepFrom::common(&runs);
    let one = match runs.is_empty() {
        true => None,
        // What prompts add to it is worked out here, and taken off.
        false => Some(
            step_from
                .and_then(steps)
                .ok_or_else(|| lacks("a time of a step in the result of one GPU"))?
                .with_its_prompts(),
        ),
    };
    let is_streamed = step_from.is_some_and(|from| from != StepFrom::Latency);
    let tpot_of_one = is_streamed.then(|| steps(StepFrom::Tpot)).flatten();
    let peak = of_tp.known.gpu.as_deref().and_then(Peak::of);
    if peak.is_none() && one.is_none() {
        let gpu = of_tp.known.gpu.as_deref().unwrap_or("a GPU without a name");
        return Err(PredictError::NoPeak {
            gpu: gpu.to_owned(),
        });
    }
    let cache_holds = cache_holds(inputs, tp);
    if let Some(why) = cache(inputs, tp) {
        // What was served was served, if only by letting requests wait.
        let was_served = tp == 1 && one.is_some();
        if !was_served && inputs.base.model.keeps_every_token() {
            return Err(PredictError::NoRoom(why));
        }
        let holds = cache_holds.unwrap_or(0);
        caveats.push(Finding::CacheTight {
            tp,
            holds,
            batch: inputs.batch,
        });
    }
    let rate = prior("prefill_tflops")?;
    let prefill_known = rate.basis != Basis::Assumed || peak.is_none();
    let measured: Vec<&StepTime> = one.iter().chain(&tpot_of_one).collect();
    let from_latency = measured.iter().any(|step| step.wave_tokens().is_some());
    let has_peak = peak.is_some();
    let is_unstated = measured.iter().any(|step| step.has_unstated_spread());
    let drawn = [
        (true, Knob::HostFloor, "host_floor_ms"),
        (true, Knob::HostPerSequence, "host_us_per_sequence"),
        (true, Knob::MemoryRate, "memory_efficiency"),
        (true, Knob::ExpertRate, "expert_memory_efficiency"),
        (true, Knob::MathRate, "math_efficiency"),
        (true, Knob::PrefillRate, "prefill_tflops"),
        (true, Knob::Jitter, "segment_jitter_us"),
        (has_peak, Knob::AttentionStart, "attention_start_us"),
        (has_peak, Knob::CacheOverPeak, "cache_over_peak"),
        (true, Knob::LeftOut, "left_out"),
        (true, Knob::PromptsSeen, "prompts_seen"),
        (true, Knob::Launches, "launch_us_per_layer"),
        (true, Knob::PromptAttention, "prompt_attention_efficiency"),
        (from_latency, Knob::PrefixCache, "prefix_cache_share"),
        (is_unstated, Knob::UnstatedSpread, "unstated_spread"),
    ];
    for (_, knob, name) in drawn.into_iter().filter(|(is_drawn, ..)| *is_drawn) {
        deck.add(knob, prior(name)?);
    }
    caveats.extend(from_latency.then_some(Finding::NotStreamed));

    let mut prepared = Prepared {
        size: Size {
            model: StepModel {
                model,
                batch: inputs.batch,
                context: inputs.input_tokens + inputs.output_tokens / 2.0,
            },
            tp,
            input_tokens: inputs.input_tokens,
            output_tokens: inputs.output_tokens,
            peak,
            one_is_mixed: step_from == Some(StepFrom::Tpot)
                && one.as_ref().is_some_and(|one| one.left_out().is_none()),
            one,
            tpot_of_one,
            terms: Vec::new(),
            prefill_terms: Vec::new(),
            waits: false,
            prefill_known,
            chunk,
        },
        deck,
        cache_holds,
        caveats,
    };
    if tp > 1 {
        prepared.communicate(inputs, of_tp, eager)?;
    }
    prepared.caveats.extend(inputs.base.assumed(tp));
    Ok(prepared)
}

fn lacks(what: &str) -> PredictError {
    PredictError::Lacks(what.to_owned())
}

/// Whether a time is a box file's.
fn is_described(point: &CurvePoint) -> bool {
    let by = point.library.as_ref().or(point.engine.as_ref());
    by.is_some_and(|by| by == DESCRIBED)
}

impl Prepared<'_> {
    /// What it rests on.
    pub(super) fn level(&self) -> Level {
        match self.size.one {
            Some(_) => Level::MeasuredOne,
            None => Level::Roofline,
        }
    }

    /// Puts in the collectives of a step and of a prompt by the best curve: this box's, else one published for its GPU, else
    /// what NCCL's own model makes of its links.
    fn communicate(
        &mut self,
        inputs: &PredictInputs,
        mut of_tp: Inputs,
        eager: bool,
    ) -> Result<(), PredictError> {
        let tp = of_tp.tp;
        let engine = of_tp
            .engine(tp)
            .ok_or_else(|| lacks("the engine's facts"))?;
        let planned = plan(&of_tp.model, engine, inputs.batch, None).collectives;
        let unused = unused(&of_tp);
        let mut deck = self.deck.clone();
        let mut sent = Sent::of(&of_tp, eager, &planned, &mut deck);
        if let Err(far @ Finding::CurveTooFar { .. }) = &sent {
            self.caveats.push(far.clone());
        }
        let link = inputs.link.as_ref().filter(|_| sent.is_err());
        if let Some(link) = link {
            // The factor from a measured loop to an engine holds the waiting for the last rank, a formula's does not.
            deck = self.deck.clone();
            of_tp.curve = link.curve(tp, eager);
            sent = Sent::of(&of_tp, eager, &planned, &mut deck);
            deck.drop(Knob::Transfer);
            let factor = of_tp.prior("curve_from_link");
            let factor = factor.ok_or_else(|| lacks("the prior curve_from_link"))?;
            deck.add(Knob::Mode, factor);
            self.caveats.push(Finding::CurveByFormula {
                gb_per_s: link.gbps,
            });
        }
        let Ok(mut sent) = sent else {
            return Err(PredictError::NoCurve { tp });
        };
        // A box file states times as somebody assumed or published them, which is no curve of this box; nor is a formula's.
        let is_described = sent.curves.is_own && of_tp.curve.iter().all(is_described);
        for cost in sent.terms.iter_mut().map(|term| &mut term.cost) {
            if let Some(link) = link {
                cost.source = TimeSource::Formula {
                    gb_per_s: link.gbps,
                    source: link.source.clone(),
                };
            }
            if link.is_some() || is_described {
                cost.grade = Grade::D;
            }
        }
        if link.is_none() {
            self.caveats.extend(sent.curves.caveats.iter().cloned());
        }
        self.caveats.extend(unused);
        let prompt = prefill(&of_tp, &sent.curves, inputs.input_tokens);
        let terms = sent.terms;
        let all = terms.iter().chain(&prompt);
        settle(&mut deck, &of_tp, all).ok_or_else(|| lacks("a prior"))?;
        // A factor from a loop to an engine holds the waiting already.
        let transfer = deck.prior(Knob::Transfer);
        self.size.waits = !transfer.is_some_and(|prior| prior.name.starts_with("in_situ"));
        self.deck = deck;
        self.size.terms = terms;
        self.size.prefill_terms = prompt;
        Ok(())
    }

    /// The priors that something was drawn from.
    pub(super) fn used_priors(&self) -> Vec<Prior> {
        let size = &self.size;
        let roofline = size.one.is_none();
        let unused = |name: &str| match name {
            "memory_efficiency" | "math_efficiency" => !roofline,
            "expert_memory_efficiency" => !roofline || size.model.model.experts.is_none(),
            "prefill_tflops" => !size.prefill_known,
            "start_to_start" | "start_to_start_on_cpus" => roofline,
            "executor_ms" => size.tp == 1,
            "segment_jitter_us" => !size.waits,
            "attention_us_per_layer" => size.peak.is_some(),
            "kv_read_factor" => size.peak.is_some() && roofline,
            _ => false,
        };
        let mut priors = self.deck.priors();
        priors.retain(|prior| !unused(&prior.name));
        priors
    }
}

/// What stands against the results that were given.
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
