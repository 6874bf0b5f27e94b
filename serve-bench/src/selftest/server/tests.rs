//! The server over real sockets: what it writes, and that its truth is of that.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::Value;

use super::manner::{Manner, Reasoning};
use super::truth::Truth;
use super::turns::Turns;

/// First token after 2 ms, then one each ms.
fn manner() -> Manner {
    Manner {
        ttft_ns: 2_000_000,
        itl_ns: 1_000_000,
        tokens_per_chunk: 1,
        chunks_per_write: 1,
        role_early: false,
        reasoning: None,
        end_early: None,
        usage: true,
        paced: true,
    }
}

/// A server that ends with the test's process.
fn serve(manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || Turns::new(listener, manner).unwrap().run());
    address
}

fn request(method: &str, path: &str, more: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\n{more}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The reply to a request after which the connection is closed.
fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let text = request(method, path, "connection: close\r\n", body);
    stream.write_all(text.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn truth(address: SocketAddr) -> Truth {
    let reply = ask(address, "GET", "/truth", "");
    serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The JSON of a stream's events; its last line is the end mark.
fn events(reply: &str) -> Vec<Value> {
    let mut data: Vec<&str> = reply
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    assert_eq!(data.pop(), Some("[DONE]"), "{reply}");
    assert!(reply.ends_with("0\r\n\r\n"), "{reply}");
    data.into_iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect()
}

fn texts(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["choices"][0]["text"].as_str())
        .collect()
}

fn delta<'a>(event: &'a Value, field: &str) -> Option<&'a str> {
    event["choices"][0]["delta"][field].as_str()
}

const COMPLETION: &str =
    r#"{"prompt":"a b c","max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}"#;
const CHAT: &str = r#"{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}"#;

#[test]
fn tokens_come_one_by_one_and_never_before_their_time() {
    let address = serve(manner());
    let reply = ask(address, "POST", "/v1/completions", COMPLETION);
    let events = events(&reply);
    assert_eq!(texts(&events), [" a"; 5]);
    assert_eq!(events[4]["choices"][0]["finish_reason"], "length");
    // Three words and five tokens.
    assert_eq!(events[5]["usage"]["prompt_tokens"], 3);
    assert_eq!(events[5]["usage"]["completion_tokens"], 5);
    let truth = truth(address);
    let [of] = &truth.requests[..] else {
        panic!("{truth:?}");
    };
    assert!(of.done && of.streamed && of.tokens == 5, "{of:?}");
    // Token k is due 2 + k ms after the receipt, and microseconds are rounded.
    let early = of
        .writes_us
        .iter()
        .zip(2..)
        .find(|(write, due)| **write + 1 < due * 1000);
    assert_eq!((of.writes_us.len(), early), (5, None), "{of:?}");
    assert_eq!(
        (truth.ttft_us, truth.write_every_us),
        (Some(2000.0), Some(1000.0))
    );
}

