//! What an attribution says.

use record::{CallMode, CollectiveKind, CollectivePath, PlannedCollective};
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::priors::Prior;
use crate::range::{Grade, Range};

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The model at 1/N width on one GPU.
    Shard,
    /// Both sizes with a stream and without a prefix cache.
    Stream,
    /// Five starts of each server.
    Repeats,
    /// Whether the step follows the link.
    Ablation,
    /// The collectives at the plan's sizes.
    Curve,
}

/// What a measurement would settle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VarianceShare {
    /// The measurement.
    pub measure: Measure,
    /// First-order share of the variance of the communication bar, 0 to 1; `None` where there is none.
    pub of_communication: Option<f64>,
    /// First-order share of the variance of the remainder, 0 to 1.
    pub of_remainder: f64,
}

/// Where the time of a decode step on several GPUs goes. Times are milliseconds a step unless a name says otherwise.
///
/// Bars are of all draws where communication is by this box's curve; with a wider one, of those in which all causes fit into what
/// was measured. `remainder`, `implied` and the speed-ups do not depend on any curve: they are of all draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// The size that it is compared with.
    pub from: u32,
    /// Communication of that size, ms; `None` of one GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_of_few: Option<Range>,
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
    pub communication: Option<Bar>,
    /// What a model at a rank's width measured; `None` where there is none.
    pub half: Option<HalfModel>,
    /// What communication and all that is unexplained take together: the step less all other causes.
    pub remainder: Range,
    /// What can be said of communication.
    pub claim: Claim,
    /// What one all-reduce would take if the whole remainder were communication; `None` where nothing is claimed.
    pub implied: Option<Implied>,
    /// Requests per second over those of one GPU, as the results give them; the mean over repeats.
    pub throughput_gain: f64,
    /// Measured speed-up of a decode step over one GPU.
    pub speed_up: Range,
    /// Speed-up if the whole remainder went away: free links give this at most.
    pub free_links: Range,
    /// The same by an ablation, where its arms alone tell communication: the step on one GPU over the arms' step without links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_links_by_arms: Option<Range>,
    /// Speed-up possible at this batch: if links were free, nothing were left unexplained and narrow GEMMs lost nothing, so that
    /// only the ideal share, work that never shards and the host remain.
    pub possible: Option<Range>,
    /// Speed-up if the narrow GEMMs lost nothing.
    pub halved_gemms: Range,
    /// Tokens per second of one-GPU replicas on the same GPUs, over those of tensor parallelism at the same batch each.
    pub replicas: Range,
    /// The collectives of a step, with the time that a curve gives them; empty where there is no curve.
    pub collectives: Vec<CollectiveCost>,
    /// What prompts of other requests may take of the step on several GPUs at most, ms, where no gap between tokens shows it; `None`
    /// where gaps do, where none is in it, or where nothing bounds it.
    pub prompts_ms: Option<f64>,
    /// What was assumed without being measured.
    pub priors: Vec<Prior>,
    /// How much each possible measurement would settle.
    pub shares: Vec<VarianceShare>,
    /// What was found of the files, the runs and the curves.
    pub caveats: Vec<Finding>,
    /// Seed of the draws.
    pub seed: u64,
    /// Number of draws.
    pub draws: u32,
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
    pub basis: Basis,
}

/// A part of a step: of the step on several GPUs as it is attributed, or of a predicted one.
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
    /// All GEMMs of a predicted step.
    Gemm,
    /// Its attention: reading the cache, or what its kernels take at least.
    Attention,
    /// Its norms, residuals, quantisation.
    Elementwise,
    /// What several processes add to it.
    Executor,
    /// Waiting in it for the rank that comes last.
    Skew,
    /// What no other part of it holds; below zero where the others hold too much.
    LeftOut,
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
}

/// What a bar rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Basis {
    /// Arithmetic on measured steps.
    Steps,
    /// Priors of these names.
    Priors {
        /// Their names.
        names: Vec<String>,
    },
    /// The shard run.
    Shard,
    /// The step on several GPUs less the shard run's and the executor's.
    Difference,
    /// Times of collectives.
    Collectives {
        /// Where each was read.
        sources: Vec<TimeSource>,
        /// What they take as they stand, ms.
        face_ms: f64,
    },
    /// What is left.
    Rest,
    /// What is left, communication included.
    RestWithCommunication,
}

/// Where a collective's time was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TimeSource {
    /// A curve of this machine.
    Measured {
        /// Its file.
        origin: String,
        /// How it was timed.
        mode: Option<CallMode>,
        /// Whether the engine's own kernel was timed.
        by_engine: bool,
    },
    /// Published times of this GPU.
    Published {
        /// Who published them.
        source: String,
    },
    /// A trace of the engine.
    Trace {
        /// Its file.
        origin: String,
        /// All-reduces in it.
        calls: f64,
        /// Steps times GPUs in it.
        steps: f64,
    },
    /// A formula on the rate of a link.
    Formula {
        /// The rate, GB/s.
        gb_per_s: f64,
        /// Whose.
        source: String,
    },
}

/// What can be said of communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Claim {
    /// There is a bar for it.
    Estimated,
    /// There is no curve to make a bar from: the remainder bounds it.
    AtMost,
    /// The remainder does not exclude zero, or a curve does not fit.
    None,
}

