//! What to measure next: what would leave the interval of communication as it is reported narrowest, the narrowest first; then
//! what would give communication a figure of its own whose width nothing tells beforehand.
//!
//! Reported is the bar of communication where there is one, whatever its grade, else all that the other causes leave. A
//! measurement narrows that interval by the first-order share of its variance that it settles, or puts another reading in its
//! place: the half-width model all that is left with its losses known, a trace or a curve of this box its own times. What was
//! given already is not asked for.

use measure::record::CollectivePath;
use serde::{Deserialize, Serialize};

use crate::advise::{Commands, NEEDS_REAL};
use crate::attribute::{Attribution, Cause, Claim, Grade, Measurement, StepFrom, VarianceShare};
use crate::inputs::{Inputs, PeerState};
use crate::range::Range;

/// A run that leaves more than this part of the width is not worth its time.
const WORTH: f64 = 0.95;

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

/// On a soft box: the embedded engine answers within seconds, and allreduce-bench keeps to its budget of half a minute.
const SOFT: Minutes = Minutes {
    start: 0.1,
    curve: 0.5,
};

/// Starts of each server that show the spread between starts.
const STARTS: usize = 5;

/// How kernels inside an engine are timed.
const TRACE: &str =
    "a trace of some decode steps (nsys, rocprof): the sum of the collective kernels of one step";

/// How the command of an ablation begins.
const ABLATE: &str = "serve-bench ablate";

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
    /// What it takes, minutes: a server's start is taken for 5, on a soft box for a few seconds.
    #[serde(default)]
    pub minutes: Option<f64>,
}

impl NextStep {
    /// What it takes, in words.
    #[must_use]
    pub fn takes(&self) -> Option<String> {
        self.minutes.map(|minutes| match minutes < 1.5 {
            true => format!("about {:.0} s", minutes * 60.0),
            false => format!("about {minutes:.0} minutes"),
        })
    }

    /// Whether it is the slope test of an ablation.
    pub(crate) fn is_ablation(&self) -> bool {
        self.how.starts_with(ABLATE)
    }
}

/// How a measurement would narrow the interval of communication that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Narrowing {
    /// Share of its variance that goes: one less the square of the widths' ratio, 0 to 1.
    pub share: f64,
    /// Its width now, 5% to 95%, ms.
    pub now_ms: f64,
    /// The width that is expected after, ms.
    pub after_ms: f64,
}

impl std::fmt::Display for Narrowing {
    /// With as many digits as tell the two widths apart.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = |decimals: &usize| {
            let text = |ms: f64| format!("{ms:.decimals$}");
            text(self.now_ms) != text(self.after_ms)
        };
        let decimals = (1..=3).find(digits).unwrap_or(3);
        write!(
            f,
            "settles {:.0}% of the variance of communication as reported: from {:.decimals$} to about {:.decimals$} ms between 5% and 95%",
            self.share * 100.0,
            self.now_ms,
            self.after_ms
        )
    }
}

/// What is reported of communication.
#[derive(Debug, Clone, Copy)]
struct Reported {
    ms: Range,
    /// Whether it is a bar, by a curve, a trace or a half-width model.
    is_bar: bool,
    /// How good the bar is.
    grade: Option<Grade>,
}

/// What a measurement makes of the interval that is reported.
enum Gives {
    /// It settles this part of its share of the variance, 0 to 1.
    Part(f64),
    /// Another reading in its place, so wide, ms; or what it settles, where that is narrower.
    Reading(f64),
    /// Another figure, of which nothing tells beforehand how wide it is.
    Another,
}

/// Something that can be measured.
struct Candidate {
    settles: Measurement,
    gives: Gives,
    what: String,
    how: String,
    minutes: f64,
}

