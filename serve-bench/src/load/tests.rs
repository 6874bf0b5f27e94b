//! Replies of real servers, cut everywhere, and replies made for one trap each, against counts made by hand.

mod full;

use std::time::{Duration, Instant};

use hyper::StatusCode;
use record::{RequestErrorKind, ServeRequest, TokenCount};

use super::intake::failed;
use super::reply::{Reply, read};

/// A reply whose parts were read 10, 20, 30 ms and so on after it was sent.
fn reply(start: Instant, parts: &[&[u8]]) -> Reply {
    with_status(start, StatusCode::OK, parts)
}

fn with_status(start: Instant, status: StatusCode, parts: &[&[u8]]) -> Reply {
    let mut reply = Reply::begin(0);
    reply.sent = start;
    reply.status = Some(status);
    for (index, part) in (1..).zip(parts) {
        let taken = reply
            .content
            .take(part, at(start, index), status.is_success());
        taken.unwrap();
    }
    reply.ended = at(start, parts.len() as u64);
    reply.content.end(reply.ended);
    reply
}

fn at(start: Instant, index: u64) -> Instant {
    start + Duration::from_millis(10 * index)
}

fn stream(parts: &[&str]) -> ServeRequest {
    let start = Instant::now();
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    read(&reply(start, &parts), true, start)
}

fn kind(read: &ServeRequest) -> Option<RequestErrorKind> {
    read.error.as_ref().map(|error| error.kind)
}

/// The stream of a real server.
fn real(name: &str) -> String {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/openai/tests/streams"
    );
    std::fs::read_to_string(format!("{folder}/{name}.sse")).unwrap()
}

/// The instants of its tokens, whole ms.
fn rounded(read: &ServeRequest) -> Vec<f64> {
    read.token_chunks_ms.iter().map(|ms| ms.round()).collect()
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
    for (name, chunks, tokens, prompt) in [
        ("vllm_chat_stream", 6, 6, 20),
        ("vllm_cmpl_stream", 4, 4, 2),
        ("vllm_spec_interval4_reasoning", 7, 24, 20),
        ("vllm_cmpl_spec", 6, 24, 2),
        ("nixl_decode_stream", 3, 5, 481),
        ("llamacpp_chat_stream", 3, 3, 20),
        ("llamacpp_cmpl_stream", 3, 3, 2),
        ("tfs_chat", 4, 4, 20),
        ("tfs_cmpl", 4, 4, 2),
    ] {
        let body = real(name);
        let start = Instant::now();
        for cut in (1..=97).chain([body.len()]) {
            let parts: Vec<&[u8]> = body.as_bytes().chunks(cut).collect();
            let read = read(&reply(start, &parts), true, start);
            assert_eq!(read.error, None, "{name} cut every {cut} bytes");
            let counts = (read.output_tokens, read.input_tokens);
            assert_eq!(counts, (Some(tokens), Some(prompt)), "{name}");
            assert_eq!(read.token_chunks_ms.len(), chunks, "{name} cut every {cut}");
            assert_eq!(read.counted_by, Some(TokenCount::Usage), "{name}");
        }
    }
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
    assert_eq!(rounded(&read), [10.0, 20.0, 20.0]);
    assert_eq!(read.ended_ms.round(), 30.0);
    // No usage came, so the three chunks are the count.
    assert_eq!(
        (read.output_tokens, read.counted_by),
        (Some(3), Some(TokenCount::Chunks))
    );
    assert_eq!(kind(&read), None);
}

#[test]
fn how_a_stream_ends_decides() {
    let a = text("a");
    let died = real("vllm_midstream_error");
    let cases: [(&[&str], Option<RequestErrorKind>); 9] = [
        (&[&a, &died], Some(RequestErrorKind::InStream)),
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
        assert_eq!(stream(parts).token_chunks_ms.len(), chunks, "{parts:?}");
    }
}

#[test]
fn a_connection_that_breaks_after_the_end_breaks_nothing() {
    let start = Instant::now();
    let (a, cut) = (text("a"), || {
        Some(failed(RequestErrorKind::CutShort, "reset"))
    });
    let whole = Reply {
        broke: cut(),
        ..reply(start, &[a.as_bytes(), FINISH.as_bytes()])
    };
    assert_eq!(kind(&read(&whole, true, start)), None);
    let half = Reply {
        broke: cut(),
        ..reply(start, &[a.as_bytes()])
    };
    let half = read(&half, true, start);
    assert_eq!(kind(&half), Some(RequestErrorKind::CutShort));
    // What came is kept with the failure.
    assert_eq!(half.token_chunks_ms.len(), 1);
}

