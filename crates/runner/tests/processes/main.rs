//! Real worker processes: messages, silence, crashes, stubborn children, and what is left after a kill.
//!
//! The test program starts itself again in a role (see `roles`). No test needs a device or waits by sleeping.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests and played workers"
)]

mod roles;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runner::{Ending, Event, Interrupt, Ladder, Signal, Worker, WorkerError, WorkerSpec, child};
use rustix::process::{Pid, Signal as ProcessSignal, kill_process};

const ROLE: &str = "RUNNER_TEST_ROLE";
const ADDRESS: &str = "RUNNER_TEST_ADDRESS";
/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

/// Plays the role that the environment names; without one it is a test that has nothing to do.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let code = roles::play(&role);
    std::process::exit(code);
}

fn spec(role: &str) -> WorkerSpec {
    let mut spec = WorkerSpec::this_program(role, ["--exact", "role", "--nocapture"]).unwrap();
    spec.environment.push((ROLE.into(), role.into()));
    spec
}

fn start(role: &str) -> Worker {
    Worker::spawn(spec(role)).unwrap()
}

fn message(worker: &mut Worker) -> String {
    match worker.next::<String>(LONG, &Interrupt::none()) {
        Event::Message(text) => text,
        other => panic!("{other:?}; {}", worker.tail()),
    }
}

/// Waits for the worker's exit and returns its code, where it has one.
fn exit_code(worker: &mut Worker) -> Option<i32> {
    match worker.next::<String>(LONG, &Interrupt::none()) {
        Event::Exited(status) => status.code(),
        other => panic!("{other:?}; {}", worker.tail()),
    }
}

#[test]
fn messages_go_both_ways_and_the_end_of_input_ends_the_worker() {
    let mut worker = start("echo");
    let long = "x".repeat(300_000); // More than a pipe holds (64 KiB).
    for text in ["one", "two\u{1e}\n", &long] {
        worker.send(&text).unwrap();
        assert_eq!(message(&mut worker), text.to_uppercase());
    }
    let Ending::Exited(status) = worker.end(Ladder {
        abort: LONG,
        ..Ladder::default()
    }) else {
        panic!("not exited")
    };
    assert_eq!(status.code(), Some(7));
    // An exit stays visible, and there is nobody left to send to.
    assert_eq!(exit_code(&mut worker), Some(7));
    assert!(matches!(
        worker.send(&"late"),
        Err(WorkerError::Gone { .. })
    ));
}

#[test]
fn noise_is_told_from_messages_and_kept() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let mut spec = spec("noisy");
    spec.noise = Some(Arc::new(move |line: &str| {
        sink.lock().unwrap().push(line.to_owned())
    }));
    let mut worker = Worker::spawn(spec).unwrap();
    assert_eq!(message(&mut worker), "message");
    match worker.next::<String>(LONG, &Interrupt::none()) {
        Event::Garbled { line, .. } => assert_eq!(line, "no json"),
        other => panic!("{other:?}"),
    }
    assert_eq!(exit_code(&mut worker), Some(0));
    for line in ["NCCL INFO one", "NCCL INFO two ", "warning three"] {
        assert!(
            worker.tail().contains(&format!("{line}\n")),
            "{line} not in {}",
            worker.tail()
        );
        assert!(
            seen.lock().unwrap().iter().any(|seen| seen == line),
            "{line} was not passed on"
        );
    }
}

#[test]
fn a_worker_that_prints_much_never_blocks() {
    let mut worker = start("flood");
    assert_eq!(message(&mut worker), "done");
    assert_eq!(exit_code(&mut worker), Some(0));
    assert_eq!(worker.tail().len(), runner::TAIL_BYTES);
}

#[test]
fn a_panicking_sink_does_not_blind_the_parent() {
    let mut spec = spec("noisy");
    spec.noise = Some(Arc::new(|_: &str| panic!("standard error is closed")));
    let mut worker = Worker::spawn(spec).unwrap();
    assert_eq!(message(&mut worker), "message");
    assert!(matches!(
        worker.next::<String>(LONG, &Interrupt::none()),
        Event::Garbled { .. }
    ));
    assert_eq!(exit_code(&mut worker), Some(0));
}

