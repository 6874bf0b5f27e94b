//! Cases over several devices, by kernels and of latencies: what they are called, how they are timed, and what is said where
//! they cannot run. Their numbers are compared elsewhere, in `known_answers`.

use boxfile::{BoxFile, Fault};
use record::quantity::Gate;
use record::{Endpoint, NamedQuantity, Outcome, Verification};

use super::common::{HOST, Kept, Scratch, gpu, keep_devices, two_gpus, without_kernels};

const ALL: Endpoint = Endpoint::All;

/// The first three GPUs of `l40x4`, without noise.
fn three_gpus() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").unwrap();
    keep_devices(&mut described, 3);
    described.noise = None;
    described
}

fn run(described: &BoxFile, cases: &str) -> Kept {
    Scratch::new().soft(described, &["--cases", cases])
}

fn quantities<'a>(kept: &'a Kept, case: &str, from: Endpoint, to: Endpoint) -> &'a [NamedQuantity] {
    match kept.outcome(case, from, to) {
        Outcome::Measured {
            quantities,
            verification: Verification::Passed,
            ..
        } => quantities,
        other => panic!("{case}: {other:?}"),
    }
}

fn skipped<'a>(kept: &'a Kept, case: &str, from: Endpoint, to: Endpoint) -> &'a str {
    match kept.outcome(case, from, to) {
        Outcome::Skipped { reason } => reason,
        other => panic!("{case}: {other:?}"),
    }
}

#[test]
fn streams_are_held_by_a_kernel_where_nothing_speaks_against_it() {
    let cases = "h2d_pinned_ce,h2d_pageable_ce,d2d_write_sm,host_chase_sm,host_to_all_ce";
    let kept = run(&two_gpus(), cases);
    let gate = |case, from, to| quantities(&kept, case, from, to)[0].quantity.timing.gate;
    assert_eq!(gate("h2d_pinned_ce", HOST, gpu(0)), Gate::SpinKernel);
    assert_eq!(gate("d2d_write_sm", gpu(0), gpu(1)), Gate::SpinKernel);
    assert_eq!(gate("host_chase_sm", HOST, gpu(1)), Gate::SpinKernel);
    assert_eq!(gate("host_to_all_ce", HOST, ALL), Gate::SpinKernel);
    // The driver stages it, and may wait for the stream while it does.
    assert_eq!(gate("h2d_pageable_ce", HOST, gpu(0)), Gate::None);
}

#[test]
fn without_kernels_copies_are_measured_without_a_gate_and_the_rest_is_skipped_in_words() {
    let described = without_kernels(two_gpus());
    let kept = run(&described, "h2d_pinned_*,d2d_write_*,host_chase_sm");
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    let copy = quantities(&kept, "h2d_pinned_ce", HOST, gpu(0));
    assert_eq!(copy[0].quantity.timing.gate, Gate::None);
    assert!(kept.is_measured("d2d_write_ce", gpu(0), gpu(1)));
    for (case, from, to) in [
        ("h2d_pinned_sm", HOST, gpu(0)),
        ("d2d_write_sm", gpu(0), gpu(1)),
        ("host_chase_sm", HOST, gpu(1)),
    ] {
        let why = skipped(&kept, case, from, to);
        assert!(why.contains("kernel"), "{case}: {why}");
    }
}

#[test]
fn a_group_is_left_out_where_one_of_its_pairs_has_no_access() {
    let mut described = three_gpus();
    described.fault = vec![Fault::PeerDenied { pair: [0, 2] }];
    let kept = run(&described, "all_pairs_ce,ring_ce");
    let Outcome::NotApplicable { reason } = kept.outcome("all_pairs_ce", ALL, ALL) else {
        panic!("{:?}", kept.outcome("all_pairs_ce", ALL, ALL));
    };
    assert!(
        reason.contains("between GPU0 and GPU2 peer access is denied"),
        "{reason}"
    );
    // 0 to 1, 1 to 2 and 2 to 0 are what the ring needs.
    assert!(kept.is_measured("ring_ce", ALL, ALL));
}
