//! TPm against TPn where there is no run of one GPU: what more GPUs gain, with the communication of the fewer taken out first, by
//! the best curve that there is of it.

use tp_plan::{ModelFacts, plan};

use super::rate::{between, measured, mixed_up, of_size, rate, times};
use super::sizes_result::{SizeAttribution, SizeBar, SizeCause, SizeComparison, SizeOutcome};
use crate::attribute::{
    Claim, Collectives, Compute, ComputeDeck, Grade, Refusal, WRONG_UNIT, untold, wrong_unit,
};
use crate::explanation::{SCHEMA, sources};
use crate::gates::{Gate, RunShape, all_simulated, failed, pair_gates, reservations};
use crate::inputs::Inputs;
use crate::priors::Prior;
use crate::random::Random;
use crate::range::Range;

/// What tells this form from an explanation.
const KIND: &str = "sizes";

/// Where fewer draws than this share fit what was measured, nothing is claimed.
const FITTING: f64 = 0.05;

/// Where at least this share of the draws does not fit, that is said as a reservation.
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
    let gates = pair_gates((&names[0], &fewer), (&names[1], &more));
    let reasons: Vec<String> = failed(&gates)
        .map(|gate| format!("{}: {}", gate.name, gate.seen))
        .collect();
    let found = if reasons.is_empty() {
        attribution(&fewer, &more, &gates, seed, draws)
    } else {
        Err(reasons)
    };
    // Without a curve, how fast they are is told all the same.
    let is_comparable = failed(&gates).next().is_none();
    let rate = match &found {
        Ok(found) => Some(found.rate()),
        Err(_) if is_comparable => rate(&fewer, &more, seed, draws).ok(),
        Err(_) => None,
    };
    SizeComparison {
        schema: SCHEMA,
        kind: KIND.to_owned(),
        simulated: all_simulated(inputs.simulated(), &gates),
        model: inputs.model.name.clone(),
        from,
        to: inputs.tp,
        engine: inputs.engine(inputs.tp).map(tp_plan::EngineFacts::describe),
        box_name: inputs.known.name.clone(),
        gpu: inputs.known.gpu.clone(),
        inputs: sources(inputs),
        notes: Vec::new(),
        advice: rate.map_or_else(Vec::new, |rate| mixed_up(inputs, from, &rate)),
        rate: rate.filter(|_| found.is_err()),
        between: between(inputs, seed, draws),
        gates,
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
    gates: &[Gate],
    seed: u64,
    draws: u32,
) -> Result<SizeAttribution, Vec<String>> {
    let why = |reason: &str| vec![reason.to_owned()];
    let (from, measured) = measured(fewer, more).map_err(|reason| vec![reason])?;
    let batch = more.batch().ok_or_else(|| why("the batch is not known"))?;
    let eager = more.is_eager(batch);
    let sent = |inputs: &Inputs| {
        let engine = inputs.engine(inputs.tp).ok_or("the engine is not known")?;
        let planned = plan(&inputs.model, engine, batch, None).collectives;
        Collectives::of(inputs, eager, &planned)
    };
    let of_fewer = sent(fewer).map_err(|reason| {
        vec![format!(
            "what TP{} itself sends cannot be taken out of its step: {reason}; run allreduce-bench --model {} --tp {} --batches {batch}",
            fewer.tp, fewer.model.name, fewer.tp
        )]
    })?;
    let of_more = sent(more);
    for (inputs, of) in [(fewer, Some(&of_fewer)), (more, of_more.as_ref().ok())] {
        let slowest = times(inputs, from)
            .iter()
            .map(|time| time.of.mean)
            .fold(0.0, f64::max);
        if let Some(of) = of.filter(|of| of.is_own() && of.face_ms() > WRONG_UNIT * slowest) {
            return Err(vec![wrong_unit(&of.source(), of.face_ms(), slowest)]);
        }
    }
    let compute = ComputeDeck::new(more, eager).ok_or_else(|| why("a prior is missing"))?;
    let context = more.runs(more.tp).next().map_or(0.0, |run| {
        let shape = RunShape::new(run);
        shape.input().unwrap_or(0.0) + shape.output().unwrap_or(0.0) / 2.0
    });
    let work = Work {
        model: &more.model,
        batch,
        context,
        ranks: (fewer.tp, more.tp),
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
            work.draw(&compute.draw(&mut random), (few, many), (on_few, on_many))
        })
        .collect();
    let range = |draws: &[Draw], of: fn(&Draw) -> f64| {
        let values: Vec<f64> = draws.iter().map(of).collect();
        Range::of(&values).ok_or_else(|| why("a time is not finite"))
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
        return Err(why(
            "the causes without communication already sum to more than was measured: the model, the box or a range is not that of these runs",
        ));
    }
    let remainder = range(&free, Draw::remainder)?;
    let claim = match &of_more {
        _ if remainder.low <= tolerance => Claim::None {
            reason: format!(
                "what communication could take at most is {} ms, which is not told from nothing{}",
                remainder.with_decimals(2),
                untold(&remainder, tolerance)
            ),
        },
        Err(reason) => Claim::AtMost {
            reason: reason.clone(),
        },
        Ok(_) if share(&fitting) < FITTING => Claim::None {
            reason: "by the curve the collectives take more than is left: the engine does them another way, or overlaps them".to_owned(),
        },
        Ok(_) => Claim::Estimated,
    };
    let estimated = claim == Claim::Estimated;
    let shown = if estimated { &fitting } else { &free };
    let mut caveats = of_curves(fewer.tp, &of_fewer.caveats);
    if of_fewer.grade() == Grade::D {
        caveats.push(format!(
            "what TP{} itself sends is of grade D ({}), and with it all that is shared out: measure it with allreduce-bench --model {} --tp {} --batches {batch}",
            fewer.tp, of_fewer.source(), fewer.model.name, fewer.tp
        ));
    }
    let mut priors = compute.priors();
    priors.extend(of_fewer.priors());
    priors.extend(measured.priors());
    if let Ok(of_more) = &of_more {
        caveats.extend(of_curves(more.tp, &of_more.caveats));
        priors.extend(of_more.priors());
    }
    caveats.extend(reservations(gates));
    let impossible = 1.0 - share(&fitting);
    if impossible >= HARDLY {
        caveats.push(format!(
            "{:.0}% of the draws sum to more than was measured: the curves and the ranges hardly fit these runs",
            impossible * 100.0
        ));
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
        source_of_fewer: of_fewer.source(),
        step_of_more: range(shown, |draw| draw.more)?,
        bars: bars(
            (fewer.tp, more.tp),
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

/// Remarks on the curves of one size.
fn of_curves(tp: u32, caveats: &[String]) -> Vec<String> {
    let said = caveats.iter();
    said.map(|caveat| format!("TP{tp}: {caveat}")).collect()
}

fn bars(
    (fewer, more): (u32, u32),
    of_fewer: &Collectives,
    of_more: Option<&Collectives>,
    range: impl Fn(fn(&Draw) -> f64) -> Result<Range, Vec<String>>,
) -> Result<Vec<SizeBar>, Vec<String>> {
    let known = "prior knowledge of GEMMs, attention, norms and host";
    let mut bars = vec![
        SizeBar {
            cause: SizeCause::Ideal,
            ms: range(|draw| draw.ideal)?,
            // As good as what is taken off before.
            grade: Some(of_fewer.grade()),
            source: format!(
                "the step of {fewer} GPUs less its own collectives, times {fewer}/{more}"
            ),
        },
        SizeBar {
            cause: SizeCause::NarrowGemm,
            ms: range(|draw| draw.gemm_loss)?,
            grade: Some(Grade::D),
            source: known.to_owned(),
        },
        SizeBar {
            cause: SizeCause::Unsharded,
            ms: range(|draw| draw.unsharded)?,
            grade: Some(Grade::D),
            source: known.to_owned(),
        },
    ];
    if let Some(of) = of_more {
        bars.push(SizeBar {
            cause: SizeCause::Communication,
            ms: range(|draw| draw.sent.unwrap_or(0.0))?,
            grade: Some(of.grade()),
            source: format!(
                "{} all-reduces by the curve of {more} ranks, {:.2} ms as the curve has it ({})",
                of.all_reduces(),
                of.face_ms(),
                of.source()
            ),
        });
    }
    bars.push(SizeBar {
        cause: SizeCause::Unexplained,
        ms: match of_more {
            Some(_) => range(Draw::unexplained)?,
            None => range(Draw::remainder)?,
        },
        grade: None,
        source: match of_more {
            Some(_) => "what is left".to_owned(),
            None => "what is left, communication included".to_owned(),
        },
    });
    Ok(bars)
}

/// What stays the same from draw to draw.
struct Work<'a> {
    model: &'a ModelFacts,
    batch: u32,
    /// Tokens that a sequence has in the cache, half way through its output.
    context: f64,
    /// Fewer and more.
    ranks: (u32, u32),
}

impl Work<'_> {
    fn draw(
        &self,
        compute: &Compute,
        (fewer, more): (f64, f64),
        (sent_of_fewer, sent): (f64, Option<f64>),
    ) -> Draw {
        let (few, many) = (f64::from(self.ranks.0), f64::from(self.ranks.1));
        let part = few / many;
        // Collectives do not shard: only what is left without them is shared out.
        let alone = fewer - sent_of_fewer;
        let layers = f64::from(self.model.layers);
        let whole = layers * compute.elementwise_us / 1e3 + compute.host_ms;
        let attention_of_few = self.attention(compute, alone, self.ranks.0);
        let attention_of_many = self.attention(compute, alone, self.ranks.1);
        let gemm = (alone - attention_of_few - whole).max(0.0);
        // The prior is the gain of one doubling.
        let gain = compute.gemm_speedup.powf((many / few).log2());
        Draw {
            fewer,
            more,
            sent_of_fewer,
            ideal: alone * part,
            gemm_loss: gemm * (1.0 / gain - part),
            unsharded: attention_of_many + whole - (attention_of_few + whole) * part,
            sent,
        }
    }

    /// Attention of a step, ms: reading the cache at the rate at which fewer GPUs read weights and cache, and never less than what
    /// its kernels take at any length.
    #[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
    fn attention(&self, compute: &Compute, alone: f64, ranks: u32) -> f64 {
        let floor = f64::from(self.model.layers) * compute.attention_us / 1e3;
        let cache = |ranks: u32| {
            let bytes = self.model.kv_bytes_per_token_on_rank(ranks) as f64;
            f64::from(self.batch) * self.context * bytes * compute.kv_read
        };
        let weights = self.model.weight_bytes_read(self.batch) / f64::from(self.ranks.0);
        let read = weights + cache(self.ranks.0);
        (alone * cache(ranks) / read.max(1.0)).max(floor)
    }
}
