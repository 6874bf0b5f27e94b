//! Each fault with each protocol: exactly these calls, this status, and keys and values that are freed or whose lease is named.

use super::mock::{Act, Call, Engine, Log, Then, wait_for};
use super::router::{BODY, Router, nobody, read};

const HANDED: &str = r#"{"usage":{"prompt_tokens":100},"kv_transfer_params":{"do_remote_prefill":true,"remote_host":"h"}}"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString)]
enum Fault {
    None,
    /// The client leaves while the prefill engine works.
    LeavesInPrefill,
    /// While the decode engine has said nothing.
    LeavesInHandOver,
    /// After two tokens.
    LeavesInDecode,
    PrefillRefuses,
    Prefill500,
    Prefill503,
    PrefillHangs,
    DecodeRefuses,
    Decode500,
    Decode503,
    DecodeHangs,
    DecodeBreaks,
}

use Fault::{
    Decode500, Decode503, DecodeBreaks, DecodeHangs, DecodeRefuses, LeavesInDecode,
    LeavesInHandOver, LeavesInPrefill, Prefill500, Prefill503, PrefillHangs, PrefillRefuses,
};

// A fault, the calls in the order of their names, the status (0 where the client has left), the outcome, keys and values.

const NIXL: &str = "
    None             | D, P              | 200 | done                | taken
    LeavesInPrefill  | P, P closed       | 0   | client-gone-prefill | closed
    LeavesInHandOver | D, D closed, P    | 0   | client-gone-decode  | closed
    LeavesInDecode   | D, D closed, P    | 0   | client-gone-decode  | taken
    PrefillRefuses   | -                 | 503 | prefill-refused     | none
    Prefill500       | P                 | 500 | prefill-500         | none
    Prefill503       | P                 | 503 | prefill-503         | none
    PrefillHangs     | P, P closed       | 504 | prefill-silent      | closed
    DecodeRefuses    | P                 | 503 | decode-refused      | lease
    Decode500        | D, D one-token, P | 500 | decode-500          | released
    Decode503        | D, D one-token, P | 503 | decode-503          | released
    DecodeHangs      | D, D closed, P    | 504 | decode-silent       | closed
    DecodeBreaks     | D, P              | 200 | decode-broke        | taken";

/// Both at once; where nothing but the lease frees what a prefill engine holds that is done.
const MOONCAKE: &str = "
    None             | D, P                     | 200 | done               | taken
    LeavesInPrefill  | D, D closed, P, P closed | 0   | client-gone-decode | closed
    LeavesInHandOver | D, D closed, P           | 0   | client-gone-decode | lease
    LeavesInDecode   | D, D closed, P           | 0   | client-gone-decode | taken
    PrefillRefuses   | -                        | 503 | prefill-refused    | none
    Prefill500       | D, D closed, P           | 500 | prefill-500        | none
    Prefill503       | D, D closed, P           | 503 | prefill-503        | none
    PrefillHangs     | D, D closed, P, P closed | 504 | prefill-silent     | closed
    DecodeRefuses    | -                        | 503 | decode-refused     | none
    Decode500        | D, P                     | 500 | decode-500         | lease
    Decode503        | D, P                     | 503 | decode-503         | lease
    DecodeHangs      | D, D closed, P           | 504 | decode-silent      | lease
    DecodeBreaks     | D, P                     | 200 | decode-broke       | taken";

/// The prefill engine is the sidecar's.
const LLM_D: &str = "
    None             | D           | 200 | done               | taken
    LeavesInHandOver | D, D closed | 0   | client-gone-decode | closed
    LeavesInDecode   | D, D closed | 0   | client-gone-decode | taken
    DecodeRefuses    | -           | 503 | decode-refused     | none
    Decode500        | D           | 500 | decode-500         | none
    Decode503        | D           | 503 | decode-503         | none
    DecodeHangs      | D, D closed | 504 | decode-silent      | closed
    DecodeBreaks     | D           | 200 | decode-broke       | taken";

