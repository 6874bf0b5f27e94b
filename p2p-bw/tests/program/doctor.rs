//! `p2p-bw doctor` on soft boxes, on a folder, and on the machine that the tests run on.

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

/// Subject and verdict of each finding of a rule, and what was seen.
fn of<'a>(shown: &'a Value, rule: &str) -> Vec<(&'a str, &'a str, &'a str)> {
    let findings = shown["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["rule"] == rule)
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().unwrap();
            (text("subject"), text("verdict"), text("seen"))
        })
        .collect()
}

#[test]
fn eight_of_sixteen_lanes_are_bad_on_the_box_that_shares_them() {
    let (code, shown) = on("r9700-x8", &[]);
    assert_eq!(code, 1);
    assert_eq!(shown["source"], "soft box r9700-x8 (simulated)");
    assert_eq!(shown["simulated"], true);
    let links = of(&shown, "slot-link");
    assert_eq!(links.len(), 2);
    for (_, verdict, seen) in links {
        assert_eq!(verdict, "bad");
        assert!(
            seen.contains("Gen5 x8, and both its ends can do Gen5 x16"),
            "{seen}"
        );
    }
}

#[test]
fn mig_instances_have_no_peer_access() {
    let (code, shown) = on("rtxpro6000-mig", &["--only", "peer-access-forbidden,guest"]);
    assert_eq!(code, 1);
    let found: Vec<_> = of(&shown, "peer-access-forbidden");
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].0, found[0].1), ("MIG0", "bad"));
    assert_eq!(of(&shown, "guest")[0].1, "warn");
}

#[test]
fn four_gpus_on_amds_cpus_are_farther_than_nccl_goes_and_two_are_not() {
    // The box's pairs are NODE and SYS; NCCL goes up to PXB with more than two GPUs on AMD's processors, to SYS with two.
    let (_, four) = on("l40x4", &["--only", "nccl-p2p-level"]);
    let pairs = of(&four, "nccl-p2p-level");
    assert_eq!(pairs.len(), 6);
    assert!(
        pairs.iter().all(|(_, verdict, _)| *verdict == "warn"),
        "{pairs:?}"
    );
    // An engine on two of the four makes a communicator of two, which goes the other way.
    for (pair, _, seen) in &pairs {
        assert!(
            seen.contains("TP2 with these two goes directly, within SYS")
                && seen.contains("TP4 with all goes through host memory"),
            "{pair}: {seen}"
        );
    }
    let (code, two) = on("l40x4", &["--only", "nccl-p2p-level", "--gpus", "0,3"]);
    assert_eq!(code, 0);
    let pairs = of(&two, "nccl-p2p-level");
    assert_eq!((pairs[0].0, pairs[0].1), ("GPU0-GPU3", "ok"));
}

#[test]
fn limits_of_this_machine_are_not_those_of_a_soft_box() {
    let (code, shown) = on(
        "l40x4",
        &[
            "--only",
            "memlock,shm-size,kernel-log,cgroup-cpu,cpu-governor",
        ],
    );
    // Nothing of these could be told of the box.
    assert_eq!(code, 3);
    assert_eq!(shown["counts"]["cannot_tell"], 5);
    assert!(of(&shown, "memlock")[0].2.contains("soft box"), "{shown}");
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
fn the_order_is_not_told_where_the_variables_are_left_out() {
    let scratch = Scratch::new();
    let mut program = scratch.program([
        "doctor",
        "--sim",
        "l40x4",
        "--only",
        "device-order",
        "--json",
    ]);
    program.env("CUDA_VISIBLE_DEVICES", "1,0");
    let ran = Ran::of(program.output().unwrap());
    // The only rule that was asked for could not tell.
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let shown = json(&ran);
    let found = of(&shown, "device-order");
    assert_eq!((found.len(), found[0].1), (1, "cannot_tell"));
    assert!(found[0].2.contains("_VISIBLE_DEVICES"), "{}", found[0].2);
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
    let (_, shown) = on("l40x4", &["--only", "known-versions"]);
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

#[test]
fn this_machine_is_looked_at_and_the_text_ends_with_the_counts() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["doctor"]);
    assert!([0, 1].contains(&ran.code), "{} {}", ran.code, ran.stderr);
    assert!(
        ran.stdout.starts_with("doctor: this machine\n"),
        "{}",
        ran.stdout
    );
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.contains(" bad, ") && last.ends_with(" ok"), "{last}");
}

#[test]
fn rules_are_listed_and_one_that_is_none_is_refused() {
    let scratch = Scratch::new();
    let listed = scratch.run(&["doctor", "--list"]);
    assert_eq!(listed.code, 0);
    for rule in doctor::RULES {
        assert!(listed.stdout.contains(rule.id), "{}", rule.id);
    }
    let refused = scratch.run(&["doctor", "--only", "no-such-rule"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("no-such-rule") && refused.stderr.contains("--list"),
        "{}",
        refused.stderr
    );
    let both = scratch.run(&["doctor", "--sim", "l40x4", "--backend", "host"]);
    assert_eq!(both.code, 2);
    let missing = scratch.run(&["doctor", "--root", "/nowhere"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("/nowhere"), "{}", missing.stderr);
}

#[test]
fn of_two_named_gpus_the_path_is_shown_and_what_comes_next() {
    let scratch = Scratch::new();
    // GPUs 0 and 1 of the box have a sound path for two; its cards of the network are far, which is no matter of the path.
    let ran = scratch.run(&["doctor", "--sim", "l40x4", "--gpus", "0,1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "ok      nccl-p2p-level of GPU0-GPU1: the path is NODE",
        "nothing here explains a loss",
        "`cargo xtask p2p --sim l40x4 --gpus 0,1`",
    ] {
        assert!(ran.stdout.contains(part), "no `{part}` in {}", ran.stdout);
    }
    // Of all of them it is a count.
    let ran = scratch.run(&["doctor", "--sim", "l40x4"]);
    assert!(
        !ran.stdout.contains("nothing here explains"),
        "{}",
        ran.stdout
    );
    // Four go through host memory by NCCL's rule, which a soft library has none of.
    assert!(ran.stdout.contains("plays no levels"), "{}", ran.stdout);
}
