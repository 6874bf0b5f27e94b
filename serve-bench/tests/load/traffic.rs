//! When requests are sent: all at once, at a rate, with a limit, until a time; and that a seed gives the same load again.

use std::sync::{Arc, Barrier};

use record::{Arrivals, ServeRequest};
use serde_json::Value;

use crate::load::common::{Ran, Scratch};
use crate::load::mock::{Mock, Step, good};

/// A run with these flags and a little of everything else.
fn run(scratch: &Scratch, mock: &Mock, more: &str) -> Ran {
    let few = "--out out --num-warmups 0 --random-input-len 8 --random-output-len 2";
    let flags = few.split_whitespace().chain(more.split_whitespace());
    let words = ["run", "--base-url", &mock.url].into_iter().chain(flags);
    let output = scratch.program(&words.collect::<Vec<&str>>()).output();
    Ran::of(output.unwrap(), &scratch.join("out"))
}

fn by_id(ran: &Ran) -> Vec<ServeRequest> {
    let mut requests = ran.serve().requests.clone();
    requests.sort_by_key(|request| request.id);
    requests
}

#[test]
fn without_rate_and_limit_all_are_in_flight_at_once() {
    let all = Arc::new(Barrier::new(6));
    // No reply begins before all six requests are there.
    let mock = Mock::playing(move |_| [vec![Step::Meet(Arc::clone(&all))], good()].concat());
    let scratch = Scratch::new();
    let ran = run(&scratch, &mock, "--num-prompts 6");
    ran.expect(0);
    let load = ran.serve().load.clone().unwrap();
    assert_eq!(
        (load.arrivals, load.concurrency),
        (Arrivals::AllAtOnce, None)
    );
    assert_eq!(
        ran.serve().summary.as_ref().unwrap().peak_in_flight,
        Some(6)
    );
    assert!(by_id(&ran).iter().all(|r| r.intended_ms == Some(0.0)));
}

#[test]
fn the_same_seed_asks_the_same_at_the_same_instants() {
    let asked = |seed: &str| {
        let mock = Mock::playing(|_| good());
        let scratch = Scratch::new();
        let more = format!(
            "--num-prompts 20 --request-rate 2000 --burstiness 0.5 --random-range-ratio 0.5 --seed {seed}"
        );
        let ran = run(&scratch, &mock, &more);
        // Lengths vary from 1 to 3 and the server always gives 2.
        assert!(ran.code == 0 || ran.code == 3, "{}", ran.stderr);
        let mut bodies: Vec<String> = mock.asked().iter().map(|a| a.body.to_string()).collect();
        bodies.sort();
        let instants: Vec<Option<f64>> = by_id(&ran).iter().map(|r| r.intended_ms).collect();
        (bodies, instants)
    };
    let (one, again, other) = (asked("7"), asked("7"), asked("8"));
    assert_eq!(one, again);
    assert_ne!(one.0, other.0);
    assert_ne!(one.1, other.1);
    // 20 at 2000 a second: the last after 10 ms.
    assert_eq!(one.1.last().unwrap().map(f64::round), Some(10.0));
    let lengths = |bodies: &[String], key: &str| {
        let of = |body: &String| serde_json::from_str::<Value>(body).unwrap()[key].clone();
        bodies.iter().map(of).collect::<Vec<_>>()
    };
    let outputs: Vec<u64> = lengths(&one.0, "max_tokens")
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    // 2 x 0.5 = 1 to 2 x 1.5 = 3; prompts of 8: 4 to 12 words.
    assert!(outputs.iter().all(|n| (1..=3).contains(n)), "{outputs:?}");
    for prompt in lengths(&one.0, "prompt") {
        let words = prompt.as_str().unwrap().split(' ').count();
        assert!((4..=12).contains(&words), "{words}");
    }
}

#[test]
fn a_limit_makes_a_queue_and_thins_nothing() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    // All are due within 3 ms, one at a time.
    let more = "--num-prompts 30 --request-rate 10000 --max-concurrency 1";
    let ran = run(&scratch, &mock, more);
    assert_eq!(mock.asked().len(), 30);
    assert_eq!(mock.most_in_flight(), 1);
    let summary = ran.serve().summary.clone().unwrap();
    assert_eq!((summary.completed, summary.peak_in_flight), (30, Some(1)));
    let queue = summary.queue_ms.unwrap();
    assert_eq!(queue.n, 30);
    // Each waits for those before it: from the intended instant it takes longer than from sending.
    let (open, closed) = (summary.e2el_intended_ms.unwrap(), summary.e2el_ms.unwrap());
    assert!((open.mean - closed.mean - queue.mean).abs() < 1e-6);
    let client = ran.serve().client.clone().unwrap();
    assert!(client.largest_backlog.is_some());
    for request in by_id(&ran) {
        assert!(
            request.sent_ms >= request.intended_ms.unwrap(),
            "{request:?}"
        );
    }
}

#[test]
fn a_time_ends_a_closed_loop() {
    let mock = Mock::playing(|_| good());
    let scratch = Scratch::new();
    let more = "--duration 0.2 --max-concurrency 2";
    let ran = run(&scratch, &mock, more);
    ran.expect(0);
    let requests = by_id(&ran);
    assert!(requests.len() >= 2, "{}", requests.len());
    // Looked at before each request is taken, so a request may be sent a hair later than it was taken.
    let load = ran.serve().load.clone().unwrap();
    assert_eq!(load.duration_s, Some(0.2));
}

#[test]
fn a_simulator_is_started_where_it_is_asked_for_and_marked() {
    let scratch = Scratch::new();
    let words = [
        "run",
        "--sim",
        "rtxpro6000-mig",
        "--num-prompts",
        "4",
        "--max-concurrency",
        "2",
        "--num-warmups",
        "0",
        "--input-len",
        "8",
        "--output-len",
        "4",
        "--out",
        "out",
    ];
    let ran = Ran::of(
        scratch.program(&words).output().unwrap(),
        &scratch.join("out"),
    );
    // A busy machine may starve it, which is told and not asserted.
    assert!(ran.code == 0 || ran.code == 3, "{}", ran.stderr);
    assert_eq!(ran.serve().summary.as_ref().unwrap().completed, 4);
    let simulated = ran.record().header.simulated.as_ref().unwrap();
    assert_eq!(simulated.box_name, "rtxpro6000-mig");
    assert!(ran.stdout.contains("SIMULATED"), "{}", ran.stdout);
    let output = scratch
        .program(&["run", "--sim", "no-such-box", "--out", "other"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("--sim no-such-box") && said.contains("--box"),
        "{said}"
    );
}
