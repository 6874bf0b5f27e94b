//! Nothing that a study starts outlives it, however it ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::study::common::{Scratch, can_study, own};

/// A variable that every process below the one that a test starts inherits.
const MARK: &str = "TPLENS_TEST_MARK";

/// How long a test waits for what must happen.
const LIMIT: Duration = Duration::from_secs(100);

/// The running processes that carry a mark.
fn marked(mark: &str) -> Vec<String> {
    let variable = format!("{MARK}={mark}");
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| {
            let folder = entry.ok()?.path();
            // Empty for one that has ended and is not reaped.
            let environment = std::fs::read(folder.join("environ")).ok()?;
            let is_marked = environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == variable.as_bytes());
            let words = std::fs::read(folder.join("cmdline")).ok()?;
            is_marked.then(|| String::from_utf8_lossy(&words).replace('\0', " "))
        })
        .collect()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A watcher over a shell script, once the script has said a line.
fn watching(scratch: &Scratch, mark: &str, script: &str) -> Child {
    let mut command = scratch.program(&["__server", "sh", "-c", script]);
    let mut child = command
        .env(MARK, mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn mark(scratch: &Scratch, name: &str) -> String {
    scratch.join(name).display().to_string()
}

/// Orphans in sessions of their own, one of them two levels down.
const ORPHANS: &str = "setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & exit' & ";

#[test]
fn a_watcher_that_is_asked_to_stop_ends_orphans_in_other_sessions() {
    let scratch = Scratch::new();
    for (name, by_signal) in [("input", false), ("signal", true)] {
        let mark = mark(&scratch, name);
        let script = format!("{ORPHANS} echo ready; wait");
        let mut child = watching(&scratch, &mark, &script);
        let sleeping = || {
            let words = marked(&mark);
            words
                .iter()
                .filter(|word| word.contains("sleep 1000"))
                .count()
        };
        // The script itself says the words, too.
        wait_until("two sleep", || sleeping() >= 3);
        // Waiting for a child closes its input, so it is kept open here.
        let mut input = child.stdin.take();
        if by_signal {
            kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        } else {
            input = None;
        }
        // The shell has ended by SIGTERM: 128 + 15.
        assert_eq!(child.wait().unwrap().code(), Some(143));
        assert_eq!(marked(&mark), [""; 0]);
        drop(input);
    }
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_its_exit_code_kept() {
    let scratch = Scratch::new();
    let mark = mark(&scratch, "left");
    let script = format!("{ORPHANS} echo ready; exit 7");
    let mut child = watching(&scratch, &mark, &script);
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(marked(&mark), [""; 0]);
    drop(input);
}

#[test]
fn a_program_dies_with_a_watcher_that_is_killed() {
    let scratch = Scratch::new();
    let mark = mark(&scratch, "killed");
    let mut child = watching(&scratch, &mark, "echo ready; exec sleep 1000");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("nothing is left", || marked(&mark).is_empty());
}

#[test]
fn no_server_survives_a_study() {
    if !can_study() {
        return;
    }
    for signal in [Signal::KILL, Signal::TERM] {
        let scratch = Scratch::new();
        let mark = mark(&scratch, "study");
        let script = format!(
            "setsid sleep 1000 & setsid {} serve engine --box rtxpro6000-mig --model qwen2.5-72b-fp8 --port {{port}} & wait",
            own()
        );
        let mut study = scratch
            .program(&[
                "study",
                "--sim",
                "rtxpro6000-mig",
                "--model",
                "qwen2.5-72b-fp8",
                "--tp",
                "1",
                "--output-tokens",
                "4096",
                "--out",
                "study",
                "--",
                "sh",
                "-c",
                &script,
            ])
            .env(MARK, &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The load has begun, so the server answers.
        wait_until("a load", || {
            assert!(study.try_wait().unwrap().is_none(), "it ended by itself");
            scratch.join("study/serve-tp1/journal.jsonl").exists()
        });
        kill_process(Pid::from_child(&study), signal).unwrap();
        let code = study.wait().unwrap().code();
        // 128 + 15; none where SIGKILL ended it.
        assert_eq!(code, (signal == Signal::TERM).then_some(143));
        wait_until("nothing is left", || marked(&mark).is_empty());
    }
}
