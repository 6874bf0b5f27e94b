//! Programs of a run that die, block or are killed from outside: what they would have shown is missing and named, the rest stands.
//!
//! A stand-in beside a copy of `accept` misbehaves where a test says so, and becomes the real program everywhere else.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::common::{Ran, Scratch, TWO, arguments, can_run, checks, wait_until};

/// `accept` in a folder of its own, with a `p2p-bw` that does `instead` for arguments that hold `pattern`, as `case` of a shell has it.
pub(crate) fn beside_stand_in(scratch: &Scratch, cases: &[(&str, &str)]) -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_accept"));
    let folder = scratch.join("bin");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(own, folder.join("accept")).unwrap();
    let cases: String = cases
        .iter()
        .map(|(pattern, instead)| format!("  {pattern}) {instead};;\n"))
        .collect();
    for program in ["p2p-bw", "allreduce-bench"] {
        let real = own.with_file_name(program);
        let real = real.display();
        let text = format!(
            "#!/bin/sh\nreal='{real}'\ncase \"$*\" in\n{cases}esac\nexec \"$real\" \"$@\"\n"
        );
        let file = folder.join(program);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
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
        assert_eq!(found[id].1, "monitor_lost", "{found:?}");
    }
    let copies = &found["h2d_pinned box"];
    assert_eq!(
        (copies.0.as_str(), copies.1.as_str()),
        ("inconclusive", "out_of_memory"),
        "{found:?}"
    );
    assert!(
        ran.stderr.contains("p2p-bw was ended by SIGKILL")
            && ran.stderr.contains(
                "the monitor was lost: it ended with exit code 7 before the load ended: error: NVML is gone"
            ),
        "{}",
        ran.stderr
    );
    assert_eq!(found["p2p GPU0->GPU1"].0, "pass", "{found:?}");
    assert_eq!(found["counters GPU0"].0, "pass", "{found:?}");
    // Lines of the text are wrapped.
    let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("--resume DIR in place of --out does this step again"),
        "{told}"
    );
    assert!(
        ran.stderr
            .contains("the same command with --resume out in place of --out"),
        "{}",
        ran.stderr
    );
    // The run is complete, and what was killed in it is done again; the pairs, which were measured, are not.
    let words = arguments(TWO, ["--resume", "out"], &["--exclude", "allreduce"]);
    let resume = || Ran::of(&mut of(&scratch, &accept, &words));
    let again = resume();
    again.expect(0);
    assert!(
        again.stderr.contains("host-links: about") && !again.stderr.contains("peer-links: about"),
        "{}",
        again.stderr
    );
    let report = scratch.json("out/report.json");
    assert_eq!(checks(&report)["h2d_pinned GPU0"].0, "pass");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("host-links was done 2 times, and the last one counts; before it broke: p2p-bw was ended by SIGKILL"),
        "{notes}"
    );
    let journal = std::fs::read_to_string(scratch.join("out/journal.jsonl")).unwrap();
    let steps = journal.matches(r#"{"step":{"group":"host_links","name":"host-links""#);
    assert_eq!(steps.count(), 2);
    assert!(resume().expect(0).stderr.contains("nothing to go on with"));
}

#[test]
fn a_monitor_that_blocks_clears_nothing_and_the_rest_stands() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    // Header and one second of two devices at ten readings a second, then nothing.
    let accept = beside_stand_in(
        &scratch,
        &[("monitor*", "\"$real\" \"$@\" | head -n 21; exec sleep 600")],
    );
    let ran = Ran::of(&mut command(&scratch, &accept));
    // Of what lives on the monitor the profile of the test demands counters of the driver's library; the shipped ones `memory_repairs`.
    ran.expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    for kind in ["link_transitions", "throttle", "memory_repairs"] {
        let told: Vec<_> = found
            .iter()
            .filter(|(id, _)| id.starts_with(kind))
            .collect();
        assert!(!told.is_empty());
        assert!(
            told.iter().any(|(_, came)| came.1 == "monitor_lost"),
            "{told:?}"
        );
    }
    assert_eq!(found["h2d_pinned GPU0"].0, "pass", "{found:?}");
    assert_eq!(found["counters GPU0"].1, "unreadable");
    assert_eq!(report["verdict"], "inconclusive");
}

#[test]
fn a_lost_monitor_leaves_a_box_open_whose_profile_demands_what_lives_on_it() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let described = crate::run::planted::seeded("r9700-x16", 3);
    let file = scratch.describe(&described, "box.toml");
    let accept = beside_stand_in(
        &scratch,
        &[("monitor*", "\"$real\" \"$@\" | head -n 21; exec sleep 600")],
    );
    let words = arguments(("r9700-x16", &file), ["--out", "out"], &[]);
    let ran = Ran::of(&mut of(&scratch, &accept, &words));
    ran.expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    let lost = ("inconclusive".to_owned(), "monitor_lost".to_owned());
    assert_eq!(found["memory_repairs watch"], lost, "{found:?}");
    assert_eq!(report["verdict"], "inconclusive");
}

