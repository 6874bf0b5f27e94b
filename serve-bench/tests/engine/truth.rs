//! The engine's own log against what the load generator reports: the truth is never later than what the client saw.

use std::collections::BTreeMap;

use measure::record::ServeRequest;
use serde_json::Value;

use crate::engine::common::{Ran, Scratch};
use crate::engine::served::{Served, log};

/// What nothing here takes beyond the truth, also on a busy machine, ms.
const LONG_MS: f64 = 20_000.0;

/// The clocks' noise: the kernel's stamp is on another clock than the engine's, ms.
const NOISE_MS: f64 = 1.0;

/// Twelve prompts of 20 to 31 words, so that a request's prompt tells which it is; nine tokens each, four in flight where two
/// may run.
fn run(engine: &Served, scratch: &Scratch, more: &[&str]) -> Ran {
    let lines: String = (20..32)
        .map(|words| format!("{{\"prompt\":\"{}\"}}\n", vec!["w"; words].join(" ")))
        .collect();
    let file = scratch.join("prompts.jsonl");
    std::fs::write(&file, lines).unwrap();
    let arguments = [
        "run",
        "--base-url",
        &engine.url,
        "--out",
        "out",
        "--dataset-name",
        "custom",
        "--dataset-path",
        file.to_str().unwrap(),
        "--custom-output-len",
        "9",
        "--num-prompts",
        "12",
        "--num-warmups",
        "0",
        "--max-concurrency",
        "4",
        "--request-log",
        "requests.jsonl",
    ];
    let output = scratch.program(&[&arguments[..], more].concat()).output();
    Ran::of(output.unwrap(), &scratch.join("out"))
}

fn ns(line: &Value, clock: &str, instant: &str) -> f64 {
    let of = line[clock][instant].as_f64();
    of.unwrap_or_else(|| panic!("no {clock}.{instant} in {line}"))
}

/// Milliseconds between two instants of one line.
fn between(line: &Value, clock: &str, from: &str, to: &str) -> f64 {
    (ns(line, clock, to) - ns(line, clock, from)) / 1e6
}

#[test]
fn the_client_sees_no_token_before_it_was_there() {
    for more in [
        &[][..],
        // The role comes at once, and is no token.
        &["--endpoint", "chat"],
    ] {
        let scratch = Scratch::new();
        let file = scratch.join("log.jsonl");
        let engine = Served::start(
            1,
            &[
                "--early-role",
                "--max-num-seqs",
                "2",
                "--log",
                file.to_str().unwrap(),
            ],
        );
        let ran = run(&engine, &scratch, more);
        // A busy machine may make a run invalid; no request fails.
        assert!([0, 3].contains(&ran.code), "{}", ran.stderr);
        engine.end();
        let lines = log(&file);
        let truth: BTreeMap<u64, &Value> = lines
            .iter()
            .map(|line| (line["prompt_tokens"].as_u64().unwrap(), line))
            .collect();
        let text = std::fs::read_to_string(scratch.join("requests.jsonl")).unwrap();
        let requests: Vec<ServeRequest> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!((requests.len(), truth.len()), (12, 12));
        for request in &requests {
            let line = truth[&u64::from(request.input_tokens.unwrap())];
            assert_eq!(line["end"], "finished");
            assert_eq!(line["tokens"], request.output_tokens.unwrap());
            assert_eq!(line["asked_tokens"], 9);
            let seen = |to: f64| to - request.sent_ms;
            let [first, .., last] = request.token_chunks_ms[..] else {
                panic!("{request:?}")
            };
            for (seen, true_ms) in [
                (
                    seen(first),
                    between(line, "wall_ns", "arrival", "first_token"),
                ),
                (
                    seen(last),
                    between(line, "wall_ns", "arrival", "last_token"),
                ),
            ] {
                assert!(
                    seen >= true_ms - NOISE_MS && seen <= true_ms + LONG_MS,
                    "{seen} ms seen, {true_ms} ms true: {request:?} {line}"
                );
            }
            // At the box's own speed wall time is never ahead of virtual time, which starts with the scheduler's note.
            let virtually = between(line, "virtual_ns", "arrival", "first_token");
            let wall = between(line, "wall_ns", "arrival", "first_token");
            assert!(virtually <= wall + NOISE_MS, "{line}");
            let queued = line["queued_ns"].as_f64().unwrap() / 1e6;
            let waited = between(line, "virtual_ns", "arrival", "admitted");
            assert!((queued - waited).abs() < 1e-6, "{line}");
            assert!(waited <= virtually, "{line}");
        }
        // Four in flight and two places: some waited for a whole request of nine steps, which take above 10 ms each.
        let longest = lines
            .iter()
            .filter_map(|line| line["queued_ns"].as_f64())
            .fold(0.0, f64::max);
        assert!(longest / 1e6 > 50.0, "{longest}");
    }
}

#[test]
fn instants_are_those_of_the_clock_that_all_processes_share() {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let scratch = Scratch::new();
    let file = scratch.join("log.jsonl");
    let engine = Served::start(100, &["--log", file.to_str().unwrap()]);
    let before = now();
    engine.post("/v1/completions", r#"{"prompt":"a b","max_tokens":3}"#);
    let after = now();
    engine.end();
    let lines = log(&file);
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    let order = [
        before,
        ns(line, "wall_ns", "arrival"),
        ns(line, "wall_ns", "admitted"),
        ns(line, "wall_ns", "first_token"),
        ns(line, "wall_ns", "last_token"),
        after,
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(
        (&line["prompt_tokens"], &line["tokens"]),
        (&2.into(), &3.into())
    );
    assert_eq!(line["reply"], "cmpl-0000000000000000");
}
