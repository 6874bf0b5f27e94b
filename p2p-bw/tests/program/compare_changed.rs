//! `tplens p2p compare` of boxes that changed: peer access, links, addresses, paths; and what is not judged.

use boxfile::{BoxFile, Fault};
use serde_json::Value;

use super::common::{Scratch, two_gpus, with};
use super::compare::{compare, kept_run, record_of};

/// A copy from the host, and between the two devices by copy engine and by kernel.
const CASES: [&str; 2] = ["--cases", "h2d_pinned_ce,d2d_write_ce,d2d_write_sm"];

/// A run on two GPUs with direct access, and one after something changed.
fn before_and_after(scratch: &Scratch, after: &BoxFile, more: &[&str]) {
    kept_run(scratch, &two_gpus(), "a", &CASES);
    kept_run(scratch, after, "b", &[&CASES, more].concat());
}

fn write(scratch: &Scratch, name: &str, record: &Value) {
    std::fs::write(scratch.join(name), record.to_string()).unwrap();
}

/// A file in nvbandwidth's form, with devices at these addresses and these entries.
fn theirs(scratch: &Scratch, name: &str, addresses: &[&str], tests: &str) {
    let devices: Vec<String> = addresses
        .iter()
        .enumerate()
        .map(|(number, address)| format!("\"{number}: X (00000000:{address}:00): (h)\""))
        .collect();
    let devices = devices.join(", ");
    let text = format!(
        "{{\"nvbandwidth\": {{\"GPU Device list\": [{devices}], \"testcases\": [{tests}]}}}}"
    );
    std::fs::write(scratch.join(name), text).unwrap();
}

fn passed(test: &str, matrix: &str) -> String {
    format!(
        "{{\"name\": \"{test}\", \"status\": \"Passed\", \"bandwidth_description\": \"x (GB/s)\", \
         \"bandwidth_matrix\": {matrix}}}"
    )
}

#[test]
fn peer_access_that_was_left_off_leaves_a_part_of_a_uncompared() {
    let scratch = Scratch::new();
    before_and_after(&scratch, &two_gpus(), &["--no-peer"]);
    let ran = compare(&scratch, &["a", "b"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    // The other way round nothing of A is missing.
    assert_eq!(compare(&scratch, &["b", "a"]).code, 0);
}

#[test]
fn what_goes_with_peer_access_is_lost() {
    let scratch = Scratch::new();
    before_and_after(&scratch, &with(Fault::PeerDenied { pair: [0, 1] }), &[]);
    let ran = compare(&scratch, &["a", "b"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let better = compare(&scratch, &["b", "a"]);
    assert_eq!(better.code, 0, "{}", better.stdout);
}

#[test]
fn what_this_machine_took_beside_a_soft_box_is_not_judged() {
    let scratch = Scratch::new();
    kept_run(
        &scratch,
        &two_gpus(),
        "a",
        &["--cases", "small_copy_h2d_ce"],
    );
    let mut record = record_of(&scratch, "a");
    for point in record["payload"]["links"]["points"].as_array_mut().unwrap() {
        for named in point["outcome"]["quantities"].as_array_mut().unwrap() {
            if named["name"] == "issue" {
                // Ten times as long.
                let quantity = &mut named["quantity"];
                quantity["value"] = (quantity["value"].as_f64().unwrap() * 10.0).into();
                for sample in quantity["samples"].as_array_mut().unwrap() {
                    *sample = (sample.as_f64().unwrap() * 10.0).into();
                }
            }
        }
    }
    write(&scratch, "b.json", &record);
    let ran = compare(&scratch, &["a", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let rows: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.contains("issue"))
        .collect();
    assert!(rows[0].ends_with("not judged"), "{rows:?}");
    // The pace of both devices is judged.
}

#[test]
fn a_run_that_broke_off_leaves_the_rest_of_a_uncompared() {
    let scratch = Scratch::new();
    kept_run(&scratch, &two_gpus(), "a", &CASES);
    let journal = std::fs::read_to_string(scratch.join("a/journal.jsonl")).unwrap();
    let points = journal.match_indices("{\"links\":{\"event\":{\"point\"");
    // Two of the six points: those of the host.
    let (end, _) = points.clone().nth(2).unwrap();
    assert_eq!(points.count(), 6);
    std::fs::write(scratch.join("cut.jsonl"), &journal[..end]).unwrap();
    let ran = compare(&scratch, &["a", "cut.jsonl"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
}

#[test]
fn devices_are_told_by_their_addresses() {
    let scratch = Scratch::new();
    let local = |cells: &str| passed("device_local_copy", cells);
    let a = local("[[\"300\", \"200\"]]");
    theirs(&scratch, "a.json", &["21", "61"], &a);
    // The same cards in the other order, and the same numbers of each.
    let b = local("[[\"200\", \"300\"]]");
    theirs(&scratch, "b.json", &["61", "21"], &b);
    let ran = compare(&scratch, &["a.json", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn a_device_at_another_address_is_told_by_its_number_and_named() {
    let scratch = Scratch::new();
    let local = passed("device_local_copy", "[[\"300\", \"200\"]]");
    theirs(&scratch, "a.json", &["21", "61"], &local);
    theirs(&scratch, "b.json", &["21", "81"], &local);
    let ran = compare(&scratch, &["a.json", "b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    // A's second card is B's first one; B's second one is none of A's, and A's first one none of B's.
    let moved = passed("device_local_copy", "[[\"200\", \"200\"]]");
    theirs(&scratch, "c.json", &["61", "81"], &moved);
    compare(&scratch, &["a.json", "c.json"]);
}
