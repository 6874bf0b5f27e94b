//! The block of a serving benchmark.

use super::super::record;
use super::header;
use crate::caveat::Caveat;
use crate::record::{
    Payload, Record, RequestError, RequestErrorKind, Serve, ServeLoad, ServeRequest, ServeTarget,
    Simulated, Status, TokenCount, summarise,
};

/// Eight requests, two at a time: TTFT 50 ms, then four more tokens 20 ms apart, each wave after the other.
fn requests() -> Vec<ServeRequest> {
    (0..8u32)
        .map(|id| {
            let sent = f64::from(id / 2) * 130.0;
            ServeRequest {
                id,
                sent_ms: sent,
                ended_ms: sent + 130.0,
                token_chunks_ms: (0..5)
                    .map(|token| sent + 50.0 + 20.0 * f64::from(token))
                    .collect(),
                input_tokens: Some(89),
                output_tokens: Some(5),
                counted_by: Some(TokenCount::Usage),
                error: None,
                ..ServeRequest::default()
            }
        })
        .collect()
}

fn whole(requests: Vec<ServeRequest>, streamed: bool) -> Record {
    let serve = Serve {
        target: Some(ServeTarget {
            base_url: "http://127.0.0.1:8000".to_owned(),
            model: "qwen2.5-72b".to_owned(),
            endpoint: "/v1/completions".to_owned(),
            streamed,
            server: Some("vLLM 0.13.0".to_owned()),
            tp: Some(2),
        }),
        load: Some(ServeLoad {
            concurrency: Some(2),
            requests: 8,
            warmups: 1,
            input_tokens: Some(89),
            output_tokens: Some(5),
            ignore_eos: true,
            seed: 7,
            ..ServeLoad::default()
        }),
        summary: summarise(&requests, streamed, None),
        requests,
        ..Serve::default()
    };
    Record {
        header: header("serve-bench"),
        status: Status::Complete,
        exit_code: 0,
        payload: Payload::Serve(Box::new(serve)),
    }
}

fn timed_out(mut request: ServeRequest) -> ServeRequest {
    request.token_chunks_ms.clear();
    request.error = Some(RequestError {
        kind: RequestErrorKind::TimedOut,
        seen: "no end within 120 s".to_owned(),
    });
    request
}

