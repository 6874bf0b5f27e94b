//! What does not change from draw to draw: the runs' steps, the plan with its curves, and the priors that are drawn from.

use measure::import::ServeRun;
use measure::record::PlannedStep;
use tp_plan::plan;

use super::anchor::least_gemm_ms;
use super::cost::Curves;
use super::deck::{Deck, Knob};
use super::draws::Workload;
use super::gemm::measured_speedup;
use super::held_back::HeldBack;
use super::prompts::prompts;
use super::result::{Grade, StepFrom};
use super::step::{Side, StepTime};
use super::traced::traced;
use super::unseen::Unseen;
use crate::gates::{RunShape, half_not_proven};
use crate::inputs::Inputs;

/// How many standard deviations of the measurement the causes may exceed it by.
const DEVIATIONS: f64 = 2.0;

/// How the reservation begins that collectives may be hidden, which a slope test settles.
pub(crate) const OVERLAP: &str = "nothing here rules out overlap";

/// All that does not change from draw to draw.
pub(super) struct Prepared<'a> {
    pub(super) workload: Workload<'a>,
    pub(super) deck: Deck,
    pub(super) step: PlannedStep,
    pub(super) step_from: StepFrom,
    /// What the causes may exceed the measurement by, ms.
    pub(super) tolerance: f64,
    /// Why the curve that there is cannot be read at the plan's all-reduces; `None` where it can, or where there is none.
    pub(super) too_far: Option<String>,
    pub(super) caveats: Vec<String>,
}

