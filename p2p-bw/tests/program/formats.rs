//! Other forms of a run: nvbandwidth's JSON, and pictures.

use serde_json::Value;

use super::common::{Scratch, two_gpus};

#[test]
fn nvbandwidths_json_stands_on_standard_output_and_says_what_it_leaves_out() {
    let scratch = Scratch::new();
    let cases = ["--cases", "h2d_pinned_ce,h2d_pageable_ce,d2d_write_ce"];
    let form = ["--format", "nvbandwidth-json"];
    let kept = scratch.soft(&two_gpus(), &[cases, form].concat());
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let json: Value = serde_json::from_str(&kept.ran.stdout).unwrap();
    let tests = json["nvbandwidth"]["testcases"].as_array().unwrap();
    let names: Vec<&str> = tests.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "host_to_device_memcpy_ce",
            "device_to_device_memcpy_write_ce"
        ]
    );
    assert_eq!(tests[1]["bandwidth_matrix"][0][0], "N/A");
    assert_eq!(json["nvbandwidth"]["simulated"], "two-l40");
    let said = "left out: nvbandwidth has no test of h2d_pageable_ce";
    assert!(kept.ran.stderr.contains(said), "{}", kept.ran.stderr);
    let shown = scratch.run(&[&["show", "out"][..], &form].concat());
    assert_eq!((shown.code, shown.stdout), (0, kept.ran.stdout));
    assert_eq!(shown.stderr, format!("{said}\n"));
}

#[test]
fn two_forms_that_want_standard_output_are_refused() {
    let scratch = Scratch::new();
    let form = ["--format", "nvbandwidth-json", "--backend", "host"];
    let ran = scratch.run(&[&form[..], &["--json", "-"]].concat());
    ran.is_wrong_usage("--json - and --format both want standard output");
    scratch
        .run(&["show", "out", "--csv", "--format", "nvbandwidth-json"])
        .is_wrong_usage("--csv");
}