fn prefill(fault: Fault) -> Act {
    match fault {
        LeavesInPrefill | PrefillHangs => Act::Hang,
        // Late, so that the decode engine was asked as well where both are.
        Prefill500 => Act::Late(500, "{}".to_owned()),
        Prefill503 => Act::Late(503, "{}".to_owned()),
        _ => Act::Reply(200, HANDED.to_owned()),
    }
}

fn decode(fault: Fault, call: &Call) -> Act {
    if call.body.contains("\"max_tokens\":1,") {
        return Act::Reply(200, "{}".to_owned());
    }
    match fault {
        LeavesInPrefill | LeavesInHandOver | Prefill500 | Prefill503 | PrefillHangs
        | DecodeHangs => Act::Hang,
        LeavesInDecode => Act::Stream(2, Then::Hang),
        DecodeBreaks => Act::Stream(3, Then::Break),
        // Late, so that the prefill engine is done where both work.
        Decode500 => Act::Late(500, "{\"own\":1}".to_owned()),
        Decode503 => Act::Late(503, "{\"own\":1}".to_owned()),
        _ => Act::Stream(3, Then::End),
    }
}

fn check_all(dialect: &str, table: &str) {
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [fault, calls, status, outcome, kv] = cells[..] else {
            panic!("{row}");
        };
        let calls: Vec<&str> = calls.split(", ").filter(|call| *call != "-").collect();
        // An aborted room frees both engines.
        let kv = match (dialect, kv) {
            ("sglang", "lease") => "closed",
            _ => kv,
        };
        let fault = fault.parse().unwrap();
        check(
            dialect,
            fault,
            &calls,
            status.parse().unwrap(),
            (outcome, kv),
        );
    }
}

fn check(dialect: &str, fault: Fault, calls: &[&str], status: u16, (outcome, kv): (&str, &str)) {
    let case = format!("{dialect}, {fault:?}");
    let log = Log::default();
    let p = Engine::start("P", &log, move |_| prefill(fault));
    let d = Engine::start("D", &log, move |call| decode(fault, call));
    let port = |refuses, port| if fault == refuses { nobody() } else { port };
    let (p_port, d_port) = (port(PrefillRefuses, p.port), port(DecodeRefuses, d.port));
    let router = Router::start(&[
        format!("--prefill=http://127.0.0.1:{p_port}#{p_port}"),
        format!("--decode=http://127.0.0.1:{d_port}"),
        format!("--dialect={dialect}"),
    ]);
    let stream = router.ask(BODY);
    if status == 0 {
        // The client leaves when the engines have been asked, and have said what they say.
        let asked: Vec<&str> = calls
            .iter()
            .copied()
            .filter(|call| !call.ends_with("closed"))
            .collect();
        wait_for(&log, &asked);
        if fault == LeavesInDecode {
            let mut begun = [0; 1];
            std::io::Read::read_exact(&mut &stream, &mut begun).unwrap();
        }
        // The prefill engine's reply is noticed.
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(stream);
    } else {
        let reply = read(stream);
        assert_eq!(reply.status, status, "{case}: {reply:?}");
        if fault == DecodeBreaks {
            // Whole events, then the error, and no half of an event.
            assert!(reply.body.contains("{\"token\":2}"), "{case}: {reply:?}");
            assert!(
                reply.body.contains("data: {\"error\":"),
                "{case}: {reply:?}"
            );
            assert!(
                !reply.body.contains("{\"tok\n") && !reply.body.contains("{\"tok\r"),
                "{case}: {reply:?}"
            );
        }
        if matches!(fault, Decode500 | Decode503) {
            assert!(reply.body.contains("{\"own\":1}"), "{case}: {reply:?}");
        }
    }
    wait_for(&log, calls);
    let rows = router.end();
    assert_eq!(rows.len(), 1, "{case}");
    assert_eq!(rows[0]["outcome"], outcome, "{case}: {rows:?}");
    assert_eq!(rows[0]["kv"], kv, "{case}: {rows:?}");
    assert_eq!(
        rows[0]["lease_s"].is_number(),
        kv == "lease",
        "{case}: {rows:?}"
    );
    let mut log = log.lock().unwrap().clone();
    log.sort();
    assert_eq!(log, calls, "{case}");
}

