//! The prediction itself: draws of every size, and their quantiles.

use super::check::check;
use super::inputs::PredictInputs;
use super::parts::Drawn;
use super::prepare::{Prepared, prepare};
use super::result::{
    Level, PREDICTION_SCHEMA, Part, PartName, PredictError, Predicted, Prediction, Serving,
};
use crate::attribute::Grade;
use crate::explanation::InputSource;
use crate::random::Random;
use crate::range::Range;

/// An odd constant, so that the generators of neighbouring draws do not begin at neighbouring states.
const APART: u64 = 0x5851_f42d_4c95_7f2d;

/// What the model will take at every size that is asked about. The same inputs, seed and number of draws give the same
/// prediction, and what the sizes have in common is drawn alike in all.
///
/// # Errors
/// Inputs contradict each other, a result does not pass the gates, or nothing tells a rate that is needed.
pub fn predict(inputs: &PredictInputs, seed: u64, draws: u32) -> Result<Prediction, PredictError> {
    check(inputs)?;
    let mut sizes = Vec::new();
    let (mut priors, mut caveats) = (Vec::new(), Vec::new());
    for tp in &inputs.sizes {
        let prepared = prepare(inputs, *tp)?;
        for prior in &prepared.priors {
            if !priors.contains(prior) {
                priors.push(prior.clone());
            }
        }
        for caveat in &prepared.caveats {
            if !caveats.contains(caveat) {
                caveats.push(caveat.clone());
            }
        }
        let of_size = prepared.predicted(inputs, seed, draws.max(1));
        sizes.push(
            of_size.ok_or_else(|| {
                PredictError::Lacks(format!("anything finite to draw TP{tp} from"))
            })?,
        );
    }
    let base = &inputs.base;
    let largest = inputs.sizes.iter().max();
    let soft = inputs.half.iter().find_map(|run| run.simulated.clone());
    Ok(Prediction {
        schema: PREDICTION_SCHEMA,
        simulated: base.simulated().or(soft),
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
        inputs: sources(inputs),
        priors,
        caveats,
        seed,
        draws,
    })
}

/// A part of a draw, ms.
type Of<'a> = &'a dyn Fn(&Drawn) -> f64;

/// A part before its quantiles.
type Open<'a> = (PartName, Of<'a>, Grade, String);

