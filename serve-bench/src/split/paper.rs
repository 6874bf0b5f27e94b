//! `tplens predict --split`: prefill and decode engines on paper, beside aggregated engines on as many GPUs.

use std::time::Duration;

use ::explain::{PredictError, PredictInputs, Range, predict};
use disagg::{Figures, KvShape, Limit, LinkLaw, Paper, Plan, Slo, StepAt, Verdict};
use program::command_line::time;
use serde::Serialize;

/// Draws of each batch: the ends of intervals move by less than they differ from measurements.
const DRAWS: u32 = 2000;

/// Sequences where an engine has no limit of its own.
const SEQUENCES: u32 = 1024;

/// Tokens of a block of keys and values.
const BLOCK_TOKENS: u32 = 16;

/// What `--split` takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PaperArgs {
    /// Prefill and decode engines of their own, such as 1P1D, beside aggregated engines on as many GPUs; --tp is the size of each, or
    /// of prefill and of decode engines.
    #[arg(long, value_name = "xPyD", requires = "tp", conflicts_with_all = ["batch", "tp1"], value_parser = engines)]
    pub(crate) split: Option<(u32, u32)>,
    /// With --split: limit of the 99th percentile of TTFT, such as 5s.
    #[arg(long, value_name = "TIME", requires = "split", value_parser = time)]
    pub(crate) ttft: Option<Duration>,
    /// With --split: limit of TPOT.
    #[arg(long, value_name = "TIME", requires = "split", value_parser = time)]
    pub(crate) tpot: Option<Duration>,
    /// With --split: limit of the 99th percentile of the time between tokens.
    #[arg(long, value_name = "TIME", requires = "split", value_parser = time)]
    pub(crate) itl: Option<Duration>,
    /// With --split: an engine's link, as bandwidth, start and, where pieces take longer, time per piece. The default is fitted to
    /// Mooncake's published times on 8 ConnectX-7.
    #[arg(long, value_name = "GB/s,TIME[,TIME]", default_value = "171GB/s,1.8ms", requires = "split", value_parser = super::link::kv_link)]
    pub(crate) kv_link: LinkLaw,
}

/// Numbers such as `2P1D`.
fn engines(text: &str) -> Result<(u32, u32), String> {
    let text = text.to_ascii_uppercase();
    let both = text.strip_suffix('D').and_then(|text| text.split_once('P'));
    let both = both.and_then(|(p, d)| Some((p.parse().ok()?, d.parse().ok()?)));
    both.filter(|(p, d)| (1..=512).contains(p) && (1..=512).contains(d))
        .ok_or_else(|| format!("`{text}` is not of the form 1P1D"))
}

/// An arrangement at its largest load within the limits.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Arrangement {
    /// Prefill engines; `None` of aggregated ones.
    pub(super) prefill: Option<u32>,
    /// Decode engines, or aggregated ones.
    pub(super) decode: u32,
    pub(super) gpus: u32,
    pub(super) limit: &'static str,
    /// Requests a second, with their interval.
    pub(super) requests_per_s: Range,
    pub(super) ttft_s: f64,
    pub(super) ttft_p99_s: f64,
    pub(super) figures: Figures,
}

/// The answer, as it is written as JSON.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OnPaper {
    pub(super) schema: u32,
    pub(super) simulated: Option<String>,
    pub(super) model: String,
    pub(super) gpu: Option<String>,
    pub(super) tp: [u32; 2],
    pub(super) input_tokens: f64,
    pub(super) output_tokens: f64,
    /// Sequences that a decode engine holds at most.
    pub(super) sequences: f64,
    /// Whether a limit was given; without one largest loads differ in latency, too.
    pub(super) has_limits: bool,
    pub(super) asked: Arrangement,
    /// The numbers of engines that serve most on these GPUs.
    pub(super) best: Arrangement,
    pub(super) aggregated: Arrangement,
    pub(super) verdict: &'static str,
    /// Requests a second and GPU of what was asked over those of aggregated engines, where both keep the limits with any steps.
    pub(super) over_aggregated: Option<Range>,
    pub(super) draws: u32,
    #[serde(skip)]
    pub(super) decided: Verdict,
}