/// Measurements by the width of the reported interval that they leave; behind them those that would give communication a figure
/// of its own, the cheapest first.
#[must_use]
pub fn next(inputs: &Inputs, attribution: &Attribution) -> Vec<NextStep> {
    let reported = Reported::of(attribution);
    let step = |of: Candidate| {
        let share = share(attribution, of.settles)?;
        let settled = |part: f64| reported.width() * (1.0 - reported.settled(share) * part).sqrt();
        let after_ms = match of.gives {
            Gives::Part(part) => Some(settled(part)),
            Gives::Reading(width) => Some(width),
            Gives::Another => None,
        };
        let now_ms = reported.width();
        let narrows = after_ms.map(|after_ms| Narrowing {
            share: (1.0 - (after_ms / now_ms).powi(2)).max(0.0),
            now_ms,
            after_ms,
        });
        let is_worth_it = narrows.is_none_or(|of| of.after_ms <= WORTH * of.now_ms);
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
    let left = |step: &NextStep| step.narrows.map_or(f64::MAX, |narrows| narrows.after_ms);
    let minutes = |step: &NextStep| step.minutes.unwrap_or(f64::MAX);
    steps.sort_by(|a, b| {
        let by_width = left(a).total_cmp(&left(b));
        by_width.then(minutes(a).total_cmp(&minutes(b)))
    });
    steps
}

/// What a measurement settles of the attribution's intervals.
fn share(attribution: &Attribution, of: Measurement) -> Option<VarianceShare> {
    let mut shares = attribution.shares.iter();
    shares.find(|share| share.measurement == of).copied()
}

impl Reported {
    fn of(attribution: &Attribution) -> Self {
        let bar = attribution.bar(Cause::Communication);
        match bar.filter(|_| attribution.claim == Claim::Estimated) {
            Some(bar) => Self {
                ms: bar.ms,
                is_bar: true,
                grade: bar.grade,
            },
            None => Self {
                ms: attribution.remainder,
                is_bar: false,
                grade: None,
            },
        }
    }

    fn width(&self) -> f64 {
        (self.ms.high - self.ms.low).max(f64::MIN_POSITIVE)
    }

    /// The part of its variance that a measurement settles.
    fn settled(&self, share: VarianceShare) -> f64 {
        let of = match self.is_bar {
            true => share.of_communication.unwrap_or(0.0),
            false => share.of_remainder,
        };
        of.clamp(0.0, 1.0)
    }

    /// The reading of a curve of this box: as wide as these factors make it where communication is about as large as it is reported;
    /// another figure where that would be no narrower.
    fn expected(&self, inputs: &Inputs, factors: &[&str]) -> Gives {
        let width = spread(inputs, factors).map(|spread| self.ms.mid.max(0.0) * spread);
        reading(width.filter(|width| *width > 0.0 && *width < WORTH * self.width()))
    }

    /// The width of a bar as large as this one that is known up to these factors; `None` where there is no bar of this box, since
    /// how large another box's times are here is what nobody knows.
    fn up_to(&self, inputs: &Inputs, factors: &[&str]) -> Option<f64> {
        let is_here =
            self.is_bar && (self.grade < Some(Grade::D) || !inputs.usable_curve().is_empty());
        let spread = spread(inputs, factors)?;
        is_here.then(|| self.ms.mid.max(0.0) * spread)
    }
}

/// From 5% to 95% of a time that is known up to these factors, over its median.
fn spread(inputs: &Inputs, factors: &[&str]) -> Option<f64> {
    let each = |name: &&str| {
        let prior = inputs.prior(name)?;
        Some((prior.at(0.95) - prior.at(0.05)) / prior.at(0.5))
    };
    let spreads: Option<Vec<f64>> = factors.iter().map(each).collect();
    let squares: f64 = spreads?.iter().map(|spread| spread * spread).sum();
    Some(squares.sqrt())
}

/// A reading where its width can be told, else another figure.
fn reading(width: Option<f64>) -> Gives {
    width.map_or(Gives::Another, Gives::Reading)
}

fn candidates(inputs: &Inputs, attribution: &Attribution, reported: Reported) -> Vec<Candidate> {
    let batch = attribution.batch;
    let commands = Commands::new(inputs);
    let takes = match commands.is_soft() {
        true => SOFT,
        false => REAL,
    };
    let run = takes.start + run_minutes(inputs);
    let mut all = Vec::new();
    all.extend(half_model(inputs, attribution, reported, run));
    if attribution.step_from == StepFrom::Latency {
        all.push(Candidate {
            settles: Measurement::FirstToken,
            gives: Gives::Part(1.0),
            what: "the time to first token, and whether prompts came from the prefix cache"
                .to_owned(),
            how: format!(
                "{}, and the same with one GPU",
                commands.served_with(inputs.tp, batch, commands.no_prefix_cache())
            ),
            minutes: 2.0 * run,
        });
    }
    if attribution.prompts_ms.is_some() {
        all.push(Candidate {
            settles: Measurement::FirstToken,
            gives: Gives::Another,
            what:
                "gaps between tokens (ITL), which show what other requests' prompts take of a step"
                    .to_owned(),
            how: format!(
                "{}, and the same with one GPU",
                commands.served_with(inputs.tp, batch, "")
            ),
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
            what: "the spread between starts".to_owned(),
            how: "five starts of each server, in turn, the same load each".to_owned(),
            minutes: 2.0 * starts * run,
        });
    }
    if inputs.evidence.trace.is_none() {
        all.push(Candidate {
            settles: Measurement::Curve,
            gives: reading(reported.up_to(inputs, &["in_trace"])),
            what: "the collectives inside the engine".to_owned(),
            how: match commands.is_soft() {
                true => format!("{TRACE}; {NEEDS_REAL}"),
                false => TRACE.to_owned(),
            },
            // Of a real server, wherever these figures are from.
            minutes: REAL.start + run_minutes(inputs) + 2.0,
        });
    }
    all.push(Candidate {
        settles: Measurement::Curve,
        gives: Gives::Another,
        what: "whether the step follows the link: the same server over slower collectives, five starts each".to_owned(),
        how: format!("{} (the slope must be the number of all-reduces)", commands.ablate(batch, "")),
        // Three arms of five starts, each with its collectives timed anew.
        minutes: 3.0 * 5.0 * (run + takes.curve),
    });
    all.extend(curve(inputs, attribution, reported, takes.curve));
    if inputs.peer_state() == PeerState::Unprobed && !inputs.known.mig {
        all.push(Candidate {
            settles: Measurement::Curve,
            gives: Gives::Another,
            what: "whether the GPUs reach each other's memory".to_owned(),
            how: format!("{}, its record given with --links", commands.links()),
            minutes: 1.0,
        });
    }
    all
}

/// The half-width model, whose reading of communication is all that is left where its losses are known; `None` where it was run
/// or cannot be.
fn half_model(
    inputs: &Inputs,
    attribution: &Attribution,
    reported: Reported,
    minutes: f64,
) -> Option<Candidate> {
    if !inputs.evidence.half.is_empty() {
        return None;
    }
    let tp = attribution.tp;
    let width = tp_plan::half(&inputs.model, tp).ok()?;
    let command = Commands::new(inputs).half_model(attribution.batch).ok()?;
    let share = share(attribution, Measurement::HalfModel)?;
    let remainder = attribution.remainder.high - attribution.remainder.low;
    let left = |width: f64, settled: f64| width * (1.0 - settled.clamp(0.0, 1.0)).sqrt();
    let by_difference = left(remainder, share.of_remainder);
    let by_share = left(reported.width(), reported.settled(share));
    Some(Candidate {
        settles: Measurement::HalfModel,
        gives: Gives::Reading(by_difference.min(by_share)),
        what: format!(
            "half-width GEMMs: the model at 1/{tp} width on one GPU (half model: {} heads, {} key-value heads, {:.1} GB read in a step of one token), what a step takes without communication",
            width.heads,
            width.kv_heads,
            width.weight_bytes_read(1) / 1e9
        ),
        how: command,
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
    let time = Commands::new(inputs).collectives(&attribution.batch.to_string());
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
            what: "the collectives at the plan's sizes, in a graph and interleaved with work, on this box".to_owned(),
            how: time,
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
        what: "the collectives interleaved with work, which shows what ranks wait for each other"
            .to_owned(),
        how: format!("{time} --modes interleaved"),
        minutes,
    })
}

/// Mean length of the runs, minutes.
#[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
fn run_minutes(inputs: &Inputs) -> f64 {
    let seconds: f64 = inputs.serve.iter().map(|(_, run)| run.duration_s).sum();
    seconds / 60.0 / inputs.serve.len().max(1) as f64
}
