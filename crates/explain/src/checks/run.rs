//! What one run says against being the steps of a fixed batch; and what is compared: that the runs differ in the number of GPUs and in
//! nothing else.

use import::ServeRun;
use import::serve::Throttle;

use crate::finding::{Finding, apart};
use crate::inputs::Inputs;
use crate::range::count;
use crate::run_shape::{MixedIn, RunShape, SEVERAL};

/// Two figures within this part of each other are the same.
pub(crate) const TOLERANCE: f64 = 0.05;

/// Readings with held clocks up to this part do not matter.
pub(super) const FEW: f64 = 0.05;

/// Reasons that hold clocks evenly, as a limit does.
const STEADY: [&str; 4] = [
    "software power cap",
    "applications clocks setting",
    "display clocks setting",
    "sync boost",
];

/// Runs with their names: `TP2`, or `TP2 run 1` where there are several.
pub(super) fn named<'a>(
    runs: impl Iterator<Item = &'a ServeRun>,
    side: &str,
) -> Vec<(String, &'a ServeRun)> {
    let runs: Vec<&ServeRun> = runs.collect();
    let name = |index: usize| match runs.len() {
        1 => side.to_owned(),
        _ => format!("{side} run {}", index + 1),
    };
    runs.iter()
        .enumerate()
        .map(|(index, run)| (name(index), *run))
        .collect()
}

/// What one check finds of a run of this name.
type OfRun = fn(&Inputs, &ServeRun, String) -> Option<Finding>;

/// What is found of this run.
pub(crate) fn of_run(inputs: &Inputs, run: &ServeRun, name: &str) -> Vec<Finding> {
    let all: [OfRun; 7] = [
        requests_failed,
        open_loop,
        in_flight_off,
        several_tokens,
        prefill_in_steps,
        output_varies,
        throttled,
    ];
    let found = all
        .iter()
        .filter_map(|check| check(inputs, run, name.to_owned()));
    found.chain(times_disagree(run, name)).collect()
}

fn requests_failed(_: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let failed = run.failed.filter(|failed| *failed > 0)?;
    Some(Finding::RequestsFailed {
        run: name,
        failed,
        of: run.completed + failed,
    })
}

fn open_loop(_: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let rate = run.request_rate_asked;
    // A rate without end beside a limit of concurrency is how vLLM's client writes a closed loop.
    let is_closed = match rate {
        _ if run.in_flight_wanted() == Some(1.0) => true,
        None => true,
        Some(rate) => run.concurrency_asked.is_some() && rate.is_infinite(),
    };
    (!is_closed).then(|| Finding::OpenLoop {
        run: name,
        rate: rate.filter(|rate| rate.is_finite()),
    })
}

fn in_flight_off(_: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let shape = RunShape::new(run);
    let (asked, seen) = run.in_flight_wanted().zip(shape.in_flight())?;
    let least = shape.least_in_flight(asked);
    let holds = seen >= least * (1.0 - TOLERANCE) && seen <= asked * (1.0 + TOLERANCE);
    (!holds).then_some(Finding::InFlightOff {
        run: name,
        seen,
        asked,
    })
}

fn several_tokens(_: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let tokens = RunShape::new(run).tokens_in_a_chunk();
    let is_several = tokens.is_some_and(|tokens| tokens > SEVERAL);
    let drafted = run.conditions.drafted.is_some();
    (is_several || drafted).then_some(Finding::SeveralTokens { run: name, tokens })
}

fn prefill_in_steps(inputs: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let shape = RunShape::new(run);
    if shape.decode_gap().is_some() {
        return None;
    }
    let engine = inputs.engine(inputs.tp).or(inputs.engines.first())?;
    let (tokens, step) = run.input_tokens.zip(shape.rough_step_ms())?;
    let prefill = count(tokens) / f64::from(engine.max_batched_tokens.max(1));
    let share = prefill / (run.duration_s * 1e3 / step);
    let slowed = match shape.mixed_in() {
        // Nearly all the time went into prompts, or one of the two has another unit.
        Some(MixedIn::ByGaps(slowed)) if slowed > 2.0 / 3.0 => slowed,
        _ => 0.0,
    };
    let share = share.max(slowed);
    (share > TOLERANCE).then_some(Finding::PrefillInSteps { run: name, share })
}

