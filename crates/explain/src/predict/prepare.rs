//! What one size is drawn from: the level, the curve with its collectives, and the priors.

use import::{CurvePoint, ServeRun};
use tp_plan::{StepModel, plan};

use super::inputs::{DESCRIBED, PredictInputs};
use super::link;
use super::parts::Size;
use super::result::{Level, PredictError};
use super::room;
use crate::attribute::cost::{Curves, Term};
use crate::attribute::deck::{Deck, Knob};
use crate::attribute::prompts::prefill;
use crate::attribute::step::{Side, StepTime};
use crate::attribute::{CollectiveCost, StepFrom, unused};
use crate::finding::Finding;
use crate::grade::Grade;
use crate::inputs::Inputs;
use crate::peaks::Peak;
use crate::priors::{Basis, Prior};

/// What one size is drawn from.
pub(super) struct Prepared<'a> {
    pub(super) size: Size<'a>,
    pub(super) deck: Deck,
    pub(super) level: Level,
    pub(super) costs: Vec<CollectiveCost>,
    /// Sequences whose cache goes into the GPUs.
    pub(super) cache_holds: Option<u32>,
    pub(super) priors: Vec<Prior>,
    pub(super) caveats: Vec<Finding>,
}

/// What the size `tp` is drawn from.
pub(super) fn prepare(inputs: &PredictInputs, tp: u32) -> Result<Prepared<'_>, PredictError> {
    let model = &inputs.base.model;
    model.check_tp(tp)?;
    let of_tp = Inputs {
        tp,
        ..inputs.base.clone()
    };
    room::weights(inputs, tp)?;
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
        StepTime::new(runs, from, Side::Few(1), inputs.batch, active)
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
    let level = match one {
        Some(_) => Level::MeasuredOne,
        None => Level::Roofline,
    };
    let peak = of_tp.known.gpu.as_deref().and_then(Peak::of);
    if peak.is_none() && one.is_none() {
        return Err(PredictError::NoPeak {
            gpu: of_tp
                .known
                .gpu
                .clone()
                .unwrap_or_else(|| "a GPU without a name".to_owned()),
        });
    }
    let cache_holds = room::cache_holds(inputs, tp);
    if let Err(why) = room::cache(inputs, tp) {
        // What was served was served, if only by letting requests wait.
        let was_served = tp == 1 && one.is_some();
        if !was_served && room::is_whole_cache(inputs) {
            return Err(why);
        }
        let holds = cache_holds.unwrap_or(0);
        caveats.push(Finding::CacheTight {
            tp,
            holds,
            batch: inputs.batch,
        });
    }
    let speedup = prior("gemm_speedup")?;
    let rate = prior("prefill_tflops")?;
    let speedup_known = speedup.basis != Basis::Assumed;
    let prefill_known = rate.basis != Basis::Assumed || peak.is_none();
    let measured: Vec<&StepTime> = one.iter().chain(&tpot_of_one).collect();
    let from_latency = measured.iter().any(|step| step.wave_tokens().is_some());
    let mut add = |knob: Knob, name: &str| -> Result<(), PredictError> {
        deck.add(knob, prior(name)?);
        Ok(())
    };
    add(Knob::GemmStart, "gemm_start_us")?;
    add(Knob::HostFloor, "host_floor_ms")?;
    add(Knob::HostPerSequence, "host_us_per_sequence")?;
    if model.experts.is_some() {
        add(Knob::ExpertStart, "expert_start_us")?;
    }
    add(Knob::MemoryRate, "memory_efficiency")?;
    add(Knob::ExpertRate, "expert_memory_efficiency")?;
    add(Knob::MathRate, "math_efficiency")?;
    add(Knob::PrefillRate, "prefill_tflops")?;
    add(Knob::Jitter, "segment_jitter_us")?;
    if peak.is_some() {
        add(Knob::AttentionStart, "attention_start_us")?;
        add(Knob::CacheOverPeak, "cache_over_peak")?;
    }
    add(Knob::LeftOut, "left_out")?;
    add(Knob::PromptsSeen, "prompts_seen")?;
    add(Knob::Launches, "launch_us_per_layer")?;
    add(Knob::PromptAttention, "prompt_attention_efficiency")?;
    if from_latency {
        add(Knob::PrefixCache, "prefix_cache_share")?;
        caveats.push(Finding::NotStreamed);
    }
    if measured.iter().any(|step| step.has_unstated_spread()) {
        add(Knob::UnstatedSpread, "unstated_spread")?;
    }

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
            speedup_known,
            prefill_known,
            chunk,
        },
        deck,
        level,
        costs: Vec::new(),
        cache_holds,
        priors: Vec::new(),
        caveats,
    };
    if tp > 1 {
        prepared.communicate(inputs, of_tp, eager)?;
    }
    prepared.caveats.extend(engine_caveats(inputs, tp));
    prepared.priors = prepared.used_priors();
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