/// What one all-reduce would take if the whole remainder were communication: an upper figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Implied {
    /// Bytes of each rank's message, of the most frequent size.
    pub bytes_per_rank: u64,
    /// All-reduces in a step.
    pub count: u32,
    /// Microseconds of one.
    pub us: Range,
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
    pub source: TimeSource,
}

impl Bar {
    pub(crate) const fn new(cause: Cause, ms: Range, grade: Option<Grade>, basis: Basis) -> Self {
        Self {
            cause,
            ms,
            grade,
            basis,
        }
    }
}

impl CollectiveCost {
    pub(super) fn of(
        planned: &PlannedCollective,
        us: f64,
        grade: Grade,
        source: TimeSource,
    ) -> Self {
        Self {
            kind: planned.kind,
            role: planned.role.clone(),
            count: planned.count,
            bytes_per_rank: planned.bytes_per_rank,
            path: planned.path,
            us,
            grade,
            source,
        }
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

    /// With evidence that is no better than what the findings leave.
    pub(super) fn capped(mut self, most: Option<Grade>) -> Self {
        let all = self.bars.iter_mut().chain(&mut self.communication);
        for grade in all.filter_map(|bar| bar.grade.as_mut()) {
            *grade = (*grade).max(most.unwrap_or(*grade));
        }
        self
    }

    /// What the published times of these GPUs make of the all-reduces of a step, ms; `None` without them.
    #[must_use]
    pub fn published_ms(&self) -> Option<Range> {
        let bar = self.bar(Cause::Communication);
        bar.filter(|_| self.is_by_published()).map(|bar| bar.ms)
    }

    /// Whether communication rests on what was measured here: a curve of this machine, a trace, a shard run, or an ablation.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        let bar = self.bar(Cause::Communication);
        bar.is_some_and(|bar| bar.grade < Some(Grade::D))
            || self
                .bar(Cause::AllReduce)
                .is_some_and(|bar| bar.grade < Some(Grade::D))
    }

    /// The collectives' times of a step, ms, where nine tenths of them are better than prior knowledge; what a bar is worth may be
    /// less where prompts may be in the step.
    #[must_use]
    pub fn timed_alone_ms(&self) -> Option<f64> {
        let ms = |cost: &CollectiveCost| f64::from(cost.count) * cost.us / 1e3;
        let whole: f64 = self.collectives.iter().map(ms).sum();
        let good = self.collectives.iter().filter(|of| of.grade < Grade::D);
        (whole > 0.0 && good.map(ms).sum::<f64>() >= 0.9 * whole).then_some(whole)
    }

    /// Whether every collective's time is what others published.
    pub(crate) fn is_by_published(&self) -> bool {
        let is = |cost: &CollectiveCost| matches!(cost.source, TimeSource::Published { .. });
        !self.collectives.is_empty() && self.collectives.iter().all(is)
    }

    /// The bar of a cause; `None` where there is none.
    #[must_use]
    pub fn bar(&self, cause: Cause) -> Option<&Bar> {
        let mut all = self.bars.iter().chain(&self.communication);
        all.find(|bar| bar.cause == cause)
    }
}

impl Attribution {
    /// Which cause takes most of the time above the ideal, where its bar stands apart from all others.
    #[must_use]
    pub fn leading(&self) -> Option<&Bar> {
        let causes = [
            Cause::Communication,
            Cause::NarrowGemm,
            Cause::Unsharded,
            Cause::Host,
            Cause::Unexplained,
        ];
        if self.is_half_contradicted() {
            return None;
        }
        let bars = causes.into_iter().filter_map(|cause| self.bar(cause));
        let bars: Vec<&Bar> = bars.collect();
        let first = *bars.iter().max_by(|a, b| a.ms.mid.total_cmp(&b.ms.mid))?;
        let others = bars.iter().filter(|bar| bar.cause != first.cause);
        let next = others.map(|bar| bar.ms.high).fold(0.0, f64::max);
        (first.ms.mid > next && first.ms.low > 0.0).then_some(first)
    }

    /// The collectives of a step as this machine's times stand, ms; 0 where they are published ones.
    pub(crate) fn collectives_ms(&self) -> f64 {
        let each = self.collectives.iter().filter(|_| !self.is_by_published());
        let us: f64 = each.map(|cost| f64::from(cost.count) * cost.us).sum();
        us / 1e3
    }

    /// Whether a curve or a trace gives more than the shard run leaves, so that neither is believed.
    #[must_use]
    pub fn is_half_contradicted(&self) -> bool {
        self.half.as_ref().is_some_and(|of| of.overrun().is_some())
    }

    /// What a curve or a trace gives the collectives and what all other causes leave, ms, where that is less than was measured, so
    /// that nothing is claimed of them.
    #[must_use]
    pub fn misfit(&self) -> Option<(f64, f64)> {
        self.caveats.iter().find_map(|of| match of {
            Finding::CurveTooSlow {
                by_curve_ms,
                left_ms,
            } => Some((*by_curve_ms, *left_ms)),
            _ => None,
        })
    }
}

impl HalfModel {
    pub(crate) fn is_contradicted(&self) -> bool {
        self.gap.is_some_and(|gap| gap.low > 0.0 || gap.high < 0.0)
    }

    /// What a curve or a trace gives, ms, where that is more than the shard run leaves.
    pub(super) fn overrun(&self) -> Option<f64> {
        let by_curve = self.gap.filter(|gap| gap.high < 0.0).and(self.by_curve)?;
        Some(by_curve.mid)
    }
}