#[test]
fn a_streamed_run_has_counts_rates_and_a_row_per_metric() {
    // 4 waves of 130 ms: 0.52 s; 8 / 0.52 = 15.38 req/s; 40 / 0.52 = 76.92 tok/s, half a second has no peak of one; (712 + 40) / 0.52 = 1446.15 tok/s.
    insta::assert_snapshot!(record(&whole(requests(), true)), @r#"
    serve-bench 0.1.0, 2026-01-02T03:04:05Z, box
    server http://127.0.0.1:8000/v1/completions, model qwen2.5-72b, vLLM 0.13.0, TP2, streamed
    load: closed loop, 2 in flight, 8 requests after 1 to warm up, 89 tokens in and 5 out asked for, end of sequence ignored, seed 7

    Serving benchmark result
      Successful requests:                    8
      Failed requests:                        0
      Maximum request concurrency:            2
      Benchmark duration (s):                 0.520
      Total input tokens:                     712
      Total generated tokens:                 40
      Request throughput (req/s):             15.38
      Output token throughput (tok/s):        76.92
      Peak concurrent requests:               2
      Total token throughput (tok/s):         1446.15
      Mean requests in flight:                2.00

    Latency
                   mean      95% interval  median      95% interval    p90  p99   n
      TTFT (ms)   50.00    50.00 .. 50.00   50.00    50.00 .. 50.00      —    —   8
      TPOT (ms)   20.00    20.00 .. 20.00   20.00    20.00 .. 20.00      —    —   8
      ITL (ms)    20.00    20.00 .. 20.00   20.00    20.00 .. 20.00  20.00    —  32
      E2EL (ms)  130.00  130.00 .. 130.00  130.00  130.00 .. 130.00      —    —   8
      TTFT: first chunk that carries tokens - sent
      TPOT: (last chunk that carries tokens - first one) / (output tokens - 1), one value a request
      ITL: gap between successive chunks that carry tokens, all requests pooled; a chunk may carry several tokens
      E2EL: last chunk that carries tokens - sent; end of the reply - sent where it was not streamed
      Requests in flight: sum over all requests, failed ones too, of (end of the reply - sent) / (last end - first send)
      intervals: of the mean by bootstrap over requests, of the median by order statistics (ITL: bootstrap); none below 6 requests; p90 needs 20 values, p99 200

    complete; exit code 0
    "#);
}

#[test]
fn failures_are_told_by_kind_and_a_soft_box_is_marked() {
    let mut requests = requests();
    let last = requests.pop().unwrap();
    requests.push(timed_out(last));
    requests.iter_mut().for_each(|r| r.token_chunks_ms.clear());
    let mut made = whole(requests, false);
    made.header.simulated = Some(Simulated {
        box_name: "rtxpro6000-mig".to_owned(),
    });
    if let Payload::Serve(serve) = &mut made.payload {
        serve.caveats.push(Caveat::Note {
            text: "one request timed out: raise --timeout".to_owned(),
        });
    }
    insta::assert_snapshot!(record(&made), @r#"
    SIMULATED on soft box rtxpro6000-mig: arithmetic of a box file, not a measurement
    serve-bench 0.1.0, 2026-01-02T03:04:05Z, box
    server http://127.0.0.1:8000/v1/completions, model qwen2.5-72b, vLLM 0.13.0, TP2, not streamed, so without TTFT, TPOT and ITL
    load: closed loop, 2 in flight, 8 requests after 1 to warm up, 89 tokens in and 5 out asked for, end of sequence ignored, seed 7

    Serving benchmark result [simulated]
      Successful requests:                    7
      Failed requests:                        1 (timed out 1)
      Maximum request concurrency:            2
      Benchmark duration (s):                 0.520
      Total input tokens:                     623
      Total generated tokens:                 35
      Request throughput (req/s):             13.46
      Output token throughput (tok/s):        67.31
      Peak concurrent requests:               2
      Total token throughput (tok/s):         1265.38
      Mean requests in flight:                2.00

    Latency [simulated]
                   mean      95% interval  median      95% interval  p90  p99  n
      E2EL (ms)  130.00  130.00 .. 130.00  130.00  130.00 .. 130.00    —    —  7
      E2EL: last chunk that carries tokens - sent; end of the reply - sent where it was not streamed
      Requests in flight: sum over all requests, failed ones too, of (end of the reply - sent) / (last end - first send)
      intervals: of the mean by bootstrap over requests, of the median by order statistics (ITL: bootstrap); none below 6 requests; p90 needs 20 values, p99 200

    Before believing these numbers
      - one request timed out: raise --timeout

    complete; exit code 0
    "#);
    insta::assert_snapshot!(crate::render::csv::record(&made), @r#"
    quantity,statistic,value,unit,low,high,n,model,tp,concurrency,input_tokens_asked,output_tokens_asked,run,simulated
    Completed requests,value,7,requests,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Failed requests,value,1,requests,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    "Failed requests, timed out",value,1,requests,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Duration,value,0.52,s,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Input tokens,value,623,tokens,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output tokens,value,35,tokens,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Request throughput,value,13.461538461538462,req/s,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output token throughput,value,67.3076923076923,tok/s,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Total token throughput,value,1265.3846153846152,tok/s,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Peak requests in flight,value,2,requests,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Requests in flight,value,2,requests,,,,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    E2EL,mean,130,ms,130,130,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    E2EL,median,130,ms,130,130,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    E2EL,std,0,ms,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    E2EL,min,130,ms,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    E2EL,max,130,ms,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Input length,mean,89,tokens,89,89,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Input length,median,89,tokens,89,89,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Input length,std,0,tokens,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Input length,min,89,tokens,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Input length,max,89,tokens,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output length,mean,5,tokens,5,5,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output length,median,5,tokens,5,5,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output length,std,0,tokens,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output length,min,5,tokens,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    Output length,max,5,tokens,,,7,qwen2.5-72b,2,2,89,5,complete,rtxpro6000-mig
    "#);
}

#[test]
fn a_run_that_was_broken_off_has_the_numbers_of_what_ended() {
    // The first three of eight: sends at 0, 0 and 130 ms, ends at 130, 130 and 260 ms: 3 / 0.26 = 11.54 req/s.
    let mut made = whole(requests().into_iter().take(3).collect(), true);
    made.status = Status::Broken;
    if let Payload::Serve(serve) = &mut made.payload {
        serve.summary = None;
    }
    let text = record(&made);
    let csv = crate::render::csv::record(&made);
    for part in [
        "broken off: over the 3 requests that ended until then of 8",
        "Successful requests:                    3\n",
        "Request throughput (req/s):             11.54\n",
        "Total generated tokens:                 15\n",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(
        csv.contains("\nCompleted requests,value,3,requests,,,,qwen2.5-72b,2,2,89,5,broken off,"),
        "{csv}"
    );
}

#[test]
fn a_run_without_a_completed_request_says_so() {
    let failed: Vec<ServeRequest> = requests().into_iter().map(timed_out).collect();
    let mut made = whole(failed, true);
    made.status = Status::Interrupted {
        signal: "SIGINT".to_owned(),
    };
    made.exit_code = 130;
    insta::assert_snapshot!(record(&made), @r#"
    serve-bench 0.1.0, 2026-01-02T03:04:05Z, box
    server http://127.0.0.1:8000/v1/completions, model qwen2.5-72b, vLLM 0.13.0, TP2, streamed
    load: closed loop, 2 in flight, 8 requests after 1 to warm up, 89 tokens in and 5 out asked for, end of sequence ignored, seed 7

    no summary: 8 requests ended, of which failed: 8 (timed out 8)

    INTERRUPTED by SIGINT: what was measured until then is above; exit code 130
    "#);
}

#[test]
fn an_open_loop_shows_its_queue_its_goals_and_a_client_that_was_the_limit() {
    // The requests of above, wanted at 0, 60, 120 and so on each; sent at 0, 0, 130, 130, 260, 260, 390, 390.
    let mut requests = requests();
    for request in &mut requests {
        request.intended_ms = Some(f64::from(request.id / 2) * 120.0);
        request.chunk_tokens = vec![1, 2, 1, 1, 1];
        request.output_tokens = Some(6);
    }
    let mut made = whole(requests, true);
    if let Payload::Serve(serve) = &mut made.payload {
        let load = serve.load.as_mut().unwrap();
        load.arrivals = crate::record::Arrivals::Poisson { rate: 16.0 };
        load.data = Some("random words".to_owned());
        load.range_ratio = 0.5;
        load.prefix_tokens = 3;
        load.goals = Some(crate::record::Goals {
            ttft_ms: Some(50.0),
            tpot_ms: Some(10.0),
            e2el_ms: None,
        });
        serve.summary = summarise(&serve.requests, true, load.goals.as_ref());
        serve.client = Some(crate::record::ServeClient {
            stamps: crate::record::Stamps::AtReceipt,
            kernel_stamped: Some(1.0),
            send_lag_ms: crate::stats::distribution(&[0.5, 1.5]),
            busy: Some(0.95),
            starved: Some(0.01),
            largest_backlog: Some(3),
            invalid: vec!["its thread was on a CPU 95% of the time".to_owned()],
            ..crate::record::ServeClient::default()
        });
    }
    let text = record(&made);
    // Waits of 0, 10, 20 and 30 ms: 15 in the mean. TPOT is 80 / 5 = 16 > 10, so nothing is good. Gaps of 20 ms with 2, 1, 1, 1
    // tokens: 10, 10, 20, 20, 20, so 16 in the mean.
    for part in [
        "CAUTION: INVALID, the load generator was the limit: its thread was on a CPU 95% of the time\n",
        "load: Poisson arrivals, 16 requests/s, at most 2 in flight, 8 requests after 1 to warm up, random words: 89 tokens in and 5 out \
         asked for with range ratio 0.5, of which 3 shared by all, end of sequence ignored, seed 7, goals ttft:50 tpot:10\n",
        "Request rate configured (RPS):          16.00\n",
        "Request goodput (req/s):                0.00\n",
        "of an open loop over blocks of successive requests, none below 150 or where blocks still resemble each other",
        "load generator: 95% of a CPU, 1% waiting for one, at most 3 requests due and not sent\n",
        "instants of replies are the kernel's for 100% of the reads, send lag mean 1.00 ms, largest 1.50 ms (n=2)\n",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let row = |name: &str| {
        let row = text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let cells: Vec<&str> = row.unwrap().split_whitespace().collect();
        cells.join(" ")
    };
    assert!(
        row("Queue time (ms)").starts_with("Queue time (ms) 15.00 "),
        "{text}"
    );
    assert!(
        row("ITL per token (ms)").starts_with("ITL per token (ms) 16.00 "),
        "{text}"
    );
    assert!(
        row("E2EL from intended (ms)").starts_with("E2EL from intended (ms) 145.00 "),
        "{text}"
    );
}
