//! `tplens numa` on the machine that runs the tests, with the calls refused that say where memory is.
//!
//! Numbers are `known_answers`' concern; here it is what may be said of where they were taken.

use record::{Numa, Outcome, Payload, Placement, load};

use super::common::{Scratch, skip};

/// Runs on host memory with calls refused; what it keeps, its exit code and what it prints.
fn ran(refused: &str) -> (Numa, i32, String) {
    let scratch = Scratch::new();
    let out = scratch.text("out");
    let start = [
        "numa",
        "--backend",
        "host",
        "--gpus",
        "0",
        "--kinds",
        "pageable",
    ];
    let size = ["--size", "1M", "--samples", "6"];
    let rest = ["--budget", "0.1", "--out", &out, "--refuse", refused];
    let ran = scratch.run(&[&start[..], &size, &rest].concat());
    let record = load(&scratch.join("out").join("record.json"))
        .unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    scratch.nobody_is_left();
    let Payload::Numa(numa) = record.payload else {
        panic!("not numa");
    };
    (*numa, ran.code, ran.stdout)
}

/// The memory of every copy that was measured.
fn places(numa: &Numa) -> Vec<&Placement> {
    let copies = numa.points.iter().map(|point| match &point.outcome {
        Outcome::Measured { placement, .. } => placement.as_ref().unwrap(),
        other => panic!("not measured: {other:?}"),
    });
    copies.collect()
}

/// Whether this test can tell anything; a skip is noted where not.
fn is_told() -> bool {
    if !std::path::Path::new("/sys/devices/system/node/node0").exists() {
        skip("no NUMA nodes in sysfs");
        return false;
    }
    let on_node_0 = numa::Placement {
        node: Some(0),
        ..numa::Placement::default()
    };
    let bound = numa::HostPages::allocate(1, &on_node_0);
    let refused = bound
        .and_then(|pages| pages.placement_now())
        .err()
        .filter(numa::NumaError::is_forbidden);
    if let Some(error) = &refused {
        skip(&error.to_string());
    }
    refused.is_none()
}

#[test]
fn where_move_pages_alone_is_refused_places_are_proven_and_the_other_call_is_named() {
    if !is_told() {
        return;
    }
    let (numa, code, text) = ran("move_pages");
    assert_eq!(code, 0, "{text}");
    // The form of `numa exec` that starts something where there is no GPU.
    assert!(text.contains("numa exec --node 0"), "{text}");
    for place in places(&numa) {
        assert_eq!(place.proven, place.wanted, "{place:?}");
        assert!(place.basis.starts_with("get_mempolicy, "), "{place:?}");
    }
    assert!(numa.points.iter().all(|point| point.is_proven()));
    assert!(!text.contains("not proven"), "{text}");
}

#[test]
fn where_both_are_refused_nothing_is_proven_and_no_number_stands_for_a_node() {
    if !is_told() {
        return;
    }
    let (numa, code, text) = ran("move_pages,get_mempolicy");
    assert_eq!(code, 3, "{text}");
    for place in places(&numa) {
        assert_eq!(place.proven, None, "{place:?}");
        let both = place.basis.contains("move_pages") && place.basis.contains("get_mempolicy");
        assert!(both, "{place:?}");
    }
    // The names of all numbers there are.
    for name in ["bandwidth", "latency", "time"] {
        assert!(numa.points.iter().all(|point| point.proven(name).is_none()));
    }
    assert!(text.contains("not proven"), "{text}");
}

#[test]
fn a_size_that_memory_does_not_hold_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let arguments = [
        "numa",
        "--backend",
        "host",
        "--gpus",
        "0",
        "--size",
        "1048576G",
    ];
    scratch
        .run(&arguments)
        .is_wrong_usage("use a smaller --size");
}