fn output_varies(_: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let shape = RunShape::new(run);
    let mean = shape.output()?;
    let asked = run.output_tokens_asked;
    (shape.fixed_output() == Some(false)).then_some(Finding::OutputVaries {
        run: name,
        mean,
        asked,
    })
}

fn throttled(inputs: &Inputs, run: &ServeRun, name: String) -> Option<Finding> {
    let Some(seen) = inputs
        .evidence
        .throttle
        .iter()
        .find(|seen| seen.origin == run.origin)
    else {
        return Some(Finding::ClocksNotWatched { run: name });
    };
    let is_steady = seen
        .reasons
        .iter()
        .all(|reason| STEADY.contains(&reason.as_str()));
    (share(seen) > FEW && !is_steady).then(|| Finding::Throttled {
        run: name,
        slowed: seen.slowed,
        readings: seen.readings,
        reasons: seen.reasons.clone(),
    })
}

/// The part of the readings with held clocks.
pub(super) fn share(of: &Throttle) -> f64 {
    count(of.slowed) / count(of.readings.max(1))
}

fn times_disagree(run: &ServeRun, name: &str) -> Vec<Finding> {
    let doubts = run.conditions.doubts.iter();
    let mut found: Vec<Finding> = doubts
        .map(|detail| Finding::FileDoubtful {
            run: name.to_owned(),
            detail: detail.clone(),
        })
        .collect();
    let shape = RunShape::new(run);
    let times = (run.e2el_ms, run.ttft_ms, run.tpot_ms, shape.output());
    if let (Some(whole), Some(first), Some(each), Some(output)) = times {
        let sum_ms = first.mean + each.mean * (output - 1.0);
        if (sum_ms / whole.mean - 1.0).abs() > TOLERANCE {
            found.push(Finding::TimesDisagree {
                run: name.to_owned(),
                sum_ms,
                whole_ms: whole.mean,
            });
        }
    }
    found
}

/// Batches and lengths that differ.
pub(super) fn differing(inputs: &Inputs) -> Vec<Finding> {
    if inputs.runs(inputs.from()).count() == 0 || inputs.runs(inputs.tp).count() == 0 {
        return Vec::new();
    }
    let shapes: Vec<RunShape<'_>> = compared(inputs).map(RunShape::new).collect();
    let input: Vec<f64> = shapes.iter().filter_map(RunShape::input).collect();
    let output: Vec<f64> = shapes.iter().filter_map(RunShape::output).collect();
    let is_apart = |values: &[f64]| apart(values) > 1.0 + TOLERANCE;
    let lengths =
        (is_apart(&input) || is_apart(&output)).then_some(Finding::LengthsDiffer { input, output });
    batch_differs(compared(inputs))
        .into_iter()
        .chain(lengths)
        .collect()
}

/// Where these had not as many requests in flight.
pub(super) fn batch_differs<'a>(runs: impl Iterator<Item = &'a ServeRun>) -> Option<Finding> {
    let in_flight: Vec<f64> = runs
        .filter_map(|run| RunShape::new(run).in_flight())
        .collect();
    (apart(&in_flight) > 1.0 + TOLERANCE).then_some(Finding::BatchDiffers { in_flight })
}

/// Runs of the two sizes.
pub(super) fn used(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    let (from, several) = (inputs.from(), inputs.tp);
    let of_both = inputs
        .serve
        .iter()
        .filter(move |(tp, _)| *tp == from || *tp == several);
    of_both.map(|(_, run)| run)
}

/// Runs of the two sizes and of the shard.
pub(super) fn compared(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    used(inputs).chain(&inputs.evidence.half)
}