impl Prepared<'_> {
    fn predicted(&self, inputs: &PredictInputs, seed: u64, draws: u32) -> Option<Predicted> {
        // Each draw has a generator of its own, so that sizes with other priors after the common ones stay in step.
        let all: Vec<Drawn> = (0..u64::from(draws))
            .map(|index| {
                let mut random = Random::new(seed.wrapping_add(index.wrapping_mul(APART)));
                self.size.draw(&self.deck.draw(&mut random))
            })
            .collect();
        let range = |of: Of<'_>| {
            let values: Vec<f64> = all.iter().map(of).collect();
            Range::of(&values)
        };
        let batch = f64::from(inputs.batch);
        let tp = self.size.tp;
        let fits_one = inputs.base.weights_fit(1) != Some(false);
        let speed_up = match tp > 1 && fits_one {
            true => Some(range(&|drawn| drawn.tpot_of_one / drawn.tpot)?),
            false => None,
        };
        Some(Predicted {
            tp,
            level: self.level,
            parts: self.parts(&range)?,
            step: range(&Drawn::step)?,
            serving: Serving {
                tpot: range(&|drawn| drawn.tpot)?,
                tokens_per_s: range(&|drawn| batch * 1e3 / drawn.tpot)?,
                ttft_alone: range(&|drawn| drawn.prefill)?,
                speed_up: speed_up
                    .filter(|_| self.level != Level::HalfModel || self.size.one.is_some()),
            },
            cache_holds: self.cache_holds,
            collectives: self.costs.clone(),
        })
    }

    fn parts(&self, range: &dyn Fn(Of<'_>) -> Option<Range>) -> Option<Vec<Part>> {
        let size = &self.size;
        let gemm = match (self.level, size.speedup_known) {
            (Level::Roofline, _) => format!("weights over the memory's rate, {}", self.peak_source),
            (_, true) => "the measured step on one GPU, and gemm_speedup".to_owned(),
            (_, false) => "the measured step on one GPU, and gemm_start_us".to_owned(),
        };
        let communication = if self.costs.iter().all(|cost| cost.grade == Grade::C) {
            Grade::C
        } else {
            Grade::D
        };
        let prior = |name: &str| format!("prior {name}");
        let whole: [Open<'_>; 4] = [
            (PartName::Gemm, &|drawn| drawn.gemm, Grade::D, gemm),
            (
                PartName::Attention,
                &|drawn| drawn.attention,
                Grade::D,
                match size.peak {
                    Some(_) => "priors attention_start_us and cache_over_peak".to_owned(),
                    None => prior("attention_us_per_layer"),
                },
            ),
            (
                PartName::Elementwise,
                &|drawn| drawn.elementwise,
                Grade::D,
                prior("elementwise_us_per_layer"),
            ),
            (
                PartName::Host,
                &|drawn| drawn.host,
                Grade::D,
                prior("host_ms"),
            ),
        ];
        let several: [Open<'_>; 4] = [
            (
                PartName::Executor,
                &|drawn| drawn.executor,
                Grade::D,
                prior("executor_ms"),
            ),
            (
                PartName::AllReduce,
                &|drawn| drawn.all_reduce,
                communication,
                self.source.clone(),
            ),
            (
                PartName::AllGather,
                &|drawn| drawn.all_gather,
                communication,
                self.gather_source(),
            ),
            (
                PartName::Skew,
                &|drawn| drawn.skew,
                Grade::D,
                match size.waits {
                    true => prior("segment_jitter_us"),
                    false => "in the factor from the curve to the engine".to_owned(),
                },
            ),
        ];
        let mut parts = Vec::new();
        let mut add = |(name, of, grade, source): Open<'_>| {
            parts.push(Part {
                name,
                ms: range(of)?,
                grade,
                source,
            });
            Some(())
        };
        if self.level == Level::HalfModel {
            let source = "measured on one GPU".to_owned();
            add((PartName::HalfModel, &|drawn| drawn.half, Grade::A, source))?;
        } else {
            whole.into_iter().try_for_each(&mut add)?;
        }
        if size.tp > 1 {
            several.into_iter().try_for_each(&mut add)?;
        }
        let is_measured = size.half.is_some() || (size.one.is_some() && size.tp == 1);
        if !is_measured {
            add((
                PartName::LeftOut,
                &|drawn| drawn.left_out,
                Grade::D,
                prior("left_out"),
            ))?;
        }
        Some(parts)
    }

    fn gather_source(&self) -> String {
        let gather = self
            .costs
            .iter()
            .find(|cost| cost.kind == measure::record::CollectiveKind::AllGather);
        gather.map_or_else(String::new, |cost| cost.source.clone())
    }
}

fn sources(inputs: &PredictInputs) -> Vec<InputSource> {
    let base = &inputs.base;
    let mut sources: Vec<InputSource> = Vec::new();
    let mut add = |origin: &str, taken: &str| {
        let source = InputSource {
            origin: origin.to_owned(),
            taken: taken.to_owned(),
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    };
    for run in base.runs(1) {
        add(&run.origin, "the step on one GPU");
    }
    for run in &inputs.half {
        add(&run.origin, "the step of the half-width model");
    }
    for point in &base.curve {
        add(&point.origin, "collective times");
    }
    if let Some(link) = &inputs.link {
        add(&link.source, "the rate of a link");
    }
    for origin in &base.known.origins {
        add(origin, "the box");
    }
    add(
        "built in",
        "priors, peak rates of GPUs and published curves",
    );
    sources
}