#[test]
fn a_silent_worker_is_told_after_the_deadline_and_ends_when_asked() {
    let mut worker = start("until asked");
    match worker.next::<String>(SHORT, &Interrupt::none()) {
        Event::Silent { waited } => assert!(waited >= SHORT),
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(worker.end(Ladder { abort: LONG, ..Ladder::default() }), Ending::Exited(status) if status.success())
    );
}

#[test]
fn a_worker_that_was_stopped_and_goes_on_is_told_once() {
    let mut worker = start("echo");
    worker.send(&"there").unwrap();
    message(&mut worker);
    assert!(!worker.was_resumed());
    let pid = Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap();
    let stat = format!("/proc/{}/stat", worker.id());
    let until = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < LONG, "not so: {what}");
            std::thread::sleep(SHORT);
        }
    };
    kill_process(pid, ProcessSignal::STOP).unwrap();
    until("it stands still", &mut || {
        std::fs::read_to_string(&stat).unwrap().contains(") T ")
    });
    // It has not gone on yet.
    assert!(!worker.was_resumed());
    kill_process(pid, ProcessSignal::CONT).unwrap();
    until("it went on", &mut || worker.was_resumed());
    assert!(!worker.was_resumed());
    // A worker that runs is not stopped by SIGCONT.
    kill_process(pid, ProcessSignal::CONT).unwrap();
    worker.send(&"still there").unwrap();
    message(&mut worker);
    assert!(!worker.was_resumed());
    worker.end(Ladder::default());
    assert!(!worker.was_resumed());
}

#[test]
fn a_worker_deaf_to_the_abort_is_terminated() {
    let mut worker = start("deaf");
    assert_eq!(message(&mut worker), "ready");
    assert_eq!(
        worker.end(Ladder {
            abort: SHORT,
            term: LONG,
            kill: LONG
        }),
        Ending::Terminated
    );
}

