//! `tplens numa exec` with real programs: what they inherit, their exit codes and signals, and that none outlives it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;

use super::common::{Ran, Scratch, skip};

/// CPUs that this test may run on, as the kernel lists them.
fn own_cpus() -> String {
    status_line(
        &std::fs::read_to_string("/proc/self/status").unwrap(),
        "Cpus_allowed_list",
    )
}

fn status_line(status: &str, name: &str) -> String {
    let value = |line: &str| {
        Some(
            line.strip_prefix(name)?
                .strip_prefix(':')?
                .trim()
                .to_owned(),
        )
    };
    status.lines().find_map(value).unwrap()
}

/// The nodes of this machine; a test that needs exactly one skips on others.
fn has_one_node() -> bool {
    let online = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    if online.trim() == "0" {
        return true;
    }
    skip("NUMA node 0 is not the only one");
    false
}

fn exec(scratch: &Scratch, options: &[&str], program: &[&str]) -> Ran {
    scratch.run(&[&["numa", "exec"], options, &["--"], program].concat())
}

#[test]
fn the_binding_of_four_gpus_on_one_of_eight_nodes_is_that_node() {
    // FIELD CASE: all four GPUs of the box are on node 0.
    let scratch = Scratch::new();
    let ran = scratch.run(&[
        "numa",
        "exec",
        "--sim",
        "mxc500x4",
        "--gpus",
        "0,1,2,3",
        "--dry-run",
    ]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "numactl --cpunodebind=0 --membind=0\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("node 0"), "{}", ran.stderr);
    let says = "SIMULATED: the nodes are those of simulated machine mxc500x4";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let scratch = Scratch::new();
    for (arguments, says) in [
        (&["numa", "exec", "--node", "0"][..], "no program was named"),
        (
            &["numa", "exec", "--node", "1023", "--", "true"],
            "no such node",
        ),
        (
            &["numa", "exec", "--sim", "l40x4", "--", "true"],
            "a simulated machine has no nodes to run a program on; add --dry-run",
        ),
        (
            &["numa", "exec", "--node", "x", "--", "true"],
            "`x` is not a node number",
        ),
        (
            &["numa", "exec", "--sim", "l40x4", "--gpus", "9", "--dry-run"],
            "there are 0 (0000:21:00.0), 1 (",
        ),
        (
            &["numa", "--sim", "l40x4", "--gpus", "9"],
            "there are 0 (0000:21:00.0), 1 (",
        ),
        (
            &["numa", "exec", "--node", "0", "--gpus", "1", "--", "true"],
            "--gpus",
        ),
        (
            &[
                "numa",
                "exec",
                "--node",
                "0",
                "--report",
                "no/such/file",
                "--",
                "true",
            ],
            "--report",
        ),
    ] {
        scratch.run(arguments).is_wrong_usage(says);
    }
}

#[test]
fn exit_codes_and_output_are_those_of_the_program() {
    if !has_one_node() {
        return;
    }
    let scratch = Scratch::new();
    let of = |program: &[&str]| exec(&scratch, &["--node", "0"], program);
    let ran = of(&["sh", "-c", "echo out; echo err >&2; exit 42"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (42, "out\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("err\n"));
    // SIGKILL is 9: 128 + 9.
    assert_eq!(of(&["sh", "-c", "kill -9 $$"]).code, 137);
    // As shells have it.
    let ran = of(&["no-such-program"]);
    assert_eq!(ran.code, 127);
    assert!(
        ran.stderr.contains("cannot start `no-such-program`"),
        "{}",
        ran.stderr
    );
    assert_eq!(of(&["/"]).code, 126);
    scratch.nobody_is_left();
}

#[test]
fn the_program_inherits_the_binding_and_the_report_shows_it() {
    if !has_one_node() {
        return;
    }
    let scratch = Scratch::new();
    let report = scratch.text("report.json");
    let script = "cat /proc/self/status /proc/self/numa_maps; sleep 0.3";
    let options = ["--node", "0", "--report", &report];
    let ran = exec(&scratch, &options, &["sh", "-c", script]);
    let (said, told) = (ran.stdout, ran.stderr);
    assert!(told.contains("on wanted"), "{told}");
    assert_eq!(status_line(&said, "Cpus_allowed_list"), own_cpus());
    let json: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(json["schema"], 2);
    let refused = !json["not_bound"].as_array().unwrap().is_empty();
    assert_eq!(refused, told.contains("NOT BOUND"), "{told}");
    if !refused {
        assert!(said.contains(" bind:0 "), "{said}");
    }
    let process = &json["processes"][0];
    assert_eq!(process["cpus_allowed"], own_cpus());
    assert_eq!(process["wanted_nodes"], serde_json::json!([0]));
    // All memory of a machine with one node is there.
    if !process["memory"].is_null() {
        assert_eq!(process["memory"]["on_wanted"], 1.0, "{json}");
    }
}

#[test]
fn a_refused_binding_is_said_and_with_strict_nothing_starts() {
    if !has_one_node() {
        return;
    }
    let scratch = Scratch::new();
    for (call, says) in [
        (
            "set_mempolicy",
            "memory policy bind to nodes [0] was refused",
        ),
        ("sched_setaffinity", "pinning to CPUs"),
    ] {
        let report = scratch.text("report.json");
        let options = ["--node", "0", "--refuse", call, "--report", &report];
        let ran = exec(&scratch, &options, &["echo", "ran"]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "ran\n"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains(&format!("NOT BOUND: {says}")),
            "{}",
            ran.stderr
        );
        let json = std::fs::read_to_string(&report).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert!(
            json["not_bound"][0].as_str().unwrap().starts_with(says),
            "{json}"
        );
        let ran = exec(
            &scratch,
            &[&options[..], &["--strict"]].concat(),
            &["echo", "ran"],
        );
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("--strict") && ran.stderr.contains(says),
            "{}",
            ran.stderr
        );
    }
}

/// A shell that starts a worker in a session of its own, tells both numbers, and waits; SIGTERM is its exit code 7.
const WITH_WORKER: &str =
    "trap 'exit 7' TERM; setsid sleep 1000 >/dev/null 2>&1 & echo $$ $!; while :; do wait; done";

/// The program, the shell and its worker.
fn with_worker(scratch: &Scratch) -> (Child, [Pid; 2]) {
    let arguments = ["numa", "exec", "--node", "0", "--", "sh", "-c", WITH_WORKER];
    let mut running = scratch
        .program(arguments)
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(running.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let numbers: Vec<Pid> = line
        .split_whitespace()
        .map(|number| Pid::from_raw(number.parse().unwrap()).unwrap())
        .collect();
    (running, numbers.try_into().unwrap())
}

fn is_there(pid: Pid) -> bool {
    pidfd_open(pid, PidfdFlags::empty()).is_ok()
}

#[test]
fn a_printed_command_keeps_no_secret_and_says_that_it_is_not_whole() {
    let ran = Scratch::new().run(&[
        "numa",
        "exec",
        "--sim",
        "l40x4",
        "--gpus",
        "0",
        "--dry-run",
        "--",
        "env",
        "HF_TOKEN=canary",
        "true",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("<redacted>"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
}

#[test]
fn a_signal_reaches_the_program_which_ends_in_its_own_way() {
    if !has_one_node() {
        return;
    }
    let scratch = Scratch::new();
    let (running, [_, worker]) = with_worker(&scratch);
    let own = Pid::from_child(&running);
    kill_process(own, Signal::TERM).unwrap();
    let ran = Ran::of(running.wait_with_output().unwrap());
    // The shell's own code, not 128 + 15; its worker is left to itself, as without this program, and named.
    let was_there = is_there(worker);
    kill_process(worker, Signal::KILL).unwrap();
    assert!(was_there);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    let line = format!("Still running: {}", worker.as_raw_nonzero());
    assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    scratch.nobody_is_left();
}
