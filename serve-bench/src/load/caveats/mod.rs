//! What a reader must know before believing a run: of the server, of the requests, and of the load generator itself.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::caveat::Caveat;
use measure::metric::{itl, little};
use measure::record::{Arrivals, RequestErrorKind, Serve, ServeRequest, TokenCount};
use measure::stats::median;

use super::dispatch::Sent;
use super::tally::Tally;

/// A client's delay above this part of a token gap is told.
const LAG: f64 = 0.05;

/// Below this nothing is said of it: fast servers wait for no client that long.
const LEAST_LAG: Duration = Duration::from_millis(1);

/// Requests in flight that differ by more than this part from what throughput and latency, or the user, say are told.
const IN_FLIGHT_OFF: f64 = 0.05;

/// Mixed steps that take less than this times a decode step cost nothing worth a word: the server has room for both.
const SLOWER: f64 = 1.1;

/// Above this part of tokens that came with steps mixed with prefill TPOT is not that of decoding.
const MIXED: f64 = 0.5;

/// Counts that differ by more than this part from what was asked for are told.
const OFF: f64 = 0.1;

/// Models that are named at most.
const MODELS: usize = 3;

/// Tokens above chunks by more than this part count as several tokens in a chunk.
const MERGED: f64 = 0.02;

/// The caveats of a run that went to its end.
pub(super) fn caveats(
    serve: &Serve,
    tally: &Tally,
    sent: &Sent,
    asked: &[u32],
    simulated: Option<&str>,
) -> Vec<Caveat> {
    let texts = [
        failed(serve),
        few_requests(serve),
        few_in_flight(serve),
        little_off(serve),
        other_length(serve, asked),
        counted_by_chunks(serve),
        merged(serve),
        fewer_than_chunks(serve),
        other_input(serve),
        cached(serve, tally),
        soft(tally, simulated),
        other_model(serve, tally),
        mixed(serve),
        growing(serve),
        late(serve, tally),
        short_of_connections(sent),
        stood_still(sent),
        reconnects(tally),
        resent(tally),
    ];
    let note = |text| Caveat::Note { text };
    texts.into_iter().flatten().map(note).collect()
}

fn completed(serve: &Serve) -> impl Iterator<Item = &ServeRequest> {
    serve
        .requests
        .iter()
        .filter(|request| request.error.is_none())
}

fn failed(serve: &Serve) -> Option<String> {
    let all = serve.requests.len();
    let errors = || serve.requests.iter().filter_map(|it| it.error.as_ref());
    let mut kinds: BTreeMap<(RequestErrorKind, &str), u32> = BTreeMap::new();
    for error in errors() {
        *kinds.entry((error.kind, &error.seen)).or_default() += 1;
    }
    let ((kind, seen), most) = kinds.into_iter().max_by_key(|(_, count)| *count)?;
    Some(format!(
        "{} of {all} requests failed, {most} of them with {kind}: {seen}; they are in no latency, and while they failed the load was \
         another: mend the cause and run again",
        errors().count()
    ))
}

fn few_requests(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    let places = load.concurrency.filter(|_| !load.arrivals.is_open_loop())?;
    (load.requests < places).then(|| {
        format!(
            "only {} requests, so never {} in flight: raise --num-prompts",
            load.requests, places
        )
    })
}

/// Where fewer were in flight than asked for, the batch was another one.
fn few_in_flight(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    let places = load.concurrency.filter(|_| !load.arrivals.is_open_loop())?;
    let mean = serve.summary.as_ref()?.mean_in_flight;
    // A run that is short beside its places is all ramp and tail, which the number of requests says.
    let is_short = load.requests < places.saturating_mul(4);
    (!is_short && mean < f64::from(places) * (1.0 - 4.0 * IN_FLIGHT_OFF)).then(|| {
        format!(
            "{mean:.1} requests were in flight in the mean where {places} were asked for: at the end fewer are left, and a client or \
             connections that are late leave places empty; compare with runs of that batch, or raise --num-prompts"
        )
    })
}

/// Little's law, of what was seen.
fn little_off(serve: &Serve) -> Option<String> {
    let summary = serve.summary.as_ref()?;
    let by_law = little::of(summary.requests_per_s, summary.e2el_ms.as_ref()?.mean);
    let seen = summary.mean_in_flight;
    ((seen - by_law).abs() > seen * IN_FLIGHT_OFF).then(|| {
        format!(
            "{seen:.2} requests were in flight in the mean where throughput times latency gives {by_law:.2}: requests were held \
             beyond their last token, or failed, and are in no latency"
        )
    })
}

