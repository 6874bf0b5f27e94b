//! Runs through real processes: killed and resumed, two in one folder, a server that is started once, a step that hangs.
//!
//! The test program is the program of every step and the server, too, so it has a main function of its own.
#![expect(clippy::unwrap_used, reason = "helpers of tests and played programs")]
#![expect(clippy::print_stdout, reason = "what a test harness lists")]

mod roles;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use runner::run::{Leaves, Needs, Progress, Run, RunError, Step, URL};
use runner::server::ServerSpec;
use runner::{Interrupt, child};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let first = words.first().map_or("", String::as_str);
    if let Some(code) = child::hidden(first, std::env::args_os().skip(2)) {
        return ExitCode::from(code.unwrap());
    }
    if first == "play" {
        return ExitCode::from(roles::play(&words[1..]));
    }
    // What nextest and cargo ask of a program that is its own harness.
    if words.iter().any(|word| word == "--list") {
        if !words.iter().any(|word| word == "--ignored") {
            println!("runs: test");
        }
        return ExitCode::SUCCESS;
    }
    a_run_that_was_killed_resumes_where_it_was();
    a_server_is_started_once_and_ended_with_its_children();
    a_step_that_hangs_is_ended_within_ten_seconds_of_its_deadline();
    ExitCode::SUCCESS
}

/// A folder for one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("runner-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The processes that wrote their ids into a file.
    fn pids(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_running(pid: &String) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

/// A step that plays a role; `{url}` and `--out` come after its own words.
fn step(name: &str, words: &[&str], leaves: Leaves) -> Step {
    Step {
        name: name.to_owned(),
        about: name.to_owned(),
        command: "play",
        arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        environment: Vec::new(),
        needs: None,
        leaves,
        seconds: 1.0,
        deadline: LONG,
    }
}

/// Two steps, of which the second waits until a file is there.
fn steps(gate: &Path) -> [Step; 2] {
    let gate = gate.display().to_string();
    [
        step("one", &["record"], Leaves::Record),
        step("two", &["record-after", &gate], Leaves::Record),
    ]
}

/// What a run told, by step.
fn told(folder: &Path, steps: &[Step], number: u32) -> Result<Vec<String>, RunError> {
    let told = RefCell::new(Vec::new());
    let tell = |progress: &Progress<'_>| {
        told.borrow_mut().push(match progress {
            Progress::Resumed { .. } => "resumed".to_owned(),
            Progress::Done { step } => format!("{step} done before"),
            Progress::SetAside { step, .. } => format!("{step} set aside"),
            Progress::Begins {
                step, number, of, ..
            } => format!("{step} begins {number}/{of}"),
            Progress::Ended { step, code, .. } => format!("{step} ended {code}"),
            other => format!("{other:?}"),
        });
    };
    let settings = serde_json::json!({"input_tokens": number});
    let interrupt = Interrupt::none();
    let mut run = Run::open(folder, ("a test", "test.json"), &settings, &interrupt, tell)?;
    run.expect(steps);
    run.all(steps)?;
    drop(run);
    Ok(told.into_inner())
}

fn a_run_that_was_killed_resumes_where_it_was() {
    let scratch = Scratch::new("killed");
    let (folder, gate) = (scratch.join("run"), scratch.join("gate"));
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args(["play", "run"])
        .args([&folder, &gate])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the second step", || {
        folder.join("two/journal.jsonl").exists()
    });
    let first = std::fs::read(folder.join("one/journal.jsonl")).unwrap();
    // Beside a run that is alive another one is refused, with its number.
    match told(&folder, &[], 1) {
        Err(RunError::Busy { pid, .. }) => assert_eq!(pid, killed.id()),
        other => panic!("{other:?}"),
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::fs::write(&gate, "").unwrap();
    let Err(RunError::Differs { flag, .. }) = told(&folder, &[], 2) else {
        panic!("other settings were taken");
    };
    assert_eq!(flag, "--input-tokens");
    let lines = told(&folder, &steps(&gate), 1).unwrap();
    let lines: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.starts_with("Waiting"))
        .collect();
    // What the killed run's program still wrote decides whether its step is done again.
    match lines[..] {
        [
            "resumed",
            "one done before",
            "two set aside",
            "two begins 2/2",
            "two ended 0",
        ]
        | ["resumed", "one done before", "two done before"] => {}
        _ => panic!("{lines:?}"),
    }
    assert_eq!(
        std::fs::read(folder.join("one/journal.jsonl")).unwrap(),
        first
    );
    let log = std::fs::read_to_string(folder.join("one.log")).unwrap();
    assert_eq!(log, "measured\n");
}

fn a_server_is_started_once_and_ended_with_its_children() {
    let scratch = Scratch::new("served");
    let (folder, pids) = (scratch.join("run"), scratch.join("pids"));
    let own = std::env::current_exe().unwrap().display().to_string();
    let file = pids.display().to_string();
    let server = ServerSpec {
        name: "server".to_owned(),
        words: [&*own, "play", "serve", "{port}", &*file]
            .map(str::to_owned)
            .to_vec(),
        environment: Vec::new(),
        port: None,
        log: scratch.join("server.log"),
        ready: LONG,
    };
    let load = |name: &str| Step {
        needs: Some(Needs::Started(server.clone())),
        ..step(name, &["load", URL], Leaves::Own("answered"))
    };
    told(&folder, &[load("one"), load("two")], 1).unwrap();
    let answers = ["one", "two"].map(|name| folder.join(name).join("answered"));
    let answers = answers.map(|file| std::fs::read_to_string(file).unwrap());
    assert_eq!(answers, ["true", "true"]);
    // The server and its child, once.
    let started = scratch.pids("pids");
    assert_eq!(started.len(), 2, "{started:?}");
    assert!(!started.iter().any(is_running), "{started:?}");
}

fn a_step_that_hangs_is_ended_within_ten_seconds_of_its_deadline() {
    let scratch = Scratch::new("hangs");
    let (folder, pids) = (scratch.join("run"), scratch.join("pids"));
    let file = pids.display().to_string();
    let deadline = Duration::from_secs(1);
    let hangs = Step {
        deadline,
        ..step("one", &["hang", &file], Leaves::Record)
    };
    let begun = Instant::now();
    let Err(RunError::Stalled { step, silence, .. }) = told(&folder, &[hangs], 1) else {
        panic!("a step that hangs ended");
    };
    let took = begun.elapsed();
    assert_eq!(step, "one");
    // On a machine whose CPUs others have it is waited for a minute more.
    assert!(took < silence.waited + Duration::from_secs(10), "{took:?}");
    let started = scratch.pids("pids");
    assert_eq!(started.len(), 2, "{started:?}");
    assert!(!started.iter().any(is_running), "{started:?}");
}
