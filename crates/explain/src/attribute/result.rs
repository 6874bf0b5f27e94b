//! What an attribution says.

use measure::record::{CollectiveKind, CollectivePath};
use serde::{Deserialize, Serialize};

use super::half::Rival;
use super::misfit::Misfit;
use super::sensitivity::{PriorShare, VarianceShare};
use super::work::LOOKS_WRONG;
use crate::gates::{CURVE_GROWS, Gate, warned};
use crate::priors::Prior;
use crate::range::Range;

/// Where the time of a decode step on several GPUs goes. Times are milliseconds a step unless a name says otherwise.
///
/// Bars are of all draws where communication is by this box's curve; with a wider one, of those in which all causes fit into what
/// was measured. `remainder`, `implied` and the speed-ups do not depend on any curve: they are of all draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Number of GPUs.
    pub tp: u32,
    /// Sequences that decode in a step.
    pub batch: u32,
    /// The batch after padding to a captured graph's size.
    pub padded_batch: u32,
    /// What the steps were taken from.
    pub step_from: StepFrom,
    /// Decode step on one GPU.
    pub step_of_one: Range,
    /// Decode step on several.
    pub step_of_several: Range,
    /// The causes that sum to the step on several GPUs, in the order of the waterfall.
    pub bars: Vec<Bar>,
    /// All collectives together, summed in each draw; with a half-width model what it measures of them, which a curve need not
    /// explain in full. `None` where there is no bar of them.
    #[serde(default)]
    pub communication: Option<Bar>,
    /// What a model at a rank's width measured; `None` where there is none.
    #[serde(default)]
    pub half: Option<HalfModel>,
    /// What communication and all that is unexplained take together: the step less all other causes.
    pub remainder: Range,
    /// Its share of the time above the ideal, 0 to 1.
    pub remainder_share_of_excess: Range,
    /// What can be said of communication.
    pub claim: Claim,
    /// By how much the collectives of a curve or trace do not fit into the step, so that nothing is claimed of them; `None`
    /// where they fit.
    #[serde(default)]
    pub misfit: Option<Misfit>,
    /// What one all-reduce would take if the whole remainder were communication; `None` where nothing is claimed.
    pub implied: Option<Implied>,
    /// Requests per second over those of one GPU, as the results give them; the mean over repeats.
    pub throughput_gain: f64,
    /// Measured speed-up of a decode step over one GPU.
    pub speed_up: Range,
    /// Speed-up if the whole remainder went away: free links give this at most.
    pub free_links: Range,
    /// The same by an ablation, where its arms alone tell communication: the step on one GPU over the arms' step without links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_links_by_arms: Option<Range>,
    /// Speed-up possible at this batch: if links were free, nothing were left unexplained and narrow GEMMs lost nothing, so that
    /// only the ideal share, work that never shards and the host remain. `None` in explanations from before.
    #[serde(default)]
    pub possible: Option<Range>,
    /// Speed-up if the narrow GEMMs lost nothing.
    pub halved_gemms: Range,
    /// Tokens per second of one-GPU replicas on the same GPUs, over those of tensor parallelism at the same batch each.
    pub replicas: Range,
    /// Share of the draws in which the causes sum to more than was measured, 0 to 1: of all where they were dropped (see
    /// [`Attribution::drops_draws`]), else of those that the bars are made of.
    pub impossible: f64,
    /// Share of the draws that were dropped because they leave the step on one GPU no room for its weights, or give the half-width model
    /// less than its share of that step, 0 to 1.
    #[serde(default)]
    pub no_room: f64,
    /// What steps of such runs differ by for no reason, ms; `None` in explanations from before.
    #[serde(default)]
    pub tolerance_ms: Option<f64>,
    /// The collectives of a step, with the time that a curve gives them; empty where there is no curve.
    pub collectives: Vec<CollectiveCost>,
    /// What prompts of other requests may take of the step on several GPUs at most, ms, where no gap between tokens shows it; `None`
    /// where gaps do, where none is in it, or where nothing bounds it.
    #[serde(default)]
    pub prompts_ms: Option<f64>,
    /// What was taken as known without being measured.
    pub priors: Vec<Prior>,
    /// How much each possible measurement would settle.
    pub shares: Vec<VarianceShare>,
    /// How much of the intervals each prior makes, the largest first.
    #[serde(default)]
    pub prior_shares: Vec<PriorShare>,
    /// Reservations, a sentence each.
    pub caveats: Vec<String>,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of draws.
    pub draws: u32,
    /// Causes whose evidence would be better than C if the runs did not differ in what they were made with.
    #[serde(default)]
    pub lowered: Vec<Cause>,
    /// Why communication is told as perhaps however well its times are known, beside prompts that no gap shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Whether the steps are worked out from median gaps between tokens, which leave out steps with prompts.
    #[serde(default)]
    pub is_by_median: bool,
}

