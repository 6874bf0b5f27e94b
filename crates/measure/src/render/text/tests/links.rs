//! Rendered tables from hand-made records, as a reader sees them.

use super::super::links;
use super::header;
use crate::caveat::Caveat;
use crate::plan::StopReason;
use crate::quantity::{Gate, Quantity, TimeSource, Timing, Unit};
use crate::record::{
    BackendFacts, Endpoint, KernelAccess, LinkDevice, LinkReading, LinkUse, Links, LinksEvent,
    NamedQuantity, Outcome, PairPath, Payload, PeerProbe, PeerVerdict, Placement, Point, Record,
    Simulated, Status, Verification,
};
use topology::{PathType, PcieLink};

fn link(generation: u8, width: u8) -> PcieLink {
    PcieLink::new(generation, width).unwrap()
}

pub(super) fn device(ordinal: usize, address: &str) -> LinkDevice {
    let loaded = LinkReading {
        device: Some(link(4, 16)),
        slot: Some(link(4, 8)),
        slot_maximum: Some(link(4, 16)),
        readings: 3,
        ..LinkReading::default()
    };
    let idle = LinkReading {
        slot: Some(link(1, 8)),
        ..LinkReading::default()
    };
    LinkDevice {
        label: format!("GPU{ordinal}"),
        ordinal,
        name: "NVIDIA L40".to_owned(),
        uuid: None,
        address: Some(address.parse().unwrap()),
        node: Some(0),
        memory_bytes: Some(48 << 30),
        mig: None,
        idle: Some(idle),
        loaded: Some(loaded),
        max_payload_bytes: Some(256),
        busy: None,
    }
}

pub(super) fn quantity(name: &str, samples: Vec<f64>) -> NamedQuantity {
    let timing = Timing {
        source: TimeSource::DeviceEvent,
        gate: Gate::None,
        copies_per_sample: 2,
        warmup_copies: 3,
    };
    let quantity =
        Quantity::from_samples(samples, Unit::GbPerS, timing, StopReason::MaxSamples).unwrap();
    NamedQuantity {
        name: name.to_owned(),
        quantity,
    }
}

/// A point whose ceiling is 20 GB/s, so that 10 GB/s is half of it.
pub(super) fn measured(
    case: &str,
    from: Endpoint,
    to: Endpoint,
    numbers: Vec<NamedQuantity>,
) -> Point {
    let fraction = |named: &NamedQuantity| {
        let doubled = if named.name == "total" { 2.0 } else { 1.0 };
        (named.name.clone(), named.quantity.value / (20.0 * doubled))
    };
    let is_host = from == Endpoint::Host || to == Endpoint::Host;
    let link = LinkUse {
        ceiling_gb_per_s: Some(20.0),
        fraction: numbers.iter().map(fraction).collect(),
        basis: "Gen4 x8, payload 256 B".to_owned(),
        ..LinkUse::default()
    };
    let placement = Placement {
        wanted: Some(0),
        proven: Some(0),
        basis: "move_pages".to_owned(),
    };
    Point {
        case: case.to_owned(),
        from,
        to,
        bytes: 64 << 20,
        outcome: Outcome::Measured {
            quantities: numbers,
            verification: Verification::Passed,
            link,
            placement: is_host.then_some(placement),
        },
        caveats: vec![Caveat::NoGate],
    }
}

/// Six samples around 10 GB/s: median 10.0, interval 9.9 to 10.2, so the wider side is 2%.
pub(super) fn ten() -> Vec<f64> {
    vec![10.0, 9.9, 10.0, 10.1, 10.2, 9.95]
}

pub(super) fn record(points: Vec<Point>) -> Record {
    let mut links = Links {
        devices: vec![device(0, "21:00.0"), device(1, "61:00.0")],
        paths: vec![PairPath {
            a: 0,
            b: 1,
            path: PathType::Node,
        }],
        backend: Some(BackendFacts {
            name: "cuda".to_owned(),
            driver: Some("570.133.07".to_owned()),
            interface: Some("CUDA 12.8".to_owned()),
            management: "nvml".to_owned(),
        }),
        ..Links::default()
    };
    for point in points {
        links.apply(LinksEvent::Point {
            point: Box::new(point),
        });
    }
    Record {
        header: header("p2p-bw"),
        status: Status::Complete,
        exit_code: 0,
        payload: Payload::Links(Box::new(links)),
    }
}

