//! What a reader must know before believing a run: of the server, of the requests, and of the load generator itself.

use std::time::Duration;

use measure::caveat::Caveat;
use measure::metric::itl;
use measure::record::{Serve, ServeRequest, TokenCount};
use measure::stats::median;

use super::own::Own;
use super::tally::Tally;

/// A client's delay above this part of a token gap is told.
const LAG: f64 = 0.05;

/// A thread above this part of a CPU is taken as saturated.
const SATURATED: f64 = 0.9;

/// A thread that waits for a CPU longer than this part of the time is taken as starved.
const STARVED: f64 = 0.05;

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
    own: &Own,
    simulated: Option<&str>,
) -> Vec<Caveat> {
    let texts = [
        failed(serve),
        few_requests(serve),
        other_length(serve),
        counted_by_chunks(serve),
        merged(serve),
        other_input(serve),
        cached(serve, tally),
        soft(tally, simulated),
        other_model(serve, tally),
        late(serve, tally),
        busy(own),
        starved(own),
        reconnects(tally),
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
    let failed = all - completed(serve).count();
    (failed > 0).then(|| {
        format!(
            "{failed} of {all} requests failed: they are in no latency, and while they failed the load was another; mend \
             the cause and run again"
        )
    })
}

fn few_requests(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    (load.requests < load.concurrency).then(|| {
        format!(
            "only {} requests, so never {} in flight: raise --requests",
            load.requests, load.concurrency
        )
    })
}

fn other_length(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref().filter(|load| load.ignore_eos)?;
    let lengths: Vec<u32> = completed(serve)
        .filter_map(|request| request.output_tokens)
        .filter(|tokens| *tokens != load.output_tokens)
        .collect();
    let (least, most) = (lengths.iter().min()?, lengths.iter().max()?);
    Some(format!(
        "{} of {} replies have another length than the {} tokens asked for ({least} to {most}): the server does not heed \
         ignore_eos, or a limit of its own is lower",
        lengths.len(),
        completed(serve).count(),
        load.output_tokens
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
            request.counted_by == Some(TokenCount::Usage) && !request.token_chunks_ms.is_empty()
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

fn other_input(serve: &Serve) -> Option<String> {
    let load = serve.load.as_ref()?;
    let counts: Vec<f64> = completed(serve)
        .filter_map(|request| request.input_tokens)
        .map(f64::from)
        .collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let asked = f64::from(load.input_tokens);
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

fn late(serve: &Serve, tally: &Tally) -> Option<String> {
    let gap = token_gap(serve)?;
    let bound = gap.mul_f64(LAG);
    let late = tally.turnarounds.iter().filter(|lag| **lag > bound).count();
    let largest = tally.turnarounds.iter().max()?;
    let anew = if tally.reconnects > 0 {
        "; making connections anew is part of it"
    } else {
        ""
    };
    (late > 0).then(|| {
        format!(
            "{late} of {} requests were sent more than {:.3} ms (5% of a token gap) after their place was free, at most {:.3} ms, \
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

fn busy(own: &Own) -> Option<String> {
    let busy = own.busy.filter(|busy| *busy > SATURATED)?;
    Some(format!(
        "the load generator was busy {:.0}% of the time: TTFT is too high and TPOT too low by its own delay; lower \
         --concurrency or share the load between several runs",
        busy * 100.0
    ))
}

fn starved(own: &Own) -> Option<String> {
    let starved = own.starved.filter(|starved| *starved > STARVED)?;
    Some(format!(
        "the load generator waited for a CPU {:.0}% of the time: times hold its own delay; quieten this machine or ask from \
         another",
        starved * 100.0
    ))
}

fn reconnects(tally: &Tally) -> Option<String> {
    (tally.reconnects > 0).then(|| {
        format!(
            "the server closed connections after replies: {} were made anew, before their requests' clocks started",
            tally.reconnects
        )
    })
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use measure::record::{RequestError, RequestErrorKind, ServeLoad, ServeTarget};

    use super::*;

    const QUIET: Own = Own {
        busy: Some(0.1),
        starved: Some(0.0),
    };

    /// Two replies of four tokens, 20 ms apart, as asked for.
    fn clean() -> Serve {
        let request = |id: u32| ServeRequest {
            id,
            sent_ms: 0.0,
            ended_ms: 110.0,
            token_chunks_ms: vec![50.0, 70.0, 90.0, 110.0],
            input_tokens: Some(10),
            output_tokens: Some(4),
            counted_by: Some(TokenCount::Usage),
            error: None,
        };
        Serve {
            target: Some(ServeTarget {
                model: "m".to_owned(),
                ..ServeTarget::default()
            }),
            load: Some(ServeLoad {
                concurrency: 1,
                requests: 2,
                input_tokens: 10,
                output_tokens: 4,
                ignore_eos: true,
                ..ServeLoad::default()
            }),
            requests: vec![request(0), request(1)],
            ..Serve::default()
        }
    }

    fn said(serve: &Serve, tally: &Tally, own: &Own) -> Vec<String> {
        let all = caveats(serve, tally, own, Some("box"));
        all.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn only(said: &[String], part: &str) {
        assert!(said.len() == 1 && said[0].contains(part), "{said:?}");
    }

    #[test]
    fn a_clean_run_has_no_caveat() {
        assert_eq!(said(&clean(), &Tally::default(), &QUIET), [""; 0]);
    }

    #[test]
    fn lateness_is_judged_by_the_token_gap() {
        let late = |ms| Tally {
            turnarounds: vec![Duration::from_micros(200), Duration::from_millis(ms)],
            ..Tally::default()
        };
        // 5% of 20 ms is 1 ms.
        only(
            &said(&clean(), &late(3), &QUIET),
            "1 of 2 requests were sent more than 1.000 ms (5% of a token gap) after their place was free, at most 3.000 ms",
        );
        assert_eq!(said(&clean(), &late(1), &QUIET), [""; 0]);
    }

    #[test]
    fn the_generator_tells_of_itself() {
        let own = |busy, starved| Own {
            busy: Some(busy),
            starved: Some(starved),
        };
        only(
            &said(&clean(), &Tally::default(), &own(0.95, 0.0)),
            "busy 95%",
        );
        only(
            &said(&clean(), &Tally::default(), &own(0.5, 0.2)),
            "waited for a CPU 20%",
        );
    }

    #[test]
    fn other_lengths_merged_tokens_and_missing_counts_are_told() {
        let mut short = clean();
        short.requests[1].output_tokens = Some(3);
        short.requests[1].token_chunks_ms.pop();
        only(
            &said(&short, &Tally::default(), &QUIET),
            "1 of 2 replies have another length than the 4 tokens asked for (3 to 3)",
        );
        let mut merged = clean();
        merged.requests[0].token_chunks_ms.pop();
        // 4 + 4 tokens in 3 + 4 chunks: (8 / 7 - 1) / (8 / 2 - 1) = 0.0476.
        let said_merged = said(&merged, &Tally::default(), &QUIET);
        only(&said_merged, "8 tokens came in 7 chunks");
        only(&said_merged, "which is 4.8%");
        let mut uncounted = clean();
        uncounted.requests[0].counted_by = Some(TokenCount::Chunks);
        only(
            &said(&uncounted, &Tally::default(), &QUIET),
            "no usage for 1 of 2 replies",
        );
    }

    #[test]
    fn prompts_of_another_length_or_from_a_cache_are_told() {
        let mut long = clean();
        long.requests
            .iter_mut()
            .for_each(|r| r.input_tokens = Some(12));
        only(
            &said(&long, &Tally::default(), &QUIET),
            "prompts came to 12.0 tokens in the mean",
        );
        let tally = Tally {
            cached_tokens: Some(16),
            ..Tally::default()
        };
        only(
            &said(&clean(), &tally, &QUIET),
            "took 16 of 20 prompt tokens from its cache",
        );
    }

    #[test]
    fn failures_soft_boxes_and_reconnects_are_told() {
        let mut failed = clean();
        failed.requests[0].error = Some(RequestError {
            kind: RequestErrorKind::Status,
            seen: "500".to_owned(),
        });
        only(
            &said(&failed, &Tally::default(), &QUIET),
            "1 of 2 requests failed",
        );
        let tally = Tally {
            reconnects: 2,
            ..Tally::default()
        };
        only(&said(&clean(), &tally, &QUIET), "2 were made anew");
        let boxes = |name: &str| Tally {
            soft_boxes: [name.to_owned()].into(),
            ..Tally::default()
        };
        assert_eq!(said(&clean(), &boxes("box"), &QUIET), [""; 0]);
        only(&said(&clean(), &boxes("other"), &QUIET), "soft box other");
        let tally = Tally {
            other_models: ["x".to_owned()].into(),
            ..Tally::default()
        };
        only(&said(&clean(), &tally, &QUIET), "model x, not of m");
    }
}
