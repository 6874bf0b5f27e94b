//! Faults of hardware end to end: real processes on simulated machines, each fault told by the check that it is for.
//!
//! Boxes have several faults at once here, so that few runs tell many of them; one by one they are in `one_by_one`.

use std::time::Instant;

use boxfile::{BoxFile, Fault};

use crate::run::common::{Came, Scratch, can_run_in_full, checks};
use crate::run::planted::{self, seeded};

/// The check that must tell a fault: its kind, a part of what it is about, and the codes that are right.
pub(crate) type Wanted = (&'static str, &'static str, &'static [&'static str]);

/// Whether a check of this kind, about this, came to a verdict that is no good for one of these reasons.
pub(crate) fn is_told(found: &[(String, Came)], (kind, about, codes): &Wanted) -> bool {
    found.iter().any(|(id, (verdict, code))| {
        id.split(' ').next() == Some(kind)
            && id.contains(about)
            && ["fail", "inconclusive"].contains(&verdict.as_str())
            && codes.contains(&code.as_str())
    })
}

/// Runs a box with all its faults and gives exit code, checks and seconds.
pub(crate) fn run(
    scratch: &Scratch,
    described: &BoxFile,
    profile: &str,
    out: &str,
    more: &[&str],
) -> (i32, Vec<(String, Came)>, f64) {
    let file = scratch.describe(described, &format!("{out}.toml"));
    let begun = Instant::now();
    let ran = scratch.on((profile, &file), out, more);
    let seconds = begun.elapsed().as_secs_f64();
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let report = scratch.json(&format!("{out}/report.json"));
    (ran.code, checks(&report).into_iter().collect(), seconds)
}

/// Runs a box with several faults, without the all-reduce unless it is wanted; each must be told and the box rejected.
#[track_caller]
fn is_rejected_for_all(
    described: &BoxFile,
    profile: &str,
    more: &[&str],
    wanted: &[Wanted],
) -> Vec<(String, Came)> {
    let scratch = Scratch::new();
    let (code, found, _) = run(&scratch, described, profile, "out", more);
    assert_eq!(code, 1, "{found:?}");
    for one in wanted {
        assert!(is_told(&found, one), "{one:?}: {}", odd(&found));
    }
    found
}

#[test]
fn a_narrow_slot_link_errors_heat_the_wrong_socket_and_a_slow_way_are_told_beside_each_other() {
    if !can_run_in_full() {
        return;
    }
    let mut described = seeded("l40x4", 1);
    planted::slot(&mut described, 2, 4, 8);
    planted::link_errors(&mut described, 1, 60, 2);
    planted::hot(&mut described, 0);
    planted::on_node(&mut described, 3, 0);
    planted::slow_way(&mut described, [1, 0]);
    planted::not_repaired(&mut described, 3);
    planted::near_slowdown(&mut described, 1);
    let found = is_rejected_for_all(
        &described,
        "l40x4",
        &["--exclude", "allreduce"],
        &[
            ("link", "GPU2", &["link-degraded"]),
            ("counters", "GPU1", &["errors-counted"]),
            ("throttle", "GPU0", &["throttled"]),
            ("numa_node", "GPU3", &["config-mismatch"]),
            ("symmetry", "GPU1->GPU0", &["beyond-limit"]),
            ("memory_repairs", "GPU3", &["errors-counted"]),
        ],
    );
    // None of it falls on others.
    let came = |id: &str| {
        found
            .iter()
            .find(|(known, _)| known == id)
            .unwrap()
            .1
            .0
            .clone()
    };
    assert_eq!(
        [
            came("link GPU1"),
            came("counters GPU0"),
            came("throttle GPU1"),
            came("numa_node GPU2"),
            came("memory_repairs GPU2"),
        ],
        ["pass"; 5]
    );
    // 92 - 89 = 3 degrees, where 5 or more are wanted; others of the box do not say when they slow down.
    assert_eq!(
        [came("temperature GPU1"), came("temperature GPU2")],
        ["warn", "skip"]
    );
}

#[test]
fn dropped_data_and_a_copy_that_hangs_are_told_and_end_themselves_and_not_the_run() {
    if !can_run_in_full() {
        return;
    }
    let mut described = seeded("l40x4", 2);
    described.fault.push(Fault::DropData { pair: [1, 3] });
    planted::hangs(&mut described, [2, 0]);
    let found = is_rejected_for_all(
        &described,
        "l40x4",
        &["--exclude", "allreduce", "--deadline", "2s"],
        &[
            ("data", "GPU1->GPU3", &["wrong-data"]),
            ("peer_access", "GPU1->GPU3", &["wrong-data"]),
            ("peer_access", "GPU2->GPU0", &["hang"]),
        ],
    );
    assert!(
        is_good(&found, "p2p GPU0->GPU1") && is_good(&found, "h2d_pinned GPU3"),
        "{found:?}"
    );
}

#[test]
fn a_device_that_is_lost_and_a_lower_generation_are_told_and_the_others_are_measured() {
    if !can_run_in_full() {
        return;
    }
    let mut described = seeded("l40x4", 3);
    planted::slot(&mut described, 0, 3, 16);
    planted::lost(&mut described, 1);
    let found = is_rejected_for_all(
        &described,
        "l40x4",
        &[
            "--exclude",
            "allreduce,p2p,p2p_staged,p2p_latency,peer_access,symmetry",
        ],
        &[
            ("link", "GPU0", &["link-degraded"]),
            ("d2h_pinned", "GPU1", &["device-lost"]),
            ("inventory", "GPU1", &["device-lost"]),
        ],
    );
    assert!(
        is_good(&found, "d2h_pinned GPU2") && is_good(&found, "d2h_pinned GPU3"),
        "{found:?}"
    );
}

#[test]
fn eight_lanes_sold_as_sixteen_and_a_slow_all_reduce_are_told_of_cards_with_a_switch_of_their_own()
{
    if !can_run_in_full() {
        return;
    }
    let mut described = seeded("r9700-x8", 5);
    planted::slow_collectives(&mut described, 2.0);
    is_rejected_for_all(
        &described,
        "r9700-x16",
        &[],
        &[
            ("link", "GPU0", &["link-degraded"]),
            ("link", "GPU1", &["link-degraded"]),
            ("allreduce", "large", &["beyond-limit"]),
        ],
    );
}

/// Whether a check found nothing wrong: some copies of the box lie at the line that warns.
fn is_good(found: &[(String, Came)], wanted: &str) -> bool {
    found
        .iter()
        .any(|(id, (verdict, _))| id == wanted && ["pass", "warn"].contains(&verdict.as_str()))
}

/// The checks that are no good, in short.
pub(crate) fn odd(found: &[(String, Came)]) -> String {
    let odd: Vec<String> = found
        .iter()
        .filter(|(_, (verdict, _))| ["fail", "inconclusive"].contains(&verdict.as_str()))
        .map(|(id, (verdict, code))| format!("{id}: {verdict} {code}"))
        .collect();
    odd.join("; ")
}
