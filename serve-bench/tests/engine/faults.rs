//! Every fault of the engine against the load generator: the kind that it records, its exit code, its words, and what it takes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;

use measure::record::RequestErrorKind as Kind;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::engine::common::{Ran, Scratch};
use crate::engine::served::{Served, log};

/// What a fault comes to.
struct Case {
    fault: &'static str,
    kind: Kind,
    /// In the request's error.
    says: &'static str,
    /// Chunks with tokens before it, where they are streamed.
    chunks: usize,
    /// The kind where the reply is not streamed.
    whole: Kind,
}

const CASES: [Case; 9] = [
    Case {
        fault: "stall=3",
        kind: Kind::TimedOut,
        says: "not done after 2 s",
        chunks: 3,
        whole: Kind::TimedOut,
    },
    Case {
        fault: "status",
        kind: Kind::Status,
        says: "500 Internal Server Error: This error was asked for with --fault.",
        chunks: 0,
        whole: Kind::Status,
    },
    Case {
        fault: "status=429",
        kind: Kind::Status,
        says: "429 Too Many Requests: This error",
        chunks: 0,
        whole: Kind::Status,
    },
    Case {
        fault: "cut=2",
        kind: Kind::CutShort,
        says: "the connection was closed before the reply was whole",
        chunks: 2,
        whole: Kind::CutShort,
    },
    Case {
        fault: "error-in-stream=2",
        kind: Kind::InStream,
        says: "EngineCore encountered an issue",
        chunks: 2,
        // Nothing went out yet, so an engine that dies answers 500.
        whole: Kind::Status,
    },
    Case {
        fault: "error-after-200",
        kind: Kind::InStream,
        says: "This error was asked for",
        chunks: 0,
        whole: Kind::InStream,
    },
    // 100 ms a byte: a chunk of some 250 bytes would take 25 s.
    Case {
        fault: "trickle=100",
        kind: Kind::TimedOut,
        says: "not done after 2 s",
        chunks: 0,
        whole: Kind::TimedOut,
    },
    Case {
        fault: "endless-line",
        kind: Kind::Garbled,
        says: "longer than 16 MiB",
        chunks: 0,
        whole: Kind::Garbled,
    },
    Case {
        fault: "no-answer",
        kind: Kind::TimedOut,
        says: "not done after 2 s",
        chunks: 0,
        whole: Kind::TimedOut,
    },
];

/// Every request fails in this way.
#[track_caller]
fn all_fail(ran: &Ran, fault: &str, kind: Kind) {
    ran.expect(3);
    assert_eq!(ran.kinds(), [Some(kind); 2], "{fault}: {}", ran.stderr);
    assert_eq!(ran.serve().summary, None, "{fault}");
    let told = format!("of which failed: 2 ({kind} 2)");
    assert!(
        ran.stdout.contains(&told),
        "{fault}: no `{told}` in {}",
        ran.stdout
    );
}

#[test]
fn every_fault_ends_in_its_kind() {
    for case in CASES {
        let scratch = Scratch::new();
        let file = scratch.join("log.jsonl");
        let arguments = ["--fault", case.fault, "--log", file.to_str().unwrap()];
        let engine = Served::start(100, &arguments);
        let limits = ["--timeout", "2", "--output-tokens", "8"];
        // Two requests at once, so that both of them wait beside each other.
        let ran = scratch.run(
            &engine.url,
            &[&limits[..], &["--concurrency", "2"]].concat(),
        );
        all_fail(&ran, case.fault, case.kind);
        for request in &ran.serve().requests {
            let seen = &request.error.as_ref().unwrap().seen;
            assert!(seen.contains(case.says), "{}: {seen}", case.fault);
            // A machine that stands still for 2 s cuts a stall short of its tokens.
            assert!(request.token_chunks_ms.len() <= case.chunks, "{request:?}");
            if case.kind != Kind::TimedOut {
                assert_eq!(request.token_chunks_ms.len(), case.chunks, "{request:?}");
            }
        }
        engine.end();
        let name = case.fault.split('=').next().unwrap();
        for line in log(&file) {
            assert_eq!(line["fault"], name, "{line}");
            // How slowly a reply goes out is nothing to the engine.
            assert!(name == "trickle" || line["end"] != "finished", "{line}");
        }
    }
}

