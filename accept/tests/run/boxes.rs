//! Runs through real processes on simulated machines and on host memory, to a verdict.

use std::os::unix::fs::MetadataExt;

use boxfile::{Fault, WrongOp};

use crate::run::common::{Scratch, TWO, can_run, can_run_in_full, checks};

/// A soak without what takes its time and is not looked at.
const SOAK: [&str; 4] = [
    "--level",
    "soak",
    "--exclude",
    "allreduce,numa_penalty,concurrent",
];

/// A verdict with its reason.
fn came(verdict: &str, code: &str) -> (String, String) {
    (verdict.to_owned(), code.to_owned())
}

#[test]
fn a_good_box_is_accepted_and_all_forms_say_that_it_is_simulated() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let ran = scratch.on(TWO, "out", &["--ocp", "ocp.jsonl"]);
    ran.expect(0);
    assert!(ran.stdout.contains("SIMULATED on l40x4"), "{}", ran.stdout);
    let report = scratch.json("out/report.json");
    assert_eq!(report["status"]["state"], "complete");
    assert_eq!(report["simulated"]["box_name"], "l40x4");
    let devices = &report["node"]["fingerprint"]["devices"];
    assert_eq!(devices.as_array().unwrap().len(), 2);
    let checks = checks(&report);
    for id in ["h2d_pinned GPU0", "d2h_pinned GPU1", "p2p GPU1->GPU0"] {
        let verdict = checks[id].0.as_str();
        assert!(["pass", "warn"].contains(&verdict), "{id}: {verdict}");
    }
    assert_eq!(checks["counters GPU0"], came("pass", "as-expected"));
    assert_eq!(checks["data box"], came("pass", "as-expected"));
    let all = report["checks"].as_array().unwrap();
    let access = all
        .iter()
        .find(|check| check["id"] == "peer_access GPU0->GPU1");
    assert_eq!(access.unwrap()["evidence"][0]["value"], "direct");
    // The monitor was there from before the first step.
    assert_eq!(checks["link_transitions GPU0"].0, "pass");
    let folder = scratch.join("out");
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    let journal = folder.join("journal.jsonl").metadata().unwrap();
    assert_eq!(journal.mode() & 0o777, 0o600);
    assert!(folder.join("report.html").is_file() && scratch.join("ocp.jsonl").is_file());
    scratch.run(&["report", "out"]).expect(0);
}

#[test]
fn time_that_does_not_suffice_is_told_and_the_box_is_not_accepted() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let ran = scratch.on(TWO, "out", &["--budget", "15s"]);
    ran.expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    // Copies to the host take longer than what there is.
    let open = came("inconclusive", "not-measured");
    assert_eq!(found["h2d_pinned box"], open);
    // 15 s and 30 s to end what is under way.
    assert!(report["took_s"].as_f64().unwrap() < 45.0);
}

#[test]
fn a_soak_measures_round_after_round_and_tells_drift() {
    if !can_run_in_full() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let ran = scratch.on(TWO, "out", &[&SOAK[..], &["--duration", "3s"]].concat());
    // Some kinds were left out, and all that the profile demands was measured.
    ran.expect(0);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    let drifts: Vec<_> = found
        .iter()
        .filter(|(id, _)| id.starts_with("drift h2d_pinned_ce"))
        .collect();
    assert_eq!(drifts.len(), 2, "{found:?}");
    // Each round has noise of its own: a round that plays another one again would be no further sample.
    let all = report["checks"].as_array().unwrap();
    let drift = all.iter().find(|check| check["id"] == *drifts[0].0);
    let first = |evidence: &serde_json::Value| evidence["samples"].get(0)?.as_f64();
    let rounds = drift.unwrap()["evidence"].as_array().unwrap();
    let rounds: Vec<f64> = rounds.iter().filter_map(first).collect();
    assert!(rounds.len() >= 2 && rounds[0] != rounds[1], "{rounds:?}");
    for id in ["memory GPU0", "memory GPU1", "arithmetic GPU1"] {
        assert_eq!(found[id], came("pass", "as-expected"));
    }
}

#[test]
fn a_soak_rejects_memory_that_loses_a_bit_and_sums_that_are_wrong() {
    if !can_run_in_full() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![
        Fault::KernelWrong {
            device: 0,
            op: WrongOp::Fill,
            after_launches: 9,
        },
        Fault::KernelWrong {
            device: 1,
            op: WrongOp::Arithmetic,
            after_launches: 9,
        },
    ]);
    let ran = scratch.on(TWO, "out", &[&SOAK[..], &["--duration", "1s"]].concat());
    ran.expect(1);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    assert_eq!(found["memory GPU0"], came("fail", "wrong-data"));
    assert_eq!(found["arithmetic GPU0"], came("pass", "as-expected"));
    assert_eq!(found["memory GPU1"], came("pass", "as-expected"));
    assert_eq!(found["arithmetic GPU1"], came("fail", "wrong-data"));
    // Copies were right; what the loads found is of the devices by themselves.
    assert_eq!(found["data GPU0->GPU0"], came("fail", "wrong-data"));
    assert!(!found.contains_key("data GPU0->GPU1"));
}

#[test]
fn host_memory_runs_to_a_verdict_under_its_own_name() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    // The small all-reduce and far nodes take their time on two busy cores and are not what is looked at.
    let words = "run --profile host --backend host --out out --budget 100s --exclude allreduce";
    scratch.run(&words.split(' ').collect::<Vec<_>>());
    let report = scratch.json("out/report.json");
    assert_eq!(report["simulated"], serde_json::Value::Null);
    let devices = report["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!(devices[0]["label"], "HOST0");
    let found = checks(&report);
    assert_eq!(found["data box"].0, "pass", "{found:?}");
    assert!(
        ["pass", "warn"].contains(&found["h2d_pinned HOST0"].0.as_str()),
        "{found:?}"
    );
}
