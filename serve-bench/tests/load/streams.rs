//! What becomes of each trap that serving engines set in their replies.

use measure::record::TokenCount;

use crate::load::common::Scratch;
use crate::load::mock::{
    Mock, delta, end, event, gap, good, head, part, send, text, usage_and_done, whole,
};

#[test]
fn a_plain_stream_gives_counts_instants_and_a_summary() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--tp", "2", "--seed", "7"]);
    ran.expect(0);
    let serve = ran.serve();
    for (index, request) in serve.requests.iter().enumerate() {
        assert_eq!(request.id as usize, index);
        assert_eq!(request.token_chunks_ms.len(), 2);
        let [first, last] = request.token_chunks_ms[..] else {
            unreachable!()
        };
        // In order, whatever the machine does meanwhile.
        assert!(request.sent_ms < first && first <= last && last <= request.ended_ms);
        assert_eq!(
            (request.input_tokens, request.output_tokens),
            (Some(8), Some(2))
        );
        assert_eq!(request.counted_by, Some(TokenCount::Usage));
    }
    assert!(serve.requests[0].ended_ms <= serve.requests[1].sent_ms);
    let summary = serve.summary.as_ref().unwrap();
    assert_eq!((summary.completed, summary.failed), (2, 0));
    // Two requests of eight and two tokens.
    assert_eq!(
        (summary.input_tokens, summary.output_tokens),
        (Some(16), Some(4))
    );
    let target = serve.target.as_ref().unwrap();
    assert_eq!(
        (target.model.as_str(), target.endpoint.as_str()),
        ("mock-model", "/v1/completions")
    );
    assert_eq!(
        (target.server.as_deref(), target.tp, target.streamed),
        (Some("mock"), Some(2), true)
    );
    assert_eq!(target.base_url, mock.url);
    assert_eq!(serve.load.as_ref().unwrap().seed, 7);
    assert_eq!(ran.record().header.simulated, None);
    let asked = mock.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].path, "/v1/completions");
    assert_ne!(asked[0].body["prompt"], asked[1].body["prompt"]);
}

