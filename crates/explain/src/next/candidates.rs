//! What can be measured in a case, each with its command and its minutes. What was given already is not asked for.

use record::CollectivePath;

use super::reported::{Gives, Reported, reading};
use super::step::Measure;
use crate::attribute::{Attribution, Measurement, StepFrom, VarianceShare};
use crate::commands::{Commands, printed};
use crate::grade::Grade;
use crate::inputs::{Inputs, PeerState};

/// Minutes that a part of a measurement is taken to take.
#[derive(Debug, Clone, Copy)]
struct Minutes {
    /// A server from its start to its first request.
    start: f64,
    /// The collectives of a plan, several launches and modes.
    curve: f64,
}

/// On real GPUs: a model is loaded and its graphs are captured.
const REAL: Minutes = Minutes {
    start: 5.0,
    curve: 3.0,
};

/// On a simulated machine: the embedded engine answers within seconds, and tplens allreduce keeps to its budget of half a minute.
const SOFT: Minutes = Minutes {
    start: 0.1,
    curve: 0.5,
};

/// Starts of each server that show the spread between starts.
const STARTS: usize = 5;

/// Something that can be measured.
pub(super) struct Candidate {
    pub(super) settles: Measurement,
    pub(super) gives: Gives,
    pub(super) measure: Measure,
    pub(super) commands: Vec<String>,
    pub(super) minutes: f64,
}

/// What a measurement settles of the attribution's intervals.
pub(super) fn share(attribution: &Attribution, of: Measurement) -> Option<VarianceShare> {
    let mut shares = attribution.shares.iter();
    shares.find(|share| share.measurement == of).copied()
}

pub(super) fn candidates(
    inputs: &Inputs,
    attribution: &Attribution,
    reported: Reported,
) -> Vec<Candidate> {
    let batch = attribution.batch;
    let commands = Commands::new(inputs);
    let takes = match commands.is_soft() {
        true => SOFT,
        false => REAL,
    };
    let run = takes.start + run_minutes(inputs);
    let both = |is_fresh: bool| {
        let of_size = |tp| {
            let [server, load] = commands.served_with(tp, batch);
            match is_fresh {
                true => [server.and(commands.no_prefix_cache()), load],
                false => [server, load],
            }
        };
        printed([inputs.tp, 1].into_iter().flat_map(of_size))
    };
    let mut all = Vec::new();
    all.extend(half_model(inputs, attribution, reported, run));
    if attribution.step_from == StepFrom::Latency {
        all.push(Candidate {
            settles: Measurement::FirstToken,
            gives: Gives::Part(1.0),
            measure: Measure::FirstToken,
            commands: both(true),
            minutes: 2.0 * run,
        });
    }
    if attribution.prompts_ms.is_some() {
        all.push(Candidate {
            settles: Measurement::FirstToken,
            gives: Gives::Another,
            measure: Measure::TokenGaps,
            commands: both(false),
            minutes: 2.0 * run,
        });
    }
    let repeats = [1, inputs.tp].map(|tp| inputs.runs(tp).count());
    if repeats.iter().any(|starts| *starts < STARTS) {
        #[expect(clippy::cast_precision_loss, reason = "a handful of starts")]
        let starts = STARTS as f64;
        all.push(Candidate {
            settles: Measurement::Repeats,
            gives: Gives::Part(1.0),
            measure: Measure::Repeats,
            commands: Vec::new(),
            minutes: 2.0 * starts * run,
        });
    }
    if inputs.evidence.trace.is_none() {
        all.push(Candidate {
            settles: Measurement::Curve,
            gives: reading(reported.up_to(inputs, &["in_trace"])),
            measure: Measure::Trace,
            commands: Vec::new(),
            // Of a real server, wherever these figures are from.
            minutes: REAL.start + run_minutes(inputs) + 2.0,
        });
    }
    all.push(Candidate {
        settles: Measurement::Curve,
        gives: Gives::Another,
        measure: Measure::Ablation,
        commands: printed([commands.ablate(batch, "")]),
        // Three arms of five starts, each with its collectives timed anew.
        minutes: 3.0 * 5.0 * (run + takes.curve),
    });
    all.extend(curve(inputs, attribution, reported, takes.curve));
    if inputs.peer_state() == PeerState::Unprobed && !inputs.known.mig {
        all.push(Candidate {
            settles: Measurement::Curve,
            gives: Gives::Another,
            measure: Measure::Peers,
            commands: printed([commands.links()]),
            minutes: 1.0,
        });
    }
    all
}

/// The half-width model, whose reading of communication is all that is left where its losses are known; `None` where it was run
/// and nothing contradicts it, or cannot be.
fn half_model(
    inputs: &Inputs,
    attribution: &Attribution,
    reported: Reported,
    minutes: f64,
) -> Option<Candidate> {
    let is_again = attribution.is_half_contradicted();
    if !inputs.evidence.half.is_empty() && !is_again {
        return None;
    }
    let tp = attribution.tp;
    tp_plan::half(&inputs.model, tp).ok()?;
    let command = Commands::new(inputs).half_model(attribution.batch).ok()?;
    let share = share(attribution, Measurement::HalfModel)?;
    let remainder = attribution.remainder.high - attribution.remainder.low;
    let left = |width: f64, settled: f64| width * (1.0 - settled.clamp(0.0, 1.0)).sqrt();
    let by_difference = left(remainder, share.of_remainder);
    let by_share = left(reported.width(), reported.settled(share));
    Some(Candidate {
        settles: Measurement::HalfModel,
        gives: match is_again {
            true => Gives::Another,
            false => Gives::Reading(by_difference.min(by_share)),
        },
        measure: Measure::Shard,
        commands: printed([command]),
        minutes,
    })
}

/// The collectives on this box: at all where there are none in the engine's mode, interleaved with work where there are.
fn curve(
    inputs: &Inputs,
    attribution: &Attribution,
    reported: Reported,
    minutes: f64,
) -> Option<Candidate> {
    let time = Commands::new(inputs).collectives(attribution.batch);
    let used = |name: &str| attribution.priors.iter().find(|prior| prior.name == name);
    let is_own = |path: CollectivePath| path == CollectivePath::Custom;
    let is_poor = reported.grade == Some(Grade::D) && !attribution.is_well_timed();
    if inputs.usable_curve().is_empty() || is_poor {
        let mut factors = vec!["in_situ"];
        if attribution.collectives.iter().any(|of| is_own(of.path)) {
            factors.push("custom_over_library");
        }
        return Some(Candidate {
            settles: Measurement::Curve,
            gives: reported.expected(inputs, &factors),
            measure: Measure::Curve,
            commands: printed([time]),
            minutes,
        });
    }
    // Where they were interleaved, or no range of the other kind stands in the attribution, it changes nothing.
    let now = used("in_situ").filter(|_| used("in_situ_interleaved").is_none())?;
    let then = inputs.prior("in_situ_interleaved")?;
    let left = (then.high - then.low) / (now.high - now.low);
    Some(Candidate {
        settles: Measurement::Curve,
        gives: Gives::Part((1.0 - left * left).clamp(0.0, 1.0)),
        measure: Measure::InterleavedCurve,
        commands: printed([time.and("--modes interleaved")]),
        minutes,
    })
}

/// Mean length of the runs, minutes.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn run_minutes(inputs: &Inputs) -> f64 {
    let seconds: f64 = inputs.serve.iter().map(|(_, run)| run.duration_s).sum();
    seconds / 60.0 / inputs.serve.len().max(1) as f64
}