#[test]
fn statuses_time_outs_and_refused_connections_are_told_apart() {
    let start = Instant::now();
    let body = br#"{"error":{"message":"no model x","code":404}}"#;
    let status = with_status(start, StatusCode::NOT_FOUND, &[body]);
    let error = read(&status, true, start).error.unwrap();
    assert_eq!(
        (error.kind, error.seen.as_str()),
        (RequestErrorKind::Status, "404 Not Found: no model x")
    );
    use RequestErrorKind::{Connect, Refused, TimedOut};
    for kind in [TimedOut, Refused, Connect] {
        let nobody = Reply {
            status: None,
            broke: Some(failed(kind, "why")),
            ..reply(start, &[])
        };
        let nobody = read(&nobody, true, start);
        assert_eq!(nobody.error, Some(failed(kind, "why")));
        assert_eq!((nobody.output_tokens, nobody.counted_by), (None, None));
    }
}

#[test]
fn a_reply_that_was_not_streamed_has_a_count_and_no_chunks() {
    let start = Instant::now();
    let whole = |body: &str| read(&reply(start, &[body.as_bytes()]), false, start);
    let read = whole(
        r#"{"choices":[{"text":"a b","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
    );
    assert_eq!(kind(&read), None);
    assert_eq!((read.input_tokens, read.output_tokens), (Some(5), Some(2)));
    assert!(read.token_chunks_ms.is_empty());
    let chat = whole(
        r#"{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}"#,
    );
    assert_eq!(
        (kind(&chat), chat.output_tokens, chat.counted_by),
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
    assert!(read.error.unwrap().seen.contains("--no-stream"));
    let refused = stream(&[r#"{"object":"error","message":"too long"}"#]);
    assert_eq!(kind(&refused), Some(RequestErrorKind::InStream));
}

#[test]
fn a_count_above_the_limit_is_a_failure() {
    let start = Instant::now();
    let chunk = "data: {\"model\":\"x\",\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":5}}\n\n";
    for (limit, kind) in [(4, Some(RequestErrorKind::WrongLength)), (5, None)] {
        let reply = Reply {
            limit: Some(limit),
            ..reply(start, &[chunk.as_bytes()])
        };
        assert_eq!(self::kind(&read(&reply, true, start)), kind);
        assert_eq!(reply.content.model.as_deref(), Some("x"));
    }
}

/// A completions chunk with these members beside its text.
fn chunk(text: &str, inside: &str, outside: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"text\":\"{text}\",\"finish_reason\":null{inside}}}]{outside}}}\n\n"
    )
}

#[test]
fn token_ids_count_where_no_usage_comes() {
    let ids = |text: &str, ids: &str| chunk(text, &format!(",\"token_ids\":{ids}"), "");
    let read = stream(&[
        &ids("a", "[1]"),
        &ids("bcd", "[2,3,4]"),
        &ids("", "[5]"),
        DONE,
    ]);
    // 1 + 3 + 1 tokens in three chunks.
    let request = read;
    assert_eq!(request.chunk_tokens, [1, 3, 1]);
    assert_eq!(
        (request.output_tokens, request.counted_by),
        (Some(5), Some(TokenCount::TokenIds))
    );
    // One chunk without ids, and they count nothing.
    let read = stream(&[&ids("a", "[1]"), &ids("b", "null"), DONE]);
    assert_eq!((read.chunk_tokens.len(), read.output_tokens), (0, Some(2)));
    assert_eq!(read.counted_by, Some(TokenCount::Chunks));
}

#[test]
fn a_count_that_comes_with_every_chunk_tells_the_tokens_of_each() {
    let counted = |text: &str, count: u32| {
        let usage = format!(",\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":{count}}}");
        chunk(text, "", &usage)
    };
    let finish = |count: u32| {
        format!(
            "data: {{\"choices\":[{{\"text\":\"\",\"finish_reason\":\"stop\"}}],\"usage\":{{\"completion_tokens\":{count}}}}}\n\n"
        )
    };
    let (a, b) = (counted("a", 1), counted("bcde", 5));
    // The count rises from 0 to 1, by four to 5, and with the finish by two or not at all.
    let risen = stream(&[&a, &b, &finish(7)]);
    assert_eq!(
        (risen.chunk_tokens, risen.output_tokens),
        (vec![1, 4, 2], Some(7))
    );
    let level = stream(&[&a, &b, &finish(5)]);
    assert_eq!(
        (level.chunk_tokens, level.output_tokens),
        (vec![1, 4], Some(5))
    );
    // A count that falls is none of tokens so far.
    let fallen = stream(&[&b, &a, &finish(5)]);
    assert_eq!(
        (fallen.chunk_tokens.len(), fallen.token_chunks_ms.len()),
        (0, 3)
    );
}

#[test]
fn tokens_of_each_chunk_are_told_by_streams_of_real_servers() {
    // As their token ids say, counted by eye; the chat one opens with a role.
    for (name, tokens) in [
        ("vllm_spec_interval4_reasoning", &[1, 5, 4, 4, 4, 5, 1][..]),
        ("vllm_cmpl_spec", &[1, 4, 4, 4, 4, 7]),
        ("vllm_cmpl_stream", &[]),
    ] {
        assert_eq!(stream(&[&real(name)]).chunk_tokens, tokens, "{name}");
    }
}