#[test]
fn nixl_and_push_free_what_no_decode_engine_took() {
    check_all("nixl", NIXL);
    check_all("push", NIXL);
}

#[test]
fn mooncake_names_the_lease() {
    check_all("mooncake", MOONCAKE);
    check_all("mooncake-0.13", MOONCAKE);
}

#[test]
fn sglang_closes_both() {
    check_all("sglang", MOONCAKE);
}

#[test]
fn llm_d_closes_the_sidecars_request() {
    check_all("llm-d", LLM_D);
}

#[test]
fn another_engine_is_asked_before_the_first_byte_and_the_prompt_is_computed_once() {
    for dialect in ["nixl", "sglang"] {
        let log = Log::default();
        let p = Engine::start("P", &log, |_| Act::Late(200, HANDED.to_owned()));
        let full = Engine::start("full", &log, |_| Act::Reply(503, "{}".to_owned()));
        let d = Engine::start("D", &log, |_| Act::Stream(1, Then::End));
        let router = Router::start(&[
            format!("--prefill=http://127.0.0.1:{}", nobody()),
            format!("--prefill=http://127.0.0.1:{}", p.port),
            format!("--decode=http://127.0.0.1:{}", full.port),
            format!("--decode=http://127.0.0.1:{}", d.port),
            format!("--dialect={dialect}"),
            "--policy=round-robin".to_owned(),
        ]);
        assert_eq!(router.reply(BODY).status, 200);
        let rows = router.end();
        assert_eq!(rows[0]["outcome"], "done");
        assert_eq!(rows[0]["asked"], 3);
        assert_eq!(
            (p.calls().len(), full.calls().len(), d.calls().len()),
            (1, 1, 1)
        );
        // The second decode engine gets what the first one got.
        assert_eq!(full.calls()[0].body, d.calls()[0].body);
    }
}

#[test]
fn what_cannot_be_split_or_read_is_refused_without_asking_an_engine() {
    let log = Log::default();
    let p = Engine::start("P", &log, |_| Act::Reply(200, "{}".to_owned()));
    let d = Engine::start("D", &log, |_| Act::Stream(1, Then::End));
    let router = Router::start(&[
        format!("--prefill=http://127.0.0.1:{}", p.port),
        format!("--decode=http://127.0.0.1:{}", d.port),
        "--dialect=nixl".to_owned(),
    ]);
    assert_eq!(router.reply("[1]").status, 400);
    assert_eq!(router.reply(r#"{"prompt":"a","n":2}"#).status, 400);
    assert!(log.lock().unwrap().is_empty());
    // A prefill engine that hands over nothing: the decode engine would compute the prompt again.
    assert_eq!(router.reply(BODY).status, 502);
    assert_eq!(*log.lock().unwrap(), ["P"]);
    assert_eq!(router.get("/health").status, 200);
    assert!(router.get("/v1/models").body.contains("\"id\":\"m\""));
    let metrics = router.get("/metrics").body;
    for line in [
        "tplens_route_requests_total{outcome=\"bad-body\"} 1.0",
        "tplens_route_requests_total{outcome=\"cannot-split\"} 1.0",
        "tplens_route_requests_total{outcome=\"no-hand-over\"} 1.0",
        "tplens_route_in_flight 0.0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    router.end();
}

#[test]
fn a_request_that_is_under_way_ends_after_sigterm() {
    let log = Log::default();
    let p = Engine::start("P", &log, |_| Act::Late(200, HANDED.to_owned()));
    let d = Engine::start("D", &log, |_| Act::Stream(3, Then::End));
    let router = Router::start(&[
        format!("--prefill=http://127.0.0.1:{}", p.port),
        format!("--decode=http://127.0.0.1:{}", d.port),
        "--dialect=nixl".to_owned(),
    ]);
    let stream = router.ask(BODY);
    wait_for(&log, &["P"]);
    router.terminate();
    assert!(read(stream).body.contains("[DONE]"));
    assert_eq!(router.end()[0]["outcome"], "done");
}
