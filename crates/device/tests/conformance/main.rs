//! What every backend must do, as one list of facts, run on host memory, on real drivers where there are some, and on
//! every simulated machine by the driver of its vendor; then what only a simulated machine can show: faults.
//!
//! A simulated driver is found by the loader when a process starts, so these tests start their own program again with the
//! simulated libraries in the loader's path. No rate is judged here. Which backend answers for a box the registry says: a vendor
//! that is added there with a box runs through all of this. What kernels do is reported by the tests of the crate `kernels`.

mod bed;
mod collectives;
mod copies;
mod faults;
mod graphs;
mod headers;
mod host_ranks;
mod libraries;
mod memory;
mod nodes;
mod numbers;
mod pairs;
mod process;
mod queues;
mod ranks;

use device::host::Host;
use device::{Backend, Built, DeviceError, TimeSource, Visit};

use process::{Facts, facts};

/// What holds for a backend with one device.
fn of_one() -> impl Facts {
    facts![
        memory::a_device_that_does_not_exist_is_named,
        memory::a_device_opened_twice_has_one_context,
        memory::memory_is_taken_and_comes_back_when_dropped,
        memory::absurd_sizes_are_refused_and_the_device_still_works,
        copies::every_kind_of_host_memory_goes_both_ways,
        copies::offsets_are_kept_and_neighbours_untouched,
        copies::ranges_outside_a_buffer_are_refused,
        copies::a_device_copies_within_itself,
        copies::a_buffer_is_in_use_until_its_stream_was_waited_for,
        copies::buffers_may_be_dropped_with_work_in_flight,
        queues::an_event_has_no_time_before_it_is_reached,
        queues::events_are_in_the_order_of_their_stream,
        queues::work_of_a_stream_is_done_in_order,
        queues::two_streams_both_deliver,
        queues::a_graph_repeats_its_work_where_there_are_graphs,
    ]
}

/// What holds for a backend with two devices or more, besides.
fn of_two() -> impl Facts {
    facts![
        pairs::bytes_arrive_with_and_without_access,
        pairs::access_is_given_and_taken_twice_or_refused_as_such,
        pairs::ranges_outside_a_peers_buffer_are_refused,
        pairs::a_wait_orders_streams_of_two_devices,
    ]
}

#[test]
fn host_memory_conforms() {
    let host = Host::open().expect("there is always host memory");
    assert_eq!(host.time_source(), TimeSource::HostMonotonic);
    of_one().hold(&host);
    of_two().hold(&host);
}

#[test]
fn every_soft_box_conforms() {
    process::on_boxes("every_soft_box_conforms", &process::boxes(), &of_one());
}

#[test]
fn host_memory_and_threads_are_on_the_nodes_of_every_soft_box() {
    let test = "host_memory_and_threads_are_on_the_nodes_of_every_soft_box";
    let facts = facts![
        nodes::every_kind_is_on_every_node,
        nodes::a_node_that_is_not_there_is_named,
        nodes::a_thread_is_put_on_a_node,
    ];
    process::on_boxes(test, &process::boxes(), &facts);
}

#[test]
fn a_refused_binding_gives_no_memory_on_a_soft_box() {
    let test = "a_refused_binding_gives_no_memory_on_a_soft_box";
    let fault = "[[fault]]\nkind = \"mbind_refused\"\n";
    let facts = facts![nodes::a_refused_binding_gives_no_memory];
    process::on_boxes(test, &process::small_boxes(fault), &facts);
}

#[test]
fn every_pair_of_a_soft_box_conforms() {
    let test = "every_pair_of_a_soft_box_conforms";
    process::on_boxes(test, &process::boxes(), &of_two());
}

/// Opens its backend, which must say in words that it has no device.
struct HasNoDevice;

impl Visit for HasNoDevice {
    type Output = ();

    fn visit<B: Backend>(self) {
        match B::open() {
            Err(DeviceError::NoDevice { backend, reason }) => {
                assert_eq!(backend, B::NAME);
                assert!(!reason.is_empty());
            }
            Err(other) => panic!("{}: {other}", B::NAME),
            Ok(_) => panic!("{} has devices", B::NAME),
        }
    }
}

#[test]
fn the_drivers_of_other_vendors_have_no_device_on_a_box() {
    let test = "the_drivers_of_other_vendors_have_no_device_on_a_box";
    for described in process::small_boxes("") {
        process::with_libraries(test, &described, || {
            let own = process::backend_of(&described);
            let others = Built::ALL.iter().filter(|built| Some(**built) != own);
            for other in others.filter(|built| built.pci_vendor().is_some()) {
                other.visit(HasNoDevice);
            }
        });
    }
}

#[test]
fn real_drivers_conform() {
    process::on_real("real_drivers_conform", 1, &of_one());
}

#[test]
fn real_pairs_of_devices_conform() {
    process::on_real("real_pairs_of_devices_conform", 2, &of_two());
}

#[test]
fn memory_of_a_small_device_runs_out_and_comes_back() {
    let test = "memory_of_a_small_device_runs_out_and_comes_back";
    let facts = facts![faults::memory_runs_out_and_comes_back];
    process::on_boxes(test, &process::small_boxes(""), &facts);
}

