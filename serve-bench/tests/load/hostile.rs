//! Servers that mean no good: whatever they send, the run ends in time and in little memory, what was measured is kept, and no
//! secret is repeated.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use record::RequestErrorKind as Kind;

use crate::load::common::Scratch;
use crate::load::limits::run;
use crate::load::mock::{
    Manner, Mock, Step, end, event, good, head, part, send, text, usage_and_done,
};

/// A server that does this with its first request, and answers the others well.
fn first(steps: impl Fn() -> Vec<Step> + Send + Sync + 'static) -> Mock {
    Mock::playing(move |asked| if asked.number == 0 { steps() } else { good() })
}

#[test]
fn a_server_that_ignores_max_tokens_is_cut_and_its_connection_closed() {
    // 256 MiB of chunks of 71 bytes are 3.8 million where two tokens were asked for.
    let mock = first(|| {
        let Step::Send(one) = part(text("a")) else {
            unreachable!()
        };
        let many: Arc<[u8]> = one.repeat((1 << 20) / one.len()).into();
        vec![head(), Step::Repeat(many, 256)]
    });
    let scratch = Scratch::new();
    let ran = run(&scratch, &mock.url, &[]);
    ran.expect(3);
    assert_eq!(ran.kinds(), [Some(Kind::ReplyTooLong), None]);
    // What one read of 128 KiB brought at most: 131,072 / 71 = 1847, and the eight before it.
    let chunks = ran.serve().requests[0].token_chunks_ms.len();
    assert!((9..=1855).contains(&chunks), "{chunks}");
    assert_ne!(mock.connections()[0], mock.connections()[1]);
    let summary = ran.serve().summary.clone().unwrap();
    assert_eq!(summary.failures, [(Kind::ReplyTooLong, 1)]);
    let shown = scratch.program(&["show", "out"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0));
}

#[test]
fn a_model_id_that_is_too_long_is_refused_before_anything_is_measured() {
    let scratch = Scratch::new();
    let asked_by_name = Mock::playing(|_| good());
    let long = "m".repeat(257);
    for flag in ["--model", "--served-model-name"] {
        let ran = scratch.run(&asked_by_name.url, &[flag, &long]);
        ran.expect(2);
        assert!(
            ran.record.is_none() && ran.stderr.contains("257 bytes"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.lines().all(|line| line.len() <= 120),
            "{}",
            ran.stderr
        );
    }
    assert!(asked_by_name.asked().is_empty());
    let named = |name: &str| {
        let models = format!(r#"{{"data":[{{"id":"{name}"}}]}}"#);
        Mock::start(Manner {
            models: Some(models.leak()),
            ..Manner::of(|_| good())
        })
    };
    let mock = named(&long);
    let ran = scratch.run(&mock.url, &[]);
    ran.expect(2);
    assert!(
        ran.record.is_none() && ran.stderr.contains("257 bytes"),
        "{}",
        ran.stderr
    );
    assert!(mock.asked().is_empty());
    scratch.run(&named(&long[..256]).url, &[]).expect(0);
}

#[test]
fn one_event_of_millions_of_values_takes_no_more_than_its_bytes() {
    // 12 MiB each; kept as a tree, they were more than the client may have.
    // The number in `message` is nothing that an engine sends.
    let cases = [
        (r#"{"message":1,"choices":[{}"#, ",{}", "]}", Kind::CutShort),
        (r#"{"error":[[]"#, ",[]", "]}", Kind::InStream),
    ];
    for (begin, item, close, kind) in cases {
        let mock = first(move || {
            let items = item.repeat((12 << 20) / item.len());
            vec![
                head(),
                part(event(&format!("{begin}{items}{close}"))),
                end(),
            ]
        });
        let ran = run(&Scratch::new(), &mock.url, &[]);
        ran.expect(3);
        assert_eq!(ran.kinds(), [Some(kind), None], "{begin}");
    }
}

#[test]
fn chunks_that_claim_more_tokens_than_the_reply_has_are_not_believed() {
    let claim = |tokens: u32| {
        event(&format!(
            r#"{{"choices":[{{"index":0,"text":"a","finish_reason":null}}],"usage":{{"completion_tokens":{tokens}}}}}"#
        ))
    };
    let mock = Mock::playing(move |_| {
        let parts = [claim(1), claim(4_000_000_000), usage_and_done(8, 2)];
        let mut steps = vec![head()];
        steps.extend(parts.map(part));
        steps.push(end());
        steps
    });
    let ran = run(&Scratch::new(), &mock.url, &[]);
    ran.expect(0);
    for request in &ran.serve().requests {
        assert!(request.chunk_tokens.is_empty());
        assert_eq!(request.output_tokens, Some(2));
    }
}

#[test]
fn a_body_that_does_not_end_behind_the_streams_end_is_not_waited_for() {
    // All that counts is there; 20 s are the time-out, and 9999 bytes were promised.
    let mock = Mock::playing(|asked| match asked.number {
        0 => {
            let stream = text("a") + &text("b") + &usage_and_done(8, 2);
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n";
            vec![send(&format!("{head}\r\n{stream}")), Step::Stall]
        }
        1 => {
            let mut steps = good();
            steps.pop();
            steps.push(Step::Stall);
            steps
        }
        _ => good(),
    });
    let begun = Instant::now();
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--timeout", "20", "--requests", "3"]);
    let took = begun.elapsed();
    // A busy machine may hold the load up, which makes a run invalid and no request a failure.
    assert_eq!(ran.kinds(), [None; 3]);
    assert!(took < Duration::from_secs(20), "{took:?}");
    for request in &ran.serve().requests {
        assert!(request.ended_ms - request.sent_ms < 2000.0, "{request:?}");
    }
}

#[test]
fn counters_that_no_number_holds_leave_the_record_readable() {
    // The mean of the first would be 1e303 s and more in ms than a number holds; two of the second are more, too.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let counters = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut seconds = 0.0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            drop(stream.read(&mut [0; 4096]));
            let page = format!(
                "vllm:time_to_first_token_seconds_sum {seconds}\nvllm:time_to_first_token_seconds_count {}\n\
                 vllm:num_requests_running 1e308\nvllm:e2e_request_latency_seconds_sum 1e308\n\
                 vllm:e2e_request_latency_seconds_sum 1e308\nvllm:e2e_request_latency_seconds_count 1\n\
                 vllm:prompt_tokens_total 5\n",
                if seconds > 0.0 { 1e-300 } else { 0.0 }
            );
            seconds = 1e14;
            let head = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}",
                page.len()
            );
            drop(stream.write_all(format!("{head}\r\n\r\n{page}").as_bytes()));
        }
    });
    let mock = Mock::playing(|_| good());
    let ran = Scratch::new().run(&mock.url, &["--metrics-url", &counters]);
    ran.expect(0);
    let server = ran.serve().server.clone().unwrap();
    let change = server.counters.unwrap().change.unwrap();
    assert_eq!(
        (change.ttft, change.e2el, change.running_most),
        (None, None, None)
    );
}
