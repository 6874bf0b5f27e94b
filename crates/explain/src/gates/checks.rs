//! The gates themselves, one function each.

use measure::import::ServeRun;
use tp_plan::ModelFacts;

use super::evidence::{transport, unthrottled};
use super::gate::{Gate, Verdict};
use super::shape::RunShape;
use crate::inputs::{Inputs, MEASURED};

/// How far two things that should be equal may lie apart, and how much of a run may be prefill.
const TOLERANCE: f64 = 0.05;

type OfRun = fn(&Inputs, &ServeRun) -> Gate;
type OfAll = fn(&Inputs) -> Gate;

/// Gates on one run.
pub(super) const OF_A_RUN: [OfRun; 8] = [
    no_failures,
    closed_loop,
    in_flight,
    pure_decode,
    fixed_output,
    two_tokens,
    times_agree,
    unthrottled,
];

/// Gates on all inputs together.
pub(super) const OF_ALL: [OfAll; 11] = [
    one_origin,
    collectives_right,
    both_runs,
    same_model,
    model_asked,
    weights_fit,
    weights_read,
    equal_batch,
    equal_length,
    several_faster,
    transport,
];

/// A gate before its verdict.
pub(super) struct Open {
    name: &'static str,
    needed: String,
    what_to_run: String,
}

impl Open {
    pub(super) fn new(
        name: &'static str,
        needed: impl Into<String>,
        what_to_run: impl Into<String>,
    ) -> Self {
        Self {
            name,
            needed: needed.into(),
            what_to_run: what_to_run.into(),
        }
    }

    pub(super) fn is(self, holds: Option<bool>, seen: impl Into<String>) -> Gate {
        let verdict = match holds {
            Some(true) => Verdict::Passed,
            Some(false) => Verdict::Failed,
            None => Verdict::Unknown,
        };
        Gate {
            name: self.name.to_owned(),
            verdict,
            seen: seen.into(),
            needed: self.needed,
            what_to_run: (verdict != Verdict::Passed).then_some(self.what_to_run),
        }
    }
}

fn no_failures(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "no failures",
        "every request succeeds: a time-out cuts off the slow ones, and the mean is then of the fast ones",
        "find the cause or ask for less at once, and run again until none fails",
    );
    let all = run.completed + run.failed.unwrap_or(0);
    match run.failed {
        Some(0) => gate.is(Some(true), format!("0 of {all} requests failed")),
        Some(failed) => gate.is(Some(false), format!("{failed} of {all} requests failed")),
        None => gate.is(None, "the file does not say how many failed"),
    }
}

fn closed_loop(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "closed loop",
        "a fixed number of requests in flight, so that every step has the same batch",
        "run with a concurrency and no request rate, such as serve-bench run --concurrency 16",
    );
    match (run.concurrency_asked, run.request_rate_asked) {
        (Some(asked), None) => gate.is(Some(true), format!("{asked} in flight asked")),
        // A rate without end beside a limit of concurrency is how vLLM's client writes a closed loop.
        (Some(asked), Some(rate)) if rate.is_infinite() => {
            gate.is(Some(true), format!("{asked} in flight asked, no rate"))
        }
        (_, Some(rate)) if rate.is_infinite() => {
            let all = run.completed + run.failed.unwrap_or(0);
            gate.is(
                Some(false),
                format!("all {all} requests were sent at once, without a limit"),
            )
        }
        (_, Some(rate)) => gate.is(
            Some(false),
            format!("open loop at {rate} requests/s: a faster server gets a smaller batch"),
        ),
        (None, None) => gate.is(None, "the file does not say how requests were sent"),
    }
}

fn in_flight(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "requests in flight",
        format!(
            "requests/s times mean latency within {:.0}% of what was asked for (Little's law), less what the last wave leaves empty",
            TOLERANCE * 100.0
        ),
        "look for a client that lags, queues or gives up; run longer, and again until both agree",
    );
    let shape = RunShape::new(run);
    let (Some(asked), Some(seen)) = (run.concurrency_asked, shape.in_flight()) else {
        return gate.is(None, "no concurrency asked, or no latency");
    };
    let least = shape.least_in_flight(asked);
    let holds = seen >= least * (1.0 - TOLERANCE) && seen <= asked * (1.0 + TOLERANCE);
    gate.is(
        Some(holds),
        format!(
            "{seen:.1} in flight of {asked} asked, {:.2} of it",
            seen / asked
        ),
    )
}

