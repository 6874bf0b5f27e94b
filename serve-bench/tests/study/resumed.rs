//! A study that is broken off and goes on, and command lines that cannot be studied.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::study::common::{Scratch, can_study};

const STUDY: [&str; 13] = [
    "study",
    "--sim",
    "rtxpro6000-mig",
    "--model",
    "qwen2.5-72b-fp8",
    "--requests",
    "32",
    "--input-tokens",
    "16",
    "--output-tokens",
    "8",
    "--out",
    "study",
];

#[test]
fn a_study_that_was_broken_off_goes_on_where_it_was() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let mut broken = scratch
        .program(&STUDY)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Ended as soon as the first step is on the disk and the next has begun.
    let begun = Instant::now();
    while !scratch.join("study/allreduce-tp2/journal.jsonl").exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "the second step never began"
        );
        assert!(broken.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = broken.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert_eq!(broken.wait().unwrap().code(), Some(143));
    let first = std::fs::read(scratch.join("study/links/journal.jsonl")).unwrap();

    let other = scratch.run(&[&STUDY[..], &["--concurrency", "8"]].concat());
    other.expect(2);
    assert!(
        other.stderr.contains("--concurrency 16, not 8"),
        "{}",
        other.stderr
    );

    let ran = scratch.run(&STUDY);
    // On a busy machine the embedded engine plays its steps late, and a curve that does not fit attributes nothing.
    assert!(matches!(ran.code, 0 | 3), "{}\n{}", ran.stderr, ran.stdout);
    assert!(
        ran.stderr.contains("links: measured before"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        std::fs::read(scratch.join("study/links/journal.jsonl")).unwrap(),
        first
    );
    let broken = scratch.join("study/allreduce-tp2.broken-1");
    assert!(
        broken.exists() || !ran.stderr.contains("allreduce-tp2: done"),
        "what was broken off is kept"
    );
}
