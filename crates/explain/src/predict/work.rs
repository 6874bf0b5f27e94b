//! The prediction itself: draws of every size, and their quantiles.

use record::CollectiveKind;

use super::link::PredictInputs;
use super::parts::Drawn;
use super::prepare::{Prepared, check, prepare};
use super::result::{
    Level, PREDICTION_SCHEMA, PredictError, Predicted, Prediction, Serving, fits_one,
};
use crate::attribute::cost::Term;
use crate::attribute::{Bar, Basis, Cause, collectives, grade};
use crate::explanation::{InputSource, Taken, sources};
use crate::finding::Finding;
use crate::priors::Prior;
use crate::range::{Grade, Range, each_once};
use stats::SplitMix;

/// An odd constant, so that the generators of neighbouring draws do not begin at neighbouring states.
const APART: u64 = 0x5851_f42d_4c95_7f2d;

/// What the model will take at every size that is asked about. The same inputs, seed and number of draws give the same
/// prediction, and what the sizes have in common is drawn alike in all.
///
/// # Errors
/// Inputs contradict each other, a result does not pass the gates, or nothing tells a rate that is needed.
pub fn predict(inputs: &PredictInputs, seed: u64, draws: u32) -> Result<Prediction, PredictError> {
    let doubts = check(inputs)?;
    let (mut fitting, mut not_predicted) = (Vec::new(), Vec::new());
    for tp in &inputs.sizes {
        match prepare(inputs, *tp) {
            Ok(prepared) => fitting.push(prepared),
            Err(PredictError::NoRoom(why)) => not_predicted.push(why),
            Err(error) => return Err(error),
        }
    }
    if let (true, Some(first)) = (fitting.is_empty(), not_predicted.first()) {
        return Err(PredictError::NoRoom(*first));
    }
    let priors: Vec<Prior> = fitting.iter().flat_map(Prepared::used_priors).collect();
    let all = fitting.iter().flat_map(|of| &of.caveats);
    let mut caveats = each_once(doubts.iter().chain(all));
    let nothing = |tp: u32| PredictError::Lacks(format!("anything finite to draw TP{tp} from"));
    let over = match fits_one(inputs) {
        true => 1,
        false => fitting.iter().map(|of| of.size.tp).min().unwrap_or(1),
    };
    let drawn = fitting.iter().map(|of| of.drawn(seed, draws.max(1)));
    let drawn: Vec<Vec<Drawn>> = drawn.collect();
    let mut both = fitting.iter().zip(&drawn);
    let smallest = both.find(|(of, _)| of.size.tp == over);
    let mut sizes = Vec::new();
    for (prepared, all) in fitting.iter().zip(&drawn) {
        let tp = prepared.size.tp;
        let of_over: Option<Vec<f64>> = match (over, smallest) {
            (over, _) if over == tp => None,
            (1, _) => Some(all.iter().map(|drawn| drawn.tpot_of_one).collect()),
            (_, Some((of, smallest))) if of.level() == prepared.level() => {
                Some(smallest.iter().map(|drawn| drawn.tpot).collect())
            }
            _ => None,
        };
        let of_size = prepared.predicted(inputs, all, of_over.as_deref());
        sizes.push(of_size.ok_or_else(|| nothing(tp))?);
    }
    let speed_up_over = sizes
        .iter()
        .any(|size| size.serving.speed_up.is_some())
        .then_some(over);
    let base = &inputs.base;
    let largest = inputs.sizes.iter().max();
    let simulated = base.simulated();
    if let (None, None, Some(name)) = (&simulated, &base.known.links_of, &base.known.name) {
        caveats.push(Finding::MachineDescribed { name: name.clone() });
    }
    Ok(Prediction {
        schema: PREDICTION_SCHEMA,
        simulated,
        model: base.model.name.clone(),
        engine: largest
            .and_then(|tp| base.engine(*tp))
            .map(tp_plan::EngineFacts::describe),
        box_name: base.known.name.clone(),
        gpu: base.known.gpu.clone(),
        batch: inputs.batch,
        input_tokens: inputs.input_tokens,
        output_tokens: inputs.output_tokens,
        sizes,
        not_predicted,
        speed_up_over,
        inputs: read(inputs),
        priors: each_once(&priors),
        caveats,
        seed,
        draws,
    })
}

/// A part of a draw, ms.
type Of<'a> = &'a dyn Fn(&Drawn) -> f64;

