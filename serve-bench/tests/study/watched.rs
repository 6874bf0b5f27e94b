//! Nothing that a study starts outlives it, however it ends.

use std::process::Stdio;
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

fn mark(scratch: &Scratch, name: &str) -> String {
    scratch.join(name).display().to_string()
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
        let line = "study --sim rtxpro6000-mig --model qwen2.5-72b-fp8 --tp 1 --output-tokens 4096 --out study";
        let line: Vec<&str> = line.split(' ').collect();
        let mut study = scratch
            .program(&[&line[..], &["--", "sh", "-c", &script]].concat())
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
