//! What does not change from draw to draw: the runs' steps, the plan with its curves, and the priors that are drawn from.

use import::ServeRun;
use record::PlannedStep;
use tp_plan::{StepModel, plan};

use super::cost::{Sent, Term, prompts, settle};
use super::deck::{Deck, Knob};
use super::draws::Workload;
use super::result::StepFrom;
use super::step::{Side, StepTime, Unseen};
use super::traced::traced;
use crate::checks::without_rules;
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::peaks::Peak;
use crate::range::Grade;
use crate::run_shape::RunShape;

/// How many standard deviations of the measurement the causes may exceed it by.
const DEVIATIONS: f64 = 2.0;

/// All that does not change from draw to draw.
pub(super) struct Prepared<'a> {
    pub(super) workload: Workload<'a>,
    pub(super) deck: Deck,
    pub(super) step: PlannedStep,
    pub(super) step_from: StepFrom,
    /// What the causes may exceed the measurement by, ms.
    pub(super) tolerance: f64,
    pub(super) caveats: Vec<Finding>,
}

/// `None` where a run shows no time of a step.
pub(super) fn prepare(inputs: &Inputs, fewer: OfFewer) -> Option<Prepared<'_>> {
    let (model, tp) = (&inputs.model, inputs.tp);
    let engine = inputs.engine(tp)?;
    let batch = inputs.batch()?;
    let eager = inputs.is_eager(batch);
    let mut deck = Deck::new(inputs, eager)?;
    let mut caveats: Vec<Finding> = Vec::new();

    let active = model.active_parameters();
    // Both sides by the same metric: a gap and a latency of one server differ by more than what is looked for.
    let halves = &inputs.evidence.half;
    let from = inputs.from();
    let used = inputs.runs(from).chain(inputs.runs(tp)).chain(halves);
    let used: Vec<&ServeRun> = used.collect();
    let step_from = StepFrom::common(&used)?;
    let one = StepTime::new(inputs.runs(from), step_from, Side::few(from), batch, active)?;
    let several = StepTime::new(inputs.runs(tp), step_from, Side::several(tp), batch, active)?;
    let mut half = None;
    if !halves.is_empty() {
        deck.add(Knob::StartOfHalf, inputs.start_to_start(halves.len())?);
        let step = StepTime::new(halves.iter(), step_from, Side::half(tp), batch, active);
        half = Some(step?);
    }
    let sides: Vec<&StepTime> = [&one, &several].into_iter().chain(&half).collect();
    let by_token = step_from == StepFrom::Tpot;
    let times = f64::from(tp) / f64::from(from);
    let unseen = by_token.then(|| Unseen::new(times, &one, &several, &used));
    let unseen = unseen.flatten();
    let left_out = sides.iter().filter_map(|side| side.left_out());
    let left_out = left_out.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    if let Some((left_out_ms, of_ms)) = left_out {
        caveats.push(Finding::StepByMedian { left_out_ms, of_ms });
    } else if by_token {
        let most_ms = unseen.and_then(|of| of.most_ms);
        caveats.push(Finding::StepHoldsPrompts { most_ms });
    }
    // A trace counts what was sent, and a shard run measures what is left of it.
    let has_own = inputs.evidence.trace.is_some() || !halves.is_empty();
    let is_uncounted = without_rules(inputs).is_some() && !has_own;
    let is_doubtful = left_out.is_some() || is_uncounted || unseen.is_some_and(|of| of.is_doubtful);
    let tokens: Vec<f64> = sides.iter().filter_map(|side| side.wave_tokens()).collect();
    if !tokens.is_empty() {
        deck.add(Knob::PrefillRate, inputs.prior("prefill_tflops")?);
        deck.add(Knob::PrefixCache, inputs.prior("prefix_cache_share")?);
        caveats.push(Finding::NotStreamed);
    }
    let unstated = inputs.prior("unstated_spread")?;
    let deviation = |step: &StepTime| {
        let offset = inputs.start_to_start(step.repeats())?.high;
        Some(step.deviation_ms(unstated.at(0.5), offset))
    };
    // What is compared is the step on several with the one share, or with the half-width model.
    let other = match &half {
        Some(half) => deviation(half)?,
        None => deviation(&one)? * f64::from(from) / f64::from(tp),
    };
    let tolerance = DEVIATIONS * other.hypot(deviation(&several)?);
    if sides.iter().any(|side| side.has_unstated_spread()) {
        deck.add(Knob::UnstatedSpread, unstated);
    }
    if sides.iter().any(|side| side.repeats() == 1) {
        caveats.push(Finding::SingleStart);
    }

    let step = plan(model, engine, batch, None);
    let is_traced = inputs.evidence.trace.is_some();
    let mut terms = None;
    let curves = match Sent::of(inputs, eager, &step.collectives, &mut deck) {
        Ok(sent) => {
            // What a half-width model leaves is what is not hidden, and is compared with the whole of the calls.
            let mut decode = sent.terms;
            if sent.curves.is_own && half.is_none() {
                for term in &mut decode {
                    term.factors.push(Knob::Exposed);
                }
                deck.add(Knob::Exposed, inputs.prior("exposed")?);
            }
            let said = sent.curves.caveats.iter().cloned();
            caveats.extend(said.filter(|_| !is_traced));
            terms = Some(decode);
            Some(sent.curves)
        }
        Err(Finding::NoCurve { .. }) => None,
        Err(too_far) => {
            caveats.push(too_far);
            None
        }
    };
    for knob in fewer.terms.iter().flat_map(|term| &term.factors) {
        if let (None, Some(prior)) = (deck.prior(*knob), fewer.deck.as_ref()?.prior(*knob)) {
            deck.add(*knob, prior.clone());
        }
    }
    let few_terms = fewer.terms;
    let prompts = several
        .wave_tokens()
        .and_then(|tokens| prompts(inputs, curves.as_ref(), tokens, &mut deck));
    let prompts = prompts.unwrap_or_default();
    let of_own_curve = terms.is_some() && curves.is_some_and(|curves| curves.is_own);
    let (terms, said) = traced(inputs, &step.collectives, terms, &mut deck);
    caveats.extend(said);
    let mut costs = terms.iter().flatten().map(|term| &term.cost);
    let by_own = of_own_curve || costs.any(|cost| cost.grade == Grade::A);
    let all = terms.iter().flatten().chain(&prompts).chain(&few_terms);
    settle(&mut deck, inputs, all)?;
    caveats.extend(inputs.assumed(tp));
    caveats.dedup();

    let run = inputs.runs(tp).next().map(RunShape::new);
    let context = run.map_or(0.0, |run| run.context());
    Some(Prepared {
        tolerance,
        workload: Workload {
            model: StepModel {
                model,
                batch,
                context,
            },
            from,
            tp,
            one,
            few_terms,
            several,
            half,
            terms,
            prompts,
            by_own,
            // Of a mixture of experts at least what one token needs, however the others are routed.
            least_gemm_ms: least_gemm_ms(inputs, model.weight_bytes_read(1)),
            unseen,
            is_doubtful,
        },
        deck,
        step,
        step_from,
        caveats,
    })
}

