//! `tplens p2p compare` of boxes that changed: peer access, links, addresses, paths; and what is not judged.

use boxfile::{BoxFile, Fault};

use super::common::{Scratch, two_gpus, with};
use super::compare::{compare, kept_run};

/// A copy from the host, and between the two devices by copy engine and by kernel.
const CASES: [&str; 2] = ["--cases", "h2d_pinned_ce,d2d_write_ce,d2d_write_sm"];

/// A run on two GPUs with direct access, and one after something changed.
fn before_and_after(scratch: &Scratch, after: &BoxFile, more: &[&str]) {
    kept_run(scratch, &two_gpus(), "a", &CASES);
    kept_run(scratch, after, "b", &[&CASES, more].concat());
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
fn what_goes_with_peer_access_is_lost() {
    let scratch = Scratch::new();
    before_and_after(&scratch, &with(Fault::PeerDenied { pair: [0, 1] }), &[]);
    let ran = compare(&scratch, &["a", "b"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let better = compare(&scratch, &["b", "a"]);
    assert_eq!(better.code, 0, "{}", better.stdout);
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
