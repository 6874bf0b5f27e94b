//! `tplens p2p compare`: two runs, or files of nvbandwidth, and what is said about their difference.

use boxfile::BoxFile;
use serde_json::Value;

use super::common::{QUICK, Ran, Scratch, figure, two_gpus};

/// Copies between host and devices alone, which is quick.
const CASES: [&str; 2] = ["--cases", "h2d_pinned_ce,d2h_pinned_ce"];

/// A run on a box, kept in a folder of this name.
fn run_on(scratch: &Scratch, described: &BoxFile, name: &str) {
    kept_run(scratch, described, name, &CASES);
}

/// A run on a box with further arguments, kept in a folder of this name.
pub(crate) fn kept_run(scratch: &Scratch, described: &BoxFile, name: &str, more: &[&str]) {
    let path = scratch.write_box(described);
    let arguments = [
        &["--sim", &path, "--out", name, "--state-dir", "state"][..],
        &QUICK,
        more,
    ];
    let ran = scratch.run(&arguments.concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// The record of a run in a folder, to be changed.
pub(crate) fn record_of(scratch: &Scratch, name: &str) -> Value {
    let path = scratch.join(name).join("record.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The box of two GPUs with another figure for copies from pinned host memory to the second one.
fn second_at(gb_per_s: f64) -> BoxFile {
    let mut described = two_gpus();
    described.device[1].h2d_pinned = figure(gb_per_s);
    described
}

pub(crate) fn compare(scratch: &Scratch, arguments: &[&str]) -> Ran {
    let ran = scratch.run(&[&["compare"], arguments].concat());
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

/// A file in nvbandwidth's form with one test of one row.
fn theirs(scratch: &Scratch, name: &str, test: &str, cells: &str) {
    let text = format!(
        "{{\"nvbandwidth\": {{\"version\": \"v0.8\", \"testcases\": [{{\"name\": \"{test}\", \"status\": \"Passed\", \
         \"bandwidth_description\": \"x (GB/s)\", \"bandwidth_matrix\": [[{cells}]]}}]}}}}"
    );
    std::fs::write(scratch.join(name), text).unwrap();
}

#[test]
fn a_slower_device_is_a_regression_and_comes_first() {
    let scratch = Scratch::new();
    run_on(&scratch, &second_at(20.0), "a");
    run_on(&scratch, &second_at(10.0), "b");
    let ran = compare(&scratch, &["a", "b/record.json", "--json", "c.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{}", ran.stdout);
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(scratch.join("c.json")).unwrap()).unwrap();
    // Two devices, two directions; the worst one first, the others untouched.
    let verdicts: Vec<&Value> = json["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["verdict"])
        .collect();
    assert_eq!(verdicts, ["regression", "same", "same", "same"]);
    // Half the bandwidth, less what a latency takes of both: 64 KiB at 20 GB/s last 3.3 us.
    let ratio = json["rows"][0]["ratio"].as_f64().unwrap();
    assert!((0.5..0.9).contains(&ratio), "{ratio}");
    // Nothing varies on a box without noise.
    assert_eq!(
        json["rows"][0]["interval"]["low"],
        json["rows"][0]["interval"]["high"]
    );

    let back = compare(&scratch, &["b", "a/journal.jsonl"]);
    assert_eq!(back.code, 0);
    // With a threshold of 99% nothing is worse.
    assert_eq!(compare(&scratch, &["a", "b", "--threshold", "99%"]).code, 0);
}

#[test]
fn a_number_that_failed_in_b_is_lost() {
    let scratch = Scratch::new();
    run_on(&scratch, &two_gpus(), "a");
    let mut record = record_of(&scratch, "a");
    let point = &mut record["payload"]["links"]["points"][0];
    point["outcome"] = serde_json::json!({"is": "failed", "reason": {"kind": "device-lost", "detail": "the driver said 700"}});
    std::fs::write(scratch.join("b.json"), record.to_string()).unwrap();
    let ran = compare(&scratch, &["a", "b.json"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
}

#[test]
fn files_without_a_common_number_are_exit_3_and_unreadable_ones_exit_2() {
    let scratch = Scratch::new();
    theirs(&scratch, "a.json", "host_to_device_memcpy_ce", "\"20\"");
    theirs(&scratch, "b.json", "device_local_copy", "\"300\"");
    let ran = compare(&scratch, &["a.json", "b.json"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    std::fs::write(scratch.join("x.txt"), "hello").unwrap();
    compare(&scratch, &["a.json", "x.txt"])
        .is_wrong_usage("x.txt has no format that is known here");
    // The system's words once.
    compare(&scratch, &["a.json", "absent"])
        .is_wrong_usage("error: cannot read absent: No such file or directory (os error 2)\n");
    std::fs::write(scratch.join("empty"), "").unwrap();
    compare(&scratch, &["a.json", "empty"]).is_wrong_usage("empty is empty");
    std::fs::write(scratch.join("cut.json"), "{\n\"header\": {\n").unwrap();
    compare(&scratch, &["a.json", "cut.json"])
        .is_wrong_usage("cut.json is not whole JSON: it ends at line 3");
    assert_eq!(scratch.run(&["show", "a.json"]).code, 0);
    compare(&scratch, &["a.json", "b.json", "--threshold", "0%"]).is_wrong_usage("`0%`");
    compare(&scratch, &["a.json", "b.json", "--json", "no/c.json"])
        .is_wrong_usage("--json no/c.json");
}
