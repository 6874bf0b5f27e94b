//! What is refused, what is only planned, and what is printed on a machine without a GPU.

use std::os::unix::fs::symlink;

use crate::run::common::{Scratch, TWO, can_run, checks};

#[test]
fn a_plan_says_commands_and_times_and_looks_at_nothing() {
    let scratch = Scratch::new();
    let shown = scratch.run(&["plan", "--profile", "l40x4", "--level", "standard"]);
    shown.expect(0);
    // A soak of a second is two whole rounds, and the looking before takes 6 s.
    let soak = [
        "plan",
        "--profile",
        "l40x4",
        "--level",
        "soak",
        "--duration",
        "1s",
    ];
    let json = scratch.run(&[&soak[..], &["--json"]].concat());
    let steps: serde_json::Value = serde_json::from_str(&json.expect(0).stdout).unwrap();
    let seconds = |step: &serde_json::Value| {
        let is_soak = step["group"] == "soak";
        step["seconds"].as_f64().unwrap() * if is_soak { 2.0 } else { 1.0 }
    };
    let total = 6.0 + steps.as_array().unwrap().iter().map(seconds).sum::<f64>();
    let shown = scratch.run(&soak).expect(0).stdout.clone();
    assert!(shown.contains(&format!("about {total:.0} of")), "{shown}");
    assert_eq!(
        std::fs::read_dir(scratch.join(".")).unwrap().count(),
        0,
        "nothing is written"
    );
}

#[test]
fn where_no_driver_answers_it_says_what_it_looked_for_and_leaves_a_report() {
    if !can_run() || std::path::Path::new("/dev/nvidiactl").exists() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(&["run", "--profile", "l40x4", "--out", "out"]);
    ran.expect(3);
    let report = scratch.json("out/report.json");
    assert_eq!(
        (&report["verdict"], &report["status"]["state"]),
        (&"inconclusive".into(), &"failed".into())
    );
    assert_eq!(report["devices"].as_array().unwrap().len(), 0);
}

#[test]
fn a_command_line_that_is_wrong_is_refused_in_one_line_and_makes_nothing() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("real")).unwrap();
    symlink(scratch.join("real"), scratch.join("link")).unwrap();
    std::fs::create_dir(scratch.join("full")).unwrap();
    std::fs::write(scratch.join("full/kept"), "of the user").unwrap();
    for (arguments, says) in [
        (&["--profile", "l40x5"][..], "l40x5"),
        (&["--profile", "base"], "[match]"),
        (&["--profile", "l40x4", "--level", "soak"], "--duration"),
        (&["--profile", "l40x4", "--duration", "10s"], "--level soak"),
        (
            &["--profile", "l40x4", "--sim", "l40x4", "--backend", "host"],
            "leave one of them out",
        ),
        (&["--profile", "l40x4", "--out", "link"], "symbolic link"),
        (
            &["--profile", "l40x4", "--out", "full"],
            "holds something else",
        ),
        (
            &["--profile", "l40x4", "--resume", "real"],
            "holds no journal.jsonl",
        ),
        (
            &["--profile", "l40x4", "--resume", "nowhere"],
            "holds no journal.jsonl",
        ),
        // The wrong box: both are named, and the folder is taken back.
        (
            &["--profile", "l40x4", "--sim", "h200x8", "--out", "made"],
            "this machine shows 8 of",
        ),
        (
            &["--profile", "h200x8", "--sim", "l40x4", "--out", "made"],
            "for 8 of",
        ),
    ] {
        let ran = scratch.run(&[&["run"], arguments].concat());
        ran.expect(2);
        let last = ran.stderr.lines().last().unwrap();
        assert!(
            last.starts_with("error: ") && last.contains(says),
            "{says}: {}",
            ran.stderr
        );
        assert!(
            !scratch.join("made").exists() && !scratch.join("tplens-results").exists(),
            "{says}"
        );
    }
    assert_eq!(std::fs::read_dir(scratch.join("real")).unwrap().count(), 0);
    assert_eq!(
        std::fs::read_to_string(scratch.join("full/kept")).unwrap(),
        "of the user"
    );
}

#[test]
fn a_profile_is_drafted_of_what_is_there_and_is_one() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let drafted = scratch.run(&["profile", "draft", "--sim", TWO.1]);
    std::fs::write(scratch.join("mine.toml"), &drafted.expect(0).stdout).unwrap();
    let whole = ["-v", "profile", "check", "mine.toml"];
    let whole = scratch.run(&whole).expect(0).stdout.clone();
    // Two L40 of 48 GiB on Gen4 x16, both on node 0, whose limits are those of base.
    for line in [
        "names = [\"NVIDIA L40\"]",
        "count = 2",
        "guest = false",
        "memory_gib_at_least = 43.0",
        "generation = 4",
        "width = 16",
        "nodes = [0, 0]",
        "check = \"h2d_pinned\"",
    ] {
        assert!(whole.contains(line), "{line}: {whole}");
    }
    scratch.run(&["plan", "--profile", "mine.toml"]).expect(0);
}

#[test]
fn what_gpus_leave_open_is_said_before_anything_is_measured() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let ran = scratch.on(TWO, "out", &["--gpus", "0", "--label", "rack3-node7"]);
    ran.expect(3);
    let (said, begun) = (ran.stderr.find("--gpus"), ran.stderr.find("host-links"));
    assert!(said.is_some() && said < begun, "{}", ran.stderr);
    let report = scratch.json("out/report.json");
    assert_eq!(report["node"]["label"], "rack3-node7");
    let left_out = ("inconclusive".to_owned(), "left-out".to_owned());
    assert_eq!(checks(&report)["inventory devices"], left_out);
}