/// Collectives of the size that is compared with, with what their times are drawn from; none of one GPU.
#[derive(Default)]
pub(super) struct OfFewer {
    terms: Vec<Term>,
    deck: Option<Deck>,
}

/// Factors that both sizes have are drawn once; the error says why nothing tells their times.
pub(super) fn of_fewer(inputs: &Inputs) -> Result<OfFewer, Finding> {
    let few = inputs.at(inputs.from());
    if few.tp == 1 {
        return Ok(OfFewer::default());
    }
    let engine = few.engine(few.tp).ok_or(Finding::NoStepTime)?;
    let batch = inputs.batch().ok_or(Finding::NoStepTime)?;
    let eager = inputs.is_eager(batch);
    let planned = plan(&few.model, engine, batch, None).collectives;
    let mut deck = Deck::new(inputs, eager).ok_or(Finding::NoStepTime)?;
    let terms = Sent::of(&few, eager, &planned, &mut deck)?.terms;
    let deck = Some(deck);
    Ok(OfFewer { terms, deck })
}

/// What reading the weights takes at least on one GPU, ms: at the whole bandwidth of its memory; 0 where that is not known.
fn least_gemm_ms(inputs: &Inputs, bytes: f64) -> f64 {
    let peak = inputs.known.gpu.as_deref().and_then(Peak::of);
    // GB/s are 10^6 bytes a ms.
    peak.map_or(0.0, |peak| bytes / (peak.memory_gbps * 1e6))
}