/// What a decode step is taken from, best first. All runs of a comparison use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepFrom {
    /// Gaps between tokens while every slot decodes.
    DecodeGap,
    /// Time per output token, which may also hold steps with somebody else's prompt.
    Tpot,
    /// Latency less an assumed prefill: worked out, not measured.
    Latency,
}

/// One cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Which.
    pub cause: Cause,
    /// Milliseconds a step; what is unexplained has a sign.
    pub ms: Range,
    /// How good the evidence is; `None` where it is arithmetic on measured times.
    pub grade: Option<Grade>,
    /// What it rests on.
    pub source: String,
}

/// A part of the step on several GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The step on one GPU over the number of GPUs.
    Ideal,
    /// What narrow GEMMs take above their share.
    NarrowGemm,
    /// Work that every GPU does in full.
    Unsharded,
    /// The host: its work that every rank waits for in full, and one process a rank in place of one.
    Host,
    /// All-reduces.
    AllReduce,
    /// All-gathers.
    AllGather,
    /// All collectives together: never a bar of the waterfall beside those of its parts.
    Communication,
    /// What is left.
    Unexplained,
}

/// What a model at a rank's width on one GPU measured. Times are ms a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HalfModel {
    /// Its decode step.
    pub step: Range,
    /// Its step less the ideal share: narrow GEMMs, work that never shards and the host's, together.
    pub loss: Range,
    /// The step on several GPUs less its step: communication and the change of executor.
    pub difference: Range,
    /// What collectives and executor take by a curve of this box or a trace; `None` where there is neither.
    pub by_curve: Option<Range>,
    /// The difference less that, per draw.
    pub gap: Option<Range>,
    /// Whether the two agree: the gap's interval holds zero.
    pub agrees: Option<bool>,
    /// What it contradicts so that neither is believed; empty where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<Rival>,
}

/// How good the evidence for a bar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// Direct: a trace, or a half-model run.
    A,
    /// Causal: only the link was varied, and the step followed as it should.
    B,
    /// A curve of this box, at the sizes and in the mode of the engine, times the count.
    C,
    /// Prior knowledge only.
    D,
}

/// What can be said of communication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Claim {
    /// There is a bar for it.
    Estimated,
    /// There is no curve to make a bar from: the remainder bounds it.
    AtMost {
        /// Why.
        reason: String,
    },
    /// Nothing.
    None {
        /// Why.
        reason: String,
    },
}

/// What one all-reduce would take if the whole remainder were communication: an upper figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Implied {
    /// Bytes of each rank's message, of the size that takes most of a step's time.
    pub bytes_per_rank: u64,
    /// All-reduces of that size in a step.
    pub count: u32,
    /// Microseconds of one.
    pub us: Range,
    /// What others published for this GPU at that size.
    pub published: Vec<PublishedTime>,
}

/// A published time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedTime {
    /// Microseconds.
    pub us: f64,
    /// The path: peer access, staged through host memory, or the engine's own kernel.
    pub path: String,
    /// The source.
    pub source: String,
}

/// Collectives of one kind and size in a step, with the time that a curve gives them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectiveCost {
    /// The operation.
    pub kind: CollectiveKind,
    /// What it is for.
    pub role: String,
    /// How often in a step.
    pub count: u32,
    /// All-reduce: bytes of each rank's message. All-gather: bytes that each rank contributes.
    pub bytes_per_rank: u64,
    /// Who does it.
    pub path: CollectivePath,
    /// Microseconds of one as the curve has it, before any factor.
    pub us: f64,
    /// How good that is.
    pub grade: Grade,
    /// Where it was read.
    pub source: String,
    /// What a curve of this box lacks to be this collective's; nothing of other curves, and in explanations from before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Lack>,
}