#[test]
fn a_kept_connection_takes_requests_that_were_sent_at_once() {
    let address = serve(manner());
    let mut stream = TcpStream::connect(address).unwrap();
    let first = request(
        "POST",
        "/v1/completions",
        "x-request-id: one\r\n",
        COMPLETION,
    );
    let second = request(
        "POST",
        "/v1/chat/completions",
        "connection: close\r\n",
        CHAT,
    );
    stream.write_all((first + &second).as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert_eq!(reply.matches("HTTP/1.1 200 OK").count(), 2, "{reply}");
    assert_eq!(reply.matches("data: [DONE]").count(), 2, "{reply}");
    let ids: Vec<Option<String>> = truth(address)
        .requests
        .into_iter()
        .map(|of| of.id)
        .collect();
    assert_eq!(ids, [Some("one".to_owned()), None]);
}

#[test]
fn the_role_comes_with_the_first_token_or_in_a_chunk_before_it() {
    // What is written at once arrives in one piece over loopback; what is written apart has a size of its own anyway: an HTTP
    // chunk. So only its order and the truth are looked at here.
    for early in [false, true] {
        let address = serve(Manner {
            role_early: early,
            ..manner()
        });
        let events = events(&ask(address, "POST", "/v1/chat/completions", CHAT));
        assert_eq!(delta(&events[0], "role"), Some("assistant"));
        assert_eq!(events.len(), 5, "no usage was asked for");
        assert_eq!(delta(&events[1], "content"), Some(" a"));
        // The role is no token.
        let of = &truth(address).requests[0];
        assert_eq!((of.tokens, of.writes_us.len()), (4, 4));
    }
}

#[test]
fn reasoning_is_the_first_half_under_either_name() {
    for reasoning in [Reasoning::Plain, Reasoning::Content] {
        let address = serve(Manner {
            reasoning: Some(reasoning),
            ..manner()
        });
        let events = events(&ask(address, "POST", "/v1/chat/completions", CHAT));
        let of = |field| {
            events
                .iter()
                .filter(|event| delta(event, field) == Some(" a"))
                .count()
        };
        assert_eq!((of(reasoning.field()), of("content")), (2, 2));
    }
}

#[test]
fn several_tokens_come_when_the_last_chunk_has_left_their_time() {
    let address = serve(Manner {
        tokens_per_chunk: 2,
        ..manner()
    });
    let events = events(&ask(address, "POST", "/v1/completions", COMPLETION));
    // Five tokens.
    assert_eq!(texts(&events), [" a a", " a a", " a"]);
    let truth = truth(address);
    assert_eq!(truth.write_every_us, Some(2000.0));
    assert_eq!(
        (truth.requests[0].tokens, truth.requests[0].writes_us.len()),
        (5, 3)
    );
}

#[test]
fn an_early_end_has_another_reason_and_no_usage() {
    let address = serve(Manner {
        end_early: Some(3),
        usage: false,
        ..manner()
    });
    let events = events(&ask(address, "POST", "/v1/completions", COMPLETION));
    assert_eq!(events.len(), 3);
    assert_eq!(events[2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(truth(address).requests[0].tokens, 3);
}

#[test]
fn a_reply_that_is_not_streamed_is_one_write_at_its_end() {
    let address = serve(manner());
    let reply = ask(
        address,
        "POST",
        "/v1/completions",
        r#"{"prompt":[1,2],"max_tokens":3}"#,
    );
    let body: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["choices"][0]["text"], " a a a");
    assert_eq!(body["usage"]["total_tokens"], 5);
    let of = &truth(address).requests[0];
    // The third token is due 2 + 2 ms after the receipt.
    assert!(
        !of.streamed && of.writes_us.len() == 1 && of.writes_us[0] >= 3999,
        "{of:?}"
    );
}

#[test]
fn a_flood_waits_for_a_client_that_does_not_read_and_loses_nothing() {
    let address = serve(Manner {
        paced: false,
        chunks_per_write: 16,
        ..manner()
    });
    let mut stream = TcpStream::connect(address).unwrap();
    // About 40 MB, more than any socket holds.
    let body = r#"{"max_tokens":200000,"stream":true}"#;
    let text = request("POST", "/v1/completions", "connection: close\r\n", body);
    stream.write_all(text.as_bytes()).unwrap();
    // The server has written as much as it can when another client is answered after it.
    while truth(address).requests.iter().all(|of| of.blocked == 0) {}
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert_eq!(reply.matches(r#""text":" a""#).count(), 200_000);
    let truth = truth(address);
    assert!(truth.requests[0].done && truth.lateness_ms().is_empty());
}

#[test]
fn what_is_not_understood_is_refused_in_words() {
    let address = serve(manner());
    for (method, path, body, says) in [
        ("GET", "/nothing", "", "404"),
        ("POST", "/v1/completions", "[", "400"),
        ("PUT", "/v1/completions", "", "neither GET nor POST"),
    ] {
        let reply = ask(address, method, path, body);
        assert!(reply.contains(says), "{reply}");
    }
    assert!(ask(address, "GET", "/v1/models", "").contains("known-schedule"));
    assert!(ask(address, "GET", "/health", "").starts_with("HTTP/1.1 200 OK"));
}
