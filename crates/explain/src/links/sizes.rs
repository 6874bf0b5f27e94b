//! TPm against TPn where there is no run of one GPU: what more GPUs gain, with the communication of the fewer taken out first, by
//! the best curve that there is of it.

use tp_plan::plan;

use super::pair::WRONG_UNIT;
use super::rate::{measured, of_size, rate, times};
use super::sizes_result::{SizeAttribution, SizeComparison, SizeOutcome};
use crate::attribute::deck::Deck;
use crate::attribute::{Bar, Basis, Cause, Claim, Collectives};
use crate::checks::pair_findings;
use crate::explanation::SCHEMA;
use crate::finding::{Finding, Refusal, capped, refusing};
use crate::grade::Grade;
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;
use crate::range::Range;
use crate::run_shape::RunShape;
use crate::sources::sources;
use crate::step_model::StepModel;

/// What tells this form from an explanation.
const KIND: &str = "sizes";

/// Where fewer draws than this share fit what was measured, nothing is claimed.
const FITTING: f64 = 0.05;

/// Where at least this share of the draws does not fit, that is said as a caveat.
const HARDLY: f64 = 0.9;

/// One draw, ms a step.
#[derive(Debug, Clone, Copy)]
struct Draw {
    fewer: f64,
    more: f64,
    sent_of_fewer: f64,
    ideal: f64,
    gemm_loss: f64,
    unsharded: f64,
    /// `None` where there is no curve.
    sent: Option<f64>,
}

impl Draw {
    fn remainder(&self) -> f64 {
        self.more - self.ideal - self.gemm_loss - self.unsharded
    }

    fn unexplained(&self) -> f64 {
        self.remainder() - self.sent.unwrap_or(0.0)
    }
}

/// Why [`Inputs::tp`] GPUs are as fast as they are against `from`, of which [`Inputs::serve`] holds both; the same inputs, seed
/// and number of draws give the same result.
#[must_use]
pub fn compare_sizes(inputs: &Inputs, from: u32, seed: u64, draws: u32) -> SizeComparison {
    let (fewer, more) = (of_size(inputs, from), of_size(inputs, inputs.tp));
    let names = [from, inputs.tp].map(|tp| format!("TP{tp}"));
    let findings = pair_findings((&names[0], &fewer), (&names[1], &more));
    let reasons = refusing(&findings);
    let is_comparable = reasons.is_empty();
    let found = match is_comparable {
        true => attribution(&fewer, &more, &findings, seed, draws).map_err(|why| vec![why]),
        false => Err(reasons),
    };
    // Without a curve, how fast they are is reported all the same.
    let rate = match &found {
        Ok(found) => Some(found.rate()),
        Err(_) if is_comparable => rate(&fewer, &more, seed, draws).ok(),
        Err(_) => None,
    };
    SizeComparison {
        schema: SCHEMA,
        kind: KIND.to_owned(),
        simulated: inputs.simulated().filter(|_| {
            !findings
                .iter()
                .any(|of| matches!(of, Finding::SimulatedMixed { .. }))
        }),
        model: inputs.model.name.clone(),
        from,
        to: inputs.tp,
        engine: inputs.engine(inputs.tp).map(tp_plan::EngineFacts::describe),
        box_name: inputs.known.name.clone(),
        gpu: inputs.known.gpu.clone(),
        inputs: sources(inputs),
        notes: Vec::new(),
        rate: rate.filter(|_| found.is_err()),
        findings,
        outcome: match found {
            Ok(attribution) => SizeOutcome::Attributed {
                attribution: Box::new(attribution),
            },
            Err(reasons) => SizeOutcome::Refused {
                refusal: Refusal { reasons },
            },
        },
    }
}

