//! `serve-bench selftest` as a program: its lines, its JSON, and that it finds an error that was planted. What is timed here is
//! asserted only where a busy machine cannot change it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// How long the proxy holds each reply's first token back.
const PLANTED: Duration = Duration::from_millis(10);

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serve-bench"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a selftest and gives its exit code, its JSON and what it printed.
fn selftest(arguments: &[&str]) -> (Option<i32>, Value, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = program(&["selftest", "--json", "-"])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8(stderr).unwrap();
    let json = serde_json::from_slice(&stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (status.code(), json, said)
}

/// A server of known schedule that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut child = program(&["known-schedule"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let address = first
            .trim_end()
            .strip_prefix("listening on http://")
            .unwrap()
            .to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Passes bytes on both ways, each reply's first token after a while; gives the address to connect to.
fn proxy(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(&to).unwrap();
            let there = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pass(there.0, there.1, Duration::ZERO));
            std::thread::spawn(move || pass(server, client, PLANTED));
        }
    });
    address
}

/// Passes bytes on; whoever goes away ends it. The planted error is the wait before the first bytes after a head.
fn pass(mut from: TcpStream, mut to: TcpStream, wait: Duration) {
    let mut buffer = [0; 4096];
    let mut is_after_head = false;
    to.set_nodelay(true).unwrap();
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if std::mem::replace(&mut is_after_head, buffer.starts_with(b"HTTP/")) {
            std::thread::sleep(wait);
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    drop(to.shutdown(std::net::Shutdown::Write));
}

fn lines(report: &Value) -> &[Value] {
    report["lines"].as_array().unwrap()
}

#[test]
fn every_form_of_streams_is_a_line_with_the_tokens_that_were_written() {
    let folder = std::env::temp_dir().join(format!("serve-bench-selftest-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let (code, report, said) = selftest(&[
        "--streams",
        "2,24",
        "--tokens",
        "8",
        "--ttft-ms",
        "5",
        "--itl-ms",
        "2",
        "--flood-tokens",
        "2000",
        "--out",
        out,
    ]);
    // Whether the client was in time here says nothing of the program.
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {said}");
    assert_eq!(report["exit_code"], code.unwrap());
    let requests: Vec<_> = lines(&report)
        .iter()
        .map(|line| line["requests"].as_u64().unwrap())
        .collect();
    // No fewer than 20 requests, in whole rounds; 8 of the other forms.
    assert_eq!(requests, [20, 24, 8, 8, 8, 8, 8]);
    let modes: Vec<_> = lines(&report)
        .iter()
        .map(|line| line["mode"].as_str().unwrap())
        .collect();
    let forms = [
        "role early",
        "reasoning",
        "reasoning_content",
        "4 tokens a chunk",
        "early end, no usage",
    ];
    assert_eq!(modes, [&["plain", "plain"][..], &forms].concat());
    for (line, requests) in lines(&report).iter().zip(requests) {
        let compared = &line["compared"];
        // The last form ends after half of eight tokens.
        let tokens = if line["mode"] == forms[4] { 4 } else { 8 };
        assert_eq!(compared["true_tokens"], tokens * requests, "{line}: {said}");
        assert_eq!(compared["client_tokens"], tokens * requests, "{line}");
        // A server writes no token before its time: after 5 ms, and the microseconds are rounded.
        assert!(compared["true_ttft_ms"].as_f64().unwrap() > 4.999, "{line}");
        assert_eq!(compared["ttft_error_ms"]["n"], requests);
    }
    // Of the tokens asked for, 400 a request at most: 5 x 400.
    assert_eq!(report["flood"]["tokens"], 2000);
    assert!(report["flood"]["tokens_per_s"].as_f64().unwrap() > 0.0);
    assert!(folder.join("plain-24/record.json").is_file());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_error_that_was_planted_is_found_with_its_size() {
    let server = Server::start(&["--ttft-ms", "20", "--itl-ms", "5"]);
    let direct = format!("http://{}", server.address);
    let through = format!("http://{}", proxy(server.address.clone()));
    let (_, without, _) = selftest(&["--streams", "2", "--tokens", "4", "--base-url", &direct]);
    let (code, with, said) = selftest(&["--streams", "2", "--tokens", "4", "--base-url", &through]);
    let off = |report: &Value| {
        lines(report)[0]["compared"]["ttft_error_ms"]["mean"]
            .as_f64()
            .unwrap()
    };
    // The proxy waits 10 ms at least between a true first token and the client's; the bound at four streams is 1 ms.
    assert!(off(&with) >= 10.0, "{with}: {said}");
    assert!(off(&with) > off(&without), "{with} {without}");
    assert_eq!(code, Some(3), "{said}");
    assert_ne!(lines(&with)[0]["judged"]["verdict"], "within");
    // A server that somebody else runs has one form of streams only.
    assert_eq!((lines(&with).len(), &with["flood"]), (1, &Value::Null));
}

#[test]
fn the_table_says_how_far_off_each_line_is_and_ends_with_the_exit_code() {
    let server = Server::start(&["--ttft-ms", "2", "--itl-ms", "1"]);
    let url = format!("http://{}", server.address);
    let output = program(&[
        "selftest",
        "--streams",
        "3",
        "--tokens",
        "4",
        "--base-url",
        &url,
    ])
    .output()
    .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "server started by somebody else",
        "TTFT true",
        "within bounds",
        "stamped",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(
        text.lines().last().unwrap(),
        format!("exit code {}", output.status.code().unwrap())
    );
}

#[test]
fn what_is_no_server_of_known_schedule_and_a_folder_that_is_there_are_refused() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let there: PathBuf = std::env::temp_dir();
    for (arguments, code, words) in [
        (
            vec!["--base-url".to_owned(), format!("http://{nobody}")],
            3,
            "nothing was measured",
        ),
        (
            vec!["--out".to_owned(), there.display().to_string()],
            2,
            "choose another with --out",
        ),
        (vec!["--streams".to_owned(), "0".to_owned()], 2, "--streams"),
    ] {
        let output = program(&["selftest"]).args(&arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