pub(super) fn links_of(record: &mut Record) -> &mut Links {
    match &mut record.payload {
        Payload::Links(links) => links,
        other => panic!("{}", other.kind()),
    }
}

#[test]
fn a_host_case_has_a_row_per_number_with_interval_n_ceiling_and_placement() {
    let both = vec![
        quantity("forward", ten()),
        quantity("back", ten()),
        quantity("total", ten().iter().map(|sample| sample * 2.0).collect()),
    ];
    let mut record = record(vec![
        measured(
            "h2d_pinned_ce",
            Endpoint::Host,
            Endpoint::Device(0),
            vec![quantity("bandwidth", ten())],
        ),
        measured(
            "host_bidir_pinned_ce",
            Endpoint::Host,
            Endpoint::Device(1),
            both,
        ),
    ]);
    links_of(&mut record).caveats.push(Caveat::DeviceBusy {
        device: "GPU0".to_owned(),
        used_mib: 448,
        processes: vec!["python (17)".to_owned()],
    });
    insta::assert_snapshot!(links(&record), @r#"
    p2p-bw 0.1.0, 2026-01-02T03:04:05Z, box, backend cuda, driver 570.133.07, CUDA 12.8
    CAUTION: GPU0 is in use by others (448 MiB held; python (17)): its numbers are those of a shared device; stop the other work and measure again

    Devices
            name        node  memory  address       slot under load  device under load  idle     slot maximum
      GPU0  NVIDIA L40  0     48 GiB  0000:21:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16
      GPU1  NVIDIA L40  0     48 GiB  0000:61:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16

    h2d_pinned_ce: GB/s, 64 MiB a copy, median ± wider side of its 95% interval
                           GB/s       interval  n  ceiling  of it  link                    host memory
      host to GPU0  10.00 ±2.0%  9.90 .. 10.20  6    20.00    50%  Gen4 x8, payload 256 B  node 0

    host_bidir_pinned_ce: GB/s, 64 MiB a copy, median ± wider side of its 95% interval
                                   GB/s        interval  n  ceiling  of it  link                    host memory
      host to GPU1          10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%  Gen4 x8, payload 256 B  node 0
      GPU1 to host          10.00 ±2.0%   9.90 .. 10.20  6    20.00    50%  Gen4 x8, payload 256 B  node 0
      host and GPU1, total  20.00 ±2.0%  19.80 .. 20.40  6    40.00    50%  Gen4 x8, payload 256 B  node 0
      total: both directions' bytes from the first start to the last end

    Before believing these numbers
      - timed without a spin gate: the cost of issuing the first copies can lie inside the window, so sizes below about 1 MiB read slower than the link is

    complete; exit code 0
    "#);
}

#[test]
fn pairs_are_a_matrix_with_verdicts_above() {
    let (gpu0, gpu1) = (Endpoint::Device(0), Endpoint::Device(1));
    let denied = Outcome::NotApplicable {
        reason: "peer access is denied: access: no".to_owned(),
    };
    let mut refused = measured(
        "d2d_write_ce",
        gpu1,
        gpu0,
        vec![quantity("bandwidth", ten())],
    );
    refused.outcome = denied;
    let mut record = record(vec![
        measured(
            "d2d_write_ce",
            gpu0,
            gpu1,
            vec![quantity("bandwidth", ten())],
        ),
        refused,
    ]);
    let probe = |from, to, verdict, rests_on: &str| PeerProbe {
        from,
        to,
        verdict,
        rests_on: rests_on.to_owned(),
        steps: Vec::new(),
        kernels: KernelAccess::Usable,
        surroundings: None,
    };
    let links = links_of(&mut record);
    links
        .probes
        .push(probe(0, 1, PeerVerdict::Direct, "small copies are fast"));
    links
        .probes
        .push(probe(1, 0, PeerVerdict::Denied, "access: no"));
    insta::assert_snapshot!(super::super::links(&record), @r#"
    p2p-bw 0.1.0, 2026-01-02T03:04:05Z, box, backend cuda, driver 570.133.07, CUDA 12.8

    Devices
            name        node  memory  address       slot under load  device under load  idle     slot maximum
      GPU0  NVIDIA L40  0     48 GiB  0000:21:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16
      GPU1  NVIDIA L40  0     48 GiB  0000:61:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16

    Peer access (row reaches memory of column) and path class
            GPU0         GPU1
      GPU0  —            direct NODE
      GPU1  denied NODE  —
      GPU0->GPU1 direct: small copies are fast
      GPU1->GPU0 denied: access: no

    d2d_write_ce: GB/s, 64 MiB a copy, median ± wider side of its 95% interval
      from \ to  GPU0          GPU1
      GPU0          —   10.00 ±2.0%
                       NODE 50% n=6
      GPU1          —             —
      GPU0 to GPU1: ceiling 20.00 GB/s each way, Gen4 x8, payload 256 B
      GPU1 to GPU0: not applicable, peer access is denied: access: no

    Before believing these numbers
      - timed without a spin gate: the cost of issuing the first copies can lie inside the window, so sizes below about 1 MiB read slower than the link is

    complete; exit code 0
    "#);
}

#[test]
fn wrong_data_a_hang_and_a_soft_box_cannot_be_read_as_measurements() {
    let host = Endpoint::Host;
    let mut wrong = measured(
        "h2d_pinned_ce",
        host,
        Endpoint::Device(0),
        vec![quantity("bandwidth", ten())],
    );
    if let Outcome::Measured { verification, .. } = &mut wrong.outcome {
        *verification = Verification::WrongData {
            seen: "byte 0 is 0x01, sent was 0x00".to_owned(),
        };
    }
    let mut hang = measured("h2d_pinned_ce", host, Endpoint::Device(1), Vec::new());
    hang.outcome = Outcome::Hang {
        doing: "timed copies: no progress for 20 s".to_owned(),
    };
    let mut record = record(vec![wrong, hang]);
    record.header.simulated = Some(Simulated {
        box_name: "l40x4".to_owned(),
    });
    record.exit_code = 5;
    let text = links(&record);
    assert!(
        !text.contains("10.0"),
        "a number of wrong data is shown:\n{text}"
    );
    let csv = crate::render::csv::links(&record);
    assert!(
        !csv.contains(",10"),
        "a number of wrong data is in the CSV:\n{csv}"
    );
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",l40x4")));
    insta::assert_snapshot!(text, @r#"
    SIMULATED on soft box l40x4: arithmetic of a box file, not a measurement
    p2p-bw 0.1.0, 2026-01-02T03:04:05Z, box, backend cuda, driver 570.133.07, CUDA 12.8

    Devices
            name        node  memory  address       slot under load  device under load  idle     slot maximum
      GPU0  NVIDIA L40  0     48 GiB  0000:21:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16
      GPU1  NVIDIA L40  0     48 GiB  0000:61:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16

    h2d_pinned_ce [simulated]: GB/s, 64 MiB a copy, median ± wider side of its 95% interval
                          GB/s  ceiling  link                    host memory
      host to GPU0  WRONG DATA    20.00  Gen4 x8, payload 256 B  node 0
      host to GPU1        HANG        —  —                       —
      host to GPU0: WRONG DATA: byte 0 is 0x01, sent was 0x00; the number stands for nothing
      host to GPU1: HANG while timed copies: no progress for 20 s

    Before believing these numbers
      - timed without a spin gate: the cost of issuing the first copies can lie inside the window, so sizes below about 1 MiB read slower than the link is

    complete; exit code 5
    "#);
}