fn attribution(
    fewer: &Inputs,
    more: &Inputs,
    findings: &[Finding],
    seed: u64,
    draws: u32,
) -> Result<SizeAttribution, Finding> {
    let (from, measured) = measured(fewer, more)?;
    let batch = more.batch().ok_or(Finding::NoStepTime)?;
    let eager = more.is_eager(batch);
    let sent = |inputs: &Inputs| {
        let tp = inputs.tp;
        let engine = inputs.engine(tp).ok_or(Finding::EngineMissing { tp })?;
        let planned = plan(&inputs.model, engine, batch, None).collectives;
        Collectives::of(inputs, eager, &planned)
    };
    let of_fewer = sent(fewer)?;
    let of_more = sent(more);
    for (inputs, of) in [(fewer, Some(&of_fewer)), (more, of_more.as_ref().ok())] {
        let times = times(inputs, from);
        let step_ms = times.iter().map(|time| time.of.mean).fold(0.0, f64::max);
        let collectives_ms = of.map_or(0.0, |of| if of.is_own() { of.face_ms() } else { 0.0 });
        if collectives_ms > WRONG_UNIT * step_ms {
            return Err(Finding::CurveUnit {
                collectives_ms,
                step_ms,
            });
        }
    }
    let compute = Deck::new(more, eager).ok_or(Finding::NoStepTime)?;
    let run = more.runs(more.tp).next().map(RunShape::new);
    let model = StepModel {
        model: &more.model,
        batch,
        context: run.map_or(0.0, |run| run.context()),
    };
    let mut random = Random::new(seed);
    let drawn: Vec<Draw> = (0..draws.max(1))
        .map(|_| {
            let (few, many) = measured.draw(&mut random);
            let (on_few, on_many) = match &of_more {
                Ok(of_more) => {
                    let (few, many) = Collectives::draw_both(&of_fewer, of_more, &mut random);
                    (few.ms, Some(many.ms))
                }
                Err(_) => (of_fewer.draw(&mut random).ms, None),
            };
            // Collectives do not shard: only what is left without them is shared out.
            let hand = compute.draw(&mut random);
            let split = model.split(&hand, few - on_few, fewer.tp, more.tp);
            Draw {
                fewer: few,
                more: many,
                sent_of_fewer: on_few,
                ideal: split.ideal,
                gemm_loss: split.gemm_loss,
                unsharded: split.unsharded + split.host,
                sent: on_many,
            }
        })
        .collect();
    let range = |draws: &[Draw], of: fn(&Draw) -> f64| {
        let values: Vec<f64> = draws.iter().map(of).collect();
        Range::of(&values).ok_or(Finding::NoStepTime)
    };
    let width = |range: Range| (range.high - range.low) / 2.0;
    let ratio = f64::from(fewer.tp) / f64::from(more.tp);
    let tolerance = width(range(&drawn, |draw| draw.more)?)
        .hypot(ratio * width(range(&drawn, |draw| draw.fewer)?));
    let keep = |of: fn(&Draw) -> f64| -> Vec<Draw> {
        let fits = |draw: &&Draw| of(draw) >= -tolerance && draw.ideal > 0.0;
        drawn.iter().filter(fits).copied().collect()
    };
    let (free, fitting) = (keep(Draw::remainder), keep(Draw::unexplained));
    #[expect(clippy::cast_precision_loss, reason = "draws are thousands")]
    let share = |part: &[Draw]| part.len() as f64 / drawn.len() as f64;
    if share(&free) < FITTING {
        return Err(Finding::EstimatesExceedStep);
    }
    let remainder = range(&free, Draw::remainder)?;
    let claim = match &of_more {
        _ if remainder.low <= tolerance => Claim::None,
        Err(_) => Claim::AtMost,
        Ok(_) if share(&fitting) < FITTING => Claim::None,
        Ok(_) => Claim::Estimated,
    };
    let estimated = claim == Claim::Estimated;
    let shown = if estimated { &fitting } else { &free };
    let mut caveats = of_fewer.caveats.clone();
    let mut priors = compute.priors();
    priors.extend(of_fewer.priors());
    priors.extend(measured.priors());
    if let Ok(of_more) = &of_more {
        caveats.extend(of_more.caveats.iter().cloned());
        priors.extend(of_more.priors());
    }
    caveats.extend(findings.iter().cloned());
    caveats.extend(of_more.as_ref().err().cloned());
    let impossible = 1.0 - share(&fitting);
    if impossible >= HARDLY {
        caveats.push(Finding::EstimatesOvershoot { share: impossible });
    }
    caveats.dedup();
    let mut once: Vec<Prior> = Vec::new();
    for prior in priors {
        if !once.contains(&prior) {
            once.push(prior);
        }
    }
    Ok(SizeAttribution {
        batch,
        step_from: from,
        step_of_fewer: range(shown, |draw| draw.fewer)?,
        sent_of_fewer: range(shown, |draw| draw.sent_of_fewer)?,
        grade_of_fewer: Some(of_fewer.grade()),
        source_of_fewer: of_fewer.sources(),
        step_of_more: range(shown, |draw| draw.more)?,
        bars: bars(
            capped(findings),
            &of_fewer,
            of_more.as_ref().ok().filter(|_| estimated),
            |of| range(shown, of),
        )?,
        remainder,
        speed_up: range(&free, |draw| draw.fewer / draw.more)?,
        free_links: range(&free, |draw| {
            draw.fewer / (draw.ideal + draw.gemm_loss + draw.unsharded)
        })?,
        impossible,
        untold_from_one: None,
        collectives_of_fewer: of_fewer.costs(),
        collectives_of_more: of_more.map_or_else(|_| Vec::new(), |of| of.costs()),
        claim,
        priors: once,
        caveats,
        seed,
        draws,
    })
}

fn bars(
    most: Option<Grade>,
    of_fewer: &Collectives,
    of_more: Option<&Collectives>,
    range: impl Fn(fn(&Draw) -> f64) -> Result<Range, Finding>,
) -> Result<Vec<Bar>, Finding> {
    let priors = |names: &[&str]| Basis::Priors {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let bar = |cause, ms, grade: Option<Grade>, basis| Bar {
        cause,
        ms,
        grade: grade.map(|grade| grade.max(most.unwrap_or(grade))),
        basis,
    };
    let work = [
        "attention_us_per_layer",
        "elementwise_us_per_layer",
        "host_ms",
    ];
    // The ideal share is as good as what is taken off before.
    let of_ideal = Some(of_fewer.grade());
    let (known, gemm) = (Some(Grade::D), priors(&["gemm_speedup"]));
    let mut bars = vec![
        bar(
            Cause::Ideal,
            range(|draw| draw.ideal)?,
            of_ideal,
            Basis::Steps,
        ),
        bar(
            Cause::NarrowGemm,
            range(|draw| draw.gemm_loss)?,
            known,
            gemm,
        ),
        bar(
            Cause::Unsharded,
            range(|draw| draw.unsharded)?,
            known,
            priors(&work),
        ),
    ];
    let Some(of) = of_more else {
        let rest = Basis::RestWithCommunication;
        bars.push(bar(Cause::Unexplained, range(Draw::remainder)?, None, rest));
        return Ok(bars);
    };
    let sent = Basis::Collectives {
        sources: of.sources(),
        face_ms: of.face_ms(),
    };
    let ms = range(|draw| draw.sent.unwrap_or(0.0))?;
    bars.push(bar(Cause::Communication, ms, Some(of.grade()), sent));
    bars.push(bar(
        Cause::Unexplained,
        range(Draw::unexplained)?,
        None,
        Basis::Rest,
    ));
    Ok(bars)
}
