//! Runs that a signal ends: what was measured until then is on the disk and loads, and no process is left.

use std::time::{Duration, Instant};

use boxfile::{BoxFile, Fault, HangOp};
use record::{Outcome, Payload, PeerVerdict, Status, load};
use rustix::process::Signal;

use super::common::{HOST, Running, Scratch, gpu, two_gpus, with};
use super::watch::Watch;

/// A worker that is stuck is asked for 1 s, then terminated within 2 s; the rest is for a busy machine.
const SECONDS: Duration = Duration::from_secs(30);

/// A box on which everything is measured up to the local copy of device 0, which never ends.
fn stuck_at_local() -> BoxFile {
    with(Fault::Hang {
        op: HangOp::Local,
        device: Some(0),
        pair: None,
        after_copies: 0,
    })
}

/// Starts a run that stays in the local copy, and waits until it is there.
fn started(scratch: &Scratch) -> Running {
    let more = ["--no-peer", "--deadline", "600"];
    let arguments = scratch.on(&stuck_at_local(), &more);
    let mut running = Running::start(scratch.program(arguments));
    running.until("] local_ce");
    running
}

fn ends_in_good_order(signal: Signal, code: i32, name: &str) {
    let scratch = Scratch::new();
    let running = started(&scratch);
    let asked = Instant::now();
    running.signal(signal);
    let kept = scratch.left(running.end());
    assert!(asked.elapsed() < SECONDS, "{:?}", asked.elapsed());
    assert_eq!(kept.ran.code, code);
    let signal = name.to_owned();
    assert_eq!(kept.record.status, Status::Interrupted { signal });
    // Four host cases on two devices: 8 points, all of them measured.
    assert_eq!(kept.links().points.len(), 8);
    assert_eq!(kept.bad(), []);
    assert!(kept.is_measured("d2h_pageable_ce", gpu(1), HOST));
    let shown = scratch.run(&["show", "out"]);
    assert_eq!((shown.code, shown.stdout), (0, kept.ran.stdout));
}

#[test]
fn ctrl_c_ends_a_run_with_130_and_a_record() {
    ends_in_good_order(Signal::INT, 130, "SIGINT");
}

#[test]
fn a_signal_during_a_peer_probe_ends_a_run_with_a_record_and_is_no_lost_host() {
    let scratch = Scratch::new();
    let hang = Fault::Hang {
        op: HangOp::Peer,
        device: None,
        pair: Some([0, 1]),
        after_copies: 0,
    };
    let arguments = scratch.on(&with(hang), &["--deadline", "600"]);
    let mut watch = Watch::on(scratch.join("out"));
    let running = Running::start(scratch.program(arguments));
    watch.until("\"intent\"");
    running.signal(Signal::INT);
    let kept = scratch.left(running.end());
    assert_eq!(kept.ran.code, 130);
    assert!(kept.links().points.is_empty());
    // The pair whose probe was under way is named.
    assert_eq!(kept.links().pending, [(0, 1)]);

    // The machine boots later, for reasons of its own.
    super::peers::boots(&scratch);
    std::fs::remove_dir_all(scratch.join("out")).unwrap();
    let kept = scratch.soft(&two_gpus(), &["--cases", "d2d_write_ce"]);
    assert_eq!(kept.probe(0, 1).verdict, PeerVerdict::Direct);
}

#[test]
fn a_second_ctrl_c_ends_it_at_once_and_the_journal_loads() {
    let scratch = Scratch::new();
    let running = started(&scratch);
    running.signal(Signal::INT);
    // Equal signals that are pending become one, so the second goes out when the first was taken: the worker's input
    // is closed then, and it has a second to end before it is terminated.
    running.signal_until_ended(Signal::INT);
    let ran = running.end();
    assert_eq!(ran.code, 130);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    scratch.nobody_is_left();
    let Payload::Links(links) = load(&scratch.join("out/journal.jsonl")).unwrap().payload else {
        panic!("not links");
    };
    assert_eq!(links.points.len(), 8);
}

/// Kills a run when its journal holds this, and returns how many points are on the disk then.
fn killed_at(described: &BoxFile, more: &[&str], journal: &str) -> usize {
    let scratch = Scratch::new();
    let mut watch = Watch::on(scratch.join("out"));
    let running = Running::start(scratch.program(scratch.on(described, more)));
    watch.until(journal);
    running.signal(Signal::KILL);
    let ran = running.end();
    assert_eq!(ran.code, 128 + 9, "{}", ran.stderr);
    scratch.nobody_is_left();
    let shown = scratch.run(&["show", "out"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    let record = load(&scratch.join("out")).unwrap();
    assert_eq!(record.status, Status::Broken);
    let Payload::Links(links) = record.payload else {
        panic!("not links");
    };
    let measured = |outcome: &Outcome| matches!(outcome, Outcome::Measured { .. });
    assert!(links.points.iter().all(|point| measured(&point.outcome)));
    links.points.len()
}

#[test]
fn a_run_that_is_killed_leaves_what_it_had_measured() {
    let stuck = stuck_at_local();
    let more = ["--no-peer", "--deadline", "600"];
    // The header only, or a little more; one point or a few more; all eight before the copy that never ends.
    assert!(killed_at(&stuck, &more, "\"header\"") <= 8);
    let some = killed_at(&stuck, &more, "h2d_pinned_ce");
    assert!((1..=8).contains(&some), "{some}");
    let all = "\"case\":\"d2h_pageable_ce\",\"from\":{\"device\":1},\"to\":\"host\"";
    assert_eq!(killed_at(&stuck, &more, all), 8);
}
