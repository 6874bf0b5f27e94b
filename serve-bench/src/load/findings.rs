//! What a reader must know before believing a run, of the requests, the server and the load generator. Data only.

use std::collections::BTreeMap;

use record::{
    Arrivals, RequestErrorKind, Serve, ServeFinding, ServeRequest, ServeSummary, TokenCount,
};

use super::prefill;
use super::tally::Tally;
use crate::slo::sustained::sustained;

/// Requests in flight below this part of those asked for are another batch.
const BATCH: f64 = 0.8;

/// Mixed steps that take less than this times a decode step cost nothing.
const SLOWER: f64 = 1.1;

/// Above this part of tokens that came with steps mixed with prefill TPOT is not that of decoding.
const MIXED: f64 = 0.5;

/// Counts that differ by more than this part from what was asked for are a finding.
const OFF: f64 = 0.1;

/// A first request that waits longer than the slowest other one by this factor was a cold start, among so many at least.
const COLD: (f64, usize) = (2.0, 5);

/// Part of the readings in which requests must wait.
const WAITS: f64 = 0.5;

/// After the last arrival, a server that keeps up takes no longer than this many of one request's own length.
const OWN_LENGTHS: f64 = 2.0;

/// Models that are named at most.
const MODELS: usize = 3;

/// Tokens above chunks by more than this part count as several tokens in a chunk.
const MERGED: f64 = 0.02;

