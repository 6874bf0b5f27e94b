//! What was found about the evidence: each kind with its code, its numbers, and what it does to the grade. Words stand elsewhere.

use record::CallMode;
use serde::{Deserialize, Serialize};

use crate::range::{Grade, count};

/// One thing that was found of the files, the runs or the curves. `run` names one of the runs, such as `TP2` or `TP1 run 2`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "fields are named by what they hold: ms, us, bytes, counts, names"
)]
#[strum(serialize_all = "kebab-case")]
pub enum Finding {
    /// The files are of different models, or of another than was asked about.
    ModelDiffers { names: Vec<String> },
    /// Not as many requests in flight in all runs; more than 10% apart nothing can be compared.
    BatchDiffers { in_flight: Vec<f64> },
    /// Requests failed; beyond 1% of them the mean is that of the fast ones.
    RequestsFailed { run: String, failed: u64, of: u64 },
    /// Measured and simulated files together.
    SimulatedMixed { origins: Vec<String> },
    /// One of the two sizes is missing.
    SizeMissing {
        tp: u32,
        runs_of_one: usize,
        runs_of_several: usize,
    },
    /// No time of a step can be taken from the results.
    NoStepTime,
    /// The causes that are estimated leave less than nothing to the measured step.
    EstimatesExceedStep,
    /// No usable curve of so many ranks.
    NoCurve { ranks: u32 },

    /// Runs were made with different things.
    ConditionsDiffer {
        what: Condition,
        values: Vec<String>,
    },
    /// Requests came by a rate, or all at once.
    OpenLoop { run: String, rate: Option<f64> },
    /// Fewer or more in flight than was asked for.
    InFlightOff { run: String, seen: f64, asked: f64 },
    /// Several tokens a step, by drafting or by chunks.
    SeveralTokens { run: String, tokens: Option<f64> },
    /// Prefill in the steps whose time is taken.
    PrefillInSteps { run: String, share: f64 },
    /// Prompts or outputs of other lengths.
    LengthsDiffer { input: Vec<f64>, output: Vec<f64> },
    /// Not every reply was as long as the others.
    OutputVaries {
        run: String,
        mean: f64,
        asked: Option<u64>,
    },
    /// Latency, first token and time per token do not add up.
    TimesDisagree {
        run: String,
        sum_ms: f64,
        whole_ms: f64,
    },
    /// A reader of the file doubts a figure.
    FileDoubtful { run: String, detail: String },
    /// Clocks were held down while the run went on.
    Throttled {
        run: String,
        slowed: u64,
        readings: u64,
        reasons: Vec<String>,
    },
    /// Runs whose clocks differ.
    ClocksDiffer { mhz: Vec<f64> },
    /// Nobody watched the clocks.
    ClocksNotWatched { run: String },
    /// Nobody said what the collectives go over.
    TransportUnknown,
    /// Bench, log and GPUs disagree on what the collectives go over.
    TransportDisagrees {
        bench: Option<String>,
        log: Option<String>,
    },
    /// The weights do not fit one GPU, on which they were said to be served.
    WeightsTooLarge {
        weight_bytes: u64,
        memory_bytes: u64,
    },
    /// A step shorter than any memory reads its weights.
    StepTooShort { gb_per_s: f64 },
    /// The engine's rules that are used are not those of the engine that served.
    EngineDiffers {
        used: String,
        served: String,
        has_rules: bool,
        by_client: bool,
    },
    /// The shard run's step lies outside what it can take.
    ShardOutOfBounds {
        shard_ms: f64,
        part_ms: f64,
        several_ms: f64,
    },
    /// Shard run and another measurement disagree.
    ShardDisagrees { left_ms: f64, other_ms: f64 },
    /// A collective gave wrong data, hung or failed.
    CollectiveTrouble {
        wrong_data: bool,
        detail: String,
        more: usize,
    },

    /// Times that were not used: of ranks in host memory, of another number of them, or not to be told from zero.
    CurveLeftOut { points: usize, of: usize },
    /// The curve ends too far from the sizes sent.
    CurveTooFar { ranks: u32, bytes: Vec<u64> },
    /// The curve was timed otherwise than the engine runs.
    CurveMode {
        timed: Option<CallMode>,
        wanted: Vec<CallMode>,
    },
    /// Published times of this GPU stand in for a curve.
    CurvePublished,
    /// Times worked out from the rate of a link.
    CurveByFormula { gb_per_s: f64 },
    /// The curve or trace gives more than the step has left.
    CurveTooSlow { by_curve_ms: f64, left_ms: f64 },
    /// The trace is no direct evidence, or was left out.
    TraceDoubtful { calls: f64 },

