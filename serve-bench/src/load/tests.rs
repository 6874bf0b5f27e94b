//! Replies of real servers, cut everywhere, and replies made for one trap each, against counts made by hand.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::StatusCode;
use measure::record::{RequestErrorKind, TokenCount};

use super::read::{AskedFor, Read, read};
use super::reply::{Broke, Reply};

/// A reply whose parts were read 10, 20, 30 ms and so on after it was sent.
fn reply(start: Instant, parts: &[&[u8]]) -> Reply {
    let mut reply = Reply::begin(0);
    reply.sent = start;
    reply.status = Some(StatusCode::OK);
    reply.frames = (1..)
        .zip(parts)
        .map(|(index, part)| (at(start, index), Bytes::copy_from_slice(part)))
        .collect();
    reply.ended = at(start, parts.len() as u64);
    reply
}

fn at(start: Instant, index: u64) -> Instant {
    start + Duration::from_millis(10 * index)
}

/// What was asked for, without a limit.
fn asked(streamed: bool) -> AskedFor {
    AskedFor {
        model: "m".to_owned(),
        max_tokens: None,
        streamed,
    }
}

fn stream(parts: &[&str]) -> Read {
    let start = Instant::now();
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    read(&reply(start, &parts), &asked(true), start)
}

fn kind(read: &Read) -> Option<RequestErrorKind> {
    read.request.error.as_ref().map(|error| error.kind)
}

/// The text of a completions chunk.
fn text(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"text\":\"{text}\",\"finish_reason\":null}}]}}\n\n")
}

const FINISH: &str = "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[test]
fn streams_of_real_servers_give_their_counts_wherever_they_are_cut() {
    // Chunks with tokens counted by eye, tokens and prompt tokens as the usage in the file says.
    for (name, body, chunks, tokens, prompt) in [
        (
            "vllm chat",
            include_str!("../../tests/load/fixtures/vllm_chat_stream.sse"),
            6,
            6,
            20,
        ),
        (
            "vllm completions",
            include_str!("../../tests/load/fixtures/vllm_cmpl_stream.sse"),
            4,
            4,
            2,
        ),
        (
            "vllm interval 4",
            include_str!("../../tests/load/fixtures/vllm_spec_interval4_reasoning.sse"),
            7,
            24,
            20,
        ),
        (
            "vllm speculation",
            include_str!("../../tests/load/fixtures/vllm_cmpl_spec.sse"),
            6,
            24,
            2,
        ),
        (
            "vllm decode",
            include_str!("../../tests/load/fixtures/nixl_decode_stream.sse"),
            3,
            5,
            481,
        ),
        (
            "llama.cpp chat",
            include_str!("../../tests/load/fixtures/llamacpp_chat_stream.sse"),
            3,
            3,
            20,
        ),
        (
            "llama.cpp completions",
            include_str!("../../tests/load/fixtures/llamacpp_cmpl_stream.sse"),
            3,
            3,
            2,
        ),
        (
            "transformers chat",
            include_str!("../../tests/load/fixtures/tfs_chat.sse"),
            4,
            4,
            20,
        ),
        (
            "transformers completions",
            include_str!("../../tests/load/fixtures/tfs_cmpl.sse"),
            4,
            4,
            2,
        ),
    ] {
        let start = Instant::now();
        for cut in (1..=97).chain([body.len()]) {
            let parts: Vec<&[u8]> = body.as_bytes().chunks(cut).collect();
            let read = read(&reply(start, &parts), &asked(true), start).request;
            assert_eq!(read.error, None, "{name} cut every {cut} bytes");
            assert_eq!(
                read.token_chunks_ms.len(),
                chunks,
                "{name} cut every {cut} bytes"
            );
            assert_eq!(
                (read.output_tokens, read.input_tokens),
                (Some(tokens), Some(prompt)),
                "{name}"
            );
            assert_eq!(read.counted_by, Some(TokenCount::Usage), "{name}");
        }
    }
}

