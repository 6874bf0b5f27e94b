//! `tplens numa exec` with real programs: what they inherit and their exit codes.

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
        (&["numa", "exec", "--node", "x", "--", "true"], "'x'"),
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
fn the_program_inherits_the_binding() {
    if !has_one_node() {
        return;
    }
    let scratch = Scratch::new();
    let files = ["cat", "/proc/self/status", "/proc/self/numa_maps"];
    let ran = exec(&scratch, &["--node", "0", "--per-rank"], &files);
    assert_eq!(status_line(&ran.stdout, "Cpus_allowed_list"), own_cpus());
    assert_eq!(
        ran.stdout.contains(" bind:0 "),
        !ran.stderr.contains("NOT BOUND"),
        "{}",
        ran.stderr
    );
    scratch.nobody_is_left();
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