/// Predicts prefill engines of the first size and decode engines of the last.
///
/// # Errors
/// As [`predict`].
pub(crate) fn on_paper(
    args: &PaperArgs,
    (x, y): (u32, u32),
    sizes: [u32; 2],
    inputs: &PredictInputs,
    seed: u64,
) -> Result<OnPaper, PredictError> {
    let (papers, simulated) = papers(args.kv_link, sizes, inputs, seed)?;
    let limit = |limit: Option<Duration>| limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
    let slo = Slo {
        ttft_s: limit(args.ttft),
        tpot_s: limit(args.tpot),
        itl_p99_s: limit(args.itl),
    };
    let gpus = x * sizes[0] + y * sizes[1];
    let split = |paper: &Paper| paper.split(&slo, x, y);
    let best = |paper: &Paper| paper.best(&slo, gpus).unwrap_or_else(|| split(paper));
    let row = |prefill, decode, limit, rates, figures: Figures| Arrangement {
        prefill,
        decode,
        gpus: prefill.unwrap_or(0) * sizes[0] + decode * sizes[1],
        limit,
        requests_per_s: range(rates),
        ttft_s: figures.ttft_s(),
        ttft_p99_s: figures.ttft_p99_s(),
        figures,
    };
    let apart = |(plan, figures): (Plan, Figures)| {
        let (x, y) = (plan.prefill, plan.decode);
        let rates = papers
            .each_ref()
            .map(|paper| paper.split(&slo, x, y).0.per_s);
        row(Some(x), y, plan.limit.code(), rates, figures)
    };
    let engines = gpus / sizes[1];
    let together = papers
        .each_ref()
        .map(|paper| paper.aggregated(&slo, engines));
    let rates = together.map(|figures| figures.requests_per_s);
    // Engines of one size may leave GPUs over that the others need: what counts is a GPU.
    let of_split = papers
        .each_ref()
        .map(|paper| split(paper).0.per_s / f64::from(gpus));
    let of_aggregated = rates.map(|rate| rate / f64::from(engines * sizes[1]));
    let all_keep = of_split
        .iter()
        .chain(&of_aggregated)
        .all(|rate| *rate > 0.0);
    let ratio = [0, 1, 2].map(|of| of_split[of] / of_aggregated[of]);
    let decided = Verdict::of(of_split[1], of_aggregated[1]);
    Ok(OnPaper {
        schema: 1,
        simulated,
        model: inputs.base.model.name.clone(),
        gpu: inputs.base.known.gpu.clone(),
        tp: sizes,
        input_tokens: inputs.input_tokens,
        output_tokens: inputs.output_tokens,
        sequences: papers[1].most(),
        has_limits: [args.ttft, args.tpot, args.itl].iter().any(Option::is_some),
        asked: apart(split(&papers[1])),
        best: apart(best(&papers[1])),
        aggregated: row(None, engines, "", rates, together[1]),
        verdict: decided.code(),
        over_aggregated: all_keep.then(|| range(ratio)),
        decided,
        draws: DRAWS,
    })
}

/// Of three values that fast, middling and slow steps give.
fn range(of: [f64; 3]) -> Range {
    Range {
        low: of[0].min(of[1]).min(of[2]),
        mid: of[1],
        high: of[0].max(of[1]).max(of[2]),
    }
}

/// What requests take with fast, middling and slow steps, and the simulated machine.
fn papers(
    link: LinkLaw,
    [prefill_gpus, decode_gpus]: [u32; 2],
    inputs: &PredictInputs,
    seed: u64,
) -> Result<([Paper; 3], Option<String>), PredictError> {
    let at = |tp: u32, batch: u32| {
        let inputs = PredictInputs {
            sizes: vec![tp],
            batch,
            ..inputs.clone()
        };
        let mut prediction = predict(&inputs, seed, DRAWS)?;
        let size = prediction.sizes.pop();
        let size = size.ok_or_else(|| PredictError::Lacks(format!("a prediction of TP{tp}")))?;
        Ok::<_, PredictError>((prediction.simulated, size))
    };
    let (simulated, prefill) = at(prefill_gpus, 1)?;
    let (_, one) = at(decode_gpus, 1)?;
    let engine = inputs.base.engines.iter().find(|of| of.tp == decode_gpus);
    let engine = engine.ok_or_else(|| PredictError::Lacks("the engine".to_owned()))?;
    let slots = engine.max_num_seqs.unwrap_or(SEQUENCES);
    let holds = one.cache_holds.unwrap_or(slots);
    let most = slots.min(holds).max(1);
    let mut decode = vec![(1, one)];
    let batches = std::iter::successors(Some(2_u32), |batch| Some(batch * 2));
    let batches = batches.take_while(|batch| *batch < most).chain([most]);
    for batch in batches.filter(|batch| *batch > 1) {
        decode.push((batch, at(decode_gpus, batch)?.1));
    }
    let shape = KvShape::of(&inputs.base.model, BLOCK_TOKENS);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens of a prompt"
    )]
    let tokens = inputs.input_tokens.ceil() as u32;
    #[expect(clippy::cast_precision_loss, reason = "pieces of a prompt")]
    let pieces = shape.descriptors(tokens, true) as f64;
    let bytes = shape.sent_bytes(tokens, prefill_gpus.max(decode_gpus));
    let full = match holds < slots {
        true => Limit::DecodeKv,
        false => Limit::DecodeSlots,
    };
    let paper = |of: fn(&Range) -> f64| {
        let steps = decode.iter().map(|(batch, size)| StepAt {
            batch: f64::from(*batch),
            alone_s: of(&size.step) * 1e-3,
            mixed_s: of(&size.serving.tpot) * 1e-3,
        });
        Paper {
            output_tokens: inputs.output_tokens,
            prefill_s: of(&prefill.serving.ttft_alone) * 1e-3,
            beside_s: of(&decode[0].1.serving.ttft_alone) * 1e-3,
            chunks: (inputs.input_tokens / f64::from(engine.max_batched_tokens)).ceil(),
            transfer_s: link.seconds(bytes, pieces),
            steps: steps.collect(),
            full,
            prefill_gpus,
            decode_gpus,
        }
    };
    let papers = [
        paper(|range| range.low),
        paper(|range| range.mid),
        paper(|range| range.high),
    ];
    Ok((papers, simulated))
}
