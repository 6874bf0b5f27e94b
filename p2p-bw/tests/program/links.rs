//! Links: one that falls under load, what a pair's ceiling is made of, and what becomes of a monitor that dies.

use boxfile::{BoxFile, Fault};
use record::caveat::Caveat;
use record::{Endpoint, LinkUse, Outcome};

use super::common::{HOST, Kept, Ran, Scratch, gpu, with};

/// The link of a measured point.
fn link(kept: &Kept, case: &str, from: Endpoint, to: Endpoint) -> LinkUse {
    match kept.outcome(case, from, to) {
        Outcome::Measured { link, .. } => link.clone(),
        other => panic!("{case} {from:?} to {to:?}: {other:?}"),
    }
}

/// Runs on a box with copies long enough that their latency is nothing.
fn long(described: &BoxFile, more: &[&str]) -> Kept {
    let scratch = Scratch::new();
    let arguments = with_sizes("64M", scratch.on(described, more));
    let ran = Ran::of(scratch.program(arguments).output().unwrap());
    scratch.left(ran)
}

/// The arguments of a run with other sizes than the usual one.
fn with_sizes(sizes: &str, mut arguments: Vec<String>) -> Vec<String> {
    let at = arguments.iter().position(|argument| argument == "--sizes");
    arguments[at.unwrap() + 1] = sizes.to_owned();
    arguments
}

/// Whether a point is said to be above its ceiling.
fn is_above(kept: &Kept, case: &str) -> bool {
    let is_above = |caveat: &Caveat| matches!(caveat, Caveat::AboveCeiling { .. });
    let mut points = kept.links().points.iter().filter(|p| p.case == case);
    points.any(|point| point.caveats.iter().any(is_above))
}

fn is_near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 0.005)
}

#[test]
fn a_link_that_loses_speed_at_full_width_is_said() {
    // Without noise the first point of device 0 takes six samples of at most four copies: 24, and with the writing of the
    // patterns, two warm-ups, the copy that sizes the samples and the reading back fewer than 40.
    let kept = Scratch::new().soft(
        &with(Fault::Retrain {
            device: 0,
            after_copies: 40,
            generation: 3,
            width: 16,
        }),
        &["--no-peer"],
    );
    let narrowed = Caveat::LinkNarrowed {
        device: "GPU0".to_owned(),
        from: "Gen4 x16".to_owned(),
        to: "Gen3 x16".to_owned(),
    };
    assert!(kept.links().caveats.contains(&narrowed));
    // 8 GT/s * 16 lanes * 128/130 / 8 = 15.754 GB/s; * 256/280 = 14.40. The other device kept its Gen4: 28.81.
    let (case, last) = (
        "d2h_pageable_ce",
        link(&kept, "d2h_pageable_ce", gpu(0), HOST),
    );
    assert!(is_near(last.ceiling_gb_per_s, 14.40), "{last:?}");
    let other = link(&kept, case, gpu(1), HOST);
    assert!(is_near(other.ceiling_gb_per_s, 28.81), "{other:?}");
}

#[test]
fn a_pair_faster_than_pcie_has_no_pcie_ceiling() {
    // Devices 0 and 1 share a switch, 0 and 4 are on two sockets; all have 370 GB/s between them, and Gen5 x16 carries
    // 63.015 * 256/280 = 57.61.
    let mut described = BoxFile::builtin("h200x8").unwrap();
    described.nvlink = None;
    let cases = "h2d_pinned_ce,d2d_write_ce,d2d_bidir_write_ce";
    let kept = long(&described, &["--gpus", "0,1,4", "--cases", cases]);
    for (from, to) in [(0, 1), (0, 2)] {
        for case in ["d2d_write_ce", "d2d_bidir_write_ce"] {
            let link = link(&kept, case, gpu(from), gpu(to));
            let beyond = "faster than PCIe between them can be (57.61 GB/s)";
            assert!(link.basis.starts_with(beyond), "{}", link.basis);
            assert_eq!((link.ceiling_gb_per_s, link.fraction.len()), (None, 0));
            assert!(!is_above(&kept, case));
        }
    }
    let host = link(&kept, "h2d_pinned_ce", HOST, gpu(0));
    assert!(is_near(host.ceiling_gb_per_s, 57.61), "{host:?}");
}
