//! What is refused, what is only planned, and what a machine without a GPU is told.

use std::os::unix::fs::symlink;

use crate::run::common::{Scratch, can_run};

#[test]
fn a_plan_says_commands_and_times_and_looks_at_nothing() {
    let scratch = Scratch::new();
    let shown = scratch.run(&["plan", "--profile", "l40x4", "--level", "standard"]);
    shown.expect(0);
    for part in [
        "looks for 4 of NVIDIA L40 on the cuda backend",
        "p2p-bw --backend cuda --gpus 0,1,2,3",
        "allreduce-bench",
        "* h2d_pinned",
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let json = scratch.run(&["plan", "--profile", "l40x4", "--budget", "40s", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&json.expect(0).stdout).unwrap();
    assert_eq!(plan["budget_s"], 40.0);
    let (steps, fits) = (
        plan["steps"].as_array().unwrap(),
        plan["does_not_fit"].as_array().unwrap(),
    );
    let seconds = |step: &serde_json::Value| step["seconds"].as_f64().unwrap();
    let kept = steps.iter().filter(|step| !fits.contains(&step["name"]));
    // The looking before takes 6 s.
    let total = 6.0 + kept.map(seconds).sum::<f64>();
    assert!(!fits.is_empty() && total <= 40.0, "{plan}");
    assert!((plan["total_s"].as_f64().unwrap() - total).abs() < 1e-6);
    let soak = ["--level", "soak", "--duration", "10m", "--json"];
    let soak = scratch.run(&[&["plan", "--profile", "l40x4"], &soak[..]].concat());
    let plan: serde_json::Value = serde_json::from_str(&soak.expect(0).stdout).unwrap();
    let of = |begins: &str| {
        let steps = plan["steps"].as_array().unwrap().iter();
        let is_it = |step: &&serde_json::Value| step["name"].as_str().unwrap().starts_with(begins);
        steps.filter(is_it).collect::<Vec<_>>()
    };
    let (links, load) = (of("soak-links")[0], of("soak-load")[0]);
    // The load runs as long as what it runs beside, and the two soak steps take the ten minutes by themselves.
    assert!(
        seconds(links) > 0.0 && load["seconds"] == links["seconds"],
        "{plan}"
    );
    assert_eq!(load["beside"], links["name"]);
    assert!((seconds(links) + seconds(of("soak-collectives")[0]) - 600.0).abs() < 1e-6);
    // A second of soak is two whole rounds.
    let soak = ["--level", "soak", "--duration", "1s"];
    let words = [&["plan", "--profile", "l40x4"], &soak[..]].concat();
    let told = scratch.run(&words);
    assert!(
        told.expect(0)
            .stdout
            .contains("a soak has two rounds at least, of about"),
        "{}",
        told.stdout
    );
    let plan = scratch.run(&[&words[..], &["--json"]].concat());
    let plan: serde_json::Value = serde_json::from_str(&plan.expect(0).stdout).unwrap();
    let steps = plan["steps"].as_array().unwrap().iter();
    let of_soak = steps.filter(|step| step["group"] == "soak" && step["beside"].is_null());
    let round = plan["soak_round_s"].as_f64().unwrap();
    assert!((of_soak.map(seconds).sum::<f64>() - 2.0 * round).abs() < 1e-6 && round > 1.0);
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
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("No device could be looked at: cuda: libcuda.so.1 not found"),
        "{}",
        ran.stdout
    );
    assert!((3..=8).contains(&lines.len()), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("`p2p-bw doctor`") && !ran.stdout.contains("xtask"),
        "{}",
        ran.stdout
    );
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
        (&["--profile", "l40x4", "--exclude", "h2d"], "--exclude h2d"),
        (
            &["--profile", "l40x4", "--sim", "l40x4", "--backend", "host"],
            "leave one of them out",
        ),
        (&["--profile", "l40x4", "--out", "link"], "symbolic link"),
        (
            &["--profile", "l40x4", "--out", "full"],
            "holds something already",
        ),
        (
            &["--profile", "l40x4", "--resume", "real"],
            "holds no journal.jsonl",
        ),
        (
            &["--profile", "l40x4", "--resume", "nowhere"],
            "name a folder",
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
fn a_baseline_of_another_box_is_refused_before_anything_is_measured() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let fingerprint = serde_json::json!({
        "backend": "cuda", "devices": ["NVIDIA L40"], "driver": null, "interface": null, "collectives": null,
        "kernel": null, "cpu": null, "topology": null, "max_payload_bytes": []
    });
    let figure = serde_json::json!({
        "check": "h2d_pinned GPU0", "what": "bandwidth", "unit": "GB/s", "samples": [25.0, 25.0]
    });
    let baseline = |soft: Option<&str>, name: &str| {
        let written = serde_json::json!({
            "schema": 1, "soft_box": soft, "started": "2026-11-01T10:00:00Z", "profile": ["l40x4", "ab"],
            "fingerprint": fingerprint, "figures": [figure]
        });
        std::fs::write(scratch.join(name), written.to_string()).unwrap();
    };
    baseline(Some("l40x4"), "soft.json");
    baseline(Some("r9700-x16"), "devices.json");
    for (file, words, told) in [
        (
            "soft.json",
            ["--profile", "host"].as_slice(),
            "error: --baseline soft.json is of the soft box l40x4, and this run is of real hardware; run without --baseline",
        ),
        (
            "soft.json",
            &["--profile", "r9700-x16", "--sim", "r9700-x16"],
            "error: --baseline soft.json is of the soft box l40x4, and this run is of the soft box r9700-x16; run without",
        ),
        // Its devices are known once the box is listed.
        (
            "devices.json",
            &["--profile", "r9700-x16", "--sim", "r9700-x16"],
            "error: --baseline devices.json is of NVIDIA L40 (cuda backend), and this run is of AMD",
        ),
    ] {
        let mut command = vec!["run", "--out", "out", "--baseline", file];
        command.extend(words);
        let ran = scratch.run(&command);
        ran.expect(2);
        let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(told), "{}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        assert!(!scratch.join("out").exists());
    }
}