#[test]
fn a_worker_deaf_to_sigterm_is_killed() {
    let mut worker = start("deaf to sigterm");
    assert_eq!(message(&mut worker), "ready");
    assert_eq!(
        worker.end(Ladder {
            abort: SHORT,
            term: SHORT,
            kill: LONG
        }),
        Ending::Killed
    );
    match worker.next::<String>(LONG, &Interrupt::none()) {
        Event::Exited(status) => assert_eq!(status.signal(), Some(9)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sending_to_a_worker_that_does_not_read_is_an_error_and_no_hang() {
    let mut worker = start("deaf");
    assert_eq!(message(&mut worker), "ready");
    // A pipe holds at most 1 MiB, so 2 MiB cannot fit.
    let sent = worker.send(&"x".repeat(2 * 1024 * 1024));
    assert!(matches!(sent, Err(WorkerError::Stuck { .. })), "{sent:?}");
}

#[test]
fn a_crash_shows_the_last_message_then_the_signal_then_the_end_of_standard_error() {
    let mut worker = start("crash");
    assert_eq!(message(&mut worker), "partial");
    match worker.next::<String>(LONG, &Interrupt::none()) {
        Event::Exited(status) => assert_eq!(status.signal(), Some(6)), // SIGABRT is 6 on Linux.
        other => panic!("{other:?}"),
    }
    assert!(
        worker.tail().contains("fallen off the bus"),
        "{}",
        worker.tail()
    );
}

#[test]
fn a_grandchild_that_keeps_the_pipes_open_does_not_hide_the_exit() {
    let mut worker = start("leave a grandchild");
    assert_eq!(message(&mut worker), "left");
    // The pipes are still open: this test holds the grandchild's input until the worker is dropped.
    assert_eq!(exit_code(&mut worker), Some(3));
}

#[test]
fn a_missing_program_names_itself() {
    let Err(error) = Worker::spawn(WorkerSpec::new("rank 0", "/nonexistent/program", ["--x"]))
    else {
        panic!("started");
    };
    let text = error.to_string();
    assert!(
        text.starts_with("worker rank 0 did not start from /nonexistent/program: "),
        "{text}"
    );
}

#[test]
fn a_worker_started_by_hand_finds_no_parent() {
    // This process was not started by a worker's parent, and process 0 is nobody's parent here.
    assert!(matches!(
        child::expected_parent(),
        Err(child::ChildError::NoParent)
    ));
}

#[test]
fn killing_the_parent_kills_the_worker() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut parent = bare("parent", &listener.local_addr().unwrap().to_string());
    let (mut life, _) = listener.accept().unwrap();
    // Less than 60 s: then the worker's test harness prints that it is slow, to a pipe that nobody reads any more, and
    // dies of that.
    life.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut ready = [0];
    life.read_exact(&mut ready).unwrap();
    parent.kill().unwrap(); // SIGKILL: the parent can do nothing for its workers.
    parent.wait().unwrap();
    // End of stream or a reset means that the worker is gone; a timeout means that it lives on.
    match life.read(&mut ready) {
        Ok(0) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        other => panic!("the worker outlived its parent: {other:?}"),
    }
}

/// Starts a role as a plain process, which then is a supervisor itself.
fn bare(role: &str, address: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role", "--nocapture"])
        .env(ROLE, role)
        .env(ADDRESS, address)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the process's output up to the line that contains the text.
fn read_until(output: &mut impl BufRead, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        assert_ne!(
            output.read_line(&mut seen).unwrap(),
            0,
            "{text} did not come after {seen}"
        );
    }
}

fn signal(process: &Child, signal: ProcessSignal) {
    kill_process(Pid::from_child(process), signal).unwrap();
}

fn ends_every_wait(sent: ProcessSignal, expected: Signal) {
    let mut process = bare("supervise", "");
    let mut output = BufReader::new(process.stdout.take().unwrap());
    read_until(&mut output, "ready");
    let start = Instant::now();
    signal(&process, sent);
    assert_eq!(
        process.wait().unwrap().code(),
        Some(i32::from(expected.exit_code()))
    );
    // The waits had 600 s to go; a busy machine gets 60 s to notice.
    assert!(start.elapsed() < LONG);
}

#[test]
fn a_signal_ends_every_wait_at_once_and_the_workers_can_still_be_ended() {
    ends_every_wait(ProcessSignal::INT, Signal::Interrupt);
    ends_every_wait(ProcessSignal::TERM, Signal::Terminate);
}

#[test]
fn a_terminal_that_goes_away_is_such_a_signal() {
    if is_under_nohup() {
        return;
    }
    ends_every_wait(ProcessSignal::HUP, Signal::Hangup);
}

/// Whether these tests ignore SIGHUP, which what they start inherits: then none of it sees one, and that is noted.
fn is_under_nohup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // A hexadecimal mask; its lowest bit is signal 1, SIGHUP.
    let ignored = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 == 1;
    if let (true, Some(path)) = (ignored, std::env::var_os("TPLENS_SKIP_LOG")) {
        let mut log = std::fs::File::options();
        let mut log = log.create(true).append(true).open(path).unwrap();
        writeln!(
            log,
            "supervisor: its tests run under nohup and see no SIGHUP"
        )
        .unwrap();
    }
    ignored
}

#[test]
fn a_second_sigint_ends_the_process_with_130() {
    let mut process = bare("ignore the first", "");
    let mut output = BufReader::new(process.stdout.take().unwrap());
    read_until(&mut output, "ready");
    signal(&process, ProcessSignal::INT);
    read_until(&mut output, "first");
    signal(&process, ProcessSignal::INT);
    assert_eq!(process.wait().unwrap().code(), Some(130));
}

#[test]
fn a_program_under_nohup_goes_on_when_the_terminal_goes() {
    if is_under_nohup() {
        return;
    }
    let itself = std::env::current_exe().unwrap();
    // The shell ignores SIGHUP, which what it becomes inherits: what nohup does.
    for (before, code) in [("", 129), ("trap '' HUP; ", 0)] {
        let status = Command::new("sh")
            .args(["-c", &format!("{before}exec \"$0\" \"$@\"")])
            .arg(&itself)
            .args(["--exact", "role", "--nocapture"])
            .env(ROLE, "hang up")
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{before}");
    }
}