#[test]
fn an_engine_that_died_is_a_failure_behind_status_200() {
    let body = include_str!("../../tests/load/fixtures/vllm_midstream_error.sse");
    let read = stream(&[&text("a"), body]);
    assert_eq!(kind(&read), Some(RequestErrorKind::InStream));
    assert!(
        read.request
            .error
            .unwrap()
            .seen
            .starts_with("EngineCore encountered an issue")
    );
}

#[test]
fn a_chunk_has_the_instant_of_the_read_that_completed_it() {
    let second = text("b");
    let (half, rest) = second.split_at(9);
    // Read at 10 ms: a, and half of b. At 20 ms: the rest of b and c. At 30 ms: the end.
    let read = stream(&[
        &format!("{}{half}", text("a")),
        &format!("{rest}{}", text("c")),
        &format!("{FINISH}{DONE}"),
    ]);
    let rounded: Vec<f64> = read
        .request
        .token_chunks_ms
        .iter()
        .map(|ms| ms.round())
        .collect();
    assert_eq!(rounded, [10.0, 20.0, 20.0]);
    assert_eq!(read.request.ended_ms.round(), 30.0);
    // No usage came, so the three chunks are the count.
    assert_eq!(
        (read.request.output_tokens, read.request.counted_by),
        (Some(3), Some(TokenCount::Chunks))
    );
    assert_eq!(kind(&read), None);
}

#[test]
fn a_role_before_the_first_token_does_not_count() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n";
    let token = |text: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"reasoning_content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    // The role at 10 ms, a comment at 20 ms, tokens at 30 and 40 ms.
    let read = stream(&[role, ": ping\n\n", &token("a"), &token("b"), DONE]);
    let rounded: Vec<f64> = read
        .request
        .token_chunks_ms
        .iter()
        .map(|ms| ms.round())
        .collect();
    assert_eq!(rounded, [30.0, 40.0]);
    assert_eq!(kind(&read), None);
}

#[test]
fn how_a_stream_ends_decides() {
    let a = text("a");
    let cases: [(&[&str], Option<RequestErrorKind>); 8] = [
        (&[&a, DONE], None),
        (&[&a, FINISH], None),
        (&[&a], Some(RequestErrorKind::CutShort)),
        (&[&a, "data: {\"choi"], Some(RequestErrorKind::CutShort)),
        (&[""], Some(RequestErrorKind::CutShort)),
        (
            &[&a, "data: <html>\n\n", DONE],
            Some(RequestErrorKind::Garbled),
        ),
        (&["<html>gateway</html>"], Some(RequestErrorKind::Garbled)),
        // Ended in order, but nothing came.
        (&[DONE], Some(RequestErrorKind::WrongLength)),
    ];
    for (parts, expected) in cases {
        assert_eq!(kind(&stream(parts)), expected, "{parts:?}");
    }
}

#[test]
fn an_empty_finish_chunk_is_a_token_only_where_the_count_says_so() {
    let count = |tokens: u32| {
        format!(
            "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":{tokens}}}}}\n\n"
        )
    };
    let (a, one, two, three) = (text("a"), count(1), count(2), count(3));
    let cases: [(&[&str], usize); 5] = [
        // Without a count: not after a token, but where nothing else came.
        (&[&a, FINISH, DONE], 1),
        (&[FINISH, DONE], 1),
        (&[&a, FINISH, &one, DONE], 1),
        (&[&a, FINISH, &two, DONE], 2),
        // Three tokens in one chunk or two: nothing tells that the last one came with the end.
        (&[&a, FINISH, &three, DONE], 1),
    ];
    for (parts, chunks) in cases {
        assert_eq!(
            stream(parts).request.token_chunks_ms.len(),
            chunks,
            "{parts:?}"
        );
    }
}

#[test]
fn a_connection_that_breaks_after_the_end_breaks_nothing() {
    let start = Instant::now();
    let (a, cut) = (text("a"), || Some(Broke::Cut("reset".to_owned())));
    let whole = Reply {
        broke: cut(),
        ..reply(start, &[a.as_bytes(), FINISH.as_bytes()])
    };
    assert_eq!(kind(&read(&whole, &asked(true), start)), None);
    let half = Reply {
        broke: cut(),
        ..reply(start, &[a.as_bytes()])
    };
    let half = read(&half, &asked(true), start);
    assert_eq!(kind(&half), Some(RequestErrorKind::CutShort));
    // What came is kept with the failure.
    assert_eq!(half.request.token_chunks_ms.len(), 1);
}