#[test]
fn a_run_whose_points_were_all_skipped_measured_nothing() {
    let mut skipped = measured(
        "h2d_pinned_sm",
        Endpoint::Host,
        Endpoint::Device(0),
        Vec::new(),
    );
    skipped.outcome = Outcome::Skipped {
        reason: "there is no compiler here".to_owned(),
    };
    let last = |points| {
        let mut record = record(points);
        record.exit_code = 3;
        links(&record).lines().last().unwrap().to_owned()
    };
    let none = last(vec![skipped.clone()]);
    assert_eq!(
        none,
        "nothing was measured, for the reasons above; exit code 3"
    );
    let number = vec![quantity("bandwidth", ten())];
    let one = measured("h2d_pinned_ce", Endpoint::Host, Endpoint::Device(0), number);
    assert_eq!(last(vec![skipped, one]), "complete; exit code 3");
}

#[test]
fn a_sweep_has_a_row_per_size() {
    let point = |bytes| Point {
        bytes,
        ..measured(
            "h2d_pinned_ce",
            Endpoint::Host,
            Endpoint::Device(0),
            vec![quantity("bandwidth", ten())],
        )
    };
    insta::assert_snapshot!(links(&record(vec![point(4096), point(1 << 20)])), @r#"
    p2p-bw 0.1.0, 2026-01-02T03:04:05Z, box, backend cuda, driver 570.133.07, CUDA 12.8

    Devices
            name        node  memory  address       slot under load  device under load  idle     slot maximum
      GPU0  NVIDIA L40  0     48 GiB  0000:21:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16
      GPU1  NVIDIA L40  0     48 GiB  0000:61:00.0  Gen4 x8          Gen4 x16           Gen1 x8  Gen4 x16

    h2d_pinned_ce: GB/s, median ± wider side of its 95% interval, n=6, % of the ceiling
      size       host to GPU0
      4 KiB  10.00 ±2.0%  50%
      1 MiB  10.00 ±2.0%  50%
      host to GPU0: ceiling 20.00 GB/s each way, Gen4 x8, payload 256 B

    Before believing these numbers
      - timed without a spin gate: the cost of issuing the first copies can lie inside the window, so sizes below about 1 MiB read slower than the link is

    complete; exit code 0
    "#);
}

#[test]
fn an_absent_fraction_is_a_dash_and_not_zero() {
    let mut point = measured(
        "local_ce",
        Endpoint::Device(0),
        Endpoint::Device(0),
        vec![quantity("bandwidth", vec![0.00123; 3])],
    );
    if let Outcome::Measured { link, .. } = &mut point.outcome {
        *link = LinkUse {
            basis: "within the device: no link".to_owned(),
            ..LinkUse::default()
        };
    }
    let text = links(&record(vec![point]));
    // Three samples have no interval: the count stands in its place. 0.00123 keeps three digits.
    assert!(text.contains("1.23e-3 (n=3)"), "{text}");
    assert!(
        text.contains("no ceiling, within the device: no link"),
        "{text}"
    );
}

#[test]
fn control_characters_of_hostile_names_reach_no_rendering() {
    let mut record = record(vec![measured(
        "h2d_pinned_ce",
        Endpoint::Host,
        Endpoint::Device(0),
        vec![quantity("bandwidth", ten())],
    )]);
    record.header.provenance.host = Some("box\u{1b}]0;owned\u{7}".to_owned());
    links_of(&mut record).devices[0].name = "GPU\n  GPU9  faked row\u{1b}[2J".to_owned();
    let text = links(&record);
    let is_hostile = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(is_hostile), "{text:?}");
    assert!(
        !text
            .lines()
            .any(|line| line.trim_start().starts_with("GPU9")),
        "{text}"
    );
}

#[test]
fn a_virtual_clock_marks_a_record_as_simulated_whatever_its_header_says() {
    let mut number = quantity("bandwidth", ten());
    number.quantity.timing.source = TimeSource::VirtualClock;
    let record = record(vec![measured(
        "h2d_pinned_ce",
        Endpoint::Host,
        Endpoint::Device(0),
        vec![number],
    )]);
    assert_eq!(record.header.simulated, None);
    assert!(links(&record).starts_with("SIMULATED"));
    assert!(crate::render::csv::links(&record).ends_with(",complete,(not named)\n"));
}

#[test]
fn a_link_below_its_slot_is_said_before_the_first_table() {
    let mut record = record(Vec::new());
    links_of(&mut record)
        .caveats
        .push(Caveat::LinkBelowMaximum {
            device: "GPU1".to_owned(),
            now: "Gen4 x4".to_owned(),
            maximum: "Gen4 x16".to_owned(),
        });
    let text = links(&record);
    assert!(
        text.find("CAUTION: GPU1 runs at Gen4 x4") < text.find("Devices"),
        "{text}"
    );
}
