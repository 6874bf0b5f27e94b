//! Its first line, its signals, and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const BOX: [&str; 5] = [
    "engine",
    "--box",
    "rtxpro6000-mig",
    "--model",
    "llama-3.1-8b",
];

fn command(arguments: &[&str]) -> Command {
    let mut command = built::named("serve-bench");
    command.args(arguments);
    command
}

/// Starts a server on a free port and returns it with its address.
fn serve(arguments: &[&str]) -> (Child, String) {
    let mut child = command(&BOX)
        .args(["--port", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let address = first
        .trim_end()
        .strip_prefix("listening on http://")
        .unwrap_or_else(|| panic!("{first}"))
        .to_owned();
    (child, address)
}

fn send(address: &str, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    stream
}

/// Ends the server by a signal and returns its exit code and its standard error.
fn end(mut child: Child, signal: Signal) -> (Option<i32>, String) {
    let began = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let code = child.wait().unwrap().code();
    // It stops within a second; a busy machine gets ten.
    assert!(began.elapsed() < Duration::from_secs(10));
    (code, said)
}

#[test]
fn it_serves_until_a_signal_and_says_what_it_did() {
    let (child, address) = serve(&["--speed", "1000"]);
    let mut reply = String::new();
    send(
        &address,
        "POST",
        "/v1/completions",
        r#"{"model":"llama-3.1-8b","prompt":"a","max_tokens":4}"#,
    )
    .read_to_string(&mut reply)
    .unwrap();
    assert!(reply.contains(r#""completion_tokens":4"#), "{reply}");
    let (code, said) = end(child, Signal::TERM);
    assert_eq!(code, Some(143));
    assert!(said.starts_with("simulated box rtxpro6000-mig"), "{said}");
    assert!(
        said.contains("served 1 requests and 4 tokens in 4 steps"),
        "{said}"
    );
}

#[test]
fn a_signal_ends_it_amid_a_stream() {
    let (child, address) = serve(&["--served-model-name", "m"]);
    let mut stream = send(
        &address,
        "POST",
        "/v1/completions",
        r#"{"model":"m","prompt":"a","max_tokens":30000,"stream":true}"#,
    );
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let (code, _) = end(child, Signal::INT);
    assert_eq!(code, Some(130));
}

#[test]
fn two_ranks_take_the_collectives_of_the_box() {
    let (child, address) = serve(&["--tp", "2", "--speed", "1000", "--enforce-eager"]);
    let mut reply = String::new();
    send(&address, "GET", "/version", "")
        .read_to_string(&mut reply)
        .unwrap();
    assert!(
        reply.contains(r#""tplens_soft_box":"rtxpro6000-mig""#),
        "{reply}"
    );
    assert_eq!(end(child, Signal::TERM).0, Some(143));
}
