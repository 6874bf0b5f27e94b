//! A run whose steps are chunks of prompts: the step is told by tokens over time, and its parts by plan and curves.

use measure::import::ServeRun;
use measure::record::{CollectiveKind, PlannedCollective};
use serde::{Deserialize, Serialize};
use tp_plan::plan;

use super::chunk_words::megabytes;
use crate::advise::{Commands, NEEDS_REAL};
use crate::attribute::{Collectives, ELSEWHERE};
use crate::curve::Curve;
use crate::first_token::active_parameters;
use crate::gates::RunShape;
use crate::inputs::{Inputs, PeerState};
use crate::priors::{Prior, PublishedPath};
use crate::random::Random;
use crate::range::Range;

/// From this share of steps with prompts on, the step of the run is one with prompts.
const MOSTLY: f64 = 0.5;

/// How far the step by tokens over time may lie from the gap between tokens.
const AGREES: f64 = 0.15;

/// Draws and their seed where a curve has an interval.
const DRAWS: u32 = 4_000;
const SEED: u64 = 1;

/// What the collectives of a step with a chunk of prompt can take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkBound {
    /// Tensor parallel size.
    pub tp: u32,
    /// Prompt tokens of the run.
    pub prompt_tokens: u64,
    /// Tokens of a step.
    pub chunk_tokens: u32,
    /// Steps of the run: all tokens over those of a step.
    pub steps: f64,
    /// Milliseconds of a step: wall time over steps.
    pub step_ms: f64,
    /// The median gap between tokens, which should be near it.
    pub gap_ms: f64,
    /// All-reduces of a step.
    pub all_reduces: Vec<ChunkReduce>,
    /// What they take by each path that the GPUs may have.
    pub paths: Vec<PathBound>,
    /// Tera floating-point operations of a step on each GPU.
    pub tflop: f64,
    /// What they take, ms, at the ends of the assumed rate.
    pub arithmetic: Range,
    /// That rate.
    pub rate: Prior,
    /// Whether one path alone is left, so that its share is told.
    pub identifiable: bool,
    /// The one measurement that would settle it, with the command.
    pub settles: String,
}

/// All-reduces of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkReduce {
    /// How many in a step.
    pub count: u32,
    /// Bytes of each rank's message.
    pub bytes_per_rank: u64,
}

/// What the all-reduces of a step take by one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathBound {
    /// The path in words.
    pub path: String,
    /// Milliseconds: ends of what is known, and the middle.
    pub ms: Range,
    /// Where that comes from.
    pub source: String,
    /// Whether it leaves room for the arithmetic at its fastest.
    pub fits: bool,
}

/// The bounds of the first run whose steps are chunks; `None` where the files do not tell them.
pub(super) fn chunks(inputs: &Inputs) -> Option<ChunkBound> {
    let engine = inputs.engine(inputs.tp)?;
    let chunk = engine.max_batched_tokens.max(1);
    let (run, gap) = inputs
        .runs(inputs.tp)
        .find_map(|run| Some((run, chunk_gap(run, chunk)?)))?;
    let prompt_tokens = run.input_tokens?;
    // Decoding sequences ride along in the budget of a step.
    let tokens = count(prompt_tokens) + run.output_tokens.map_or(0.0, count);
    let steps = tokens / f64::from(chunk);
    let step_ms = run.duration_s * 1e3 / steps;
    if (step_ms / gap - 1.0).abs() > AGREES {
        return None;
    }
    let planned = plan(&inputs.model, engine, 0, Some(chunk)).collectives;
    let reduces: Vec<PlannedCollective> = planned
        .into_iter()
        .filter(|of| of.kind == CollectiveKind::AllReduce)
        .collect();
    let rate = inputs.prior("prefill_tflops")?;
    let tflop =
        2.0 * active_parameters(&inputs.model) * f64::from(chunk) / f64::from(inputs.tp) / 1e12;
    let arithmetic = Range {
        low: tflop / rate.high * 1e3,
        mid: tflop / rate.at(0.5) * 1e3,
        high: tflop / rate.low * 1e3,
    };
    let mut paths = paths(inputs, &reduces);
    for path in &mut paths {
        path.fits = path.ms.low + arithmetic.low <= step_ms;
    }
    let fitting = paths.iter().filter(|path| path.fits).count();
    let mut all_reduces: Vec<ChunkReduce> = Vec::new();
    for of in &reduces {
        let same = all_reduces
            .iter_mut()
            .find(|seen| seen.bytes_per_rank == of.bytes_per_rank);
        match same {
            Some(seen) => seen.count += of.count,
            None => all_reduces.push(ChunkReduce {
                count: of.count,
                bytes_per_rank: of.bytes_per_rank,
            }),
        }
    }
    Some(ChunkBound {
        tp: inputs.tp,
        prompt_tokens,
        chunk_tokens: chunk,
        steps,
        step_ms,
        gap_ms: gap,
        paths,
        tflop,
        arithmetic,
        rate,
        identifiable: fitting == 1,
        settles: settles(inputs, &all_reduces, chunk),
        all_reduces,
    })
}

