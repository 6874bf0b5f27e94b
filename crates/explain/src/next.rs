//! What to measure next: what would narrow the interval of communication as it is reported, the most first; then what would give
//! communication a figure of its own.
//!
//! Reported is the bar of communication where a curve of this box in the engine's mode is behind it, else all that the other
//! causes leave. A measurement is credited with the first-order share of that interval's variance that it would settle, and
//! with nothing for what it would replace the interval by.

use serde::{Deserialize, Serialize};
use tp_plan::ModelFacts;

use crate::attribute::{Attribution, Cause, Measurement, VarianceShare, is_by_own_curve};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;

/// Less than this share of the variance is not worth a run.
const WORTH: f64 = 0.02;

/// Minutes that a server is taken to need from its start to its first request.
const START_MIN: f64 = 5.0;

/// Minutes that the collectives of a plan take to time, several launches and modes.
const CURVE_MIN: f64 = 3.0;

/// Starts of each server that show the spread between starts.
const STARTS: f64 = 5.0;

/// A measurement that would narrow an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What would be measured, and what of the variance it explains to first order; of what only replaces the interval, at most.
    pub share: VarianceShare,
    /// What to measure.
    pub what: String,
    /// How.
    pub how: String,
    /// What it does to the interval of communication that is reported; `None` where it would give another figure instead.
    #[serde(default)]
    pub narrows: Option<Narrowing>,
    /// What it takes, minutes; a server's start is taken for 5.
    #[serde(default)]
    pub minutes: Option<f64>,
}

/// How a measurement would narrow the interval of communication that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Narrowing {
    /// First-order share of its variance that is settled, 0 to 1.
    pub share: f64,
    /// Its width now, 5% to 95%, ms.
    pub now_ms: f64,
    /// The width that is expected after, ms.
    pub after_ms: f64,
}

/// What is reported of communication.
#[derive(Debug, Clone, Copy)]
struct Reported {
    ms: Range,
    /// Whether it is the bar of this box's own curve.
    by_curve: bool,
}

/// Something that can be measured.
struct Candidate {
    settles: Measurement,
    /// The part of that measurement's share that it settles, 0 to 1; `None` where it gives another figure instead.
    part: Option<f64>,
    what: String,
    how: String,
    minutes: f64,
}

/// Measurements by the share of the reported interval's variance that they settle; behind them those that would give
/// communication a figure of its own, the cheapest first.
#[must_use]
pub fn next(inputs: &Inputs, attribution: &Attribution) -> Vec<NextStep> {
    let reported = reported(attribution);
    let step = |of: Candidate| {
        let shares = attribution.shares.iter();
        let share = shares
            .copied()
            .find(|share| share.measurement == of.settles)?;
        let settled = match reported.by_curve {
            true => share.of_communication.unwrap_or(0.0),
            false => share.of_remainder,
        };
        let narrows = of.part.map(|part| {
            let settled = settled * part;
            let now_ms = reported.ms.high - reported.ms.low;
            Narrowing {
                share: settled,
                now_ms,
                after_ms: now_ms * (1.0 - settled).sqrt(),
            }
        });
        let is_worth_it = narrows.is_none_or(|narrows| narrows.share >= WORTH);
        is_worth_it.then_some(NextStep {
            share,
            what: of.what,
            how: of.how,
            narrows,
            minutes: Some(of.minutes),
        })
    };
    let mut steps: Vec<NextStep> = candidates(inputs, attribution, reported)
        .into_iter()
        .filter_map(step)
        .collect();
    let settled = |step: &NextStep| step.narrows.map_or(-1.0, |narrows| narrows.share);
    let minutes = |step: &NextStep| step.minutes.unwrap_or(f64::MAX);
    steps.sort_by(|a, b| {
        let by_share = settled(b).total_cmp(&settled(a));
        by_share.then(minutes(a).total_cmp(&minutes(b)))
    });
    steps
}

fn reported(attribution: &Attribution) -> Reported {
    let bar = attribution.bar(Cause::Communication);
    match bar.filter(|_| is_by_own_curve(attribution)) {
        Some(bar) => Reported {
            ms: bar.ms,
            by_curve: true,
        },
        None => Reported {
            ms: attribution.remainder,
            by_curve: false,
        },
    }
}

