//! NVLinks of `h200x8`: one that is down, a counter that rises, Fabric Manager that does not run; p2p and doctor name each.

use boxfile::{BoxFile, Fault};
use serde_json::Value;

use super::common::{Kept, Ran, Scratch};

/// Two of the machine's GPUs with this fault, and what p2p and doctor say.
fn with(fault: Fault) -> (Kept, Vec<(String, String)>) {
    let scratch = Scratch::new();
    let mut described = BoxFile::builtin("h200x8").unwrap();
    described.noise = None;
    described.fault.push(fault);
    let file = scratch.text("h200x8.toml");
    std::fs::write(&file, described.to_toml().unwrap()).unwrap();
    let looked = scratch.run(&["doctor", "--sim", &file, "--json"]);
    let looked: Value = serde_json::from_str(&looked.stdout).unwrap();
    let findings = looked["findings"].as_array().unwrap().iter();
    let of = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let bad = findings.filter(|finding| ["bad", "warn"].contains(&of(finding, "verdict").as_str()));
    let bad = bad
        .map(|finding| (of(finding, "code"), of(finding, "about")))
        .collect();
    let arguments = scratch.on(&described, &["--gpus", "0,1", "--cases", "d2d_write_ce"]);
    let ran = Ran::of(scratch.program(arguments).output().unwrap());
    (scratch.left(ran), bad)
}

fn codes(kept: &Kept) -> Vec<&str> {
    kept.links()
        .caveats
        .iter()
        .map(|caveat| caveat.code())
        .collect()
}

fn has(bad: &[(String, String)], code: &str) -> bool {
    bad.iter().any(|(found, _)| found == code)
}

#[test]
fn a_link_that_is_down_is_named_with_what_is_missing() {
    let (kept, bad) = with(Fault::NvlinkDown { device: 0, link: 7 });
    assert!(
        codes(&kept).contains(&"nvlink-inactive"),
        "{:?}",
        codes(&kept)
    );
    assert!(
        !kept.ran.stdout.contains("Links normal"),
        "{}",
        kept.ran.stdout
    );
    assert!(has(&bad, "nvlink-inactive"), "{bad:?}");
}

#[test]
fn a_counter_that_rises_during_the_run_is_told_from_one_that_stands() {
    let errors = |rising| Fault::NvlinkErrors {
        device: 0,
        errors: 3,
        rising,
    };
    let (kept, bad) = with(errors(true));
    assert!(
        codes(&kept).contains(&"nvlink-errors-rise"),
        "{:?}",
        codes(&kept)
    );
    assert!(
        !kept.ran.stdout.contains("Links normal"),
        "{}",
        kept.ran.stdout
    );
    assert!(has(&bad, "nvlink-errors"), "{bad:?}");
    let (kept, bad) = with(errors(false));
    assert!(codes(&kept).contains(&"nvlink-errors"));
    assert!(!codes(&kept).contains(&"nvlink-errors-rise"));
    assert!(has(&bad, "nvlink-errors"), "{bad:?}");
}

#[test]
fn fabric_manager_that_does_not_run_is_named_and_no_driver_is_blamed() {
    let (kept, bad) = with(Fault::InitFailure { code: 802 });
    assert!(has(&bad, "fabric-manager"), "{bad:?}");
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    assert!(
        kept.ran.stderr.contains("fabric-manager"),
        "{}",
        kept.ran.stderr
    );
}