/// `None` where a run shows no time of a step.
pub(super) fn prepare(inputs: &Inputs) -> Option<Prepared<'_>> {
    let (model, tp) = (&inputs.model, inputs.tp);
    let engine = inputs.engine(tp)?;
    let batch = inputs.batch()?;
    let eager = inputs.is_eager(batch);
    let mut deck = Deck::new(inputs, eager)?;
    let mut caveats = Vec::new();

    #[expect(
        clippy::cast_precision_loss,
        reason = "weights are far below 2^53 bytes"
    )]
    let active = model.parameters as f64 * model.weight_bytes_read(1) / model.weight_bytes as f64;
    // Both sides by the same metric: a gap and a latency of one server differ by more than what is looked for.
    let halves = &inputs.evidence.half;
    let used = inputs.runs(1).chain(inputs.runs(tp)).chain(halves);
    let used: Vec<&ServeRun> = used.collect();
    let step_from = StepFrom::common(&used)?;
    let one = StepTime::new(inputs.runs(1), step_from, Side::One, batch, active)?;
    let several = StepTime::new(inputs.runs(tp), step_from, Side::Several(tp), batch, active)?;
    let half = match halves.as_slice() {
        [] => None,
        runs => {
            // What GEMMs gain is in its step.
            deck.drop(Knob::GemmSpeedup);
            deck.add(Knob::StartOfHalf, inputs.start_to_start(runs.len())?);
            Some(StepTime::new(
                runs.iter(),
                step_from,
                Side::Half(tp),
                batch,
                active,
            )?)
        }
    };
    let sides: Vec<&StepTime> = [&one, &several].into_iter().chain(&half).collect();
    let unseen = (step_from == StepFrom::Tpot)
        .then(|| Unseen::new(tp, &one, &several, &used))
        .flatten();
    let by_token = step_from == StepFrom::Tpot;
    let (held_back, said) = HeldBack::new(inputs, by_token, &sides, &used);
    caveats.extend(said);
    if let Some(unseen) = &unseen {
        caveats.push(unseen.words.clone());
    } else if by_token && !held_back.is_by_median {
        caveats.push("the step is the time per output token, which may hold up to 5% of steps with prompts; give results of serve-bench run for gaps of pure decoding".to_owned());
    }
    let tokens: Vec<f64> = sides.iter().filter_map(|side| side.wave_tokens()).collect();
    if !tokens.is_empty() {
        deck.add(Knob::PrefillRate, inputs.prior("prefill_tflops")?);
        deck.add(Knob::PrefixCache, inputs.prior("prefix_cache_share")?);
        if tokens.contains(&0.0) {
            caveats.push("a file does not say how long its prompts were: prefill is taken to cost nothing, so the step reads longer than it is".to_owned());
        }
        caveats.push("the step is not measured but worked out, since replies were not streamed: the step is the latency less an assumed prefill, over the tokens; run with a stream".to_owned());
    }
    let unstated = inputs.prior("unstated_spread")?;
    let deviation = |step: &StepTime| {
        let offset = inputs.start_to_start(step.repeats())?.high;
        Some(step.deviation_ms(unstated.at(0.5), offset))
    };
    // What is compared is the step on several with the one share, or with the half-width model.
    let other = match &half {
        Some(half) => deviation(half)?,
        None => deviation(&one)? / f64::from(tp),
    };
    let tolerance = DEVIATIONS * other.hypot(deviation(&several)?);
    if sides.iter().any(|side| side.has_unstated_spread()) {
        deck.add(Knob::UnstatedSpread, unstated);
    }
    if sides.iter().any(|side| side.repeats() == 1) {
        caveats.push(
            "one start of a server each: the spread between starts is assumed; repeat the runs"
                .to_owned(),
        );
    }

    let step = plan(model, engine, batch, None);
    if half.is_none() {
        let (measured, said) = measured_speedup(inputs, step.padded_batch);
        caveats.extend(said);
        if let Some(prior) = measured {
            deck.replace(Knob::GemmSpeedup, prior);
        }
    }
    let curves = Curves::choose(inputs, eager, &step.collectives, &mut deck);
    let mut terms = None;
    let (mut too_far, mut short) = (None, None);
    let curves = curves.filter(|curves| {
        too_far = curves.too_far(&step.collectives);
        caveats.extend(too_far.clone());
        short = too_far.is_some().then(|| curves.clone());
        too_far.is_none()
    });
    if let Some(curves) = &curves {
        // What a half-width model leaves is what is not hidden, and is held against the whole of the calls.
        let may_hide = curves.is_own && half.is_none();
        let mut decode = Vec::new();
        for collective in &step.collectives {
            let (term, caveat) = curves.term(collective);
            caveats.extend(caveat.filter(|_| inputs.evidence.trace.is_none()));
            decode.push(if may_hide { term.may_hide() } else { term });
        }
        if may_hide {
            let exposed = inputs.prior("exposed")?;
            if inputs.evidence.trace.is_none() && exposed.low < exposed.high {
                caveats.push(format!(
                    "{OVERLAP}: communication's interval allows for {:.0}% of the collectives to be hidden behind other work; a slope test (serve-bench ablate) or a half-width model tells",
                    (1.0 - exposed.low) * 100.0
                ));
            }
            deck.add(Knob::Exposed, exposed);
        }
        if inputs.evidence.trace.is_none() {
            caveats.extend(curves.caveats.iter().cloned());
        }
        terms = Some(decode);
    }
    let prompts = several.wave_tokens().and_then(|tokens| {
        let short = short.as_ref();
        prompts(
            inputs,
            curves.as_ref(),
            short,
            tokens,
            &mut deck,
            &mut caveats,
        )
    });
    let prompts = prompts.unwrap_or_default();
    let not_proven = half_not_proven(inputs).map(|why| format!("half width not proven ({why})"));
    // With a curve the prompts' all-reduces are drawn by it, and taken off the latencies.
    let not_proven = match half.is_some() && prompts.are_by_rate() {
        true => {
            let why = "the steps are worked out from latencies, in which the prompts' own all-reduces lie, and no curve says what they take";
            caveats.push(format!("{why}: run with a stream, or give --allreduce"));
            Some(not_proven.map_or(why.to_owned(), |before| format!("{before}; {why}")))
        }
        false => not_proven,
    };
    let of_own_curve = terms.is_some() && curves.is_some_and(|curves| curves.is_own);
    let (terms, said) = traced(inputs, &step.collectives, terms, &mut deck);
    caveats.extend(said);
    let mut costs = terms.iter().flatten().map(|term| &term.cost);
    let by_own = of_own_curve || costs.any(|cost| cost.grade == Grade::A);
    let used: Vec<Knob> = terms
        .iter()
        .flatten()
        .chain(&prompts.terms)
        .flat_map(|term| term.factors.clone())
        .collect();
    deck.drop_unused(&used);
    if terms
        .iter()
        .flatten()
        .chain(&prompts.terms)
        .any(|term| term.is_unstated)
    {
        deck.add(
            Knob::UnstatedCurveSpread,
            inputs.prior("unstated_curve_spread")?,
        );
    }
    caveats.extend(engine.assumed.iter().chain(&model.assumed).cloned());
    caveats.dedup();

    let context = inputs.runs(tp).next().map_or(0.0, |run| {
        let shape = RunShape::new(run);
        shape.input().unwrap_or(0.0) + shape.output().unwrap_or(0.0) / 2.0
    });
    Some(Prepared {
        tolerance,
        too_far,
        workload: Workload {
            model,
            tp,
            batch,
            one,
            several,
            half,
            terms,
            prompts,
            by_own,
            // Of a mixture of experts at least what one token needs, however the others are routed.
            least_gemm_ms: least_gemm_ms(inputs, model.weight_bytes_read(1)),
            context,
            unseen,
            held_back,
            not_proven,
        },
        deck,
        step,
        step_from,
        caveats,
    })
}