fn candidates(inputs: &Inputs, attribution: &Attribution, reported: Reported) -> Vec<Candidate> {
    let Attribution { tp, batch, .. } = *attribution;
    let run = START_MIN + run_minutes(inputs);
    let mut all = vec![
        Candidate {
            settles: Measurement::HalfModel,
            part: Some(1.0),
            what: format!(
                "half-width GEMMs: the model at 1/{tp} width on one GPU (half model), what a step takes without communication"
            ),
            how: half_model(&inputs.model, tp),
            minutes: run,
        },
        Candidate {
            settles: Measurement::FirstToken,
            part: Some(1.0),
            what: "the time to first token, and whether prompts came from the prefix cache".to_owned(),
            how: "the same load with a stream, such as serve-bench run, on a server with --no-enable-prefix-caching".to_owned(),
            minutes: 2.0 * run,
        },
        Candidate {
            settles: Measurement::Repeats,
            part: Some(1.0),
            what: "the spread between starts".to_owned(),
            how: "five starts of each server, in turn, the same load each".to_owned(),
            minutes: 2.0 * STARTS * run,
        },
        Candidate {
            settles: Measurement::Curve,
            // What a trace shows needs no factor between the curve and the engine.
            part: reported.by_curve.then_some(1.0),
            what: "the collectives inside the engine".to_owned(),
            how: "a trace of some decode steps (nsys, rocprof): the sum of the collective kernels of one step".to_owned(),
            minutes: run + 2.0,
        },
        Candidate {
            settles: Measurement::Curve,
            part: None,
            what: "whether the step follows the link: the same server over slower collectives, five starts each".to_owned(),
            how: format!("serve-bench ablate --model {} (the slope must be the number of all-reduces)", inputs.model.name),
            // Three arms, each with its collectives timed anew.
            minutes: 3.0 * STARTS * (run + CURVE_MIN),
        },
    ];
    let time = format!(
        "allreduce-bench --model {} --tp {tp} --batches {batch}",
        inputs.model.name
    );
    if inputs.usable_curve().is_empty() {
        all.push(Candidate {
            settles: Measurement::Curve,
            part: None,
            what: "the collectives at the plan's sizes, in a graph and interleaved with work, on this box".to_owned(),
            how: time,
            minutes: CURVE_MIN,
        });
    } else if let Some(part) = interleaving(inputs, attribution) {
        all.push(Candidate {
            settles: Measurement::Curve,
            part: reported.by_curve.then_some(part),
            what:
                "the collectives interleaved with work, which shows what ranks wait for each other"
                    .to_owned(),
            how: format!("{time} --modes interleaved"),
            minutes: CURVE_MIN,
        });
    }
    if inputs.peer_state() == PeerState::Unprobed && !inputs.known.mig {
        all.push(Candidate {
            settles: Measurement::Curve,
            part: None,
            what: "whether the GPUs reach each other's memory".to_owned(),
            how: "p2p-bw, its record given with --links".to_owned(),
            minutes: 1.0,
        });
    }
    all
}

/// The part of the curve's variance that goes where calls are interleaved with work, by the widths of the two ranges; `None` where
/// they were, or no range of the other kind stands in the attribution.
fn interleaving(inputs: &Inputs, attribution: &Attribution) -> Option<f64> {
    let used = |name: &str| attribution.priors.iter().find(|prior| prior.name == name);
    let now = used("in_situ").filter(|_| used("in_situ_interleaved").is_none())?;
    let then = inputs.prior("in_situ_interleaved")?;
    let left = (then.high - then.low) / (now.high - now.low);
    Some((1.0 - left * left).clamp(0.0, 1.0))
}

/// Mean length of the runs, minutes.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn run_minutes(inputs: &Inputs) -> f64 {
    let seconds: f64 = inputs.serve.iter().map(|(_, run)| run.duration_s).sum();
    seconds / 60.0 / inputs.serve.len().max(1) as f64
}

/// How a rank's share is run as a model of its own, and what it reads; or why it cannot be.
fn half_model(model: &ModelFacts, tp: u32) -> String {
    match tp_plan::half(model, tp) {
        Ok(share) => format!(
            "serve-bench half-model --model {} --tp {tp} --run, with the flags of the servers that were measured after `--`: {} heads, {} key-value heads, {:.1} GB read in a step of one token",
            model.name,
            share.heads,
            share.kv_heads,
            share.weight_bytes_read(1) / 1e9
        ),
        Err(error) => error.to_string(),
    }
}