/// What times lack to be those of a step's collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The file says nothing of what it was timed on.
    Box,
    /// They were timed in another mode than the engine's.
    Mode,
    /// The file does not say in which mode they were timed.
    ModeStated,
    /// They are the library's, and the engine reduces with a kernel of its own.
    Kernel,
    /// There are none of the operation.
    Operation,
    /// There is none at the size, which lies beyond their ends.
    Size,
    /// There is none at the size, which is read between two others.
    SizeBetween,
}

/// How the source of a curve begins that others published.
pub(crate) const ELSEWHERE: &str = "another box's curve";

/// There is no attribution, for these reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("nothing is attributed: {}", reasons.join("; "))]
pub struct Refusal {
    /// A gate that does not hold each, with what was seen.
    pub reasons: Vec<String>,
}

impl Refusal {
    /// Why there is none where a run shows no time of a step.
    pub(crate) const NO_STEP: &str = "no time of a step: a result needs a concurrency, and either a streamed TPOT or a latency (e2el) with a count of output tokens (max_tokens, total_output_tokens or output_tokens_per_s)";

    /// What to do first where times of collectives look like those of another unit; `None` where they do not.
    pub(crate) fn of_unit(reasons: &[String]) -> Option<&'static str> {
        let is_of_unit = |reason: &String| reason.contains(LOOKS_WRONG);
        reasons.iter().any(is_of_unit).then_some(
            "look in which unit the times of the collectives are, and give them in us of one call",
        )
    }

    /// Whether that is the reason.
    pub(crate) fn is_no_step(&self) -> bool {
        self.reasons.iter().any(|reason| reason == Self::NO_STEP)
    }
}

impl Attribution {
    /// All-reduces of a step, as far as a curve tells them.
    pub(crate) fn all_reduces(&self) -> u32 {
        let reduces = self
            .collectives
            .iter()
            .filter(|cost| cost.kind == CollectiveKind::AllReduce);
        reduces.map(|cost| cost.count).sum()
    }

    /// With evidence that is no better than C where gates warn: what differs beside the number of GPUs is in every figure.
    pub(super) fn capped(mut self, gates: &[Gate]) -> Self {
        let mut sides = warned(gates).filter(|gate| gate.name != CURVE_GROWS);
        let Some(first) = sides.next() else {
            return self;
        };
        let all = self.bars.iter_mut().chain(&mut self.communication);
        for bar in all.filter(|bar| bar.grade < Some(Grade::C) && bar.grade.is_some()) {
            bar.grade = Some(Grade::C);
            bar.source.push_str(&format!(
                "; not the {} ({}), so that its evidence is C",
                first.name, first.seen
            ));
            self.lowered.push(bar.cause);
        }
        self
    }

    /// Whether draws whose causes sum to more than was measured count for no bar.
    #[must_use]
    pub fn drops_draws(&self) -> bool {
        let by_curve = self.communication.is_some() && !self.collectives.is_empty();
        self.half.is_none() && by_curve && !self.is_well_timed()
    }

    /// Whether nine tenths of the collectives' time are better than prior knowledge; what a bar is worth may be less where prompts may
    /// be in the step.
    pub(crate) fn is_well_timed(&self) -> bool {
        let us = |cost: &CollectiveCost| f64::from(cost.count) * cost.us;
        let whole: f64 = self.collectives.iter().map(us).sum();
        let good = self.collectives.iter().filter(|of| of.grade < Grade::D);
        whole > 0.0 && good.map(us).sum::<f64>() >= 0.9 * whole
    }

    /// Whether every collective's time is what others published.
    pub(crate) fn is_by_published(&self) -> bool {
        let is = |cost: &CollectiveCost| cost.source.starts_with(ELSEWHERE);
        !self.collectives.is_empty() && self.collectives.iter().all(is)
    }

    /// The bar of a cause; `None` where there is none.
    #[must_use]
    pub fn bar(&self, cause: Cause) -> Option<&Bar> {
        let mut all = self.bars.iter().chain(&self.communication);
        all.find(|bar| bar.cause == cause)
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Ideal => "ideal share",
            Self::NarrowGemm => "narrow GEMMs",
            Self::Unsharded => "never sharded",
            Self::Host => "host",
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::Communication => "communication",
            Self::Unexplained => "unexplained",
        })
    }
}

impl std::fmt::Display for Grade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        })
    }
}

impl Grade {
    /// What the letter stands for.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::A => "direct trace or half-model run",
            Self::B => "only the link was varied and the step followed",
            Self::C => "curve of this box times count",
            Self::D => "prior knowledge only",
        }
    }
}