fn pure_decode(inputs: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "pure decode",
        format!(
            "at most {:.0}% of the steps carry prefill, so that the time per token is that of a decode step",
            TOLERANCE * 100.0
        ),
        "shorten prompts, lengthen outputs or lower the concurrency, and run again",
    );
    let shape = RunShape::new(run);
    let engine = inputs.engine(inputs.tp).or(inputs.engines.first());
    let share = engine.zip(run.input_tokens).zip(shape.rough_step_ms());
    let Some(((engine, tokens), step)) = share else {
        return gate.is(
            None,
            "no prompt tokens, no engine facts, or no time per token",
        );
    };
    #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^53")]
    let prefill = tokens as f64 / f64::from(engine.max_batched_tokens.max(1));
    if let (Some(gap), Some(n)) = (shape.decode_gap(), run.decode_gap_ms.and_then(|gap| gap.n)) {
        let seen = format!(
            "{:.2} ms on average of {n} gaps in which every slot decodes and no prompt is worked on",
            gap.mean
        );
        return gate.is(Some(true), seen);
    }
    let steps = run.duration_s * 1e3 / step;
    let by_tokens = prefill / steps;
    let gap = run.itl_ms.and_then(|itl| itl.median);
    let slowed = gap
        .zip(run.tpot_ms)
        .map_or(0.0, |(gap, tpot)| 1.0 - gap / tpot.mean);
    let mut seen = format!(
        "{:.1}% of about {steps:.0} steps at least: {tokens} prompt tokens, {} a step at most, {step:.1} ms each",
        by_tokens * 100.0,
        engine.max_batched_tokens
    );
    if slowed > TOLERANCE {
        seen = format!(
            "the mean time per token lies {:.0}% above the median gap, so steps with prompts are mixed in; {seen}",
            100.0 * slowed / (1.0 - slowed)
        );
    }
    gate.is(Some(by_tokens.max(slowed) <= TOLERANCE), seen)
}

fn fixed_output(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "fixed output length",
        "every request gives as many tokens as every other, or the batch shrinks at the end",
        "run with the end of sequence ignored, such as serve-bench run --output-tokens 256",
    );
    let shape = RunShape::new(run);
    let mean = shape
        .output()
        .map_or("—".to_owned(), |mean| format!("{mean:.1}"));
    let asked = run
        .output_tokens_asked
        .map_or(String::new(), |asked| format!(" of {asked} asked"));
    gate.is(
        shape.fixed_output(),
        format!("{mean} tokens a request on average{asked}"),
    )
}

fn two_tokens(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "two output tokens or more",
        "a time per token and, without a stream, a latency to take it from",
        "run with 64 output tokens or more",
    );
    let shape = RunShape::new(run);
    let timed = run.tpot_ms.is_some() || shape.latency_ms().is_some();
    match shape.output() {
        Some(mean) => gate.is(
            Some(mean >= 2.0 && timed),
            format!("{mean:.1} tokens a request"),
        ),
        None => gate.is(
            Some(run.tpot_ms.is_some()),
            "nobody counted the output tokens",
        ),
    }
}

fn both_runs(inputs: &Inputs) -> Gate {
    let tp = inputs.tp;
    let gate = Open::new(
        "a run of one GPU and one of several",
        format!(
            "serving results of TP1 and of TP{0}, and the engine's facts for TP{0}",
            tp.max(2)
        ),
        format!(
            "serve the same model with --tensor-parallel-size 1 and {}; where it does not fit one GPU, there is no speed-up to explain",
            tp.max(2)
        ),
    );
    let (one, several) = (inputs.runs(1).count(), inputs.runs(tp).count());
    let engine = if inputs.engine(tp).is_some() {
        "known"
    } else {
        "missing"
    };
    // One file that was named for both sizes.
    let numbers = |run: &ServeRun| (run.duration_s, run.completed, run.e2el_ms, run.tpot_ms);
    let twice = tp >= 2
        && inputs.runs(1).any(|one| {
            inputs
                .runs(tp)
                .any(|several| numbers(one) == numbers(several))
        });
    let seen = if twice {
        format!("the results of TP1 and TP{tp} are the same")
    } else if tp < 2 {
        "TP1 only: one size says neither what communication takes nor what narrow GEMMs and work that never shards lose".to_owned()
    } else {
        format!("TP1: {one}, TP{tp}: {several}; engine facts {engine}")
    };
    gate.is(
        Some(tp >= 2 && one > 0 && several > 0 && engine == "known" && !twice),
        seen,
    )
}