/// Steps that also work on a prompt take longer, and where most are such TPOT is a prefill chunk's time.
fn mixed(serve: &Serve) -> Option<String> {
    let summary = serve.summary.as_ref()?;
    let part = summary.mixed_part.filter(|part| *part > MIXED)?;
    let both = summary
        .tpot_decode_ms
        .as_ref()
        .zip(summary.tpot_mixed_ms.as_ref());
    if both.is_some_and(|(decode, mixed)| mixed.mean < decode.mean * SLOWER) {
        return None;
    }
    let decode = summary
        .tpot_decode_ms
        .as_ref()
        .filter(|of| of.mean > 0.0)
        .map_or_else(String::new, |of| {
            format!(" ({:.2} ms in the mean without them)", of.mean)
        });
    Some(format!(
        "{:.0}% of the tokens after the first came with steps that also worked on another request's prompt, so TPOT is mostly the \
         time of a prefill chunk and not of decoding{decode}: lower --max-concurrency or --request-rate to see decoding",
        part * 100.0
    ))
}

/// A queue that grows to the end: the server did not sustain the rate.
fn growing(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    let rate = load.arrivals.rate()?;
    if matches!(load.arrivals, Arrivals::Ramp { .. }) {
        return None;
    }
    let summary = serve.summary.as_ref()?;
    let last = serve.requests.iter().filter_map(|r| r.intended_ms);
    let last_s = last.fold(0.0, f64::max) / 1e3;
    // Arrivals ended, and as long again went by until the last reply.
    (last_s > 0.0 && summary.requests_per_s < rate * 0.95 && summary.duration_s > last_s * 2.0).then(|| {
        format!(
            "{:.2} requests/s completed where {rate} came: arrivals took {last_s:.1} s of {:.1} s, so this is a burst that the server \
             worked off, not a rate that it sustains; ask for more --num-prompts at a lower --request-rate",
            summary.requests_per_s, summary.duration_s
        )
    })
}

/// Whatever was in flight while the thread stood still has that in its times.
fn stood_still(sent: &Sent) -> Option<String> {
    (sent.stood_still > Duration::ZERO).then(|| {
        format!(
            "the load's thread stood still for {:.0} ms in all: requests in flight then have up to that in their times, which may be \
             the largest of them",
            ms(sent.stood_still)
        )
    })
}

/// Connections that were made within the run are in their requests' lateness.
fn short_of_connections(sent: &Sent) -> Option<String> {
    (sent.connections_made > 0).then(|| {
        format!(
            "{} connections were made while requests were due, since all made before were in use",
            sent.connections_made
        )
    })
}

fn other_length(serve: &Serve, asked: &[u32]) -> Option<String> {
    serve.load.as_ref().filter(|load| load.ignore_eos)?;
    let of = |request: &ServeRequest| asked.get(request.id as usize % asked.len().max(1)).copied();
    let lengths: Vec<(u32, u32)> = completed(serve)
        .filter_map(|request| Some((request.output_tokens?, of(request)?)))
        .filter(|(tokens, asked)| tokens != asked)
        .collect();
    let least = lengths.iter().map(|(tokens, _)| tokens).min()?;
    let most = lengths.iter().map(|(tokens, _)| tokens).max()?;
    let wanted = serve.load.as_ref()?.output_tokens;
    let wanted = match wanted.filter(|wanted| lengths.iter().all(|(_, asked)| asked == wanted)) {
        Some(tokens) => format!("the {tokens} tokens asked for"),
        None => "was asked for".to_owned(),
    };
    Some(format!(
        "{} of {} replies have another length than {wanted} ({least} to {most}): the server does not heed ignore_eos, or a limit of \
         its own is lower",
        lengths.len(),
        completed(serve).count(),
    ))
}

fn counted_by_chunks(serve: &Serve) -> Option<String> {
    let chunks = |request: &&ServeRequest| request.counted_by == Some(TokenCount::Chunks);
    let count = completed(serve).filter(chunks).count();
    (count > 0).then(|| {
        format!(
            "the server sent no usage for {count} of {} replies, so their chunks were counted as tokens: a chunk may hold \
             several, and TPOT is too high then",
            completed(serve).count()
        )
    })
}

fn merged(serve: &Serve) -> Option<String> {
    let streams = || {
        completed(serve).filter(|request| {
            request.counted_by != Some(TokenCount::Chunks) && !request.token_chunks_ms.is_empty()
        })
    };
    let tokens: u64 = streams()
        .filter_map(|r| r.output_tokens)
        .map(u64::from)
        .sum();
    let chunks: usize = streams().map(|r| r.token_chunks_ms.len()).sum();
    (tokens as f64 > chunks as f64 * (1.0 + MERGED)).then(|| {
        let each = tokens as f64 / streams().count() as f64;
        let share = (tokens as f64 / chunks as f64 - 1.0) / (each - 1.0);
        format!(
            "{tokens} tokens came in {chunks} chunks: ITL is the gap between chunks, not tokens, and TPOT is too low by about \
             (tokens in the first chunk - 1) / (tokens - 1), which is {:.1}% if the first chunk holds as many as the others",
            share * 100.0
        )
    })
}

