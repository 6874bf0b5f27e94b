//! Each caveat on a run that gives it, and none on a clean one.

use measure::record::{RequestError, RequestErrorKind, ServeLoad, ServeTarget};

use super::super::own::Own;
use super::*;

const QUIET: Sent = Sent {
    own: Own {
        busy: Some(0.1),
        starved: Some(0.0),
    },
    backlog: None,
    connections_made: 0,
    stood_still: std::time::Duration::ZERO,
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

fn said(serve: &Serve, tally: &Tally, sent: &Sent) -> Vec<String> {
    let all = caveats(serve, tally, sent, &[4, 4], Some("box"));
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
        "1 of 2 requests were sent more than 1.000 ms (5% of a token gap, 1 ms at least) after their place was free, at most 3.000 ms",
    );
    assert_eq!(said(&clean(), &late(1), &QUIET), [""; 0]);
    // At a rate, a place may have been free for long.
    let mut open = clean();
    open.load.as_mut().unwrap().arrivals = Arrivals::Poisson { rate: 1.0 };
    assert_eq!(said(&open, &late(3), &QUIET), [""; 0]);
}

#[test]
fn a_batch_that_was_not_there_and_mixed_steps_are_told() {
    let summary = |mean_in_flight, mixed_part| measure::record::ServeSummary {
        duration_s: 10.0,
        requests_per_s: 4.0,
        mean_in_flight,
        e2el_ms: measure::stats::distribution(&[2000.0]),
        mixed_part: Some(mixed_part),
        ..measure::record::ServeSummary::default()
    };
    let with = |concurrency, summary| {
        let mut serve = clean();
        let load = serve.load.as_mut().unwrap();
        (load.concurrency, load.requests) = (Some(concurrency), 400);
        serve.summary = Some(summary);
        said(&serve, &Tally::default(), &QUIET)
    };
    // 4 requests/s of 2 s each are 8 in flight.
    assert_eq!(with(8, summary(8.0, 0.5)), [""; 0]);
    only(
        &with(8, summary(8.0, 0.9)),
        "90% of the tokens after the first",
    );
    // Steps with prefill that are as fast as those without say nothing against TPOT.
    let by_class = |mixed_ms| measure::record::ServeSummary {
        tpot_decode_ms: measure::stats::distribution(&[20.0]),
        tpot_mixed_ms: measure::stats::distribution(&[mixed_ms]),
        ..summary(8.0, 0.9)
    };
    assert_eq!(with(8, by_class(21.0)), [""; 0]);
    only(
        &with(8, by_class(80.0)),
        "(20.00 ms in the mean without them)",
    );
    only(
        &with(16, summary(8.0, 0.0)),
        "8.0 requests were in flight in the mean where 16",
    );
    only(
        &with(8, summary(8.8, 0.0)),
        "throughput times latency gives 8.00",
    );
}

#[test]
fn a_burst_is_not_a_rate() {
    let mut burst = clean();
    let load = burst.load.as_mut().unwrap();
    load.arrivals = Arrivals::Poisson { rate: 80.0 };
    load.concurrency = None;
    for request in &mut burst.requests {
        request.intended_ms = Some(5000.0);
    }
    // 400 requests in 5 s, worked off in 26.6 s: 15 a second.
    burst.summary = Some(measure::record::ServeSummary {
        duration_s: 26.6,
        requests_per_s: 15.0,
        ..measure::record::ServeSummary::default()
    });
    only(
        &said(&burst, &Tally::default(), &QUIET),
        "15.00 requests/s completed where 80 came: arrivals took 5.0 s of 26.6 s",
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
    let tally = Tally {
        resent: 1,
        ..Tally::default()
    };
    only(
        &said(&clean(), &tally, &QUIET),
        "1 requests were sent again",
    );
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
