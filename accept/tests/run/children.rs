//! Programs of a run that die, block or are killed from outside: what they would have shown is missing and named, the rest stands.
//!
//! A stand-in beside a copy of `accept` misbehaves where a test says so, and becomes the real program everywhere else.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::common::{Ran, Scratch, TWO, arguments, can_run, checks, wait_until};

/// `accept` in a folder of its own, with a `tplens` that does `instead` for arguments that hold `pattern`, as `case` of a shell has it.
pub(crate) fn beside_stand_in(scratch: &Scratch, cases: &[(&str, &str)]) -> PathBuf {
    let own = built::file();
    let folder = scratch.join("bin");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&own, folder.join("accept")).unwrap();
    let cases: String = cases
        .iter()
        .map(|(pattern, instead)| format!("  {pattern}) {instead};;\n"))
        .collect();
    let real = own.display();
    let text =
        format!("#!/bin/sh\nreal='{real}'\ncase \"$*\" in\n{cases}esac\nexec \"$real\" \"$@\"\n");
    let file = folder.join("tplens");
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    folder.join("accept")
}

/// A run on the box of two, without what is not looked at.
pub(crate) fn command(scratch: &Scratch, accept: &Path) -> Command {
    let words = arguments(TWO, ["--out", "out"], &["--exclude", "allreduce"]);
    of(scratch, accept, &words)
}

/// `accept` with these words.
pub(crate) fn of(scratch: &Scratch, accept: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(accept);
    command
        .args(words)
        .current_dir(scratch.join("."))
        .env("HOME", scratch.join("."))
        .stdin(Stdio::null());
    command
}

#[test]
fn a_monitor_that_dies_and_a_program_that_is_killed_leave_the_rest_standing() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let accept = beside_stand_in(
        &scratch,
        &[
            ("monitor*", "echo 'error: NVML is gone' >&2; exit 7"),
            (
                "*h2d_pinned_ce*",
                "[ -e was-killed ] || { touch was-killed; kill -9 $$; }",
            ),
        ],
    );
    let ran = Ran::of(&mut command(&scratch, &accept));
    ran.expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    for id in ["link_transitions box", "throttle box"] {
        assert_eq!(found[id].1, "unreadable", "{found:?}");
    }
    let open = ("inconclusive".to_owned(), "not-measured".to_owned());
    assert_eq!(found["h2d_pinned box"], open, "{found:?}");
    assert_eq!(found["p2p GPU0->GPU1"].0, "pass", "{found:?}");
    assert_eq!(found["counters GPU0"].0, "pass", "{found:?}");
    // The run is complete, and what was killed in it is done again; the pairs, which were measured, are not.
    let words = arguments(TWO, ["--resume", "out"], &["--exclude", "allreduce"]);
    let resume = || Ran::of(&mut of(&scratch, &accept, &words));
    let again = resume();
    again.expect(0);
    let report = scratch.json("out/report.json");
    assert_eq!(checks(&report)["h2d_pinned GPU0"].0, "pass");
    let journal = std::fs::read_to_string(scratch.join("out/journal.jsonl")).unwrap();
    let steps = journal.matches(r#"{"step":{"group":"host_links","name":"host-links""#);
    // What broke is no step that was done.
    assert_eq!(steps.count(), 1);
}

#[test]
fn a_signal_before_the_devices_are_listed_leaves_a_report_that_says_so() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let accept = beside_stand_in(&scratch, &[("*--list*", "exec sleep 600")]);
    let child = command(&scratch, &accept)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = scratch.join("out/groups/inventory-1/devices.log");
    wait_until("the listing has begun", || log.exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let report = scratch.json("out/report.json");
    assert_eq!(
        (
            &report["verdict"],
            &report["status"]["signal"],
            &report["exit_code"]
        ),
        (&"inconclusive".into(), &"SIGINT".into(), &130.into())
    );
    let found = checks(&report);
    assert!(
        found
            .values()
            .all(|came| came.0 == "inconclusive" || came.1 == "left-out"),
        "{found:?}"
    );
    scratch.run(&["report", "out"]).expect(0);
}