#[test]
fn the_first_chunk_is_the_first_whatever_it_holds() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    for first in [": ping\n\n", role] {
        // At 10 ms; the token at 20 ms.
        let read = stream(&[first, &text("a"), DONE]);
        assert_eq!(read.first_chunk_ms.map(f64::round), Some(10.0));
        assert_eq!(rounded(&read), [20.0]);
    }
    assert_eq!(stream(&[]).first_chunk_ms, None);
}

#[test]
fn prompt_tokens_from_a_cache_are_recorded() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n";
    let read = stream(&[&text("a"), usage, DONE]);
    assert_eq!((read.cached_tokens, read.cached_tokens), (Some(8), Some(8)));
}

#[test]
fn what_is_too_large_is_given_up_and_not_kept() {
    let start = Instant::now();
    let part = vec![b'x'; 1 << 20];
    for opening in [&b"data: "[..], b"{", b"<html>"] {
        let mut content = Reply::begin(0).content;
        content.take(opening, start, true).unwrap();
        // 16 MiB and the opening are too much, whatever it is.
        let taken = (0..17).take_while(|_| content.take(&part, start, true).is_ok());
        assert!(taken.count() < 17);
    }
    // Of an error only the beginning is kept, and not more than 16 MiB are waited for.
    let mut content = Reply::begin(0).content;
    let taken = (0..17).take_while(|_| content.take(&part, start, false).is_ok());
    assert_eq!(taken.count(), 16);
    assert!(content.error_words().starts_with("xxx"));
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_has_every_flag() {
    let line = || <super::args::Args as clap::Args>::augment_args(clap::Command::new("run"));
    let short = line().max_term_width(100).render_help().to_string();
    // Those of every command are four more.
    assert!(short.lines().count() <= 56, "{short}");
    for heading in ["Target:", "Load:", "Stop:", "Data:", "Output:"] {
        assert!(short.contains(heading), "{heading}");
    }
    let long = line().render_long_help().to_string();
    assert!(long.contains("--ramp-up-strategy") && !short.contains("--ramp-up-strategy"));
}

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: super::args::Args,
}

#[test]
fn a_host_that_is_none_is_refused_by_its_flag_and_https_is_https_in_capitals() {
    let args = |more: &[&str]| <Line as clap::Parser>::parse_from([&["run"], more].concat()).args;
    for flags in [
        ["--host", "fe80::1%eth0"],
        ["--base-url", "http://fe80::1%eth0"],
    ] {
        let (none, budget) = (runner::Interrupt::none(), Default::default());
        let refused = super::session::run(&args(&flags), &none, &|_| {}, budget);
        let Err(program::Stop::Usage(why)) = refused else {
            panic!("{flags:?}")
        };
        assert!(why.starts_with(flags[0]), "{why}");
    }
    let unchecked = |url| {
        let plan = super::setup::plan(&args(&["--base-url", url, "--insecure"]), "m", 1).unwrap();
        plan.findings
            .contains(&record::ServeFinding::CertificateUnchecked)
    };
    assert!(unchecked("HTTPS://box") && !unchecked("http://box"));
}

#[test]
fn a_chunk_that_differs_in_its_text_alone_says_what_reading_it_says() {
    let start = Instant::now();
    let named = |text: &str, model: &str| chunk(text, "", &format!(",\"model\":\"{model}\""));
    let first = named("a", "x");
    // A blank before the text is not looked for, so that each chunk is read.
    let blank = first.replace("\"text\":", "\"text\": ");
    let said = |first: &str, other: &[u8]| {
        let parts = [first.as_bytes(), first.as_bytes(), other, DONE.as_bytes()];
        let reply = reply(start, &parts);
        (read(&reply, true, start), reply.content.model)
    };
    for (other, chunks) in [
        (named("b\u{e9} :", "x"), 3),
        (named("\\n\\\"", "x"), 3),
        (named("", "x"), 3),
        (named("b", "y"), 3),
        (named("\u{1}", "x"), 2),
        (named("b\",\"text\":\"c", "x"), 2),
        (named("b", "x").replace("null", "\"stop\""), 3),
        (
            named("b", "x").replace("null", "null,\"token_ids\":[1,2]"),
            3,
        ),
        (named("b", "x").replace("data: ", "event: error\ndata: "), 2),
    ] {
        let read = said(&first, other.as_bytes());
        assert_eq!(read, said(&blank, other.as_bytes()), "{other}");
        assert_eq!(read.0.token_chunks_ms.len(), chunks, "{other}");
    }
    // A byte that is of no text.
    let mut broken = named("b", "x").into_bytes();
    broken[27] = 0xff;
    let read = said(&first, &broken);
    assert_eq!(read, said(&blank, &broken));
    assert!(read.0.error.is_some());
}
