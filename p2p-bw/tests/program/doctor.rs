//! `tplens doctor` on simulated machines, on a folder, and on the machine that the tests run on.

use boxfile::BoxFile;
use serde_json::Value;

use crate::program::common::{Ran, Scratch};

/// What a run printed as JSON.
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr))
}

/// Runs it on a box and reads its JSON.
fn on(name: &str, more: &[&str]) -> (i32, Value) {
    let scratch = Scratch::new();
    let arguments = ["doctor", "--sim", name, "--json"];
    let ran = scratch.run(&[&arguments[..], more].concat());
    let value = json(&ran);
    scratch.nobody_is_left();
    (ran.code, value)
}

/// Subject, verdict and evidence of each finding of a rule.
fn of<'a>(shown: &'a Value, rule: &str) -> Vec<(&'a str, &'a str, String)> {
    let findings = shown["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["rule"] == rule)
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().unwrap();
            (
                text("subject"),
                text("verdict"),
                finding["evidence"].to_string(),
            )
        })
        .collect()
}

#[test]
fn eight_of_sixteen_lanes_are_bad_on_the_box_that_shares_them() {
    let (code, shown) = on("r9700-x8", &[]);
    assert_eq!(code, 1);
    assert_eq!(shown["source"], "simulated machine r9700-x8");
    assert_eq!(shown["simulated"], true);
    let links = of(&shown, "slot-link");
    assert_eq!(links.len(), 2);
    for (_, verdict, evidence) in links {
        assert_eq!(verdict, "bad");
        assert!(
            evidence.contains("Gen5 x8") && evidence.contains("Gen5 x16"),
            "{evidence}"
        );
    }
}

#[test]
fn limits_of_this_machine_are_not_those_of_a_soft_box() {
    let (_, shown) = on("l40x4", &[]);
    // Nothing of these could be told of the box.
    for rule in ["memlock", "shm-size", "kernel-log", "cgroup-cpu"] {
        assert_eq!(of(&shown, rule)[0].1, "cannot_tell", "{rule}");
    }
    assert!(of(&shown, "memlock")[0].2.contains("simulated"), "{shown}");
}

#[test]
fn a_variable_is_told_and_a_secret_is_not() {
    let scratch = Scratch::new();
    let mut program = scratch.program(["doctor", "--sim", "l40x4", "--json"]);
    program
        .env("NCCL_P2P_DISABLE", "1")
        .env("NCCL_SECRET", "canary")
        .env("HF_TOKEN", "canary");
    let ran = Ran::of(program.output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let shown = json(&ran);
    let found = of(&shown, "variables");
    assert_eq!((found[0].0, found[0].1), ("NCCL_P2P_DISABLE", "bad"));
    assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"));
}

#[test]
fn a_gpu_that_is_not_there_is_refused_and_those_that_are_there_are_named() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["doctor", "--sim", "l40x4", "--gpus", "7"]);
    assert_eq!(ran.code, 2, "{} {}", ran.stdout, ran.stderr);
    // The first GPU's address in the box file.
    let first = &BoxFile::builtin("l40x4").unwrap().device[0].address;
    assert!(
        ran.stderr.contains(&format!("there are 0 ({first})")) && !ran.stderr.contains("--list"),
        "{}",
        ran.stderr
    );
    // Neither with a driver nor without one has a machine a GPU of this number.
    for backend in ["auto", "host"] {
        let ran = scratch.run(&["doctor", "--backend", backend, "--gpus", "4711"]);
        assert_eq!(ran.code, 2, "{backend}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("--gpus 4711"), "{}", ran.stderr);
    }
}

#[test]
fn a_backend_that_was_asked_for_and_is_not_there_is_inconclusive() {
    // The box of one vendor has no driver of another one.
    let scratch = Scratch::new();
    let arguments = ["doctor", "--sim", "l40x4", "--backend", "maca", "--json"];
    let ran = scratch.run(&arguments);
    if json(&ran)["counts"]["bad"] == 0 {
        assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    }
    assert!(ran.stderr.contains("does not answer"), "{}", ran.stderr);
}

#[test]
fn versions_of_driver_and_library_are_asked() {
    let (_, shown) = on("l40x4", &[]);
    let versions = shown["versions"].as_array().unwrap();
    let of = |component: &str| {
        versions
            .iter()
            .find(|version| version["component"] == component)
    };
    // The box file's.
    assert_eq!(of("NVIDIA driver").unwrap()["version"], "570.133.07");
    assert!(of("NCCL").is_some(), "{versions:?}");
}

#[test]
fn a_folder_is_read_without_asking_anybody() {
    let scratch = Scratch::new();
    let described = BoxFile::builtin("mxc500x4").unwrap();
    boxfile::sysfs::write_tree(&described, &scratch.join("tree")).unwrap();
    let ran = scratch.run(&["doctor", "--root", &scratch.text("tree"), "--json"]);
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    let shown = json(&ran);
    let bars = of(&shown, "large-bar");
    assert_eq!(bars.len(), 4);
    assert!(
        bars.iter().all(|(_, verdict, _)| *verdict == "ok"),
        "{bars:?}"
    );
    assert_eq!(of(&shown, "open-files")[0].1, "cannot_tell");
    assert_eq!(shown["versions"].as_array().unwrap().len(), 0);
}