/// The median gap of a run most of whose steps carry a prompt.
fn chunk_gap(run: &ServeRun, chunk: u32) -> Option<f64> {
    let gap = RunShape::new(run)
        .rough_step_ms()
        .filter(|_| run.streamed)?;
    let with_prompt = count(run.input_tokens?) / f64::from(chunk);
    (with_prompt / (run.duration_s * 1e3 / gap) >= MOSTLY).then_some(gap)
}

/// What would settle it: the curve at these sizes, or where that was given, a trace of the steps themselves.
fn settles(inputs: &Inputs, all_reduces: &[ChunkReduce], chunk: u32) -> String {
    let sizes: Vec<String> = all_reduces
        .iter()
        .map(|of| megabytes(of.bytes_per_rank))
        .collect();
    let sizes = sizes.join(" and ");
    let curve = inputs.usable_curve();
    let is_timed = |of: &ChunkReduce| {
        curve.iter().any(|point| {
            point.kind == CollectiveKind::AllReduce
                && point.ranks == inputs.tp
                && point.bytes_per_rank == of.bytes_per_rank
        })
    };
    if !all_reduces.iter().all(is_timed) {
        return format!(
            "the all-reduce at {sizes} on this box: allreduce-bench --model {} --tp {} --prefill-chunk {chunk}, then explain again with --allreduce",
            inputs.model.name, inputs.tp
        );
    }
    let real = match Commands::new(inputs).is_soft() {
        true => format!("; {NEEDS_REAL}"),
        false => String::new(),
    };
    format!(
        "a trace of some steps with prompts (nsys, rocprof), the all-reduce kernels' time of one step: the curve at {sizes} was given, and does not show what ranks wait for each other in the engine{real}"
    )
}

/// What the all-reduces take by each path: by this box's curve where it reaches them, else by what is known of each.
fn paths(inputs: &Inputs, reduces: &[PlannedCollective]) -> Vec<PathBound> {
    let bound = |path: &str, ms, source: String| PathBound {
        path: path.to_owned(),
        ms,
        source,
        fits: true,
    };
    let own = inputs
        .usable_curve()
        .iter()
        .any(|point| point.ranks == inputs.tp);
    if own && let Ok(found) = Collectives::of_prefill(inputs, reduces) {
        let mut random = Random::new(SEED);
        let draws: Vec<f64> = (0..DRAWS).map(|_| found.draw(&mut random).ms).collect();
        let source = found
            .costs()
            .first()
            .map_or(String::new(), |cost| cost.source.clone());
        return Range::of(&draws)
            .map(|ms| bound("as this box does it", ms, source))
            .into_iter()
            .collect();
    }
    let state = inputs.peer_state();
    let published = inputs.priors.curves(inputs.known.gpu.as_deref(), inputs.tp);
    let by_curve = |path: PublishedPath| {
        let curve = published.iter().find(|curve| curve.path == path)?;
        let times = Curve::of_published(curve);
        let us = |of: &PlannedCollective| f64::from(of.count) * times.at(of.bytes_per_rank).us;
        let ms = reduces.iter().map(us).sum::<f64>() / 1e3;
        let ms = Range {
            low: ms,
            mid: ms,
            high: ms,
        };
        Some((ms, format!("{ELSEWHERE}: {}", curve.source)))
    };
    let mut paths = Vec::new();
    if !matches!(state, PeerState::Denied | PeerState::Staged)
        && let Some((ms, source)) = by_curve(PublishedPath::Peer)
    {
        paths.push(bound("with peer access", ms, source));
    }
    // Access that the driver allows is no path that the library takes: it stages across sockets on some hosts all the same.
    let by_rate = || {
        let rate = inputs.prior("staged_gb_per_s")?;
        let each = |of: &PlannedCollective| f64::from(of.count) * count(of.bytes_per_rank);
        let bytes = reduces.iter().map(each).sum::<f64>();
        let ms = |rate: f64| bytes / rate / 1e6;
        let range = Range {
            low: ms(rate.high),
            mid: ms(rate.at(0.5)),
            high: ms(rate.low),
        };
        Some((range, rate.to_string()))
    };
    paths.extend(
        by_curve(PublishedPath::Staged)
            .or_else(by_rate)
            .map(|(ms, source)| bound("staged through host memory", ms, source)),
    );
    paths
}

#[expect(
    clippy::cast_precision_loss,
    reason = "tokens and bytes are far below 2^53"
)]
pub(super) fn count(n: u64) -> f64 {
    n as f64
}