    /// The step was worked out from latencies.
    NotStreamed,
    /// The step is a time per token and may hold steps with prompts.
    StepHoldsPrompts { most_ms: Option<f64> },
    /// The step is worked out from the median gap, which leaves prompts out.
    StepByMedian { left_out_ms: f64, of_ms: f64 },
    /// One start of a server each.
    SingleStart,
    /// Launches of one size differ.
    LaunchesDiffer {
        tp: u32,
        least_ms: f64,
        most_ms: f64,
        launches: usize,
    },
    /// A fact of the model or the engine that was assumed.
    Assumed { detail: String },
    /// Figures of a machine that is described and was not measured.
    MachineDescribed { name: String },
    /// The cache may not hold all sequences.
    CacheTight { tp: u32, holds: u32, batch: u32 },
    /// The ablation is of other runs or loads, or disagrees with these: it raises no grade.
    AblationNotUsed,
}

/// What runs were made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "named by what they are")]
pub enum Condition {
    Engine,
    Host,
    Gpus,
    Quantisation,
    Machine,
    Version,
    Data,
    Flags,
}

/// Requests in flight further apart than this factor cannot be compared.
const BATCHES: f64 = 1.10;

/// More failed requests than this share leave a mean of the fast ones.
const FAILURES: f64 = 0.01;

impl Finding {
    /// Its stable code, as it stands in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether nothing can be said with it: another model, another batch, failed requests, simulated against measured, or nothing
    /// that could be measured.
    #[must_use]
    pub fn refuses(&self) -> bool {
        match self {
            Self::BatchDiffers { in_flight } => apart(in_flight) > BATCHES,
            Self::RequestsFailed { failed, of, .. } => count(*failed) > FAILURES * count(*of),
            Self::ModelDiffers { .. }
            | Self::SimulatedMixed { .. }
            | Self::SizeMissing { .. }
            | Self::NoStepTime
            | Self::EstimatesExceedStep => true,
            _ => false,
        }
    }

    /// The best grade that any bar has beside it; `None` where it lowers none.
    #[must_use]
    pub fn caps(&self) -> Option<Grade> {
        match self {
            Self::ConditionsDiffer { what, .. } => Some(match what {
                Condition::Engine
                | Condition::Host
                | Condition::Gpus
                | Condition::Quantisation
                | Condition::Machine => Grade::D,
                Condition::Version | Condition::Data | Condition::Flags => Grade::C,
            }),
            Self::EngineDiffers {
                has_rules,
                by_client,
                ..
            } => Some(match *has_rules && !by_client {
                true => Grade::D,
                false => Grade::C,
            }),
            Self::RequestsFailed { .. } => Some(Grade::C),
            Self::CollectiveTrouble { wrong_data, .. } => wrong_data.then_some(Grade::D),
            Self::BatchDiffers { .. }
            | Self::OpenLoop { .. }
            | Self::InFlightOff { .. }
            | Self::SeveralTokens { .. }
            | Self::PrefillInSteps { .. }
            | Self::LengthsDiffer { .. }
            | Self::OutputVaries { .. }
            | Self::TimesDisagree { .. }
            | Self::Throttled { .. }
            | Self::ClocksDiffer { .. }
            | Self::TransportDisagrees { .. }
            | Self::WeightsTooLarge { .. }
            | Self::StepTooShort { .. }
            | Self::ShardOutOfBounds { .. }
            | Self::ShardDisagrees { .. } => Some(Grade::D),
            _ => None,
        }
    }
}

/// The factor between the least and the most of these.
pub(crate) fn apart(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    if values.is_empty() || least <= 0.0 {
        1.0
    } else {
        most / least
    }
}

/// Those with which nothing can be said; failures first, since they hold whatever else is missing.
pub(crate) fn refusing(findings: &[Finding]) -> Vec<Finding> {
    let all = findings.iter().filter(|finding| finding.refuses());
    let mut all: Vec<Finding> = all.cloned().collect();
    all.sort_by_key(|finding| !matches!(finding, Finding::RequestsFailed { .. }));
    all
}

/// The best grade that these leave.
pub(crate) fn capped(findings: &[Finding]) -> Option<Grade> {
    findings.iter().filter_map(Finding::caps).max()
}

/// Why nothing is attributed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// What stands against it.
    pub reasons: Vec<Finding>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_json() {
        for finding in [
            Finding::NoStepTime,
            Finding::BatchDiffers {
                in_flight: vec![16.0, 8.0],
            },
            Finding::TraceDoubtful { calls: 1.0 },
        ] {
            let json = serde_json::to_value(&finding).unwrap();
            assert_eq!(json["code"], finding.code());
        }
    }

    #[test]
    fn a_tenth_of_the_batch_and_a_hundredth_of_the_requests_refuse() {
        let batch = |other: f64| Finding::BatchDiffers {
            in_flight: vec![16.0, other],
        };
        // 17.6 / 16 = 1.1.
        assert_eq!(
            [17.5, 17.7].map(|other| batch(other).refuses()),
            [false, true]
        );
        let failed = |failed| Finding::RequestsFailed {
            run: "TP1".to_owned(),
            failed,
            of: 200,
        };
        assert_eq!([2, 3].map(|n| failed(n).refuses()), [false, true]);
        assert_eq!(failed(2).caps(), Some(Grade::C));
    }
}