#[test]
fn statuses_time_outs_and_refused_connections_are_told_apart() {
    let start = Instant::now();
    let status = Reply {
        status: Some(StatusCode::NOT_FOUND),
        ..reply(
            start,
            &[br#"{"error":{"message":"no model x","code":404}}"#],
        )
    };
    let error = read(&status, &asked(true), start).request.error.unwrap();
    assert_eq!(
        (error.kind, error.seen.as_str()),
        (RequestErrorKind::Status, "404 Not Found: no model x")
    );
    let late = Reply {
        broke: Some(Broke::TimedOut(Duration::from_millis(500))),
        ..reply(start, &[text("a").as_bytes()])
    };
    let error = read(&late, &asked(true), start).request.error.unwrap();
    assert_eq!(
        (error.kind, error.seen.as_str()),
        (
            RequestErrorKind::TimedOut,
            "not done after 0.5 s (--timeout)"
        )
    );
    let nobody = Reply {
        status: None,
        broke: Some(Broke::Connect("connection refused".to_owned())),
        ..reply(start, &[])
    };
    let nobody = read(&nobody, &asked(true), start).request;
    assert_eq!(nobody.error.unwrap().kind, RequestErrorKind::Connect);
    assert_eq!((nobody.output_tokens, nobody.counted_by), (None, None));
}

#[test]
fn a_reply_that_was_not_streamed_has_a_count_and_no_chunks() {
    let start = Instant::now();
    let whole = |body: &str| read(&reply(start, &[body.as_bytes()]), &asked(false), start);
    let read = whole(
        r#"{"choices":[{"text":"a b","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
    );
    assert_eq!(kind(&read), None);
    assert_eq!(
        (read.request.input_tokens, read.request.output_tokens),
        (Some(5), Some(2))
    );
    assert!(read.request.token_chunks_ms.is_empty());
    let chat = whole(
        r#"{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}"#,
    );
    assert_eq!(
        (
            kind(&chat),
            chat.request.output_tokens,
            chat.request.counted_by
        ),
        (None, None, None)
    );
    for (body, expected) in [
        (r#"{"error":{"message":"m"}}"#, RequestErrorKind::InStream),
        ("oops", RequestErrorKind::Garbled),
        (r#"{"choices":[]}"#, RequestErrorKind::CutShort),
        (
            r#"{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":0}}"#,
            RequestErrorKind::WrongLength,
        ),
    ] {
        assert_eq!(kind(&whole(body)), Some(expected), "{body}");
    }
}

#[test]
fn one_json_object_where_a_stream_was_asked_for_says_what_to_do() {
    let read = stream(&[r#"{"choices":[{"text":"a","finish_reason":"length"}]}"#]);
    assert_eq!(kind(&read), Some(RequestErrorKind::Garbled));
    assert!(read.request.error.unwrap().seen.contains("--no-stream"));
    let refused = stream(&[r#"{"object":"error","message":"too long"}"#]);
    assert_eq!(kind(&refused), Some(RequestErrorKind::InStream));
}

#[test]
fn a_count_above_the_limit_is_a_failure_and_another_model_is_told() {
    let start = Instant::now();
    let chunk = "data: {\"model\":\"x\",\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":5}}\n\n";
    let with = |max_tokens, model: &str| {
        let asked = AskedFor {
            model: model.to_owned(),
            max_tokens: Some(max_tokens),
            streamed: true,
        };
        read(&reply(start, &[chunk.as_bytes()]), &asked, start)
    };
    let over = with(4, "m");
    let error = over.request.error.unwrap();
    assert_eq!(
        (error.kind, error.seen.as_str()),
        (
            RequestErrorKind::WrongLength,
            "the server counted 5 tokens where 4 were the limit"
        )
    );
    assert_eq!(over.other_model.as_deref(), Some("x"));
    let within = with(5, "x");
    assert_eq!((within.request.error, within.other_model), (None, None));
}
