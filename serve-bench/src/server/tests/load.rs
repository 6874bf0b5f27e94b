//! Pace, chunks of prompts, cancelling, many streams.

use std::time::{Duration, Instant};

use super::client::{Connection, ask, metric};
use super::running::{Running, setup};
use crate::server::args::Fault;

/// What nothing here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Asks until the server has nothing in work.
fn wait_until_idle(server: &Running) {
    let began = Instant::now();
    while metric(server.address, "vllm:num_requests_running") > 0.0
        || metric(server.address, "vllm:num_requests_waiting") > 0.0
    {
        assert!(began.elapsed() < LONG, "the request was not cancelled");
    }
}

#[test]
fn steps_last_what_the_engine_says() {
    let server = Running::start(5_000.0);
    let began = Instant::now();
    let (_, body) = ask(
        server.address,
        "POST",
        "/v1/completions",
        r#"{"prompt":"a b","max_tokens":20}"#,
    );
    let took = began.elapsed();
    assert!(body.contains(r#""completion_tokens":20"#), "{body}");
    // One step for the prompt with the first token and 19 more, 5 ms each: 100 ms, and never less.
    assert!(took >= Duration::from_millis(100), "{took:?}");
}

#[test]
fn a_prompt_longer_than_a_step_takes_several() {
    let server = Running::start(100.0);
    // 64 tokens a step: 150 words are 64 + 64 + 22, and the last of these steps gives the token.
    let prompt = "w ".repeat(150);
    ask(
        server.address,
        "POST",
        "/v1/completions",
        &format!(r#"{{"prompt":"{prompt}","max_tokens":1}}"#),
    );
    assert!((metric(server.address, "tplens:steps_total") - 3.0).abs() < 0.5);
}

#[test]
fn a_client_that_goes_cancels_its_stream() {
    let server = Running::start(1_000.0);
    let mut connection = Connection::open(server.address);
    // 90 s of tokens, which nobody waits for.
    connection.send(
        "POST",
        "/v1/completions",
        r#"{"prompt":"a b","max_tokens":90000,"stream":true}"#,
    );
    assert_eq!(connection.head().status, 200);
    assert!(connection.chunk().starts_with("data: {"));
    drop(connection);
    wait_until_idle(&server);
    assert!(metric(server.address, "vllm:generation_tokens_total") < 90_000.0);
}

#[test]
fn many_streams_at_once_all_get_their_tokens() {
    let server = Running::start(500.0);
    let mut connections: Vec<Connection> =
        (0..200).map(|_| Connection::open(server.address)).collect();
    for connection in &mut connections {
        connection.send(
            "POST",
            "/v1/completions",
            r#"{"prompt":"a b c","max_tokens":8,"stream":true}"#,
        );
    }
    for connection in &mut connections {
        let head = connection.head();
        let body = connection.body(&head);
        assert_eq!(body.matches("\"text\":").count(), 8);
        assert!(body.ends_with("data: [DONE]\n\n"));
    }
    // 200 x 3 and 200 x 8.
    assert!((metric(server.address, "vllm:prompt_tokens_total") - 600.0).abs() < 0.5);
    assert!((metric(server.address, "vllm:generation_tokens_total") - 1600.0).abs() < 0.5);
}

#[test]
fn planted_faults_stall_cut_and_refuse() {
    let with = |fault| {
        let mut setup = setup(100.0);
        setup.0.args.fault = Some(fault);
        let server = Running::of(setup);
        let mut connection = Connection::open(server.address);
        let body = r#"{"prompt":"a b","max_tokens":8,"stream":true}"#;
        connection.send("POST", "/v1/completions", body);
        (server, connection)
    };
    let (_server, mut refused) = with(Fault::Status(503));
    assert_eq!(refused.head().status, 503);
    for fault in [Fault::Stall(2), Fault::Cut(2)] {
        let (_server, mut connection) = with(fault);
        assert_eq!(connection.head().status, 200);
        let tokens = connection.chunk() + &connection.chunk();
        assert_eq!(tokens.matches("\"text\":").count(), 2);
        assert_eq!(connection.is_closed(), fault == Fault::Cut(2));
    }
}
