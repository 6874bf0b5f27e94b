//! Gates on one run: whether its times are of a decode step with a known batch.

use measure::import::ServeRun;

use super::compared::batch_of_one;
use super::gate::Gate;
use super::open::{Open, TOLERANCE};
use super::shape::{MixedIn, RunShape};
use crate::inputs::Inputs;

/// The name of the gate on failed requests.
pub(crate) const FAILURES: &str = "no failures";

pub(super) fn no_failures(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        FAILURES,
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

pub(super) fn closed_loop(inputs: &Inputs, run: &ServeRun) -> Gate {
    // The batch of one GPU, so that this command and that of equal batches are of one load.
    let batch = batch_of_one(inputs).map_or_else(|| "N".to_owned(), |batch| batch.to_string());
    let gate = Open::new(
        "closed loop",
        "a fixed number of requests in flight, so that every step has the same batch",
        format!(
            "run with a concurrency and no request rate, such as serve-bench run --concurrency {batch}"
        ),
    );
    match (run.concurrency_asked, run.request_rate_asked) {
        (Some(asked), None) => gate.is(Some(true), format!("{asked} in flight asked")),
        // A rate without end beside a limit of concurrency is how vLLM's client writes a closed loop.
        (Some(asked), Some(rate)) if rate.is_infinite() => {
            gate.is(Some(true), format!("{asked} in flight asked, no rate"))
        }
        (None, _) if run.in_flight_wanted() == Some(1.0) => {
            gate.is(Some(true), "there was one request, so that it was alone")
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

pub(super) fn in_flight(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "requests in flight",
        format!(
            "requests/s times mean latency within {:.0}% of what was asked for (Little's law), less what the last wave leaves empty",
            TOLERANCE * 100.0
        ),
        "look for a client that lags, queues or gives up; run longer, and again until both agree",
    );
    let shape = RunShape::new(run);
    let (Some(asked), Some(seen)) = (run.in_flight_wanted(), shape.in_flight()) else {
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

/// Tokens of a chunk beyond which a step made several; a client that reads late, or a server that joins chunks under load, is below.
pub(crate) const SEVERAL: f64 = 1.2;

/// Name of the gate on tokens of a step.
pub(crate) const ONE_TOKEN: &str = "one token a step";

/// Whether a token is a step: where tokens are drafted, or a chunk holds several, the time per token is none of a step.
pub(super) fn one_token(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        ONE_TOKEN,
        format!(
            "a chunk holds one token: the mean gap between chunks is the mean time per token, {SEVERAL} of it at most, and no tokens were drafted"
        ),
        "switch speculative decoding and streaming by several tokens off (vLLM: no --speculative-config, --stream-interval 1), and run again",
    );
    if let Some(drafted) = &run.conditions.drafted {
        return gate.is(
            Some(false),
            format!("several tokens a step: tokens were drafted ({drafted}; speculative decoding)"),
        );
    }
    let Some(tokens) = RunShape::new(run).tokens_in_a_chunk() else {
        return gate.not_judged("no mean gap between chunks beside a mean time per token");
    };
    let means = run
        .itl_ms
        .zip(run.tpot_ms)
        .map_or_else(String::new, |(gap, each)| {
            format!(
                " (mean ITL {:.2} ms, mean TPOT {:.2} ms)",
                gap.mean, each.mean
            )
        });
    let seen = format!("a chunk held {tokens:.2} tokens in the mean{means}");
    // Gaps of a request are at least as long as its tokens after the first; of requests of many lengths the two means weigh otherwise.
    if RunShape::new(run).has_other_gaps() {
        let gate = gate.with_next("look what the file calls ITL and TPOT, and in which unit");
        return gate.is(
            None,
            format!("{seen}: less than one, which no stream gives; one of the two is another thing or has another unit"),
        );
    }
    if tokens > SEVERAL {
        return gate.is(
            Some(false),
            format!(
                "{seen}: several tokens a step (speculative decoding), or a server that streams by several"
            ),
        );
    }
    match tokens > 1.0 + TOLERANCE {
        true => gate.is(
            None,
            format!(
                "{seen}: chunks that were joined under load, or a few tokens that were drafted"
            ),
        ),
        false => gate.is(Some(true), seen),
    }
}

/// A time per token of which the median gap leaves more than this is more than three times as long.
const FAR_BELOW: f64 = 2.0 / 3.0;

/// Name of the gate on steps that carry prompts.
pub(crate) const PURE_DECODE: &str = "pure decode";

pub(super) fn pure_decode(inputs: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        PURE_DECODE,
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
        let gate = match run.input_tokens {
            None => {
                gate.with_next("add the count of prompt tokens to the file: total_input_tokens")
            }
            Some(_) => gate,
        };
        return gate.is(
            None,
            "no prompt tokens, no engine facts, or no time per token",
        );
    };
    if let (Some(gap), Some(n)) = (shape.decode_gap(), run.decode_gap_ms.and_then(|gap| gap.n)) {
        let seen = format!(
            "{:.2} ms on average of {n} gaps in which every slot decodes and no prompt is worked on",
            gap.mean
        );
        return gate.is(Some(true), seen);
    }
    #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^53")]
    let prefill = tokens as f64 / f64::from(engine.max_batched_tokens.max(1));
    let steps = run.duration_s * 1e3 / step;
    let by_tokens = prefill / steps;
    let seen = format!(
        "{:.1}% of about {steps:.0} steps at least: {tokens} prompt tokens, {} a step at most, {step:.1} ms each",
        by_tokens * 100.0,
        engine.max_batched_tokens
    );
    match shape.mixed_in() {
        Some(MixedIn::ByGaps(slowed)) if slowed > FAR_BELOW => {
            let gate = gate.with_next(
                "look what the file calls ITL and TPOT, and in which unit; where both are right, shorten prompts or lower the concurrency",
            );
            let seen = format!(
                "the mean time per token is {:.1} times the median gap: one of the two has another unit or is another thing, or nearly all the time went into prompts; {seen}",
                1.0 / (1.0 - slowed)
            );
            gate.is(Some(false), seen)
        }
        Some(MixedIn::ByGaps(slowed)) if slowed > TOLERANCE => {
            let seen = format!(
                "the mean time per token lies {:.0}% above the median gap, so steps with prompts are mixed in: the step is worked out from the median, which leaves them out; {seen}",
                100.0 * slowed / (1.0 - slowed)
            );
            gate.is((by_tokens > TOLERANCE).then_some(false), seen)
        }
        Some(MixedIn::ByGaps(_)) => gate.is(Some(by_tokens <= TOLERANCE), seen),
        // What a mean hides, only gaps between tokens show.
        Some(MixedIn::AtMost(most)) if by_tokens <= TOLERANCE && most > TOLERANCE => {
            let seen = format!(
                "other requests' prompts may take up to {:.0}% of the time per token, by the time to first token; {}; {seen}",
                100.0 * most,
                without(run)
            );
            let gate = gate.with_next(format!(
                "{}; or shorten prompts and lengthen outputs",
                shape.gaps_wanted()
            ));
            gate.is(None, seen)
        }
        // Prompts are bounded, and yet gaps that contradict each other are said.
        Some(MixedIn::AtMost(_)) => match shape.gap_doubt() {
            Some(doubt) if by_tokens <= TOLERANCE => {
                let gate =
                    gate.with_next("look what the file calls ITL and TPOT, and in which unit");
                gate.is(None, format!("{doubt}; {seen}"))
            }
            _ => gate.is(Some(by_tokens <= TOLERANCE), seen),
        },
        None if run.streamed && run.tpot_ms.is_some() && by_tokens <= TOLERANCE => {
            let seen = format!(
                "{seen}; with neither gaps between tokens nor a time to first token nobody can tell how many more"
            );
            gate.is(None, seen)
        }
        None => gate.is(Some(by_tokens <= TOLERANCE), seen),
    }
}

/// What the gaps of a run do not tell.
fn without(run: &ServeRun) -> String {
    let not_taken = &run.conditions.not_taken;
    if !not_taken.is_empty() {
        return not_taken.join("; ");
    }
    match (RunShape::new(run).gap_doubt(), run.itl_ms) {
        (Some(doubt), _) => doubt,
        (None, Some(_)) => "without a median gap between tokens nobody can tell".to_owned(),
        (None, None) => "without gaps between tokens nobody can tell".to_owned(),
    }
}

pub(super) fn fixed_output(_: &Inputs, run: &ServeRun) -> Gate {
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

pub(super) fn two_tokens(_: &Inputs, run: &ServeRun) -> Gate {
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
        None => {
            let gate = gate.with_next(
                "add the count of output tokens to the file: total_output_tokens, or max_tokens where all give as many",
            );
            gate.is(
                Some(run.tpot_ms.is_some()),
                "nobody counted the output tokens",
            )
        }
    }
}

/// Whether a file's own times fit together: e2el = ttft + tpot (n - 1) on average.
pub(super) fn times_agree(_: &Inputs, run: &ServeRun) -> Gate {
    let gate = Open::new(
        "times agree",
        "mean latency = mean time to first token + mean time per token x (tokens - 1), within 5%",
        "look at the units in the file, and for requests of very different length",
    );
    if !run.conditions.doubts.is_empty() {
        return gate.is(None, run.conditions.doubts.join("; "));
    }
    let shape = RunShape::new(run);
    let (Some(whole), Some(first), Some(each), Some(output)) =
        (run.e2el_ms, run.ttft_ms, run.tpot_ms, shape.output())
    else {
        return gate.not_judged("no three times to compare");
    };
    let sum = first.mean + each.mean * (output - 1.0);
    gate.is(
        Some((sum / whole.mean - 1.0).abs() <= TOLERANCE),
        format!("{sum:.1} ms of {:.1} ms", whole.mean),
    )
}
