//! What every kernel does, as a list of facts, on every simulated machine whose driver takes kernels and on real drivers where there
//! are some. No rate and no latency is judged here.
//!
//! A simulated driver is found by the loader when a process starts: the tests of the backends start themselves again for that,
//! and so do these, by the same means. Which backend answers for a box the registry says.

mod facts;
#[path = "../../../crates/device/tests/conformance/process.rs"]
mod process;
mod refusals;

use boxfile::BoxFile;
use process::{Facts, facts};

/// What holds for a backend with one device.
fn of_one() -> impl Facts {
    facts![
        facts::a_copy_moves_what_it_should_and_nothing_else,
        facts::a_copy_reaches_locked_host_memory,
        facts::a_fill_writes_the_pattern_of_the_host_or_its_complement,
        facts::a_check_finds_the_first_wrong_word,
        facts::a_burn_of_any_length_has_the_sums_that_it_must_have,
        facts::a_chase_ends_where_the_host_ends,
        facts::a_gate_holds_its_stream_until_it_opens,
        facts::a_gate_that_is_not_opened_gives_up_and_says_so,
        facts::memory_is_in_use_until_its_stream_was_waited_for,
        facts::kernels_and_memory_may_be_dropped_with_work_in_flight,
        facts::a_graph_repeats_its_kernels,
        refusals::pageable_memory_is_refused_and_the_device_still_works,
        refusals::wrong_ranges_are_refused_and_the_device_still_works,
        refusals::the_first_wrong_word_is_not_told_to_host_memory,
    ]
}

/// What holds for a backend with two devices or more, besides.
fn of_two() -> impl Facts {
    facts![
        facts::a_kernel_writes_to_a_peer_and_reads_from_it,
        refusals::a_kernel_of_another_device_is_refused,
    ]
}

/// The built-in boxes whose devices take kernels, or those whose devices do not.
fn boxes(take_kernels: bool) -> Vec<BoxFile> {
    let takes = |described: &BoxFile| described.device.iter().all(|one| one.kernels.is_some());
    let mut boxes = process::boxes();
    boxes.retain(|described| takes(described) == take_kernels);
    boxes
}

#[test]
fn kernels_work_on_every_soft_box() {
    process::on_boxes("kernels_work_on_every_soft_box", &boxes(true), &of_one());
}

#[test]
fn kernels_work_on_every_pair_of_a_soft_box() {
    let test = "kernels_work_on_every_pair_of_a_soft_box";
    process::on_boxes(test, &boxes(true), &of_two());
}

#[test]
fn kernels_run_on_soft_boxes_of_two_vendors_and_there_is_no_compiler_for_the_third() {
    let vendors = |take_kernels| {
        let mut names: Vec<&str> = boxes(take_kernels)
            .iter()
            .filter_map(process::backend_of)
            .map(device::Built::name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    // Vendors that are added may be in either.
    assert!(
        ["cuda", "hip"]
            .iter()
            .all(|own| vendors(true).contains(own))
    );
    assert!(vendors(false).contains(&"maca") && !vendors(true).contains(&"maca"));
}

#[test]
fn a_device_that_takes_no_kernels_says_so() {
    let test = "a_device_that_takes_no_kernels_says_so";
    let facts = facts![refusals::there_are_no_kernels];
    process::on_boxes(test, &boxes(false), &facts);
}

#[test]
fn a_device_of_any_vendor_without_figures_for_kernels_says_so() {
    // The small boxes describe none.
    let test = "a_device_of_any_vendor_without_figures_for_kernels_says_so";
    let facts = facts![refusals::there_are_no_kernels];
    process::on_boxes(test, &process::small_boxes(""), &facts);
}

#[test]
fn a_kernel_that_reaches_for_a_peer_without_access_is_refused_or_loses_its_device() {
    // Each in a process of its own, whose device may be of no use afterwards.
    let test = "a_kernel_that_reaches_for_a_peer_without_access_is_refused_or_loses_its_device";
    let facts = facts![refusals::a_peer_without_access_is_out_of_reach];
    process::on_boxes(test, &boxes(true), &facts);
}

#[test]
fn kernels_work_on_real_devices() {
    process::on_real("kernels_work_on_real_devices", 1, &of_one());
}

#[test]
fn kernels_work_on_real_pairs_of_devices() {
    process::on_real("kernels_work_on_real_pairs_of_devices", 2, &of_two());
}