fn engine_caveats(inputs: &PredictInputs, tp: u32) -> Vec<Finding> {
    let engine = inputs.base.engine(tp);
    let of_engine = engine.map_or(&[][..], |engine| &engine.assumed);
    let all = of_engine.iter().chain(&inputs.base.model.assumed);
    all.map(|detail| Finding::Assumed {
        detail: detail.clone(),
    })
    .collect()
}

impl Prepared<'_> {
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
        let mut deck = self.deck.clone();
        let unused = unused(&of_tp);
        let mut chosen = Curves::choose(&of_tp, eager, &planned, &mut deck);
        if let Some(far) = chosen.as_ref().and_then(|curves| curves.too_far(&planned)) {
            self.caveats.push(far);
            chosen = None;
        }
        let mut formula = None;
        if chosen.is_none()
            && let Some(link) = &inputs.link
        {
            deck = self.deck.clone();
            of_tp.curve = link::curve(link, tp, eager);
            chosen = Curves::choose(&of_tp, eager, &planned, &mut deck);
            // The factor from a measured loop to an engine holds the waiting for the last rank, a formula's does not.
            deck.drop(Knob::Transfer);
            let factor = of_tp
                .prior("curve_from_link")
                .ok_or_else(|| lacks("the prior curve_from_link"))?;
            deck.add(Knob::Mode, factor);
            self.caveats.push(Finding::CurveByFormula {
                gb_per_s: link.gbps,
            });
            formula = Some(link::source(link));
        }
        let mut curves = chosen.ok_or(PredictError::NoCurve { tp })?;
        if let Some(formula) = formula {
            curves.calculated(formula);
        }
        // A box file states times as somebody assumed or published them, which is no curve of this box.
        let is_described = curves.is_own && of_tp.curve.iter().all(is_described);
        let mut terms: Vec<Term> = Vec::new();
        for collective in &planned {
            let (mut term, caveat) = curves.term(collective);
            if is_described {
                term.cost.grade = Grade::D;
            }
            self.caveats.extend(caveat);
            terms.push(term);
        }
        self.caveats.extend(curves.caveats.iter().cloned());
        self.caveats.extend(unused);
        let prompt = prefill(&of_tp, &curves, inputs.input_tokens);
        let all = || terms.iter().chain(&prompt);
        let used: Vec<Knob> = all().flat_map(|term| term.factors.clone()).collect();
        deck.drop_unused(&used);
        if all().any(|term| term.is_unstated) {
            let prior = of_tp.prior("unstated_curve_spread");
            deck.add(
                Knob::UnstatedCurveSpread,
                prior.ok_or_else(|| lacks("a prior"))?,
            );
        }
        // A factor from a loop to an engine holds the waiting already.
        let transfer = deck.prior(Knob::Transfer);
        self.size.waits = !transfer.is_some_and(|prior| prior.name.starts_with("in_situ"));
        self.deck = deck;
        self.costs = terms.iter().map(|term| term.cost.clone()).collect();
        self.size.terms = terms;
        self.size.prefill_terms = prompt;
        Ok(())
    }

    /// The priors that something was drawn from.
    fn used_priors(&self) -> Vec<Prior> {
        let size = &self.size;
        let roofline = size.one.is_none();
        let unused = |name: &str| match name {
            "gemm_speedup" => !size.speedup_known,
            "gemm_start_us" => size.speedup_known && !roofline,
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
