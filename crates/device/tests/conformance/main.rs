//! What every backend must do, as one list of facts, run on host memory, on a real driver where there is one, and on
//! every soft box that a CUDA driver can answer for; then what only a soft box can show: faults.
//!
//! A soft driver is found by the loader when a process starts, so these tests start their own program again with the
//! soft libraries in the loader's path. No rate is judged here.

mod bed;
mod collectives;
mod copies;
mod faults;
mod memory;
mod pairs;
mod process;
mod queues;
mod ranks;
mod shared_memory;

use std::process::Command;

use device::collectives::Collectives;
use device::cuda::{Cuda, Nccl};
use device::host::{Host, SharedMemory};
use device::{Backend, DeviceError, TimeSource};

/// A fact about a backend: it panics where the backend does not hold it.
type Fact<B> = fn(&B);

/// What holds for a backend with one device.
fn facts_of_one<B: Backend>() -> Vec<Fact<B>> {
    vec![
        memory::devices_are_numbered_in_order,
        memory::a_device_that_does_not_exist_is_named,
        memory::a_device_opened_twice_has_one_context,
        memory::memory_is_taken_and_comes_back_when_dropped,
        memory::no_bytes_are_refused_and_the_device_still_works,
        memory::absurd_sizes_are_refused_and_the_device_still_works,
        memory::code_is_taken_or_refused_in_words,
        copies::every_kind_of_host_memory_goes_both_ways,
        copies::offsets_are_kept_and_neighbours_untouched,
        copies::ranges_outside_a_buffer_are_refused,
        copies::a_device_copies_within_itself,
        copies::a_buffer_is_in_use_until_its_stream_was_waited_for,
        copies::the_host_keeps_copies_out_while_it_reads,
        copies::buffers_may_be_dropped_with_work_in_flight,
        copies::a_stream_may_be_dropped_with_work_in_flight,
        queues::an_event_has_no_time_before_it_is_reached,
        queues::events_are_in_the_order_of_their_stream,
        queues::an_event_may_be_recorded_again,
        queues::a_wait_for_an_event_never_recorded_is_none,
        queues::work_of_a_stream_is_done_in_order,
        queues::a_wait_orders_two_streams,
        queues::two_streams_both_deliver,
        queues::a_graph_repeats_its_work_where_there_are_graphs,
        queues::a_capture_that_fails_leaves_a_stream_that_works,
    ]
}

/// What holds for a backend with two devices or more, besides.
fn facts_of_two<B: Backend>() -> Vec<Fact<B>> {
    vec![
        pairs::bytes_arrive_with_and_without_access,
        pairs::access_is_given_and_taken_twice_or_refused_as_such,
        pairs::ranges_outside_a_peers_buffer_are_refused,
        pairs::a_wait_orders_streams_of_two_devices,
        pairs::devices_do_not_mix_up_their_memory,
    ]
}

fn check<B: Backend>(backend: &B, facts: Vec<Fact<B>>) {
    for fact in facts {
        fact(backend);
    }
}

#[test]
fn host_memory_conforms() {
    let host = Host::open().expect("there is always host memory");
    assert_eq!(host.time_source(), TimeSource::HostMonotonic);
    check(&host, facts_of_one());
    check(&host, facts_of_two());
}

#[test]
fn every_soft_box_conforms() {
    for name in boxfile::builtin_names() {
        let described = boxfile::BoxFile::builtin(name).expect("it is in the list");
        if described.vendor != boxfile::Vendor::Nvidia {
            continue;
        }
        process::on_box("every_soft_box_conforms", &described, |cuda| {
            check(cuda, facts_of_one());
            check(cuda, facts_of_two());
        });
    }
}

#[test]
fn the_driver_of_another_vendors_box_has_no_device() {
    let amd = boxfile::BoxFile::builtin("r9700-x8").expect("it is built in");
    process::with_library(
        "the_driver_of_another_vendors_box_has_no_device",
        &amd,
        || match Cuda::open() {
            Err(DeviceError::NoDevice {
                backend: "cuda", ..
            }) => {}
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it has devices"),
        },
    );
}

#[test]
fn a_real_cuda_driver_conforms() {
    if let Some(cuda) = process::real_cuda("a_real_cuda_driver_conforms", 1) {
        check(&cuda, facts_of_one());
    }
}

#[test]
fn a_real_pair_of_cuda_devices_conforms() {
    if let Some(cuda) = process::real_cuda("a_real_pair_of_cuda_devices_conforms", 2) {
        check(&cuda, facts_of_two());
    }
}

#[test]
fn memory_of_a_small_device_runs_out_and_comes_back() {
    let test = "memory_of_a_small_device_runs_out_and_comes_back";
    process::on_small_box(test, "", faults::memory_runs_out_and_comes_back);
}

#[test]
fn one_failed_allocation_is_one_error() {
    let fault = "[[fault]]\nkind = \"alloc_failure\"\non = \"device\"\nnth = 2\n\
                 [[fault]]\nkind = \"alloc_failure\"\non = \"host\"\nnth = 1\n";
    let test = "one_failed_allocation_is_one_error";
    process::on_small_box(test, fault, faults::one_allocation_fails);
}