#[test]
fn the_time_to_first_token_does_not_end_at_the_role() {
    // 80 ms lie between the role and the first token; comments come in between.
    let mock = Mock::playing(|_| {
        vec![
            head(),
            part(delta(r#"{"role":"assistant","content":""}"#)),
            gap(40),
            part(":\n\n"),
            gap(40),
            part(delta(r#"{"content":"a"}"#)),
            part(delta(r#"{"content":"b"}"#)),
            part(usage_and_done(8, 2)),
            end(),
        ]
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--endpoint", "chat"]);
    ran.expect(0);
    for request in &ran.serve().requests {
        assert_eq!(request.token_chunks_ms.len(), 2);
        assert!(
            request.token_chunks_ms[0] - request.sent_ms >= 80.0,
            "{request:?}"
        );
    }
    assert_eq!(mock.asked()[0].path, "/v1/chat/completions");
}

#[test]
fn several_tokens_in_one_chunk_are_counted_by_the_server() {
    let mock = Mock::playing(|_| {
        let chunks = ["a a a", "b b b b", "c"].map(|words| part(text(words)));
        let mut steps = vec![head()];
        steps.extend(chunks);
        steps.extend([part(usage_and_done(8, 8)), end()]);
        steps
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--output-tokens", "8"]);
    ran.expect(0);
    for request in &ran.serve().requests {
        assert_eq!(
            (request.token_chunks_ms.len(), request.output_tokens),
            (3, Some(8))
        );
    }
    // 2 x 8 tokens in 2 x 3 chunks.
    assert!(
        ran.caveats().contains("16 tokens came in 6 chunks"),
        "{}",
        ran.caveats()
    );
    let tpot = ran
        .serve()
        .summary
        .as_ref()
        .unwrap()
        .tpot_ms
        .as_ref()
        .unwrap();
    // (last - first) / 7, the mean over both requests.
    let spans = ran
        .serve()
        .requests
        .iter()
        .map(|r| r.token_chunks_ms[2] - r.token_chunks_ms[0]);
    assert!((tpot.mean - spans.sum::<f64>() / 2.0 / 7.0).abs() < 1e-9);
}

#[test]
fn both_names_of_reasoning_are_tokens() {
    for name in ["reasoning", "reasoning_content"] {
        let mock = Mock::playing(move |_| {
            let token = delta(&format!(r#"{{"{name}":"hm"}}"#));
            vec![
                head(),
                part(&token),
                part(&token),
                part(usage_and_done(8, 2)),
                end(),
            ]
        });
        let scratch = Scratch::new();
        let ran = scratch.run(&mock.url, &["--endpoint", "chat"]);
        ran.expect(0);
        assert!(
            ran.serve()
                .requests
                .iter()
                .all(|r| r.token_chunks_ms.len() == 2),
            "{name}"
        );
    }
}

#[test]
fn a_character_split_between_two_packets_is_one_character() {
    let mock = Mock::playing(|_| {
        let token = text("\u{1f600}");
        let middle = token.find('\u{1f600}').unwrap() + 2;
        let (first, rest) = token.as_bytes().split_at(middle);
        // No usage and no end mark, only a finish reason, as transformers ends without usage.
        let finish = event(r#"{"choices":[{"text":"","finish_reason":"length"}]}"#);
        vec![
            head(),
            part(first),
            gap(20),
            part(rest),
            part(text("b")),
            part(finish),
            end(),
        ]
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &[]);
    ran.expect(0);
    for request in &ran.serve().requests {
        assert_eq!(
            (request.output_tokens, request.counted_by),
            (Some(2), Some(TokenCount::Chunks))
        );
        // The character was whole only after the gap.
        assert!(request.token_chunks_ms[0] - request.sent_ms >= 20.0);
    }
    assert!(
        ran.caveats().contains("no usage for 2 of 2 replies"),
        "{}",
        ran.caveats()
    );
}

#[test]
fn a_count_inside_the_finish_chunk_counts() {
    let body = include_str!("../../../crates/openai/tests/streams/llamacpp_cmpl_stream.sse");
    let mock = Mock::playing(move |_| vec![head(), part(body), end()]);
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--output-tokens", "3"]);
    ran.expect(0);
    for request in &ran.serve().requests {
        assert_eq!(
            (request.input_tokens, request.output_tokens),
            (Some(2), Some(3))
        );
        assert_eq!(request.token_chunks_ms.len(), 3);
    }
}

#[test]
fn a_stream_without_its_end_mark_and_with_a_false_type_is_read() {
    let body = include_str!("../../../crates/openai/tests/streams/tfs_chat.sse");
    let mock = Mock::playing(move |_| {
        // Proxies in vLLM's examples call a stream application/json.
        vec![whole("200 OK", body)]
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--endpoint", "chat", "--output-tokens", "4"]);
    ran.expect(0);
    assert!(
        ran.serve()
            .requests
            .iter()
            .all(|r| r.output_tokens == Some(4))
    );
}

#[test]
fn a_reply_that_is_not_streamed_has_a_latency_only() {
    let mock = Mock::playing(|_| {
        let body = r#"{"choices":[{"text":"a b","finish_reason":"length"}],"usage":{"prompt_tokens":8,"completion_tokens":2}}"#;
        vec![gap(30), whole("200 OK", body)]
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--no-stream"]);
    ran.expect(0);
    assert_eq!(mock.asked()[0].body["stream"], false);
    let serve = ran.serve();
    assert!(!serve.target.as_ref().unwrap().streamed);
    for request in &serve.requests {
        assert!(request.token_chunks_ms.is_empty());
        assert!(request.ended_ms - request.sent_ms >= 30.0);
    }
    let summary = serve.summary.as_ref().unwrap();
    assert_eq!(
        (&summary.ttft_ms, &summary.tpot_ms, &summary.itl_ms),
        (&None, &None, &None)
    );
    assert!(summary.e2el_ms.as_ref().unwrap().min >= 30.0);
}

#[test]
fn a_reply_of_another_length_has_succeeded_and_is_told() {
    let mock = Mock::playing(|_| vec![head(), part(text("a")), part(usage_and_done(8, 1)), end()]);
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &[]);
    ran.expect(0);
    assert!(
        ran.caveats()
            .contains("2 of 2 replies have another length than the 2 tokens asked for (1 to 1)"),
        "{}",
        ran.caveats()
    );
    // Where the model may end its replies, that is what was asked for.
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--no-ignore-eos"]);
    ran.expect(0);
    assert!(!ran.caveats().contains("length"), "{}", ran.caveats());
}

#[test]
fn a_stream_until_the_connection_closes_is_read() {
    let mock = Mock::playing(|_| {
        let stream = format!("{}{}{}", text("a"), text("b"), usage_and_done(8, 2));
        vec![
            send("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"),
            send(&stream),
            crate::load::mock::Step::Close,
        ]
    });
    let scratch = Scratch::new();
    scratch.run(&mock.url, &[]).expect(0);
    assert_eq!(mock.connections().len(), 2);
}