#[test]
fn faults_of_replies_that_are_not_streamed_end_in_their_kinds() {
    for case in CASES {
        let scratch = Scratch::new();
        let engine = Served::start(100, &["--fault", case.fault]);
        let more = ["--timeout", "2", "--output-tokens", "8", "--no-stream"];
        let ran = scratch.run(&engine.url, &more);
        all_fail(&ran, case.fault, case.whole);
    }
}

#[test]
fn a_share_of_requests_fails_and_they_are_those_of_the_engines_log() {
    let scratch = Scratch::new();
    let file = scratch.join("log.jsonl");
    let engine = Served::start(
        1000,
        &[
            "--fault",
            "cut=1@0.3",
            "--fault",
            "status=503@0.3",
            "--fault-seed",
            "5",
            "--log",
            file.to_str().unwrap(),
        ],
    );
    let ran = scratch.run(&engine.url, &["--requests", "40", "--output-tokens", "4"]);
    ran.expect(3);
    engine.end();
    let mut lines = log(&file);
    lines.sort_by_key(|line| line["id"].as_u64());
    // One after the other, so the engine's numbers are the client's.
    let kinds: Vec<Option<Kind>> = lines
        .iter()
        .map(|line| match line["fault"].as_str() {
            None => None,
            Some("cut") => Some(Kind::CutShort),
            Some("status") => Some(Kind::Status),
            Some(other) => panic!("{other}"),
        })
        .collect();
    assert_eq!(ran.kinds(), kinds);
    let failed = kinds.iter().flatten().count();
    // 40 x (1 - 0.7 x 0.7) = 20.4, standard deviation 3.2; four of them.
    assert!((8..=33).contains(&failed), "{failed}");
    let caveat = format!("{failed} of 40 requests failed");
    assert!(ran.caveats().contains(&caveat), "{}", ran.caveats());
    let summary = ran.serve().summary.as_ref().unwrap();
    assert_eq!(summary.completed as usize, 40 - failed);
}

#[test]
fn a_gigabyte_without_a_line_end_takes_little_memory() {
    // Ten requests, one after another, are each offered 1 GB in one line.
    let engine = Served::start(100, &["--fault", "endless-line=1000000000"]);
    let scratch = Scratch::new();
    let child = scratch
        .load(&engine.url, &["--requests", "10"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The kernel refuses the client more than 300 MB, and a refusal ends it.
    let most = Rlimit {
        current: Some(300_000_000),
        maximum: Some(300_000_000),
    };
    prlimit(Some(Pid::from_child(&child)), Resource::Data, most).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap(), &scratch.join("out"));
    ran.expect(3);
    assert_eq!(ran.kinds(), [Some(Kind::Garbled); 10]);
}

#[test]
fn connections_that_are_taken_late_only_cost_time_until_it_is_up() {
    // Each 300 ms, one after the other: two for the questions before the load, one for the requests.
    let engine = Served::start(100, &["--fault", "slow-accept=300"]);
    let ran = Scratch::new().run(&engine.url, &["--timeout", "60"]);
    ran.expect(0);
    drop(engine);
    // Beyond the time-out not even the first question is answered, and nothing is measured.
    let engine = Served::start(100, &["--fault", "slow-accept=6000"]);
    let ran = Scratch::new().run(&engine.url, &["--timeout", "1"]);
    ran.expect(3);
    assert!(
        ran.stderr.contains("nothing was measured"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_server_that_goes_before_the_load_refuses_each_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        // The two questions before the load, for models and version; then the port is closed.
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let body = r#"{"data":[{"id":"m"}],"version":"1"}"#;
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .unwrap();
        }
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&url, &[]);
    server.join().unwrap();
    all_fail(&ran, "refuses", Kind::Refused);
}
