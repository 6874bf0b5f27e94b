//! Runs that are broken off: by signals, by a kill at any moment, by a disk that takes nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Ran, Scratch, can_run, checks};

/// Waits until a journal holds a line that begins so.
fn wait_for(journal: &Path, begins: &str) {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(journal).unwrap_or_default();
        if text.lines().any(|line| line.starts_with(begins)) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "no {begins} in {text}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command line of a run on the box of these tests, in this folder.
fn on<'a>(how: &'a str, out: &'a str) -> Vec<&'a str> {
    [
        "run",
        "--profile",
        "profile.toml",
        "--sim",
        "box.toml",
        how,
        out,
    ]
    .to_vec()
}

#[test]
fn a_signal_ends_in_a_valid_report_and_a_kill_at_any_moment_is_gone_on_with_to_the_same_verdict() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    scratch.run(&on("--out", "whole")).expect(0);
    let whole = checks(&scratch.json("whole/report.json"));
    // In the middle of a step, and right behind one.
    for (number, begins) in [r#"{"before""#, r#"{"step":{"group":"host_links""#]
        .iter()
        .enumerate()
    {
        let out = format!("killed-{number}");
        let mut child = scratch
            .program(&on("--out", &out))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&scratch.join(&out).join("journal.jsonl"), begins);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!scratch.join(&out).join("report.json").exists());
        // What the journal holds can be shown, and is not accepted.
        let shown = scratch.run(&["report", &out, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&shown.expect(0).stdout).unwrap();
        assert_eq!(
            (&report["status"]["state"], &report["verdict"]),
            (&"broken".into(), &"inconclusive".into())
        );
        scratch.run(&on("--resume", &out)).expect(0);
        let report = scratch.json(&format!("{out}/report.json"));
        let gone_on = checks(&report);
        assert_eq!(
            whole.keys().collect::<Vec<_>>(),
            gone_on.keys().collect::<Vec<_>>()
        );
        assert_eq!(report["status"]["state"], "complete");
        // Another profile, other devices: both are named.
        let other = scratch.run(&[&on("--resume", &out)[..], &["--gpus", "0"]].concat());
        // This run is complete, so that there is nothing to go on with.
        assert!(
            other.stderr.contains("nothing to go on with"),
            "{}",
            other.stderr
        );
    }
    let mut child = scratch
        .program(&on("--out", "told"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&scratch.join("told/journal.jsonl"), r#"{"before""#);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let report = scratch.json("told/report.json");
    assert_eq!(report["status"]["signal"], "SIGTERM");
    assert_eq!(
        (&report["verdict"], &report["exit_code"]),
        (&"inconclusive".into(), &143.into())
    );
    let other = scratch.run(&[&on("--resume", "told")[..], &["--gpus", "0"]].concat());
    other.expect(2);
    assert!(
        other.stderr.contains("the devices") && other.stderr.contains("--gpus"),
        "{}",
        other.stderr
    );
    scratch.run(&on("--resume", "told")).expect(0);
    assert_eq!(
        scratch.json("told/report.json")["status"]["state"],
        "complete"
    );
}

#[test]
fn a_journal_that_is_cut_at_any_byte_is_read_or_says_that_it_begins_with_nothing() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let (described, profile) = scratch.two(vec![]);
    scratch
        .run(&[
            "run",
            "--profile",
            &profile,
            "--sim",
            &described,
            "--out",
            "out",
            "--budget",
            "10s",
        ])
        .expect(3);
    let whole = std::fs::read(scratch.join("out/journal.jsonl")).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
    std::fs::create_dir(scratch.join("cut")).unwrap();
    // Around each line's end, where a cut matters, and in the middle of the first and the last line.
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    let cuts = [
        0,
        1,
        first / 2,
        first,
        first + 1,
        whole.len() - 3,
        ends[1] + 7,
        ends[ends.len() / 2],
    ];
    for cut in cuts {
        std::fs::write(scratch.join("cut/journal.jsonl"), &whole[..cut]).unwrap();
        let shown = scratch.run(&["report", "cut", "--json"]);
        if cut <= first {
            shown.expect(2);
            assert!(
                shown.stderr.contains("has no first line"),
                "{}",
                shown.stderr
            );
        } else {
            let report: serde_json::Value = serde_json::from_str(&shown.expect(0).stdout).unwrap();
            assert_eq!(report["verdict"], "inconclusive");
        }
    }
}

#[test]
fn a_standard_output_that_takes_nothing_is_told_once_and_the_report_stands() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let (described, profile) = scratch.two(vec![]);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = scratch.program(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "out",
        "--budget",
        "10s",
        "--json",
    ]);
    let mut child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_eq!(scratch.json("out/report.json")["verdict"], "inconclusive");
    let ran = Ran::of(&mut scratch.program(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "page",
        "--budget",
        "10s",
        "--html",
        "/dev/full",
    ]));
    ran.expect(4);
    assert_eq!(
        ran.stderr.matches("No space left").count(),
        1,
        "{}",
        ran.stderr
    );
}