#[test]
fn a_denied_peer_is_refused_in_that_direction() {
    let fault = "[[fault]]\nkind = \"peer_denied\"\npair = [0, 1]\n";
    let test = "a_denied_peer_is_refused_in_that_direction";
    process::on_small_box(test, fault, faults::a_peer_is_denied);
}

#[test]
fn a_lost_device_stays_lost_and_nothing_panics() {
    let fault = "[[fault]]\nkind = \"device_lost\"\ndevice = 0\nafter_copies = 2\n";
    let test = "a_lost_device_stays_lost_and_nothing_panics";
    process::on_small_box(test, fault, faults::a_lost_device_stays_lost);
}

#[test]
fn a_device_lost_with_work_in_flight_can_be_dropped() {
    let fault = "[[fault]]\nkind = \"device_lost\"\ndevice = 0\nafter_copies = 2\n";
    let test = "a_device_lost_with_work_in_flight_can_be_dropped";
    process::on_small_box(test, fault, faults::lost_with_work_in_flight);
}

/// What holds for the collectives of a library, on every rank.
fn check_collectives<C: Collectives>(library: &C, seat: &ranks::Seat, large: usize) {
    let backend = C::Backend::open().expect("it answered before");
    let rank = collectives::Rank::join(library, &backend, seat);
    rank.delivers_sums_and_gathers_of_all_types_and_sizes(large);
    rank.keeps_the_order_of_a_thousand_calls();
    rank.repeats_captured_calls();
    rank.refuses_what_cannot_be_done();
    rank.keeps_a_communicator_for_its_graphs(library);
    rank.may_be_dropped_with_work_in_flight();
}

/// This program again.
fn again() -> Command {
    Command::new(std::env::current_exe().expect("it runs"))
}

#[test]
fn host_collectives_conform() {
    let test = "host_collectives_conform";
    // 16 MiB for two ranks; four are twice as many as some machines have CPUs.
    for (ranks, large) in [(2, 16 << 20), (4, 1 << 20)] {
        ranks::run(test, ranks, &[], again, |seat| {
            let library = SharedMemory::open(None).expect("there is always host memory");
            check_collectives(&library, seat, large);
        });
    }
}

#[test]
fn a_rank_of_host_memory_that_dies_is_named() {
    let test = "a_rank_of_host_memory_that_dies_is_named";
    ranks::run(
        test,
        3,
        &[1],
        again,
        shared_memory::a_rank_that_dies_is_named,
    );
}

#[test]
fn ranks_of_host_memory_that_leave_differ_or_abort_are_told() {
    shared_memory::a_rank_that_leaves_is_named();
    shared_memory::calls_that_differ_break_the_communicator_on_both_sides();
    shared_memory::an_abort_ends_a_wait();
    shared_memory::wrong_ids_and_ranks_are_refused();
}

#[test]
fn a_soft_nccl_conforms() {
    let test = "a_soft_nccl_conforms";
    if !process::soft_libraries().join("libnccl.so.2").is_file() {
        return process::skip(test, "target/soft has no libnccl.so.2");
    }
    for (name, ranks) in [("rtxpro6000-mig", 2), ("l40x4", 4)] {
        let described = boxfile::BoxFile::builtin(name).expect("it is built in");
        let stage = process::Stage::new(test, &described);
        ranks::run(
            test,
            ranks,
            &[],
            || stage.program(),
            |seat| {
                let nccl = Nccl::open(None).expect("it is in the loader's path");
                assert_eq!(
                    nccl.facts().soft_box.as_deref(),
                    Some(name),
                    "{:?}",
                    nccl.facts()
                );
                check_collectives(&nccl, seat, 1 << 20);
            },
        );
    }
}

#[test]
fn a_real_nccl_conforms() {
    let test = "a_real_nccl_conforms";
    let Some(cuda) = process::real_cuda(test, 1) else {
        return;
    };
    if let Err(error) = Nccl::open(None) {
        return process::skip(test, &error.to_string());
    }
    let ranks = u32::try_from(cuda.devices().len()).map_or(4, |devices| devices.min(4));
    drop(cuda);
    ranks::run(test, ranks, &[], again, |seat| {
        let nccl = Nccl::open(None).expect("it was there before");
        check_collectives(&nccl, seat, 16 << 20);
    });
}

#[test]
fn a_library_that_is_missing_or_another_is_refused_in_words() {
    let open = |file: &str| {
        Nccl::open(Some(file.as_ref()))
            .err()
            .map(|error| error.to_string())
    };
    let missing = open("/no/such/libnccl.so.2").expect("it is not there");
    assert!(
        missing.starts_with("libnccl.so.2 not found (/no/such/libnccl.so.2:"),
        "{missing}"
    );
    assert!(
        missing.ends_with("or activate the Python environment of the engine"),
        "{missing}"
    );
    // The C library is there on every Linux of this program, and knows no collectives.
    let other = open("libc.so.6").expect("it is no NCCL");
    assert!(
        other.starts_with("libnccl.so.2 has no symbol ncclGetVersion;"),
        "{other}"
    );
}