/// The findings of a run that went to its end.
pub(super) fn findings(
    serve: &Serve,
    tally: &Tally,
    simulated: Option<&str>,
    expects_cache: bool,
) -> Vec<ServeFinding> {
    let other = |name: &&String| Some(name.as_str()) != simulated;
    let asked = serve.target.as_ref().map(|target| &target.model);
    let models = tally.models.iter().filter(|name| Some(*name) != asked);
    let models: Vec<String> = models.take(MODELS).cloned().collect();
    [
        failed(serve),
        batch(serve),
        output_length(serve, &tally.other_lengths),
        input_length(serve),
        by_chunks(serve),
        merged(serve),
        fewer_than_chunks(serve),
        prefill::cached(
            serve,
            tally.cached_tokens,
            expects_cache,
            simulated.is_some(),
        ),
        cold_start(serve),
        slots(serve),
        tally.soft_boxes.iter().find(other).map(|machine| {
            let machine = machine.clone();
            ServeFinding::ServerSimulated { machine }
        }),
        (!models.is_empty()).then(|| ServeFinding::ModelDiffers {
            asked: asked.cloned().unwrap_or_default(),
            answered: models,
        }),
        serve.summary.as_ref().and_then(mixed),
        not_sustained(serve),
        (tally.resent > 0).then(|| ServeFinding::RequestsResent {
            requests: u64::from(tally.resent),
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn completed(serve: &Serve) -> impl Iterator<Item = &ServeRequest> {
    let completed = |request: &&ServeRequest| request.error.is_none();
    serve.requests.iter().filter(completed)
}

fn failed(serve: &Serve) -> Option<ServeFinding> {
    let errors = || serve.requests.iter().filter_map(|it| it.error.as_ref());
    let mut kinds: BTreeMap<(RequestErrorKind, &str), u32> = BTreeMap::new();
    for error in errors() {
        *kinds.entry((error.kind, &error.seen)).or_default() += 1;
    }
    let ((most, detail), _) = kinds.into_iter().max_by_key(|(_, count)| *count)?;
    Some(ServeFinding::RequestsFailed {
        of: serve.requests.len(),
        failed: errors().count(),
        most,
        detail: detail.to_owned(),
    })
}

/// Where fewer were in flight than asked for, the batch was another one.
fn batch(serve: &Serve) -> Option<ServeFinding> {
    let load = serve.load.as_ref()?;
    let asked = load.concurrency.filter(|_| !load.arrivals.is_open_loop())?;
    let mean = serve.summary.as_ref()?.mean_in_flight;
    // A run that is short beside its places is all ramp and tail, unless it cannot fill them at all.
    let is_short = load.requests < asked.saturating_mul(4) && load.requests >= asked;
    (!is_short && mean < f64::from(asked) * BATCH)
        .then_some(ServeFinding::BatchNotReached { asked, mean })
}

/// Steps that also work on a prompt take longer, and where most are such TPOT is a prefill chunk's time.
fn mixed(summary: &ServeSummary) -> Option<ServeFinding> {
    let part = summary.mixed_part.filter(|part| *part > MIXED)?;
    let decode_ms = summary.tpot_decode_ms.as_ref().map(|of| of.mean);
    let mixed_ms = summary.tpot_mixed_ms.as_ref().map(|of| of.mean);
    let is_as_fast = decode_ms.zip(mixed_ms);
    let is_as_fast = is_as_fast.is_some_and(|(decode, mixed)| mixed < decode * SLOWER);
    (!is_as_fast).then_some(ServeFinding::MixedSteps { part, decode_ms })
}

/// The first request, where nobody behind it waited nearly as long.
fn cold_start(serve: &Serve) -> Option<ServeFinding> {
    let ttft = |request: &ServeRequest| {
        let first = request.token_chunks_ms.first();
        Some(first? - request.intended_ms.unwrap_or(request.sent_ms))
    };
    let first = completed(serve).find(|request| request.id == 0)?;
    let others = completed(serve).filter(|request| request.id != 0);
    let others: Vec<f64> = others.filter_map(ttft).collect();
    let first_ms = ttft(first)?;
    let others_most_ms = others.iter().copied().reduce(f64::max)?;
    (others.len() >= COLD.1 && first_ms > others_most_ms * COLD.0).then_some(
        ServeFinding::ColdStart {
            first_ms,
            others_most_ms,
        },
    )
}

/// Requests that waited while the server ran its most, by its own counters.
fn slots(serve: &Serve) -> Option<ServeFinding> {
    let counters = serve.server.as_ref()?.counters.as_ref()?;
    // The first and the last are before and after the load.
    let within = counters
        .readings
        .get(1..counters.readings.len().checked_sub(1)?)?;
    let both = within
        .iter()
        .filter_map(|one| one.values.running.zip(one.values.waiting));
    let both: Vec<(f64, f64)> = both.collect();
    let running = both.iter().map(|(running, _)| *running).reduce(f64::max)?;
    let is_full = |(of, waiting): &&(f64, f64)| *waiting > 0.0 && *of >= running * (1.0 - OFF);
    let full = both.iter().filter(is_full).count();
    let waiting = both.iter().map(|(_, waiting)| *waiting).fold(0.0, f64::max);
    let kv_used = counters
        .change
        .as_ref()
        .and_then(|change| change.kv_used_most);
    (both.len() >= 3 && running > 0.0 && full as f64 >= both.len() as f64 * WAITS).then_some(
        ServeFinding::MoreRequestsThanSlots {
            running,
            waiting,
            kv_used,
        },
    )
}

/// Less was completed than came, and requests piled up; where they last too long beside the arrivals to show that, the last reply
/// came later than one request's own length explains.
fn not_sustained(serve: &Serve) -> Option<ServeFinding> {
    let load = serve.load.as_ref()?;
    let asked = load.arrivals.rate()?;
    let summary = serve.summary.as_ref()?;
    let last = serve.requests.iter().filter_map(|r| r.intended_ms);
    let last_s = last.fold(0.0, f64::max) / 1e3;
    let completed = summary.requests_per_s;
    let lengths =
        self::completed(serve).map(|one| one.ended_ms - one.intended_ms.unwrap_or(one.sent_ms));
    let own_s = lengths.fold(f64::INFINITY, f64::min) / 1e3;
    let seen = sustained(&serve.requests);
    let is_behind = match seen.window_s {
        Some(_) => !seen.held,
        None => summary.duration_s - last_s > own_s * OWN_LENGTHS,
    };
    (!matches!(
        load.arrivals,
        Arrivals::Ramp { .. } | Arrivals::Trace { .. }
    ) && last_s > 0.0
        && completed < asked * 0.95
        && is_behind)
        .then_some(ServeFinding::RateNotSustained { asked, completed })
}

fn output_length(serve: &Serve, lengths: &[u32]) -> Option<ServeFinding> {
    serve.load.as_ref().filter(|load| load.ignore_eos)?;
    Some(ServeFinding::OutputLengthDiffers {
        differ: lengths.len(),
        of: completed(serve).count(),
        least_most: (*lengths.iter().min()?, *lengths.iter().max()?),
    })
}

/// Completed requests that are such, and all of them; `None` where none is.
fn some(serve: &Serve, is_such: impl Fn(&ServeRequest) -> bool) -> Option<(usize, usize)> {
    let of = completed(serve).count();
    let such = completed(serve).filter(|request| is_such(request)).count();
    (such > 0).then_some((such, of))
}

fn by_chunks(serve: &Serve) -> Option<ServeFinding> {
    let chunks = |request: &ServeRequest| request.counted_by == Some(TokenCount::Chunks);
    some(serve, chunks).map(|(replies, of)| ServeFinding::TokensByChunks { replies, of })
}

fn merged(serve: &Serve) -> Option<ServeFinding> {
    let streams = || {
        completed(serve).filter(|request| {
            request.counted_by != Some(TokenCount::Chunks) && !request.token_chunks_ms.is_empty()
        })
    };
    let tokens = streams().filter_map(|r| r.output_tokens).map(u64::from);
    let tokens: u64 = tokens.sum();
    let chunks: usize = streams().map(|r| r.token_chunks_ms.len()).sum();
    (tokens as f64 > chunks as f64 * (1.0 + MERGED))
        .then_some(ServeFinding::SeveralTokensPerChunk { tokens, chunks })
}

/// A chunk with text has a token at least.
fn fewer_than_chunks(serve: &Serve) -> Option<ServeFinding> {
    let is_fewer = |request: &ServeRequest| {
        let tokens = request.output_tokens.map(|tokens| tokens as usize);
        tokens.is_some_and(|tokens| tokens < request.token_chunks_ms.len())
    };
    some(serve, is_fewer).map(|(replies, of)| ServeFinding::FewerTokensThanChunks { replies, of })
}

fn input_length(serve: &Serve) -> Option<ServeFinding> {
    let asked = serve.load.as_ref()?.input_tokens?;
    let counts = completed(serve).filter_map(|request| request.input_tokens);
    let counts: Vec<f64> = counts.map(f64::from).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let off = (mean - f64::from(asked)).abs();
    (off > f64::from(asked) * OFF).then_some(ServeFinding::PromptLengthDiffers { asked, mean })
}

#[cfg(test)]
mod tests {
    use record::{RequestError, ServeLoad, ServeTarget};
    use stats::distribution;

    use super::*;

    /// Two replies of four tokens, 20 ms apart, as asked for.
    fn clean() -> Serve {
        let request = |id: u32| ServeRequest {
            id,
            ended_ms: 110.0,
            token_chunks_ms: vec![50.0, 70.0, 90.0, 110.0],
            input_tokens: Some(10),
            output_tokens: Some(4),
            counted_by: Some(TokenCount::Usage),
            ..ServeRequest::default()
        };
        Serve {
            target: Some(ServeTarget {
                model: "m".to_owned(),
                ..ServeTarget::default()
            }),
            load: Some(ServeLoad {
                concurrency: Some(1),
                requests: 2,
                input_tokens: Some(10),
                output_tokens: Some(4),
                ignore_eos: true,
                ..ServeLoad::default()
            }),
            requests: vec![request(0), request(1)],
            ..Serve::default()
        }
    }

    fn found(serve: &Serve, tally: &Tally) -> Vec<ServeFinding> {
        findings(serve, tally, Some("box"), false)
    }

    #[test]
    fn a_clean_run_has_no_finding_and_each_change_of_it_has_one() {
        assert_eq!(found(&clean(), &Tally::default()), []);
        let with = |change: fn(&mut Serve)| {
            let mut serve = clean();
            change(&mut serve);
            let codes = found(&serve, &Tally::default());
            codes.iter().map(ServeFinding::code).collect::<Vec<_>>()
        };
        // 4 + 4 tokens in 3 + 4 chunks.
        let merged = |serve: &mut Serve| serve.requests[0].token_chunks_ms.truncate(3);
        assert_eq!(with(merged), ["several-tokens-per-chunk"]);
        let uncounted = |serve: &mut Serve| serve.requests[0].counted_by = Some(TokenCount::Chunks);
        assert_eq!(with(uncounted), ["tokens-by-chunks"]);
        let long = |serve: &mut Serve| {
            serve
                .requests
                .iter_mut()
                .for_each(|r| r.input_tokens = Some(12));
        };
        assert_eq!(with(long), ["prompt-length-differs"]);
        let failed = |serve: &mut Serve| {
            serve.requests[0].error = Some(RequestError {
                kind: RequestErrorKind::Status,
                seen: "500".to_owned(),
            });
        };
        assert_eq!(with(failed), ["requests-failed"]);
    }

    #[test]
    fn what_replies_told_beside_their_tokens_is_found() {
        let one = |tally: Tally| {
            let found = found(&clean(), &tally);
            found.iter().map(ServeFinding::code).collect::<Vec<_>>()
        };
        // 16 of 20 prompt tokens.
        let cached_tokens = Some(16);
        let tally = Tally {
            cached_tokens,
            ..Tally::default()
        };
        assert_eq!(one(tally), ["prefix-cache-hit"]);
        let tally = Tally {
            other_lengths: vec![3],
            ..Tally::default()
        };
        assert_eq!(one(tally), ["output-length-differs"]);
        let tally = Tally {
            resent: 1,
            ..Tally::default()
        };
        assert_eq!(one(tally), ["requests-resent"]);
        let boxes = |name: &str| Tally {
            soft_boxes: [name.to_owned()].into(),
            ..Tally::default()
        };
        assert_eq!(one(boxes("box")), [""; 0]);
        assert_eq!(one(boxes("other")), ["server-simulated"]);
        let tally = Tally {
            models: ["m".to_owned(), "x".to_owned()].into(),
            ..Tally::default()
        };
        assert_eq!(one(tally), ["model-differs"]);
    }

    #[test]
    fn a_batch_that_was_not_there_mixed_steps_and_bursts_are_found() {
        let summary = |mean_in_flight, mixed_part| ServeSummary {
            mean_in_flight,
            mixed_part: Some(mixed_part),
            ..ServeSummary::default()
        };
        let with = |places, summary| {
            let mut serve = clean();
            let load = serve.load.as_mut().unwrap();
            (load.concurrency, load.requests) = (Some(places), 400);
            serve.summary = Some(summary);
            let found = found(&serve, &Tally::default());
            found.iter().map(ServeFinding::code).collect::<Vec<_>>()
        };
        assert_eq!(with(8, summary(8.0, 0.5)), [""; 0]);
        assert_eq!(with(8, summary(8.0, 0.9)), ["mixed-steps"]);
        assert_eq!(with(16, summary(8.0, 0.0)), ["batch-not-reached"]);
        // Steps with prefill that are as fast as those without say nothing against TPOT.
        let as_fast = ServeSummary {
            tpot_decode_ms: distribution(&[20.0]),
            tpot_mixed_ms: distribution(&[21.0]),
            ..summary(8.0, 0.9)
        };
        assert_eq!(with(8, as_fast), [""; 0]);
        // 400 requests in 5 s, worked off in 26.6 s: 15 a second.
        let mut burst = clean();
        let load = burst.load.as_mut().unwrap();
        (load.arrivals, load.concurrency) = (Arrivals::Poisson { rate: 80.0 }, None);
        burst.requests[0].intended_ms = Some(5000.0);
        burst.requests[0].ended_ms = 26_600.0;
        burst.summary = Some(ServeSummary {
            duration_s: 26.6,
            requests_per_s: 15.0,
            ..ServeSummary::default()
        });
        let expected = ServeFinding::RateNotSustained {
            asked: 80.0,
            completed: 15.0,
        };
        assert_eq!(found(&burst, &Tally::default()), [expected]);
    }

    #[test]
    fn a_slow_first_request_is_a_cold_start_and_a_slow_second_one_is_none() {
        let with = |slow: usize| {
            let mut serve = clean();
            serve.requests = (0..8)
                .map(|id| ServeRequest {
                    id,
                    ..serve.requests[0].clone()
                })
                .collect();
            // 2000 ms beside 50 ms.
            serve.requests[slow].token_chunks_ms = vec![2000.0, 2020.0, 2040.0, 2060.0];
            let found = found(&serve, &Tally::default());
            found.iter().map(ServeFinding::code).collect::<Vec<_>>()
        };
        assert_eq!(with(0), ["cold-start"]);
        assert_eq!(with(1), [""; 0]);
    }

    #[test]
    fn requests_wait_for_slots_only_where_the_server_counts_them() {
        use record::{ServeServer, ServerCounters, ServerReading, ServerValues};
        let with = |waiting: [f64; 6]| {
            let readings = waiting.map(|waiting| ServerReading {
                values: ServerValues {
                    running: Some(if waiting > 0.0 { 256.0 } else { 200.0 }),
                    waiting: Some(waiting),
                    ..ServerValues::default()
                },
                ..ServerReading::default()
            });
            let mut serve = clean();
            serve.server = Some(ServeServer {
                counters: Some(ServerCounters {
                    readings: readings.to_vec(),
                    ..ServerCounters::default()
                }),
                ..ServeServer::default()
            });
            found(&serve, &Tally::default())
        };
        // Three of the four readings within.
        let found = with([0.0, 44.0, 44.0, 10.0, 0.0, 0.0]);
        let expected = ServeFinding::MoreRequestsThanSlots {
            running: 256.0,
            waiting: 44.0,
            kv_used: None,
        };
        assert_eq!(found, [expected]);
        // A queue of a moment.
        assert_eq!(with([0.0, 44.0, 0.0, 0.0, 0.0, 0.0]), []);
    }

    #[test]
    fn a_few_long_requests_at_a_slow_rate_are_no_burst() {
        // Ten at 1 a second of 20 s each: done 20 s after the last, 10 / 29 = 0.34 a second.
        let with = |lasts: fn(u32) -> f64| {
            let mut serve = clean();
            serve.requests = (0..10)
                .map(|id| ServeRequest {
                    id,
                    intended_ms: Some(f64::from(id) * 1e3),
                    sent_ms: f64::from(id) * 1e3,
                    ended_ms: f64::from(id) * 1e3 + lasts(id),
                    ..serve.requests[0].clone()
                })
                .collect();
            let load = serve.load.as_mut().unwrap();
            (load.arrivals, load.concurrency) = (Arrivals::Poisson { rate: 1.0 }, None);
            let last = serve.requests.iter().map(|one| one.ended_ms);
            serve.summary = Some(ServeSummary {
                duration_s: last.fold(0.0, f64::max) / 1e3,
                requests_per_s: 0.34,
                ..ServeSummary::default()
            });
            not_sustained(&serve).is_some()
        };
        assert!(!with(|_| 20e3));
        // One after the other, 20 s each.
        assert!(with(|id| 20e3 * f64::from(id + 1)));
    }
}