#[test]
fn pages_that_an_amd_driver_retired_before_are_a_warning_by_its_own_file() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let mut described = crate::run::planted::seeded("r9700-x16", 3);
    described.fault.push(boxfile::Fault::RetiredPages {
        device: 1,
        retired: 2,
        after_lost_data: 0,
        pending: false,
        after_readings: 0,
    });
    let file = scratch.describe(&described, "box.toml");
    let ran = scratch.on(("r9700-x16", &file), "out", &[]);
    ran.expect(0);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    let before = ("warn".to_owned(), "memory_repaired".to_owned());
    assert_eq!(found["memory_repairs GPU1"], before, "{found:?}");
    // The driver leaves no file where there are none, which says nothing of the other device.
    let untold = ("skip".to_owned(), "unsupported_by_device".to_owned());
    assert_eq!(found["memory_repairs GPU0"], untold, "{found:?}");
    assert_eq!(report["verdict"], "accepted_with_warnings");
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
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("before any device was looked at"), "{said}");
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
            .all(|came| came.0 == "inconclusive" || came.1 == "excluded_by_user"),
        "{found:?}"
    );
    scratch.run(&["report", "out"]).expect(0);
}

#[test]
fn a_device_that_is_lost_in_a_collective_is_left_out_and_the_others_are_reduced_again() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let mut described = crate::run::planted::seeded("l40x4", 7);
    // Each rank writes what it contributes once for each size: the second time its device is gone.
    described.fault.push(boxfile::Fault::DeviceLost {
        device: 1,
        after_copies: 6,
    });
    // The box says nothing of three ranks: as long as four take.
    let of_four = |table: &&boxfile::Collective| table.ranks == 4;
    let mut of_three: Vec<_> = described
        .collective
        .iter()
        .filter(of_four)
        .cloned()
        .collect();
    for table in &mut of_three {
        table.ranks = 3;
    }
    described.collective.extend(of_three);
    let file = scratch.describe(&described, "four.toml");
    // Without copies, which would lose it first.
    let others = "link,h2d_pinned,d2h_pinned,h2d_pageable,d2h_pageable,bidirectional,peer_access,p2p,p2p_staged,p2p_latency,symmetry,spread";
    let profile = "extends = \"l40x4\"\nschema = \"accept-profile/1\"\nname = \"small\"\ntitle = \"small collectives\"\n\
        [allreduce]\nsmall_bytes = 16384\nlarge_bytes = 1048576\n[sampling]\nrepeats = 6\nmax_repeats = 6\n\
        [match]\nbackend = \"cuda\"\nnames = [\"NVIDIA L40\"]\ncount = 4\n";
    std::fs::write(scratch.join("small.toml"), profile).unwrap();
    let ran = scratch.on(("small.toml", &file), "out", &["--exclude", others]);
    ran.expect(1);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    let gone = ("fail".to_owned(), "device_lost".to_owned());
    assert_eq!(found["allreduce large"], gone, "{found:?}");
    assert_eq!(found["inventory GPU1"], gone, "{found:?}");
    let rest = &found["allreduce large 3 ranks"];
    assert_ne!(rest.1, "device_lost", "{found:?}");
    assert!(
        ["pass", "warn", "fail"].contains(&rest.0.as_str()),
        "{rest:?}"
    );
    assert!(ran.stderr.contains("GPU1 is lost"), "{}", ran.stderr);
    assert!(
        scratch
            .join("out/groups/collectives-of-3-1/record.json")
            .is_file()
    );
}

#[test]
fn a_step_that_was_stopped_is_ended_after_its_deadline() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let accept = beside_stand_in(
        &scratch,
        &[(
            "*h2d_pinned_ce*",
            "[ -e was-stopped ] || { touch was-stopped; kill -STOP $$; }",
        )],
    );
    let ran = Ran::of(command(&scratch, &accept).args(["--deadline", "5s"]));
    ran.expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    let lost = ("inconclusive".to_owned(), "worker_failed".to_owned());
    assert_eq!(found["h2d_pinned box"], lost, "{found:?}");
    assert_eq!(found["p2p GPU0->GPU1"].0, "pass", "{found:?}");
    let journal = std::fs::read_to_string(scratch.join("out/journal.jsonl")).unwrap();
    let steps = journal.lines().filter_map(|line| {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        let step = entry.get("step")?;
        (step["name"] == "host-links").then(|| step["took_s"].as_f64().unwrap())
    });
    let took_s: Vec<f64> = steps.collect();
    // Three deadlines and 90 s are 105 s.
    assert!(
        matches!(took_s[..], [took_s] if (5.0..60.0).contains(&took_s)),
        "{took_s:?}"
    );
}