impl Prepared<'_> {
    /// Each draw has a generator of its own, so that sizes with other priors after the common ones stay in step.
    pub(super) fn drawn(&self, seed: u64, draws: u32) -> Vec<Drawn> {
        let draw = |index: u64| {
            let mut random = SplitMix::new(seed.wrapping_add(index.wrapping_mul(APART)));
            self.size.draw(&self.deck.draw(&mut random))
        };
        (0..u64::from(draws)).map(draw).collect()
    }

    /// `of_over` is TPOT in the same draws of the size that speed-ups are against; `None` where there is none to tell.
    fn predicted(
        &self,
        inputs: &PredictInputs,
        all: &[Drawn],
        of_over: Option<&[f64]>,
    ) -> Option<Predicted> {
        let range = |of: Of<'_>| {
            let values: Vec<f64> = all.iter().map(of).collect();
            Range::of(&values)
        };
        let batch = f64::from(inputs.batch);
        let tp = self.size.tp;
        let speed_up = of_over.map(|of_over| {
            let both = of_over.iter().zip(all);
            both.map(|(over, drawn)| over / drawn.tpot).collect()
        });
        Some(Predicted {
            tp,
            level: self.level(),
            parts: self.parts(&range)?,
            step: range(&Drawn::step)?,
            serving: Serving {
                tpot: range(&|drawn| drawn.tpot)?,
                tokens_per_s: range(&|drawn| batch * 1e3 / drawn.tpot)?,
                ttft_alone: range(&|drawn| drawn.prefill)?,
                speed_up: speed_up.and_then(|times: Vec<f64>| Range::of(&times)),
            },
            cache_holds: self.cache_holds,
            collectives: self.size.terms.iter().map(|of| of.cost.clone()).collect(),
        })
    }

    fn parts(&self, range: &dyn Fn(Of<'_>) -> Option<Range>) -> Option<Vec<Bar>> {
        let size = &self.size;
        let gemm: &[&str] = match self.level() {
            Level::Roofline => &["memory_efficiency"],
            Level::MeasuredOne => &["gemm_start_us"],
        };
        let attention: &[&str] = match size.peak {
            Some(_) => &["attention_start_us", "cache_over_peak"],
            None => &["attention_us_per_layer"],
        };
        let elementwise = &["elementwise_us_per_layer"];
        // Which, of a draw, by which priors; of collectives by their curve.
        let rows: [(Cause, Of<'_>, &[&str]); 9] = [
            (Cause::Gemm, &|of| of.gemm, gemm),
            (Cause::Attention, &|of| of.attention, attention),
            (Cause::Elementwise, &|of| of.elementwise, elementwise),
            (Cause::Host, &|of| of.host, &["host_ms"]),
            (Cause::Executor, &|of| of.executor, &["executor_ms"]),
            (Cause::AllReduce, &|of| of.all_reduce, &[]),
            (Cause::AllGather, &|of| of.all_gather, &[]),
            (Cause::Skew, &|of| of.skew, &["segment_jitter_us"]),
            (Cause::LeftOut, &|of| of.left_out, &["left_out"]),
        ];
        let is_there = |cause: Cause| match cause {
            Cause::Executor | Cause::AllReduce | Cause::AllGather | Cause::Skew => size.tp > 1,
            Cause::LeftOut => size.one.is_none() || size.tp > 1,
            _ => true,
        };
        let there = rows.into_iter().filter(|(cause, ..)| is_there(*cause));
        let bar = |(cause, of, names): (Cause, Of<'_>, &[&str])| {
            let (grade, basis) = match cause {
                Cause::AllReduce => self.read(CollectiveKind::AllReduce),
                Cause::AllGather => self.read(CollectiveKind::AllGather),
                _ => {
                    let names = names.iter().map(|name| (*name).to_owned());
                    let names = names.collect();
                    (Grade::D, Basis::Priors { names })
                }
            };
            Some(Bar::new(cause, range(of)?, Some(grade), basis))
        };
        there.map(bar).collect()
    }

    /// How good the times of collectives of a kind are, and where they were read.
    fn read(&self, kind: CollectiveKind) -> (Grade, Basis) {
        let terms = self.size.terms.iter().filter(|of| of.cost.kind == kind);
        let terms: Vec<Term> = terms.cloned().collect();
        let of_none = terms.is_empty().then_some(Grade::D);
        (of_none.unwrap_or(grade(&terms)), collectives(&terms))
    }
}

/// What was read: of runs those of one GPU.
fn read(inputs: &PredictInputs) -> Vec<InputSource> {
    let mut base = inputs.base.clone();
    base.tp = inputs.sizes.iter().copied().max().unwrap_or(1);
    base.serve.retain(|(tp, _)| *tp == 1);
    let mut all = sources(&base);
    let links = inputs.link.iter();
    all.extend(links.map(|link| InputSource::of(&link.source, Taken::LinkRate)));
    all
}