fn same_model(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "same model",
        "all runs serve the same model",
        "name the model in the result, or run again with the same one",
    );
    let mut names: Vec<&str> = used(inputs)
        .filter_map(|run| run.model.as_deref())
        .collect();
    let all = used(inputs).count();
    let named = names.len();
    names.sort_unstable();
    names.dedup_by(|a, b| last_part(a) == last_part(b));
    match names.as_slice() {
        [name] if named == all => gate.is(Some(true), *name),
        [] | [_] => gate.is(None, format!("{named} of {all} files name their model")),
        several => gate.is(Some(false), several.join(" and ")),
    }
}

/// The model that is asked about against the one that the files name, where that is a known one.
fn model_asked(inputs: &Inputs) -> Gate {
    let asked = &inputs.model;
    let gate = Open::new(
        "the model asked about",
        "the files' model is the one whose messages are counted",
        "name with --model what was served",
    );
    let other = used(inputs)
        .filter_map(|run| run.model.as_deref())
        .filter_map(|name| Some((name, ModelFacts::builtin(name)?)))
        .find(|(_, facts)| (facts.hidden, facts.layers) != (asked.hidden, asked.layers));
    match other {
        Some((name, _)) => gate.is(
            Some(false),
            format!("{} is asked about, and a file is of {name}", asked.name),
        ),
        None => gate.is(Some(true), asked.name.clone()),
    }
}

/// Whether the weights go into the GPUs that the files say they ran on.
fn weights_fit(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "weights fit",
        "the model's weights go into the memory of one GPU, or TP1 ran on another box",
        "name the model and the box that were used",
    );
    let Some(memory) = inputs.around.memory_bytes else {
        return gate.is(Some(true), "memory of the GPUs not known, not judged");
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let seen = format!(
        "{:.1} GB of weights, {:.1} GB of memory",
        inputs.model.weight_bytes as f64 / 1e9,
        memory as f64 / 1e9
    );
    let one = inputs.runs(1).count() == 0 || inputs.model.weight_bytes < memory;
    gate.is(Some(one), seen)
}

/// More than any GPU reads of its memory in a second, GB/s.
const FASTEST_MEMORY: f64 = 12_000.0;

/// Whether a step could have read the weights that it needs.
fn weights_read(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "a step can read its weights",
        format!(
            "less than {FASTEST_MEMORY:.0} GB/s of weights from each GPU's memory, which no GPU reaches"
        ),
        "name with --model what was served, and look at the units of the times",
    );
    let Some(batch) = inputs.batch() else {
        return gate.is(Some(true), "batch not known, not judged");
    };
    let bytes = inputs.model.weight_bytes_read(batch);
    let rates = [1, inputs.tp].into_iter().flat_map(|tp| {
        let steps = inputs
            .runs(tp)
            .filter_map(|run| RunShape::new(run).rough_step_ms());
        steps.map(move |step| bytes / f64::from(tp) / step / 1e6)
    });
    match rates.reduce(f64::max) {
        Some(rate) => gate.is(
            Some(rate < FASTEST_MEMORY),
            format!("{rate:.0} GB/s at most"),
        ),
        None => gate.is(Some(true), "no time of a step, not judged"),
    }
}

/// Whether a file's own times fit together: e2el = ttft + tpot (n - 1) on average.
fn times_agree(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "times agree",
        "mean latency = mean time to first token + mean time per token x (tokens - 1), within 5%",
        "look at the units in the file, and for requests of very different length",
    );
    let shape = RunShape::new(run);
    let (Some(whole), Some(first), Some(each), Some(output)) =
        (run.e2el_ms, run.ttft_ms, run.tpot_ms, shape.output())
    else {
        return gate.is(Some(true), "no three times to compare");
    };
    let sum = first.mean + each.mean * (output - 1.0);
    gate.is(
        Some((sum / whole.mean - 1.0).abs() <= TOLERANCE),
        format!("{sum:.1} ms of {:.1} ms", whole.mean),
    )
}

/// Whether collectives on this box gave what they should.
fn collectives_right(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "collectives are right",
        "every result of a collective is exact, and none hangs or fails",
        "mend the path first: allreduce-bench says which size and rank; then measure again",
    );
    let wrong = inputs.troubles.iter().any(|trouble| trouble.wrong_data);
    match inputs.troubles.first() {
        None => gate.is(Some(true), "no trouble told"),
        Some(first) => {
            let told = inputs.troubles.iter().find(|trouble| trouble.wrong_data);
            let more = inputs.troubles.len() - 1;
            let words = &told.unwrap_or(first).words;
            gate.is(wrong.then_some(false), format!("{words}; {more} more"))
        }
    }
}