/// A chunk with text has a token at least.
fn fewer_than_chunks(serve: &Serve) -> Option<String> {
    let is_fewer = |request: &&ServeRequest| {
        let tokens = request.output_tokens.map(|tokens| tokens as usize);
        tokens.is_some_and(|tokens| tokens < request.token_chunks_ms.len())
    };
    let count = completed(serve).filter(is_fewer).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} replies have more chunks with text than the tokens that the server counted: one of the two is wrong, and \
             TPOT, throughput and goodput go by the server's count; compare with ITL",
            completed(serve).count()
        )
    })
}

fn other_input(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    let counts: Vec<f64> = completed(serve)
        .filter_map(|request| request.input_tokens)
        .map(f64::from)
        .collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let asked = f64::from(load.input_tokens?);
    ((mean - asked).abs() > asked * OFF).then(|| {
        format!(
            "prompts came to {mean:.1} tokens in the mean by the server's count (n={}), {asked} were asked for: words and \
             chat templates are not one token each; use --prompt token-ids for an exact length",
            counts.len()
        )
    })
}

fn cached(serve: &Serve, tally: &Tally) -> Option<String> {
    let cached = tally.cached_tokens?;
    let all: u64 = serve
        .requests
        .iter()
        .filter_map(|request| request.input_tokens)
        .map(u64::from)
        .sum();
    (cached as f64 > all as f64 * OFF).then(|| {
        format!(
            "the server took {cached} of {all} prompt tokens from its cache, so TTFT is not that of a whole prefill: use \
             another --seed, or switch its prefix cache off"
        )
    })
}

fn soft(tally: &Tally, simulated: Option<&str>) -> Option<String> {
    let other: Vec<&str> = tally
        .soft_boxes
        .iter()
        .map(String::as_str)
        .filter(|name| Some(*name) != simulated)
        .collect();
    (!other.is_empty()).then(|| {
        format!(
            "replies came from the soft box {}, which the record's head does not name: these numbers are simulated",
            other.join(" and ")
        )
    })
}

fn other_model(serve: &Serve, tally: &Tally) -> Option<String> {
    let asked = &serve.target.as_ref()?.model;
    let names: Vec<&str> = tally
        .other_models
        .iter()
        .map(String::as_str)
        .take(MODELS)
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "replies say that they are of the model {}, not of {asked}, which was asked for: these may be numbers of another \
             model",
            names.join(" and ")
        )
    })
}

/// Only of a closed loop: in an open one a place may be free for long before the next request is due.
fn late(serve: &Serve, tally: &Tally) -> Option<String> {
    if serve.load.as_ref()?.arrivals.is_open_loop() {
        return None;
    }
    let gap = token_gap(serve)?;
    let bound = gap.mul_f64(LAG).max(LEAST_LAG);
    let late = tally.turnarounds.iter().filter(|lag| **lag > bound).count();
    let largest = tally.turnarounds.iter().max()?;
    let anew = if tally.reconnects > 0 {
        "; making connections anew is part of it"
    } else {
        ""
    };
    (late > 0).then(|| {
        format!(
            "{late} of {} requests were sent more than {:.3} ms (5% of a token gap, 1 ms at least) after their place was free, at most {:.3} ms, \
             and single times may hold as much of the load generator's own delay{anew}; give it a CPU of its own",
            tally.turnarounds.len(),
            ms(bound),
            ms(*largest)
        )
    })
}

/// The median time between tokens: of chunks, and without a stream of a whole reply by its tokens.
fn token_gap(serve: &Serve) -> Option<Duration> {
    let mut gaps: Vec<f64> = completed(serve).flat_map(itl::of).collect();
    if gaps.is_empty() {
        let per_token = |request: &ServeRequest| {
            let tokens = request.output_tokens.filter(|tokens| *tokens > 0)?;
            Some((request.ended_ms - request.sent_ms) / f64::from(tokens))
        };
        gaps = completed(serve).filter_map(per_token).collect();
    }
    let gap = median(&gaps)?;
    (gap > 0.0).then(|| Duration::from_secs_f64(gap / 1e3))
}

fn reconnects(tally: &Tally) -> Option<String> {
    (tally.reconnects > 0).then(|| {
        format!(
            "the server closed connections after replies: {} were made anew, before their requests' clocks started unless these had \
             to be sent again",
            tally.reconnects
        )
    })
}

fn resent(tally: &Tally) -> Option<String> {
    (tally.resent > 0).then(|| {
        format!(
            "{} requests were sent again, since the server closed their connections as they came in; their times run from the first \
             time they were sent",
            tally.resent
        )
    })
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests;
