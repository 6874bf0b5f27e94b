//! Runs through real processes on soft boxes and on host memory, to a verdict.

use std::os::unix::fs::MetadataExt;

use boxfile::{Fault, HangOp};

use crate::common::{Scratch, can_run, checks};

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
    let (described, profile) = scratch.two(vec![]);
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "out",
        "--junit",
        "junit.xml",
    ]);
    ran.expect(0);
    assert!(
        ran.stderr.starts_with("SIMULATED on the soft box"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.starts_with("SIMULATED"), "{}", ran.stdout);
    let report = scratch.json("out/report.json");
    assert_eq!(report["status"]["state"], "complete");
    assert_eq!(report["simulated"]["box_name"], "l40x4");
    assert_eq!(
        report["node"]["fingerprint"]["devices"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let checks = checks(&report);
    for id in [
        "h2d_pinned GPU0",
        "d2h_pinned GPU1",
        "p2p GPU0->GPU1",
        "p2p GPU1->GPU0",
    ] {
        assert!(
            ["pass", "warn"].contains(&checks[id].0.as_str()),
            "{id}: {:?}",
            checks[id]
        );
    }
    assert_eq!(checks["counters GPU0"], came("pass", "within_limit"));
    assert_eq!(checks["data box"], came("pass", "as_expected"));
    // The monitor was there from before the first step.
    assert_eq!(checks["link_transitions GPU0"].0, "pass");
    let folder = scratch.join("out");
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    assert_eq!(
        folder.join("journal.jsonl").metadata().unwrap().mode() & 0o777,
        0o600
    );
    assert!(folder.join("report.html").is_file() && scratch.join("junit.xml").is_file());
    let again = scratch.run(&["report", "out"]);
    again.expect(0);
}

#[test]
fn link_errors_wrong_data_and_a_missing_device_reject_for_their_own_reasons() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let (described, profile) = scratch.two(vec![
        Fault::LinkErrors {
            address: "0000:20:01.1".to_owned(),
            correctable: 0,
            nonfatal: 2,
            fatal: 0,
        },
        Fault::DropData { pair: [0, 1] },
    ]);
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "out",
    ]);
    ran.expect(1);
    let found = checks(&scratch.json("out/report.json"));
    assert_eq!(found["counters GPU0"], came("fail", "counter_rate"));
    assert_eq!(found["counters GPU1"].0, "pass");
    assert!(
        found
            .values()
            .any(|came| *came == (self::came("fail", "data_mismatch"))),
        "{found:?}"
    );
    assert!(!found.contains_key("p2p GPU0->GPU1") || found["p2p GPU0->GPU1"].0 != "pass");
    // One device where the profile wants two: the box is rejected, and what is there is measured.
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--gpus",
        "1",
        "--out",
        "one",
    ]);
    ran.expect(1);
    let found = checks(&scratch.json("one/report.json"));
    assert!(
        found
            .values()
            .any(|came| *came == self::came("fail", "device_missing")),
        "{found:?}"
    );
    assert_eq!(found["d2h_pinned GPU1"].0, "pass");
}

#[test]
fn a_device_that_is_lost_and_a_copy_that_hangs_end_themselves_and_not_the_run() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let (described, profile) = scratch.two(vec![Fault::DeviceLost {
        device: 1,
        after_copies: 3,
    }]);
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "lost",
    ]);
    ran.expect(1);
    let report = scratch.json("lost/report.json");
    assert_eq!(report["status"]["state"], "complete");
    let found = checks(&report);
    assert_eq!(found["h2d_pinned GPU1"], came("fail", "device_lost"));
    assert!(
        ["pass", "warn"].contains(&found["h2d_pinned GPU0"].0.as_str()),
        "{found:?}"
    );
    let (described, profile) = scratch.two(vec![Fault::Hang {
        op: HangOp::Peer,
        device: None,
        pair: Some([0, 1]),
        after_copies: 0,
    }]);
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "hung",
        "--deadline",
        "2",
    ]);
    ran.expect(1);
    let found = checks(&scratch.json("hung/report.json"));
    assert!(
        found
            .values()
            .any(|came| *came == self::came("fail", "hang")),
        "{found:?}"
    );
    assert!(
        ["pass", "warn"].contains(&found["h2d_pinned GPU0"].0.as_str()),
        "{found:?}"
    );
}

#[test]
fn time_that_does_not_suffice_is_told_and_the_box_is_not_accepted() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let (described, profile) = scratch.two(vec![]);
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "out",
        "--budget",
        "14s",
    ]);
    ran.expect(3);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    assert!(
        found
            .values()
            .any(|came| *came == self::came("skip", "budget")),
        "{found:?}"
    );
    // Copies to the host take longer than what there is, copies between the two devices do not.
    assert_eq!(found["h2d_pinned box"], came("skip", "budget"));
    assert_eq!(found["p2p GPU0->GPU1"].0, "pass");
    // 14 s and 30 s to end what is under way.
    assert!(report["took_s"].as_f64().unwrap() < 44.0);
}

#[test]
fn a_soak_measures_round_after_round_and_tells_drift() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let (described, profile) = scratch.two(vec![]);
    let ran = scratch.run(&[
        "run",
        "--profile",
        &profile,
        "--sim",
        &described,
        "--out",
        "out",
        "--level",
        "soak",
        "--duration",
        "3s",
        "--exclude",
        "allreduce,numa_penalty,concurrent",
    ]);
    // Some kinds were left out, and all that the profile demands was measured.
    ran.expect(0);
    let report = scratch.json("out/report.json");
    let found = checks(&report);
    let drifts: Vec<_> = found
        .iter()
        .filter(|(id, _)| id.starts_with("drift h2d_pinned_ce"))
        .collect();
    assert_eq!(drifts.len(), 2, "{found:?}");
    assert!(
        scratch
            .join("out/groups/soak-links-1-1/record.json")
            .is_file()
    );
    assert!(
        report["not_covered"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains("DCGM"))
    );
}

#[test]
fn host_memory_runs_to_a_verdict_under_its_own_name() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    // The small all-reduce and far nodes take their time on two busy cores and are not what is looked at.
    let ran = scratch.run(&[
        "run",
        "--profile",
        "host",
        "--backend",
        "host",
        "--out",
        "out",
        "--budget",
        "100s",
        "--exclude",
        "allreduce",
    ]);
    let report = scratch.json("out/report.json");
    assert!([0, 3].contains(&ran.code), "{}\n{}", ran.stderr, ran.stdout);
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