#[test]
fn one_failed_allocation_is_one_error() {
    let fault = "[[fault]]\nkind = \"alloc_failure\"\non = \"device\"\nnth = 2\n\
                 [[fault]]\nkind = \"alloc_failure\"\non = \"host\"\nnth = 1\n";
    let test = "one_failed_allocation_is_one_error";
    let facts = facts![faults::one_allocation_fails];
    process::on_boxes(test, &process::small_boxes(fault), &facts);
}

#[test]
fn a_denied_peer_is_refused_in_that_direction() {
    let fault = "[[fault]]\nkind = \"peer_denied\"\npair = [0, 1]\n";
    let test = "a_denied_peer_is_refused_in_that_direction";
    let facts = facts![faults::a_peer_is_denied];
    process::on_boxes(test, &process::small_boxes(fault), &facts);
}

#[test]
fn a_lost_device_stays_lost_and_nothing_panics() {
    let fault = "[[fault]]\nkind = \"device_lost\"\ndevice = 0\nafter_copies = 2\n";
    let test = "a_lost_device_stays_lost_and_nothing_panics";
    let facts = facts![faults::a_lost_device_stays_lost];
    process::on_boxes(test, &process::small_boxes(fault), &facts);
}

#[test]
fn a_device_off_the_bus_is_lost_whatever_the_drivers_code() {
    let test = "a_device_off_the_bus_is_lost_whatever_the_drivers_code";
    let facts = facts![faults::a_lost_device_stays_lost];
    for code in [46, 999] {
        let fault = format!(
            "[[fault]]\nkind = \"device_lost\"\ndevice = 0\nafter_copies = 2\noff_the_bus = {code}\n"
        );
        let mut boxes = process::small_boxes(&fault);
        boxes.retain(|described| described.vendor == boxfile::Vendor::NVIDIA);
        boxes[0].name = format!("off-the-bus-{code}");
        process::on_boxes(test, &boxes, &facts);
    }
}

#[test]
fn a_device_lost_with_work_in_flight_can_be_dropped() {
    let fault = "[[fault]]\nkind = \"device_lost\"\ndevice = 0\nafter_copies = 2\n";
    let test = "a_device_lost_with_work_in_flight_can_be_dropped";
    let facts = facts![faults::lost_with_work_in_flight];
    process::on_boxes(test, &process::small_boxes(fault), &facts);
}

#[test]
fn host_collectives_conform() {
    let test = "host_collectives_conform";
    // 16 MiB for two ranks; four are twice as many as some machines have CPUs.
    for (ranks, large) in [(2, 16 << 20), (4, 1 << 20)] {
        ranks::run(test, "host", ranks, &[], process::again, |seat| {
            Built::Host.visit_collectives(collectives::Conform {
                seat,
                large,
                soft_box: None,
            });
        });
    }
}

#[test]
fn a_rank_of_host_memory_that_dies_is_named() {
    let test = "a_rank_of_host_memory_that_dies_is_named";
    ranks::run(
        test,
        "host",
        3,
        &[1],
        process::again,
        host_ranks::a_rank_that_dies_is_named,
    );
}

#[test]
fn the_collectives_of_every_soft_box_conform() {
    let test = "the_collectives_of_every_soft_box_conform";
    for described in process::boxes() {
        let devices = described.device.iter();
        let seen: usize = devices.map(|device| device.mig.len().max(1)).sum();
        // Four ranks where there are four devices: rings of two have one neighbour on both sides.
        let ranks = if seen >= 4 { 4 } else { 2 };
        let described = ranks::with_collectives(&described, ranks);
        ranks::ranks_on(test, &described, ranks, |seat| {
            let built = process::backend_of(&described).expect("it has devices");
            built.visit_collectives(collectives::Conform {
                seat,
                large: 1 << 20,
                soft_box: Some(&described.name),
            });
        });
    }
}

#[test]
fn a_communicator_that_does_not_block_is_waited_for() {
    let test = "a_communicator_that_does_not_block_is_waited_for";
    let described = process::boxes()
        .into_iter()
        .find(|described| described.name == "l40x4");
    let described = ranks::with_collectives(&described.expect("it is built in"), 2);
    let conform = |seat: &ranks::Seat| {
        Built::Cuda.visit_collectives(collectives::Conform {
            seat,
            large: 1 << 20,
            soft_box: Some(&described.name),
        });
    };
    if ranks::is_one() {
        return ranks::run(test, &described.name, 2, &[], process::again, conform);
    }
    let stage = process::Stage::new(test, &described);
    let program = || {
        let mut program = stage.program();
        program.env("NCCL_COMM_BLOCKING", "0");
        program
    };
    ranks::run(test, &described.name, 2, &[], program, conform);
}

#[test]
fn real_collectives_conform() {
    let test = "real_collectives_conform";
    let vendors = Built::ALL
        .iter()
        .filter(|built| built.pci_vendor().is_some());
    let mut missing = Vec::new();
    for built in vendors {
        let ranks = match built.visit_collectives(collectives::DevicesOf) {
            Ok(devices) => u32::try_from(devices).map_or(4, |devices| devices.min(4)),
            Err(error) => {
                missing.push(format!("{}: {error}", built.name()));
                continue;
            }
        };
        ranks::run(test, built.name(), ranks, &[], process::again, |seat| {
            built.visit_collectives(collectives::Conform {
                seat,
                large: 16 << 20,
                soft_box: None,
            });
        });
    }
    if missing.len() + 1 == Built::ALL.len() {
        process::skip(test, &missing.join("; "));
    }
}
