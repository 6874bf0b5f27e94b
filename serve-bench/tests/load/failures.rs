//! Each way in which a request or a whole run fails, and how it is reported.

use std::process::Stdio;

use record::{RequestErrorKind as Kind, Status};
use rustix::process::{Pid, Signal, kill_process};

use crate::load::common::{Ran, Scratch};
use crate::load::mock::{Manner, Mock, Step, end, event, good, head, part, text, whole};

/// What the server does.
type Steps = fn() -> Vec<Step>;

/// A server whose second request comes to the given steps; the first one is well answered.
fn second(steps: Steps) -> Mock {
    Mock::playing(move |asked| if asked.number == 1 { steps() } else { good() })
}

#[test]
fn kinds_of_failure_are_told_apart_and_the_rest_is_kept() {
    let cases: [(Steps, Kind, &str); 3] = [
        (
            || vec![whole("500 Internal Server Error", "oops")],
            Kind::Status,
            "500 Internal Server Error: oops",
        ),
        (
            || {
                let error = event(r#"{"error":{"message":"engine died","code":500}}"#);
                vec![head(), part(text("a")), part(error), end()]
            },
            Kind::InStream,
            "engine died",
        ),
        (
            || vec![head(), part(text("a")), Step::Close],
            Kind::CutShort,
            "",
        ),
    ];
    for (steps, kind, says) in cases {
        let mock = second(steps);
        let scratch = Scratch::new();
        let ran = scratch.run(&mock.url, &["--requests", "3"]);
        ran.expect(3);
        assert_eq!(ran.kinds(), [None, Some(kind), None], "{}", ran.stderr);
        let error = ran.serve().requests[1].error.clone().unwrap();
        assert!(error.seen.contains(says), "{}", error.seen);
        let summary = ran.serve().summary.as_ref().unwrap();
        assert_eq!((summary.completed, summary.failed), (2, 1));
        assert_eq!(summary.failures, [(kind, 1)]);
        assert!(ran.caveats().contains("requests-failed"));
    }
}

#[test]
fn a_reply_that_stalls_is_timed_out() {
    let mock = second(|| vec![head(), part(text("a")), Step::Stall]);
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--timeout", "0.75", "--requests", "3"]);
    ran.expect(3);
    // The two others may time out as well where the machine stands still for so long; the second must.
    assert_eq!(ran.kinds()[1], Some(Kind::TimedOut));
    let request = &ran.serve().requests[1];
    assert!(request.ended_ms - request.sent_ms >= 700.0, "{request:?}");
    assert!(request.error.as_ref().unwrap().seen.contains("0.75 s"));
}

#[test]
fn where_all_warm_ups_fail_nothing_is_measured() {
    let mock = Mock::playing(|_| vec![whole("404 Not Found", "no such model")]);
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &["--warmups", "2"]);
    ran.expect(3);
    let reason = "2 of 2 requests: HTTP status (404 Not Found: no such model)";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    assert!(
        matches!(&ran.record().status, Status::Refused { reason: said } if said.contains(reason))
    );
    assert_eq!(mock.asked().len(), 2);
    // Without a warm-up each is a failed request, and there is no number.
    let ran = Scratch::new().run(&mock.url, &[]);
    ran.expect(3);
    assert_eq!(ran.kinds(), [Some(Kind::Status); 2]);
    assert_eq!(ran.serve().summary, None);
}

#[test]
fn a_server_that_names_no_model_needs_one_named() {
    let mock = Mock::start(Manner {
        models: None,
        ..Manner::of(|_| good())
    });
    let scratch = Scratch::new();
    let ran = scratch.run(&mock.url, &[]);
    ran.expect(2);
    assert!(
        ran.stderr.contains("404 Not Found); give --model"),
        "{}",
        ran.stderr
    );
    let ran = scratch.run(&mock.url, &["--model", "named"]);
    ran.expect(0);
    assert_eq!(mock.asked()[0].body["model"], "named");
}

#[test]
fn an_interrupt_drops_what_is_in_flight_and_keeps_what_ended() {
    let mock = Mock::playing(|asked| match asked.number {
        0 | 1 => good(),
        _ => vec![head(), part(text("a")), Step::Stall],
    });
    let scratch = Scratch::new();
    let more = [
        "--requests",
        "9",
        "--save-result",
        "--result-filename",
        "v.json",
    ];
    let mut command = scratch.load(&mock.url, &more);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    mock.wait_for(2);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap(), &scratch.join("out"));
    ran.expect(130);
    assert_eq!(ran.kinds(), [None, None]);
    assert!(matches!(&ran.record().status, Status::Interrupted { signal } if signal == "SIGINT"));
    assert_eq!(ran.serve().summary, None);
    let shown = scratch.program(&["show", "out"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0));
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("2 of 9 requests"), "{shown}");
    assert!(!scratch.join("v.json").exists());
}