/// Whether several GPUs are faster than one; files that were mixed up are the commonest reason where not.
fn several_faster(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "several GPUs are not slower",
        "a decode step on several GPUs is shorter than on one",
        "check that the files are not mixed up",
    );
    let step = |tp: u32| {
        let steps: Vec<f64> = inputs
            .runs(tp)
            .filter_map(|run| RunShape::new(run).rough_step_ms())
            .collect();
        steps.into_iter().reduce(f64::min)
    };
    match (inputs.tp >= 2, step(1), step(inputs.tp)) {
        (true, Some(one), Some(several)) => gate.is(
            (several < one).then_some(true),
            format!("{several:.1} ms on {}, {one:.1} ms on one", inputs.tp),
        ),
        _ => gate.is(Some(true), "nothing to compare"),
    }
}

/// `Org/Model` and `/models/Model` are one model.
fn last_part(name: &str) -> String {
    let name = name.trim_end_matches('/');
    name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase()
}

fn equal_batch(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "batch equal",
        format!(
            "as many requests in flight in all runs, within {:.0}%",
            TOLERANCE * 100.0
        ),
        "run all in a closed loop with the same concurrency and number of requests",
    );
    let flights: Vec<f64> = compared(inputs)
        .filter_map(|run| RunShape::new(run).in_flight())
        .collect();
    if inputs.runs(1).count() == 0 || inputs.runs(inputs.tp).count() == 0 {
        return gate.is(None, "nothing to compare with");
    }
    if flights.len() < compared(inputs).count() {
        return gate.is(None, "a run has no latency");
    }
    let seen: Vec<String> = flights.iter().map(|n| format!("{n:.1}")).collect();
    gate.is(
        Some(within(&flights)),
        format!("{} in flight", seen.join(" and ")),
    )
}

fn equal_length(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "lengths equal",
        format!(
            "prompts and outputs as long in all runs, within {:.0}%",
            TOLERANCE * 100.0
        ),
        "run all with the same prompts and output tokens",
    );
    if inputs.runs(1).count() == 0 || inputs.runs(inputs.tp).count() == 0 {
        return gate.is(None, "nothing to compare with");
    }
    let all = compared(inputs).count();
    let shapes: Vec<RunShape<'_>> = compared(inputs).map(RunShape::new).collect();
    let prompts: Vec<f64> = shapes.iter().filter_map(RunShape::input).collect();
    let outputs: Vec<f64> = shapes.iter().filter_map(RunShape::output).collect();
    let words = |values: &[f64]| {
        if values.is_empty() {
            return "unknown".to_owned();
        }
        let words: Vec<String> = values.iter().map(|n| format!("{n:.1}")).collect();
        words.join(" and ")
    };
    let seen = format!("{} in, {} out", words(&prompts), words(&outputs));
    let holds = within(&prompts) && within(&outputs);
    let complete = prompts.len() == all && outputs.len() == all;
    gate.is((complete || !holds).then_some(holds), seen)
}

fn one_origin(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "measured or simulated, not both",
        "serving results, curves and links of one box: a simulated figure says nothing about a real one",
        "leave the simulated files out, or use only them",
    );
    let runs = compared(inputs).map(|run| run.simulated.as_deref());
    let points = inputs.curve.iter().map(|point| point.simulated.as_deref());
    let mut origins: Vec<&str> = runs
        .chain(points)
        .map(|soft| soft.unwrap_or(MEASURED))
        .chain(inputs.known.links_of.as_deref())
        .collect();
    origins.sort_unstable();
    origins.dedup();
    gate.is(Some(origins.len() <= 1), origins.join(" and "))
}

/// The runs of the model itself that are compared.
fn used(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    let several = inputs.tp;
    inputs
        .serve
        .iter()
        .filter(move |(tp, _)| *tp == 1 || *tp == several)
        .map(|(_, run)| run)
}

/// Those and the runs of its half-width model.
fn compared(inputs: &Inputs) -> impl Iterator<Item = &ServeRun> {
    used(inputs).chain(&inputs.evidence.half)
}

fn within(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    values.is_empty() || most <= least * (1.0 + TOLERANCE)
}
